//! Tables in Markdown, and the middle of several figures.

pub(crate) fn head(title: &str, columns: &[&str]) {
    println!("\n### {title}\n\n| {} |", columns.join(" | "));
    println!("|{}", "---|".repeat(columns.len()));
}

pub(crate) fn row(cells: &[String]) {
    println!("| {} |", cells.join(" | "));
}

pub(crate) fn micros(time: f64) -> String {
    format!("{time:.2}")
}

pub(crate) fn times(ratio: f64) -> String {
    format!("{ratio:.2}×")
}

pub(crate) fn median(figures: impl IntoIterator<Item = f64>) -> f64 {
    let mut figures: Vec<f64> = figures.into_iter().collect();
    figures.sort_by(f64::total_cmp);
    figures[figures.len() / 2]
}
