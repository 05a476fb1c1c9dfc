//! The shared store from flags and environment variables.

use std::path::PathBuf;

use anyhow::anyhow;
use sluicegate::StoreUrl;
use sluicegate_rules::RedisSettings;

use crate::args::ServeArgs;
use crate::exit::CliError;

/// The variable with the store's password. There is no flag for it, because command lines are
/// visible to every user of the machine.
const PASSWORD_VARIABLE: &str = "SLUICEGATE_STORE_PASSWORD";
/// The variable with the sentinels' password.
const SENTINEL_PASSWORD_VARIABLE: &str = "SLUICEGATE_SENTINEL_PASSWORD";

/// The store settings from outside of the rule file.
#[derive(Debug, Default)]
pub(super) struct StoreArgs {
    store: Option<StoreChoice>,
    password: Option<Password>,
    sentinel_password: Option<Password>,
}

#[derive(Debug)]
enum StoreChoice {
    Memory,
    Shared(StoreUrl),
}

enum Password {
    Text(String),
    File(PathBuf),
}

impl std::fmt::Debug for Password {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Password")
    }
}

impl Password {
    /// The password file of the flag, otherwise the password in the variable.
    fn of(file: Option<&PathBuf>, variable: Option<String>) -> Option<Self> {
        let text = variable.filter(|password| !password.is_empty()).map(Self::Text);
        file.cloned().map(Self::File).or(text)
    }

    /// The password, or the file that contains it.
    fn into_either(self) -> (Option<String>, Option<PathBuf>) {
        match self {
            Self::Text(password) => (Some(password), None),
            Self::File(file) => (None, Some(file)),
        }
    }
}

impl StoreArgs {
    /// Reads the arguments, and the variables for passwords.
    pub(super) fn of(
        args: &ServeArgs,
        variable: impl Fn(&str) -> Option<String>,
    ) -> Result<Self, CliError> {
        let store = match args.store.as_deref() {
            None => None,
            Some("memory") => Some(StoreChoice::Memory),
            Some(url) => {
                let url = url.parse().map_err(|error| {
                    let hint = "give --store or SLUICEGATE_STORE as in redis://127.0.0.1:6379";
                    CliError::usage(anyhow!("cannot use the store: {error}\nhint: {hint}"))
                })?;
                Some(StoreChoice::Shared(url))
            }
        };
        let password = (args.store_password_file.as_ref(), PASSWORD_VARIABLE);
        let sentinel = (args.sentinel_password_file.as_ref(), SENTINEL_PASSWORD_VARIABLE);
        let [password, sentinel_password] =
            [password, sentinel].map(|(file, name)| Password::of(file, variable(name)));
        Ok(Self { store, password, sentinel_password })
    }

    /// The shared store, with these settings over those of the file.
    pub(super) fn over(self, file: Option<&RedisSettings>) -> Option<RedisSettings> {
        let mut redis = match (self.store, file) {
            (Some(StoreChoice::Memory), _) | (None, None) => return None,
            (None, Some(file)) => file.clone(),
            (Some(StoreChoice::Shared(url)), None) => RedisSettings::at(url),
            (Some(StoreChoice::Shared(url)), Some(file)) => {
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
    use crate::args::{Args, CommandArgs};

    fn parsed(words: &[&str], password: Option<&str>) -> Result<StoreArgs, CliError> {
        let words = ["sluicegate", "serve"].iter().chain(words);
        let CommandArgs::Serve(args) = Args::parse_from(words).command else { panic!("not serve") };
        StoreArgs::of(&args, |name| {
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
    fn flags_override_the_file() {
        let over = |words: &[&str], password, file: Option<&RedisSettings>| {
            parsed(words, password).unwrap_or_else(|failure| panic!("{failure}")).over(file)
        };
        assert_eq!(over(&[], None, None), None);
        assert_eq!(over(&[], Some("unused"), None), None);
        assert_eq!(over(&["--store", "memory"], None, Some(&file())), None);
        assert_eq!(over(&[], None, Some(&file())), Some(file()));
        let words = ["--store", "redis://flag:1"];
        let by_flag = over(&words, None, Some(&file())).unwrap();
        assert_eq!(by_flag.url.reveal(), "redis://flag:1");
        assert_eq!(by_flag.prefix.as_deref(), Some("shop:"), "the rest is the file's");
        assert_eq!(by_flag.password.as_deref(), Some("from the file"));
        let with_user = over(&["--store", "redis://bob:pw@flag"], None, Some(&file())).unwrap();
        assert_eq!((with_user.username, with_user.password), (None, None), "the URL's are used");
        let by_variable = over(&[], Some("variable"), Some(&file())).unwrap();
        assert_eq!(by_variable.password.as_deref(), Some("variable"));
        let words = ["--store-password-file", "pw"];
        let in_file = over(&words, Some("variable"), Some(&file())).unwrap();
        assert_eq!((in_file.password, in_file.password_file), (None, Some("pw".into())));
    }

    #[test]
    fn sentinels_have_their_own_password() {
        let over = |words: &[&str], variable: Option<&str>| {
            let words = ["sluicegate", "serve"].iter().chain(words);
            let CommandArgs::Serve(args) = Args::parse_from(words).command else {
                panic!("not serve")
            };
            let parsed = StoreArgs::of(&args, |name| {
                (name == SENTINEL_PASSWORD_VARIABLE).then_some(variable)?.map(str::to_owned)
            });
            let parsed = parsed.unwrap_or_else(|failure| panic!("{failure}"));
            let mut file = file();
            file.sentinel.username = Some("watcher".to_owned());
            file.sentinel.password = Some("from the file".to_owned());
            let redis = parsed.over(Some(&file)).unwrap();
            assert_eq!(redis.password.as_deref(), Some("from the file"), "the server's");
            assert_eq!(redis.sentinel.username.as_deref(), Some("watcher"));
            (redis.sentinel.password, redis.sentinel.password_file)
        };
        let text = |password: &str| (Some(password.to_owned()), None);
        let store = ["--store", "redis+sentinel://a,b/main"];
        assert_eq!(over(&store, None), text("from the file"));
        assert_eq!(over(&store, Some("")), text("from the file"), "as if it were not set");
        assert_eq!(over(&[], Some("variable")), text("variable"));
        let words = ["--sentinel-password-file", "pw"];
        assert_eq!(over(&words, Some("variable")), (None, Some("pw".into())));
    }

    #[test]
    fn store_errors_omit_the_password() {
        for url in ["http://u:s3cret@x", "redis://:s3cret@", "s3cret", "redis+cluster://s3cret@x/1"]
        {
            let failure = parsed(&["--store", url], None).expect_err(url).to_string();
            assert!(failure.starts_with("error: cannot use the store: "), "{failure}");
            assert!(failure.contains("\nhint: ") && !failure.contains("s3cret"), "{failure}");
        }
    }

    #[test]
    fn debug_omits_passwords() {
        let parsed = parsed(&["--store", "redis://u:s3cret@x"], Some("s3cret"));
        let Ok(parsed) = parsed else { panic!("a valid store is rejected") };
        assert!(!format!("{parsed:?}").contains("s3cret"));
        assert!(!format!("{:?}", parsed.over(Some(&file()))).contains("s3cret"));
    }
}
