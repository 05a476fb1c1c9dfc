//! The store as it was typed, or said in the environment.

use std::path::PathBuf;

use anyhow::anyhow;
use tollgate_rules::{RedisSettings, StoreUrl};

use crate::args::ServeArgs;
use crate::failure::Failure;

/// The variable that has the store's password. There is no flag for it: what is typed can be seen by
/// everybody on the machine.
pub(super) const PASSWORD_VARIABLE: &str = "TOLLGATE_STORE_PASSWORD";

/// What was said about the store outside of the rule file.
#[derive(Debug, Default)]
pub(super) struct TypedStore {
    store: Option<Named>,
    password: Option<Password>,
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

impl TypedStore {
    /// What the arguments say; `password` is what the variable for it is set to.
    pub(super) fn of(args: &ServeArgs, password: Option<String>) -> Result<Self, Failure> {
        let store = match args.store.as_deref() {
            None => None,
            Some("memory") => Some(Named::Memory),
            Some(url) => {
                let url = url.parse().map_err(|error| {
                    let hint = "give --store or TOLLGATE_STORE as in redis://127.0.0.1:6379";
                    Failure::usage(anyhow!("cannot use the store: {error}\nhint: {hint}"))
                })?;
                Some(Named::Shared(url))
            }
        };
        let file = args.store_password_file.clone().map(Password::InFile);
        let password = password.filter(|password| !password.is_empty()).map(Password::Itself);
        Ok(Self { store, password: file.or(password) })
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
        match self.password {
            None => {}
            Some(Password::Itself(password)) => {
                (redis.password, redis.password_file) = (Some(password), None);
            }
            Some(Password::InFile(file)) => {
                (redis.password, redis.password_file) = (None, Some(file));
            }
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
        let words = ["tollgate", "serve"].iter().chain(words);
        let Command::Serve(args) = Args::parse_from(words).command else { panic!("not serve") };
        TypedStore::of(&args, password.map(str::to_owned))
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
    fn what_is_no_store_is_refused_without_its_password() {
        for url in ["http://u:s3cret@x", "redis://:s3cret@", "s3cret", "redis+cluster://s3cret@x"] {
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
