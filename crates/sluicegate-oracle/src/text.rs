//! The vectors as text: JSON with one step per line, for readable differences.

use std::fmt::Write as _;

use serde::Serialize;

use crate::trace::VectorFile;

/// The text of a file.
///
/// # Panics
///
/// Never: the data types have no value that JSON cannot hold.
pub fn to_text(file: &VectorFile) -> String {
    let mut text = format!("{{\"about\": {},\n\"cases\": [\n", json(&file.about));
    for (index, case) in file.cases.iter().enumerate() {
        let (name, limits) = (json(&case.name), json(&case.limits));
        let _ = write!(text, "{{\"name\": {name},\n \"limits\": {limits},\n \"steps\": [\n");
        for (index, step) in case.steps.iter().enumerate() {
            let comma = if index + 1 < case.steps.len() { "," } else { "" };
            let _ = writeln!(text, "  {}{comma}", json(step));
        }
        text.push_str(if index + 1 < file.cases.len() { " ]},\n" } else { " ]}\n" });
    }
    text.push_str("]}\n");
    text
}

fn json(value: &impl Serialize) -> String {
    serde_json::to_string(value).expect("plain data")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::directed::vector_files;

    #[test]
    fn reads_back_what_it_wrote() {
        for (name, file) in vector_files() {
            let read: VectorFile = serde_json::from_str(&to_text(&file)).expect(name);
            assert_eq!(read, file, "in {name}");
        }
    }
}
