//! Errors, warnings and notes, shown with their source lines.

mod annotation;
mod diagnostic;
mod report;
mod sanitize;
mod source_map;
mod suggest;

pub use self::diagnostic::{Diagnostic, Diagnostics, Severity};
pub use self::report::Report;
pub use self::sanitize::{printable, shortened};
pub use self::source_map::{Location, SourceId, SourceMap, SourceSpan};
pub use self::suggest::{Suggester, closest};
