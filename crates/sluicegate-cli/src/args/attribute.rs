//! A request attribute on the command line.

use std::str::FromStr;

use sluicegate_rules::AttributeValue;

/// A request attribute. `Debug` omits the value because it may be a secret.
#[derive(Clone, PartialEq)]
pub(crate) struct Attribute {
    pub(crate) name: String,
    text: String,
}

impl std::fmt::Debug for Attribute {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Attribute").field("name", &self.name).finish_non_exhaustive()
    }
}

impl FromStr for Attribute {
    type Err = &'static str;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let (name, value) =
            text.split_once('=').ok_or("use a name, `=` and a value, as in user=42")?;
        if name.trim().is_empty() {
            return Err("the name before `=` is empty; use one as in user=42");
        }
        Ok(Self { name: name.trim().to_owned(), text: value.to_owned() })
    }
}

impl Attribute {
    /// The value: a number or a flag if it is written like one, otherwise a text.
    ///
    /// A number that would not print as it is written stays a text: `007` and `1.10` are names, not
    /// 7 and 1.1.
    pub(crate) fn value(&self) -> AttributeValue<'_> {
        let text = self.text.as_str();
        let plain = text.bytes().all(|letter| letter.is_ascii_digit() || b"-.".contains(&letter));
        match text {
            "true" => return AttributeValue::Flag(true),
            "false" => return AttributeValue::Flag(false),
            _ if !plain => return AttributeValue::Text(text),
            _ => {}
        }
        let whole = text.parse().ok().map(AttributeValue::Whole);
        let real = || text.parse().ok().map(AttributeValue::Real);
        let number = whole.or_else(real).filter(|number| number.as_text() == text);
        number.unwrap_or(AttributeValue::Text(text))
    }

    /// The value in JSON.
    pub(crate) fn json(&self) -> serde_json::Value {
        match self.value() {
            AttributeValue::Flag(flag) => flag.into(),
            AttributeValue::Whole(number) => number.into(),
            AttributeValue::Real(number) => number.into(),
            AttributeValue::Text(text) => text.into(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parses_numbers_flags_and_texts() {
        for (text, value) in [
            ("user=42", AttributeValue::Whole(42)),
            ("balance=-3", AttributeValue::Whole(-3)),
            ("share=0.25", AttributeValue::Real(0.25)),
            ("beta=true", AttributeValue::Flag(true)),
            ("beta=false", AttributeValue::Flag(false)),
            ("plan=gold", AttributeValue::Text("gold")),
            ("plan=", AttributeValue::Text("")),
            ("query=a=b", AttributeValue::Text("a=b")),
            ("zip=007", AttributeValue::Text("007")),
            ("version=1.10", AttributeValue::Text("1.10")),
            ("size=1e5", AttributeValue::Text("1e5")),
            ("ratio=nan", AttributeValue::Text("nan")),
            ("ip=203.0.113.9", AttributeValue::Text("203.0.113.9")),
            ("day=2026-11-27", AttributeValue::Text("2026-11-27")),
            ("id=99999999999999999999", AttributeValue::Text("99999999999999999999")),
        ] {
            let attribute: Attribute = text.parse().unwrap();
            assert_eq!(attribute.value(), value, "{text}");
        }
    }

    #[test]
    fn an_attribute_needs_a_name() {
        for wrong in ["", "user", "=42", " =42"] {
            assert!(wrong.parse::<Attribute>().is_err(), "{wrong}");
        }
    }
}
