//! The error of reading a snapshot.

use std::fmt;
use std::io;

use super::format::VERSION;

/// The reason why a snapshot, or a part of it, could not be read.
#[derive(Debug)]
#[non_exhaustive]
pub enum SnapshotReadError {
    /// The file does not exist: a first start.
    Absent,
    /// The operating system returned an error.
    Unreadable(io::Error),
    /// The file is not a snapshot.
    Foreign,
    /// The file has another version of the format.
    Version {
        /// The version of the format.
        found: u32,
    },
    /// The header is damaged.
    Header,
    /// The file is truncated.
    CutShort,
    /// A block is damaged.
    Damaged,
}

impl fmt::Display for SnapshotReadError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Absent => f.write_str("there is none"),
            Self::Unreadable(error) => error.fmt(f),
            Self::Foreign => f.write_str("it is not a snapshot of Sluicegate"),
            Self::Version { found } => {
                write!(f, "it has version {found} of the format, and only {VERSION} can be read")
            }
            Self::Header => f.write_str("its header is damaged"),
            Self::CutShort => f.write_str("it was cut short"),
            Self::Damaged => f.write_str("it is damaged"),
        }
    }
}

/// An unexpected end of the file is a truncation.
impl From<io::Error> for SnapshotReadError {
    fn from(error: io::Error) -> Self {
        match error.kind() {
            io::ErrorKind::UnexpectedEof => Self::CutShort,
            io::ErrorKind::NotFound => Self::Absent,
            _ => Self::Unreadable(error),
        }
    }
}
