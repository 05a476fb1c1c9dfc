//! The store as it was typed, or said in the environment.

use std::path::PathBuf;

use anyhow::anyhow;
use sluicegate_rules::{RedisSettings, StoreUrl};

use crate::args::ServeArgs;
use crate::failure::Failure;

/// The variable that has the store's password. There is no flag for it: what is typed can be seen by
/// everybody on the machine.
const PASSWORD_VARIABLE: &str = "SLUICEGATE_STORE_PASSWORD";
/// The variable that has the sentinels' password.
const SENTINEL_PASSWORD_VARIABLE: &str = "SLUICEGATE_SENTINEL_PASSWORD";

/// What was said about the store outside of the rule file.
#[derive(Debug, Default)]
pub(super) struct TypedStore {
    store: Option<Named>,
    password: Option<Password>,
    sentinel_password: Option<Password>,
}

#[derive(Debug)]
enum Named {
    Memory,
    Shared(StoreUrl),
}

enum Password {
    Itself(String),
    InFile(PathBuf),
}

impl std::fmt::Debug for Password {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Password")
    }
}

impl Password {
    /// What was typed, or else what a variable is set to.
    fn of(file: Option<&PathBuf>, variable: Option<String>) -> Option<Self> {
        let said = variable.filter(|password| !password.is_empty()).map(Self::Itself);
        file.cloned().map(Self::InFile).or(said)
    }

    /// The password, or the file that has it.
    fn into_either(self) -> (Option<String>, Option<PathBuf>) {
        match self {
            Self::Itself(password) => (Some(password), None),
            Self::InFile(file) => (None, Some(file)),
        }
    }
}

impl TypedStore {
    /// What the arguments say, and the variables for what must not be typed.
    pub(super) fn of(
        args: &ServeArgs,
        variable: impl Fn(&str) -> Option<String>,
    ) -> Result<Self, Failure> {
        let store = match args.store.as_deref() {
            None => None,
            Some("memory") => Some(Named::Memory),
            Some(url) => {
                let url = url.parse().map_err(|error| {
                    let hint = "give --store or SLUICEGATE_STORE as in redis://127.0.0.1:6379";
                    Failure::usage(anyhow!("cannot use the store: {error}\nhint: {hint}"))
                })?;
                Some(Named::Shared(url))
            }
        };
        let password = (args.store_password_file.as_ref(), PASSWORD_VARIABLE);
        let sentinel = (args.sentinel_password_file.as_ref(), SENTINEL_PASSWORD_VARIABLE);
        let [password, sentinel_password] =
            [password, sentinel].map(|(file, name)| Password::of(file, variable(name)));
        Ok(Self { store, password, sentinel_password })
    }

    /// The store that nodes share, where what the file says is weaker.
    pub(super) fn over(self, file: Option<&RedisSettings>) -> Option<RedisSettings> {
        let mut redis = match (self.store, file) {
            (Some(Named::Memory), _) | (None, None) => return None,
            (None, Some(file)) => file.clone(),
            (Some(Named::Shared(url)), None) => RedisSettings::at(url),
            (Some(Named::Shared(url)), Some(file)) => {
                let mut redis = RedisSettings { url, ..file.clone() };
                if redis.url.has_username() || redis.url.has_password() {
                    (redis.username, redis.password, redis.password_file) = (None, None, None);
                }
                redis
            }
        };
        if let Some(password) = self.password {
            (redis.password, redis.password_file) = password.into_either();
        }
        if let Some(password) = self.sentinel_password {
            let sentinel = &mut redis.sentinel;
            (sentinel.password, sentinel.password_file) = password.into_either();
        }
        Some(redis)
    }
}

#[cfg(test)]
mod tests {
    use clap::Parser;

    use super::*;
    use crate::args::{Args, Command};

    fn typed(words: &[&str], password: Option<&str>) -> Result<TypedStore, Failure> {
        let words = ["sluicegate", "serve"].iter().chain(words);
        let Command::Serve(args) = Args::parse_from(words).command else { panic!("not serve") };
        TypedStore::of(&args, |name| {
            (name == PASSWORD_VARIABLE).then_some(password)?.map(str::to_owned)
        })
    }

