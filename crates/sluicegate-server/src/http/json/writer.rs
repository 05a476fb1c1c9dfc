//! Writes JSON objects whose names are constants, without escaping them for every response.

/// Expands to a quoted name and its colon as one constant.
macro_rules! name {
    ($name:literal) => {
        concat!("\"", $name, "\":")
    };
}
pub(crate) use name;

/// A writer for one object. Names are those of [`name!`].
///
/// Every value is followed by a comma; the closing bracket replaces the last one. The methods that
/// every response uses are inlined, so that writing a name is a few stores without a call.
pub(crate) struct JsonWriter<'o> {
    out: &'o mut Vec<u8>,
}

#[allow(clippy::inline_always, reason = "a constant name is copied without a call")]
impl<'o> JsonWriter<'o> {
    #[inline(always)]
    pub(crate) fn begin(out: &'o mut Vec<u8>) -> Self {
        out.push(b'{');
        Self { out }
    }

    /// Continues a finished object that is not empty.
    pub(crate) fn resume(out: &'o mut Vec<u8>) -> Self {
        out.pop();
        out.push(b',');
        Self { out }
    }

    #[inline(always)]
    pub(crate) fn end(self) {
        end(self.out, b'}');
    }

    #[inline(always)]
    pub(crate) fn flag(&mut self, name: &'static str, flag: bool) {
        self.put(name);
        self.put(if flag { "true," } else { "false," });
    }

    #[inline(always)]
    pub(crate) fn number(&mut self, name: &'static str, number: u64) {
        self.put(name);
        digits(self.out, number);
    }

    /// Writes a number or null.
    #[inline(always)]
    pub(crate) fn number_if(&mut self, name: &'static str, number: Option<u64>) {
        self.put(name);
        match number {
            Some(number) => digits(self.out, number),
            None => self.put("null,"),
        }
    }

    #[inline(always)]
    pub(crate) fn text(&mut self, name: &'static str, text: &str) {
        self.put(name);
        escaped(self.out, text);
    }

    /// Writes a text or null.
    #[inline(always)]
    pub(crate) fn text_if(&mut self, name: &'static str, text: Option<&str>) {
        self.put(name);
        match text {
            Some(text) => escaped(self.out, text),
            None => self.put("null,"),
        }
    }

    /// Writes a text, or nothing if there is none.
    #[inline(always)]
    pub(crate) fn text_maybe(&mut self, name: &'static str, text: Option<&str>) {
        if let Some(text) = text {
            self.text(name, text);
        }
    }

    /// Writes a constant that needs no escaping.
    #[inline(always)]
    pub(crate) fn word(&mut self, name: &'static str, word: &'static str) {
        self.put(name);
        quoted(self.out, word);
    }

    /// Writes a constant or null.
    #[inline(always)]
    pub(crate) fn word_if(&mut self, name: &'static str, word: Option<&'static str>) {
        match word {
            Some(word) => self.word(name, word),
            None => self.text_if(name, None),
        }
    }

    /// Writes a list of objects.
    #[inline(always)]
    pub(crate) fn list<T>(
        &mut self,
        name: &'static str,
        items: impl IntoIterator<Item = T>,
        write: impl Fn(T, &mut JsonWriter<'_>),
    ) {
        self.put(name);
        self.out.push(b'[');
        for item in items {
            let mut object = JsonWriter::begin(self.out);
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

/// Replaces the last comma with a closing bracket, or appends it if there is none.
fn end(out: &mut Vec<u8>, with: u8) {
    match out.last_mut() {
        Some(last) if *last == b',' => *last = with,
        _ => out.push(with),
    }
}

fn digits(out: &mut Vec<u8>, number: u64) {
    // Fast path: most numbers of a response have one digit, such as a cost or a delay.
    if let Ok(digit @ 0..=9) = u8::try_from(number) {
        out.extend_from_slice(&[b'0' + digit, b',']);
        return;
    }
    out.extend_from_slice(itoa::Buffer::new().format(number).as_bytes());
    out.push(b',');
}

fn escaped(out: &mut Vec<u8>, text: &str) {
    // Names of limits and rules rarely need escaping.
    let needs_escape = |byte: u8| byte < b' ' || byte == b'"' || byte == b'\\';
    // A fold over all bytes is vectorized, which is faster than stopping early.
    if text.bytes().fold(false, |found, byte| found | needs_escape(byte)) {
        // Writing to a `Vec` does not fail.
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
    fn serde_json_reads_back_the_written_object() {
        let text = "a \"quoted\" \\ line\nwith \u{1}, \u{7f} and ü";
        let mut out = Vec::new();
        let mut object = JsonWriter::begin(&mut out);
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
        let mut object = JsonWriter::resume(&mut out);
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
    fn texts_are_escaped_as_by_serde_json() {
        for text in ["\"", "\\", "\n", "\u{1}", "\u{1f}", " ", "\u{7f}", "ü", ""] {
            let mut out = Vec::new();
            let mut object = JsonWriter::begin(&mut out);
            object.text(name!("text"), text);
            object.end();
            let expected = serde_json::to_vec(&serde_json::json!({ "text": text })).unwrap();
            assert_eq!(out, expected, "{text:?}");
        }
    }
}
