//! A descriptor as Envoy sends it, as it is typed.

use std::str::FromStr;

use sluicegate_rules::descriptor::PURPOSE_ENTRY;

/// The entries of a descriptor. Values may be secrets, so they are not shown.
#[derive(Clone, PartialEq)]
pub(crate) struct Descriptor {
    entries: Vec<(String, String)>,
}

impl std::fmt::Debug for Descriptor {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_list().entries(self.keys()).finish()
    }
}

impl FromStr for Descriptor {
    type Err = &'static str;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let entry = |text: &str| {
            let (key, value) = text
                .split_once('=')
                .ok_or("use entries with a key, `=` and a value, as in endpoint=login,user=42")?;
            if key.is_empty() {
                return Err("before `=` has to be the key of an entry, as in endpoint=login");
            }
            Ok((key.to_owned(), value.to_owned()))
        };
        let entries = text.split(',').map(entry).collect::<Result<_, _>>()?;
        Ok(Self { entries })
    }
}

impl Descriptor {
    /// The keys and values that rules see.
    pub(crate) fn entries(&self) -> impl Iterator<Item = (&str, &str)> + Clone {
        let entries = self.entries.iter().map(|(key, value)| (key.as_str(), value.as_str()));
        entries.filter(|(key, _)| *key != PURPOSE_ENTRY)
    }

    /// The keys of its entries.
    pub(crate) fn keys(&self) -> impl Iterator<Item = &str> {
        self.entries().map(|(key, _)| key)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn entries_are_keys_and_values_in_order() {
        let typed: Descriptor = "endpoint=login,sluicegate=charge,user=a=b,empty=".parse().unwrap();
        let entries: Vec<_> = typed.entries().collect();
        assert_eq!(entries, [("endpoint", "login"), ("user", "a=b"), ("empty", "")]);
        assert!(!format!("{typed:?}").contains("login"), "values may be secrets");
        for wrong in ["", "user", "=42", "user=42,", "a=1,=2"] {
            assert!(wrong.parse::<Descriptor>().is_err(), "{wrong}");
        }
    }
}
