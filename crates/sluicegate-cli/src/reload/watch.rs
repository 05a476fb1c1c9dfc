//! When to read a file again: as soon as it has changed and stands still.

/// What was read, and what has been seen of it since.
///
/// It is handed what the files look like, every so often, and says when to read them. It knows
/// neither files nor time.
#[derive(Debug)]
pub(super) struct Watch<L> {
    /// What they looked like before they were last read.
    read: L,
    /// What else they looked like the last time.
    changed: Option<L>,
}

/// What to do about what the files look like.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Next {
    /// Nothing: they are as they were read.
    Rest,
    /// Look again: they are being changed, and half a file is no file.
    Wait,
    /// Read them: they have changed and stand still.
    Read,
}

impl<L: PartialEq> Watch<L> {
    /// Watches what looked like this before it was read.
    pub(super) fn new(read: L) -> Self {
        Self { read, changed: None }
    }

    /// What to do, now that they look like this.
    pub(super) fn next(&mut self, now: L) -> Next {
        if now == self.read {
            self.changed = None;
            return Next::Rest;
        }
        let still = self.changed.as_ref() == Some(&now);
        self.changed = Some(now);
        if still { Next::Read } else { Next::Wait }
    }

    /// They have been read, and looked like this before.
    pub(super) fn has_read(&mut self, read: L) {
        *self = Self::new(read);
    }
}

#[cfg(test)]
mod tests {
    use super::Next::{Read, Rest, Wait};
    use super::*;

    /// What is done about a row of looks, if each reading finds what the last look saw.
    fn done(looks: &str) -> Vec<Next> {
        let mut watch = Watch::new('a');
        let mut done = Vec::new();
        for look in looks.chars() {
            let next = watch.next(look);
            if next == Read {
                watch.has_read(look);
            }
            done.push(next);
        }
        done
    }

    #[test]
    fn a_file_is_read_when_it_has_changed_and_stands_still() {
        for (looks, expected) in [
            ("aaa", vec![Rest, Rest, Rest]),
            ("abb", vec![Rest, Wait, Read]),
            ("bbbb", vec![Wait, Read, Rest, Rest]),
            ("bcdd", vec![Wait, Wait, Wait, Read]),
            ("bcbcc", vec![Wait, Wait, Wait, Wait, Read]),
            ("bba", vec![Wait, Read, Wait]),
            ("bbaa", vec![Wait, Read, Wait, Read]),
        ] {
            assert_eq!(done(looks), expected, "{looks}");
        }
    }

    #[test]
    fn what_is_as_it_was_needs_no_reading() {
        assert_eq!(done("bab"), [Wait, Rest, Wait], "the two looks have to be in a row");
    }

    #[test]
    fn what_changes_while_it_is_read_is_read_again() {
        let mut watch = Watch::new('a');
        assert_eq!([watch.next('b'), watch.next('b')], [Wait, Read]);
        watch.has_read('b');
        assert_eq!([watch.next('c'), watch.next('c')], [Wait, Read]);
    }

    #[test]
    fn who_reads_at_once_does_not_read_twice() {
        let mut watch = Watch::new('a');
        assert_eq!(watch.next('b'), Wait);
        watch.has_read('b');
        assert_eq!([watch.next('b'), watch.next('b')], [Rest, Rest]);
    }
}
