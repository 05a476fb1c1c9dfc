//! Writes the vector files, or checks that the files on disk are up to date.

#![forbid(unsafe_code)]

use std::path::Path;
use std::process::ExitCode;

use sluicegate_oracle::directed::vector_files;
use sluicegate_oracle::text::to_text;

#[allow(clippy::print_stderr, reason = "this is a program")]
fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let outcome = match arguments[..] {
        ["write", folder] => write(Path::new(folder)),
        ["check", folder] => check(Path::new(folder)),
        _ => Err("usage: sluicegate-oracle write DIR | sluicegate-oracle check DIR".to_owned()),
    };
    match outcome {
        Ok(()) => ExitCode::SUCCESS,
        Err(message) => {
            eprintln!("{message}");
            ExitCode::FAILURE
        }
    }
}

fn write(folder: &Path) -> Result<(), String> {
    for (name, file) in vector_files() {
        let path = folder.join(name);
        std::fs::write(&path, to_text(&file))
            .map_err(|error| format!("{}: {error}", path.display()))?;
    }
    Ok(())
}

fn check(folder: &Path) -> Result<(), String> {
    for (name, file) in vector_files() {
        let path = folder.join(name);
        let found = std::fs::read_to_string(&path)
            .map_err(|error| format!("{}: {error}", path.display()))?;
        if found != to_text(&file) {
            return Err(format!("{}: differs from the output of the oracle", path.display()));
        }
    }
    Ok(())
}
