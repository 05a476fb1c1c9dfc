//! Tables in Markdown, and medians.

pub(crate) fn head(title: &str, columns: &[&str]) {
    println!("\n### {title}\n\n| {} |", columns.join(" | "));
    println!("|{}", "---|".repeat(columns.len()));
}

pub(crate) fn row<'a>(cells: impl IntoIterator<Item = &'a String>) {
    let cells: Vec<&str> = cells.into_iter().map(String::as_str).collect();
    println!("| {} |", cells.join(" | "));
}

pub(crate) fn micros(time: f64) -> String {
    format!("{time:.2}")
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

pub(crate) fn median(figures: impl IntoIterator<Item = f64>) -> f64 {
    let mut figures: Vec<f64> = figures.into_iter().collect();
    figures.sort_by(f64::total_cmp);
    figures[figures.len() / 2]
}
