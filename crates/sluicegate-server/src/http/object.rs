//! Writes objects of JSON whose names are known beforehand, and not looked at again for every answer.

/// A name as it stands in front of its value, in one piece.
macro_rules! name {
    ($name:literal) => {
        concat!("\"", $name, "\":")
    };
}
pub(super) use name;

/// An object that is being written. Names come as [`name!`] writes them.
///
/// A comma is behind every value; whatever ends stands where the last one was. What is written for
/// every answer is inlined, so that a name is a few stores and no call.
pub(super) struct Object<'o> {
    out: &'o mut Vec<u8>,
}

#[allow(clippy::inline_always, reason = "a name that is known is copied without a call")]
impl<'o> Object<'o> {
    #[inline(always)]
    pub(super) fn begin(out: &'o mut Vec<u8>) -> Self {
        out.push(b'{');
        Self { out }
    }

    /// Goes on with an object that was written already, and has something in it.
    pub(super) fn resume(out: &'o mut Vec<u8>) -> Self {
        out.pop();
        out.push(b',');
        Self { out }
    }

    #[inline(always)]
    pub(super) fn end(self) {
        end(self.out, b'}');
    }

    #[inline(always)]
    pub(super) fn flag(&mut self, name: &'static str, flag: bool) {
        self.put(name);
        self.put(if flag { "true," } else { "false," });
    }

    #[inline(always)]
    pub(super) fn number(&mut self, name: &'static str, number: u64) {
        self.put(name);
        digits(self.out, number);
    }

    /// A number, or null.
    #[inline(always)]
    pub(super) fn number_if(&mut self, name: &'static str, number: Option<u64>) {
        self.put(name);
        match number {
            Some(number) => digits(self.out, number),
            None => self.put("null,"),
        }
    }

    #[inline(always)]
    pub(super) fn text(&mut self, name: &'static str, text: &str) {
        self.put(name);
        escaped(self.out, text);
    }

    /// A text, or null.
    #[inline(always)]
    pub(super) fn text_if(&mut self, name: &'static str, text: Option<&str>) {
        self.put(name);
        match text {
            Some(text) => escaped(self.out, text),
            None => self.put("null,"),
        }
    }

    /// A text, or nothing at all.
    #[inline(always)]
    pub(super) fn text_maybe(&mut self, name: &'static str, text: Option<&str>) {
        if let Some(text) = text {
            self.text(name, text);
        }
    }

    /// One of our own words, which have nothing in them that has to be escaped.
    #[inline(always)]
    pub(super) fn word(&mut self, name: &'static str, word: &'static str) {
        self.put(name);
        quoted(self.out, word);
    }

    /// A word, or null.
    #[inline(always)]
    pub(super) fn word_if(&mut self, name: &'static str, word: Option<&'static str>) {
        match word {
            Some(word) => self.word(name, word),
            None => self.text_if(name, None),
        }
    }

    /// A list of objects.
    #[inline(always)]
    pub(super) fn list<T>(
        &mut self,
        name: &'static str,
        items: impl IntoIterator<Item = T>,
        write: impl Fn(T, &mut Object<'_>),
    ) {
        self.put(name);
        self.out.push(b'[');
        for item in items {
            let mut object = Object::begin(self.out);
            write(item, &mut object);
            object.end();
            self.out.push(b',');
        }
        end(self.out, b']');
        self.out.push(b',');
    }

    #[inline(always)]
    fn put(&mut self, text: &'static str) {
        self.out.extend_from_slice(text.as_bytes());
    }
}

/// Ends what was begun, where the last comma is, if there is one.
fn end(out: &mut Vec<u8>, with: u8) {
    match out.last_mut() {
        Some(last) if *last == b',' => *last = with,
        _ => out.push(with),
    }
}

fn digits(out: &mut Vec<u8>, number: u64) {
    // As most numbers of an answer are: a cost, a delay, a wait in milliseconds.
    if let Ok(digit @ 0..=9) = u8::try_from(number) {
        out.extend_from_slice(&[b'0' + digit, b',']);
        return;
    }
    out.extend_from_slice(itoa::Buffer::new().format(number).as_bytes());
    out.push(b',');
}

fn escaped(out: &mut Vec<u8>, text: &str) {
    // Names of limits and rules hardly ever have anything in them that has to be escaped.
    let strange = |byte: u8| byte < b' ' || byte == b'"' || byte == b'\\';
    // All of it is looked at, many bytes at a time, which takes less than stopping early.
    if text.bytes().fold(false, |found, byte| found | strange(byte)) {
        // Writing text to memory does not fail.
        let _ = serde_json::to_writer(&mut *out, text);
        out.push(b',');
        return;
    }
    quoted(out, text);
}

fn quoted(out: &mut Vec<u8>, text: &str) {
    out.push(b'"');
    out.extend_from_slice(text.as_bytes());
    out.extend_from_slice(b"\",");
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_written_is_what_is_read() {
        let text = "a \"quoted\" \\ line\nwith \u{1}, \u{7f} and ü";
        let mut out = Vec::new();
        let mut object = Object::begin(&mut out);
        object.flag(name!("yes"), true);
        object.number(name!("most"), u64::MAX);
        object.number_if(name!("none"), None);
        object.text(name!("text"), text);
        object.text_if(name!("nothing"), None);
        object.word(name!("word"), "queue");
        object.word_if(name!("no_word"), None);
        object.text_maybe(name!("absent"), None);
        object.list(name!("list"), [1, 2], |number, object| object.number(name!("is"), number));
        object
            .list(name!("empty"), [0_u64; 0], |number, object| object.number(name!("is"), number));
        object.end();
        let mut object = Object::resume(&mut out);
        object.text_maybe(name!("more"), Some(""));
        object.end();
        let read: serde_json::Value = serde_json::from_slice(&out).unwrap();
        let expected = serde_json::json!({
            "yes": true, "most": u64::MAX, "none": null, "text": text, "nothing": null,
            "word": "queue", "no_word": null,
            "list": [{ "is": 1 }, { "is": 2 }], "empty": [], "more": "",
        });
        assert_eq!(read, expected);
    }

    #[test]
    fn a_text_is_escaped_whatever_is_strange_in_it() {
        for text in ["\"", "\\", "\n", "\u{1}", "\u{1f}", " ", "\u{7f}", "ü", ""] {
            let mut out = Vec::new();
            let mut object = Object::begin(&mut out);
            object.text(name!("text"), text);
            object.end();
            let expected = serde_json::to_vec(&serde_json::json!({ "text": text })).unwrap();
            assert_eq!(out, expected, "{text:?}");
        }
    }
}
