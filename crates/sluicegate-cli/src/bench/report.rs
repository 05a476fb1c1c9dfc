//! The report of a benchmark.

use std::fmt::Write;
use std::net::SocketAddr;

use super::tally::Tally;
use crate::args::{BenchArgs, BenchProtocol};
use crate::plural::counted;

/// The lines of the report.
pub(super) fn report(args: &BenchArgs, address: SocketAddr, tally: &Tally) -> String {
    let mut text = String::new();
    let request = match args.protocol {
        BenchProtocol::Http if args.body.as_deref() == Some("") => format!("GET {}", args.path),
        BenchProtocol::Http => format!("POST {}", args.path),
        BenchProtocol::Grpc => "ShouldRateLimit".to_owned(),
        BenchProtocol::Resp => "CL.THROTTLE".to_owned(),
    };
    let spread = args.zipf.map_or("uniform".to_owned(), |exponent| format!("Zipf {exponent}"));
    let pace = args.rate.map_or("closed loop".to_owned(), |rate| {
        format!("{rate} a second, latency from the scheduled time")
    });
    let _ = writeln!(
        text,
        "{request} on {address}: {}, {} at a time, {} ({spread}), {pace}",
        counted(args.connections, "connection"),
        args.pipeline,
        counted(args.keys, "caller"),
    );
    let seconds = tally.took.as_secs_f64();
    #[allow(clippy::cast_precision_loss, reason = "for people to read")]
    let rate = |count: u64| if seconds > 0.0 { count as f64 / seconds } else { 0.0 };
    let Tally { allowed, refused, errors, .. } = tally;
    let _ = writeln!(
        text,
        "{} answers in {seconds:.1} s, {:.0} a second: {allowed} allowed, {refused} refused, {}",
        tally.answers(),
        rate(tally.answers()),
        counted(*errors, "error"),
    );
    let unknown =
        || "the server does not report which decisions were made without the store".to_owned();
    let _ = writeln!(text, "{}", tally.by.map_or_else(unknown, |by| by.to_string()));
    let at = |share: f64| millis(tally.waits.value_at_quantile(share));
    let _ = writeln!(
        text,
        "latency in ms: p50 {:.3}, p90 {:.3}, p99 {:.3}, p99.9 {:.3}, max {:.3}",
        at(0.5),
        at(0.9),
        at(0.99),
        at(0.999),
        millis(tally.waits.max()),
    );
    if args.rate.is_some() {
        text.push_str(&send_delays(tally));
    }
    if let Some(error) = &tally.first_error {
        let _ = writeln!(text, "the first error: {error}");
    }
    text
}

/// The delay of requests by the client itself, and the share that an answer held up.
fn send_delays(tally: &Tally) -> String {
    let on_time = tally.delays.len();
    #[allow(clippy::cast_precision_loss, reason = "for people to read")]
    let held_up = tally.held_up as f64 * 100.0 / (tally.held_up + on_time).max(1) as f64;
    let held_up = format!("{held_up:.1} % held up by the previous answer");
    if on_time == 0 {
        return format!("{held_up}\n");
    }
    format!(
        "send delay in ms: p99 {:.3}, max {:.3}; {held_up}\n",
        millis(tally.delays.value_at_quantile(0.99)),
        millis(tally.delays.max()),
    )
}

#[allow(clippy::cast_precision_loss, reason = "for people to read")]
fn millis(micros: u64) -> f64 {
    micros as f64 / 1_000.0
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use crate::bench::pace::StartReason;

    #[test]
    fn reports_the_send_delay_of_the_client() {
        let mut tally = Tally::new();
        tally.sent(StartReason::HeldUp, 3, || Duration::ZERO);
        assert_eq!(send_delays(&tally), "100.0 % held up by the previous answer\n");
        for (count, micros) in [(990, 62), (7, 1_500)] {
            tally.sent(StartReason::WhenDue, count, || Duration::from_micros(micros));
        }
        assert_eq!(
            send_delays(&tally),
            "send delay in ms: p99 0.062, max 1.500; 0.3 % held up by the previous answer\n"
        );
    }
}
