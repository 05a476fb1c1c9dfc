//! Writes objects of JSON whose names are known beforehand, and not looked at again for every answer.

/// A name as it stands in an object behind others, in one piece.
macro_rules! name {
    ($name:literal) => {
        concat!(",\"", $name, "\":")
    };
}
pub(super) use name;

/// An object that is being written. Names come as [`name!`] writes them.
pub(super) struct Object<'o> {
    out: &'o mut Vec<u8>,
    is_empty: bool,
}

impl<'o> Object<'o> {
    pub(super) fn begin(out: &'o mut Vec<u8>) -> Self {
        out.push(b'{');
        Self { out, is_empty: true }
    }

    /// Goes on with an object that was written already, and has something in it.
    pub(super) fn resume(out: &'o mut Vec<u8>) -> Self {
        out.pop();
        Self { out, is_empty: false }
    }

    pub(super) fn end(self) {
        self.out.push(b'}');
    }

    pub(super) fn flag(&mut self, name: &'static str, flag: bool) {
        self.name(name);
        self.out.extend_from_slice(if flag { b"true" } else { b"false" });
    }

    pub(super) fn number(&mut self, name: &'static str, number: u64) {
        self.name(name);
        self.out.extend_from_slice(itoa::Buffer::new().format(number).as_bytes());
    }

    /// A number, or null.
    pub(super) fn number_if(&mut self, name: &'static str, number: Option<u64>) {
        match number {
            Some(number) => self.number(name, number),
            None => self.null(name),
        }
    }

    pub(super) fn text(&mut self, name: &'static str, text: &str) {
        self.name(name);
        // Names of limits and rules hardly ever have anything in them that has to be escaped.
        let strange = |byte: u8| byte < b' ' || byte == b'"' || byte == b'\\';
        // All of it is looked at, many bytes at a time, which takes less than stopping early.
        if text.bytes().fold(false, |found, byte| found | strange(byte)) {
            // Writing text to memory does not fail.
            let _ = serde_json::to_writer(&mut *self.out, text);
            return;
        }
        self.out.push(b'"');
        self.out.extend_from_slice(text.as_bytes());
        self.out.push(b'"');
    }

    /// A text, or null.
    pub(super) fn text_if(&mut self, name: &'static str, text: Option<&str>) {
        match text {
            Some(text) => self.text(name, text),
            None => self.null(name),
        }
    }

    /// A text, or nothing at all.
    pub(super) fn text_maybe(&mut self, name: &'static str, text: Option<&str>) {
        if let Some(text) = text {
            self.text(name, text);
        }
    }

    /// A list of objects.
    pub(super) fn list<T>(
        &mut self,
        name: &'static str,
        items: impl IntoIterator<Item = T>,
        write: impl Fn(T, &mut Object<'_>),
    ) {
        self.name(name);
        self.out.push(b'[');
        for (place, item) in items.into_iter().enumerate() {
            if place > 0 {
                self.out.push(b',');
            }
            let mut object = Object::begin(self.out);
            write(item, &mut object);
            object.end();
        }
        self.out.push(b']');
    }

    fn null(&mut self, name: &'static str) {
        self.name(name);
        self.out.extend_from_slice(b"null");
    }

    #[inline]
    fn name(&mut self, name: &'static str) {
        // Without the comma where nothing is before it.
        let from = usize::from(std::mem::replace(&mut self.is_empty, false));
        self.out.extend_from_slice(name.as_bytes().get(from..).unwrap_or_default());
    }
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
