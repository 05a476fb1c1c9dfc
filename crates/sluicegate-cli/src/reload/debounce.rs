//! The decision when to read changed files again.

/// Compares successive observations of files, and returns when to read them.
///
/// It has no access to files or time; `L` is the observation of one poll.
#[derive(Debug)]
pub(super) struct Debounce<L> {
    /// The observation before the last read.
    read: L,
    /// The observation of the last poll, if it differs.
    changed: Option<L>,
}

/// The action after a poll.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum PollAction {
    /// Do nothing, because the files are unchanged since the last read.
    Rest,
    /// Poll again, because the files are changing and may be incomplete.
    Wait,
    /// Read the files, because two polls in a row show the same change.
    Read,
}

impl<L: PartialEq> Debounce<L> {
    /// Starts from the observation before the first read.
    pub(super) fn new(read: L) -> Self {
        Self { read, changed: None }
    }

    /// The action for the observation of this poll.
    pub(super) fn next(&mut self, now: L) -> PollAction {
        if now == self.read {
            self.changed = None;
            return PollAction::Rest;
        }
        let stable = self.changed.as_ref() == Some(&now);
        self.changed = Some(now);
        if stable { PollAction::Read } else { PollAction::Wait }
    }

    /// Records a read, with the observation from before it.
    pub(super) fn has_read(&mut self, read: L) {
        *self = Self::new(read);
    }
}

#[cfg(test)]
mod tests {
    use super::PollAction::{Read, Rest, Wait};
    use super::*;

    /// The actions for successive observations, if each read finds the last one.
    fn actions(polls: &str) -> Vec<PollAction> {
        let mut debounce = Debounce::new('a');
        let mut actions = Vec::new();
        for observation in polls.chars() {
            let next = debounce.next(observation);
            if next == Read {
                debounce.has_read(observation);
            }
            actions.push(next);
        }
        actions
    }

    #[test]
    fn reads_after_two_equal_polls_with_a_change() {
        for (polls, expected) in [
            ("aaa", vec![Rest, Rest, Rest]),
            ("abb", vec![Rest, Wait, Read]),
            ("bbbb", vec![Wait, Read, Rest, Rest]),
            ("bcdd", vec![Wait, Wait, Wait, Read]),
            ("bcbcc", vec![Wait, Wait, Wait, Wait, Read]),
            ("bba", vec![Wait, Read, Wait]),
            ("bbaa", vec![Wait, Read, Wait, Read]),
        ] {
            assert_eq!(actions(polls), expected, "{polls}");
        }
    }

    #[test]
    fn a_reverted_change_is_not_read() {
        assert_eq!(actions("bab"), [Wait, Rest, Wait], "the equal polls must be successive");
    }

    #[test]
    fn a_change_during_a_read_is_read_again() {
        let mut debounce = Debounce::new('a');
        assert_eq!([debounce.next('b'), debounce.next('b')], [Wait, Read]);
        debounce.has_read('b');
        assert_eq!([debounce.next('c'), debounce.next('c')], [Wait, Read]);
    }

    #[test]
    fn an_explicit_read_is_not_repeated() {
        let mut debounce = Debounce::new('a');
        assert_eq!(debounce.next('b'), Wait);
        debounce.has_read('b');
        assert_eq!([debounce.next('b'), debounce.next('b')], [Rest, Rest]);
    }
}
