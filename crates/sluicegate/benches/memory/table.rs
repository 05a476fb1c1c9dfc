//! Tables in Markdown.

pub(crate) fn head(title: &str, columns: &[&str]) {
    println!("\n### {title}\n\n| {} |", columns.join(" | "));
    println!("|{}", "---|".repeat(columns.len()));
}

pub(crate) fn row(cells: &[String]) {
    println!("| {} |", cells.join(" | "));
}

pub(crate) fn ns(time: f64) -> String {
    format!("{time:.1}")
}

pub(crate) fn times(ratio: f64) -> String {
    format!("{ratio:.2}×")
}

/// 12345678 as `12,345,678`.
pub(crate) fn grouped(number: usize) -> String {
    let digits = number.to_string();
    let groups = digits.as_bytes().rchunks(3).rev().map(String::from_utf8_lossy);
    groups.collect::<Vec<_>>().join(",")
}
