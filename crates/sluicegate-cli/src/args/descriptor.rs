//! An Envoy descriptor on the command line.

use std::str::FromStr;

use sluicegate_rules::descriptor::PURPOSE_ENTRY;

/// The entries of a descriptor. `Debug` omits the values because they may be secrets.
#[derive(Clone, PartialEq)]
pub(crate) struct DescriptorArg {
    entries: Vec<(String, String)>,
}

impl std::fmt::Debug for DescriptorArg {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_list().entries(self.keys()).finish()
    }
}

impl FromStr for DescriptorArg {
    type Err = &'static str;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let entry = |text: &str| {
            let (key, value) = text
                .split_once('=')
                .ok_or("use entries with a key, `=` and a value, as in endpoint=login,user=42")?;
            if key.is_empty() {
                return Err("the key before `=` is empty; use one as in endpoint=login");
            }
            Ok((key.to_owned(), value.to_owned()))
        };
        let entries = text.split(',').map(entry).collect::<Result<_, _>>()?;
        Ok(Self { entries })
    }
}

impl DescriptorArg {
    /// The keys and values that are visible to rules.
    pub(crate) fn entries(&self) -> impl Iterator<Item = (&str, &str)> + Clone {
        let entries = self.entries.iter().map(|(key, value)| (key.as_str(), value.as_str()));
        entries.filter(|(key, _)| *key != PURPOSE_ENTRY)
    }

    /// The keys that are visible to rules.
    pub(crate) fn keys(&self) -> impl Iterator<Item = &str> {
        self.entries().map(|(key, _)| key)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parses_entries_in_order() {
        let descriptor: DescriptorArg =
            "endpoint=login,sluicegate=charge,user=a=b,empty=".parse().unwrap();
        let entries: Vec<_> = descriptor.entries().collect();
        assert_eq!(entries, [("endpoint", "login"), ("user", "a=b"), ("empty", "")]);
        assert!(!format!("{descriptor:?}").contains("login"), "values may be secrets");
        for wrong in ["", "user", "=42", "user=42,", "a=1,=2"] {
            assert!(wrong.parse::<DescriptorArg>().is_err(), "{wrong}");
        }
    }
}