    fn file() -> RedisSettings {
        RedisSettings {
            username: Some("ann".to_owned()),
            password: Some("from the file".to_owned()),
            prefix: Some("shop:".to_owned()),
            ..RedisSettings::at("redis://file".parse().unwrap())
        }
    }

    #[test]
    fn what_was_typed_is_stronger_than_the_file() {
        let over = |words: &[&str], password, file: Option<&RedisSettings>| {
            typed(words, password).unwrap_or_else(|failure| panic!("{failure}")).over(file)
        };
        assert_eq!(over(&[], None, None), None);
        assert_eq!(over(&[], Some("unused"), None), None);
        assert_eq!(over(&["--store", "memory"], None, Some(&file())), None);
        assert_eq!(over(&[], None, Some(&file())), Some(file()));
        let typed = ["--store", "redis://typed:1"];
        let elsewhere = over(&typed, None, Some(&file())).unwrap();
        assert_eq!(elsewhere.url.reveal(), "redis://typed:1");
        assert_eq!(elsewhere.prefix.as_deref(), Some("shop:"), "the rest is the file's");
        assert_eq!(elsewhere.password.as_deref(), Some("from the file"));
        let with_user = over(&["--store", "redis://bob:pw@typed"], None, Some(&file())).unwrap();
        assert_eq!((with_user.username, with_user.password), (None, None), "the URL's are used");
        let by_variable = over(&[], Some("said"), Some(&file())).unwrap();
        assert_eq!(by_variable.password.as_deref(), Some("said"));
        let words = ["--store-password-file", "pw"];
        let in_file = over(&words, Some("said"), Some(&file())).unwrap();
        assert_eq!((in_file.password, in_file.password_file), (None, Some("pw".into())));
    }

    #[test]
    fn sentinels_have_a_password_of_their_own() {
        let over = |words: &[&str], variable: Option<&str>| {
            let words = ["sluicegate", "serve"].iter().chain(words);
            let Command::Serve(args) = Args::parse_from(words).command else { panic!("not serve") };
            let typed = TypedStore::of(&args, |name| {
                (name == SENTINEL_PASSWORD_VARIABLE).then_some(variable)?.map(str::to_owned)
            });
            let typed = typed.unwrap_or_else(|failure| panic!("{failure}"));
            let mut file = file();
            file.sentinel.username = Some("watcher".to_owned());
            file.sentinel.password = Some("from the file".to_owned());
            let redis = typed.over(Some(&file)).unwrap();
            assert_eq!(redis.password.as_deref(), Some("from the file"), "the server's");
            assert_eq!(redis.sentinel.username.as_deref(), Some("watcher"));
            (redis.sentinel.password, redis.sentinel.password_file)
        };
        let said = |password: &str| (Some(password.to_owned()), None);
        let store = ["--store", "redis+sentinel://a,b/main"];
        assert_eq!(over(&store, None), said("from the file"));
        assert_eq!(over(&store, Some("")), said("from the file"), "as if it were not set");
        assert_eq!(over(&[], Some("said")), said("said"));
        let words = ["--sentinel-password-file", "pw"];
        assert_eq!(over(&words, Some("said")), (None, Some("pw".into())));
    }

    #[test]
    fn what_is_no_store_is_refused_without_its_password() {
        for url in ["http://u:s3cret@x", "redis://:s3cret@", "s3cret", "redis+cluster://s3cret@x/1"]
        {
            let failure = typed(&["--store", url], None).expect_err(url).to_string();
            assert!(failure.starts_with("error: cannot use the store: "), "{failure}");
            assert!(failure.contains("\nhint: ") && !failure.contains("s3cret"), "{failure}");
        }
    }

    #[test]
    fn nothing_of_a_password_is_printed_for_debugging() {
        let typed = typed(&["--store", "redis://u:s3cret@x"], Some("s3cret"));
        let Ok(typed) = typed else { panic!("a store") };
        assert!(!format!("{typed:?}").contains("s3cret"));
        assert!(!format!("{:?}", typed.over(Some(&file()))).contains("s3cret"));
    }
}
