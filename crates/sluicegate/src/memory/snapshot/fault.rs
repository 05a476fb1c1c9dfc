//! Why a snapshot, or a part of it, could not be read.

use std::fmt;
use std::io;

use super::format::VERSION;

/// Why a snapshot, or a part of it, could not be read.
#[derive(Debug)]
#[non_exhaustive]
pub enum SnapshotFault {
    /// There is no such file: a first start.
    Absent,
    /// The operating system would not give it.
    Unreadable(io::Error),
    /// Something else than a snapshot.
    Foreign,
    /// Written by a version of this program that has another format.
    Version {
        /// The format's version.
        found: u32,
    },
    /// The header is not as it was written.
    Header,
    /// The file ends before its end was written.
    CutShort,
    /// A block is not as it was written.
    Damaged,
}

impl fmt::Display for SnapshotFault {
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

/// What reading less than there should be means.
impl From<io::Error> for SnapshotFault {
    fn from(error: io::Error) -> Self {
        match error.kind() {
            io::ErrorKind::UnexpectedEof => Self::CutShort,
            io::ErrorKind::NotFound => Self::Absent,
            _ => Self::Unreadable(error),
        }
    }
}
