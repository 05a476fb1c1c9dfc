//! Tips for arguments that cannot be parsed.

use std::ffi::OsString;

use clap::builder::StyledStr;
use clap::error::{ContextKind, ContextValue, Error, ErrorKind};
use clap::{Command, CommandFactory};

use super::Args;

/// Adds the tip for a common mistake, if there is one.
pub(super) fn with_tip(mut error: Error, words: &[OsString]) -> Error {
    let tip = match error.kind() {
        ErrorKind::UnknownArgument => {
            config_flag(&error, words).or_else(|| usual_flag(&error, words))
        }
        ErrorKind::ValueValidation | ErrorKind::InvalidValue => variable(&error, words),
        _ => None,
    };
    if let Some(tip) = tip {
        let tips = ContextValue::StyledStrs(vec![StyledStr::from(tip)]);
        error.insert(ContextKind::Suggested, tips);
    }
    error
}

/// The tip for `serve rules.yaml`: unlike the other commands, `serve` has a flag for the file.
fn config_flag(error: &Error, words: &[OsString]) -> Option<String> {
    let file = text(error, ContextKind::InvalidArg).filter(|file| !file.starts_with('-'))?;
    if words.get(1)? != "serve" {
        return None;
    }
    Some(if is_given("--config", words) {
        "`--config` takes one file; for several, give it the folder that they are in".to_owned()
    } else {
        format!("did you mean `sluicegate serve --config {file}`?")
    })
}

/// The tip for a flag of `serve` that has this name in other servers.
fn usual_flag(error: &Error, words: &[OsString]) -> Option<String> {
    let flag = text(error, ContextKind::InvalidArg)?.split('=').next()?;
    if words.get(1)? != "serve" {
        return None;
    }
    Some(match flag {
        "--listen" | "--bind" | "--address" | "--addr" | "--host" | "--port" | "-p" => {
            "did you mean `--http 127.0.0.1:7070`? `--grpc` and `--resp` listen too".to_owned()
        }
        "--rules" | "--file" | "-c" | "-f" => "did you mean `--config <FILE>`?".to_owned(),
        "--redis" | "--redis-url" => "did you mean `--store redis://127.0.0.1:6379`?".to_owned(),
        _ => return None,
    })
}

/// The tip for a wrong value that comes from the environment.
fn variable(error: &Error, words: &[OsString]) -> Option<String> {
    let flag = text(error, ContextKind::InvalidArg)?.split(' ').next()?;
    if is_given(flag, words) {
        return None;
    }
    let args = Args::command();
    let command: &Command = args.find_subcommand(words.get(1)?)?;
    let variable = command
        .get_arguments()
        .find(|argument| argument.get_long().is_some_and(|long| flag == format!("--{long}")))?
        .get_env()?;
    Some(format!("the value comes from the environment variable {}", variable.display()))
}

fn text(error: &Error, kind: ContextKind) -> Option<&str> {
    match error.get(kind)? {
        ContextValue::String(text) => Some(text),
        _ => None,
    }
}

/// Whether a flag is among the arguments, with its value behind a space or `=`.
fn is_given(flag: &str, words: &[OsString]) -> bool {
    words.iter().any(|word| {
        let word = word.to_string_lossy();
        word.strip_prefix(flag).is_some_and(|rest| rest.is_empty() || rest.starts_with('='))
    })
}

#[cfg(test)]
mod tests {
    use clap::Parser;

    use super::*;

    #[test]
    fn common_mistakes_get_a_tip() {
        for (arguments, tip) in [
            (&["serve", "rules.yaml"][..], "did you mean `sluicegate serve --config rules.yaml`?"),
            (&["serve", "--log", "info", "a b"], "did you mean `sluicegate serve --config a b`?"),
            (&["serve", "--config", "a", "b"], "`--config` takes one file"),
            (&["serve", "--config=a", "b"], "`--config` takes one file"),
            (&["serve", "--confg", "a"], "'--config'"),
            (&["serve", "--listen", "localhost:7070"], "did you mean `--http 127.0.0.1:7070`?"),
            (&["serve", "--port=7070"], "did you mean `--http 127.0.0.1:7070`?"),
            (&["serve", "-c", "a"], "did you mean `--config <FILE>`?"),
            (&["serve", "--redis", "a"], "did you mean `--store redis://127.0.0.1:6379`?"),
            (&["check", "--listen", "a"], ""),
            (&["schema", "a"], ""),
        ] {
            let words: Vec<OsString> =
                ["sluicegate"].iter().chain(arguments).map(OsString::from).collect();
            let error = with_tip(Args::try_parse_from(&words).unwrap_err(), &words).to_string();
            let found = error.split_once("tip: ").map_or("", |(_, tip)| tip);
            assert!(found.contains(tip) && found.is_empty() == tip.is_empty(), "{error}");
        }
    }
}
