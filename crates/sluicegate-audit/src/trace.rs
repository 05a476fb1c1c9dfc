//! Trace files: format, writer and reader.

pub(crate) mod bounded_lines;
pub(crate) mod entry;
pub(crate) mod header;
pub(crate) mod line_parser;
pub(crate) mod reader;
pub(crate) mod writer;
