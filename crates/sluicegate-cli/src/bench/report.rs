//! What came of it, in a few lines.

use std::fmt::Write;
use std::net::SocketAddr;

use super::tally::Tally;
use crate::args::{BenchArgs, Spoken};
use crate::counted::counted;

/// Says what came of it.
pub(super) fn report(args: &BenchArgs, address: SocketAddr, tally: &Tally) -> String {
    let mut text = String::new();
    let asked = match args.protocol {
        Spoken::Http if args.body.as_deref() == Some("") => format!("GET {}", args.path),
        Spoken::Http => format!("POST {}", args.path),
        Spoken::Grpc => "ShouldRateLimit".to_owned(),
        Spoken::Resp => "CL.THROTTLE".to_owned(),
    };
    let spread = args.zipf.map_or("all alike".to_owned(), |exponent| format!("Zipf {exponent}"));
    let pace = args.rate.map_or("each after the one before".to_owned(), |rate| {
        format!("{rate} a second, waits from when each was due")
    });
    let _ = writeln!(
        text,
        "{asked} on {address}: {}, {} at a time, {} ({spread}), {pace}",
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
    let unknown = || "decided by the store or without it: the server does not say".to_owned();
    let _ = writeln!(text, "{}", tally.by.map_or_else(unknown, |by| by.to_string()));
    let at = |share: f64| millis(tally.waits.value_at_quantile(share));
    let _ = writeln!(
        text,
        "waits in ms: half {:.3}, 90 % {:.3}, 99 % {:.3}, 99.9 % {:.3}, longest {:.3}",
        at(0.5),
        at(0.9),
        at(0.99),
        at(0.999),
        millis(tally.waits.max()),
    );
    if args.rate.is_some() {
        text.push_str(&own_delays(tally));
    }
    if let Some(complaint) = &tally.complaint {
        let _ = writeln!(text, "the first error: {complaint}");
    }
    text
}

/// How late requests were sent: what of the waits is our own.
fn own_delays(tally: &Tally) -> String {
    let on_time = tally.delays.len();
    #[allow(clippy::cast_precision_loss, reason = "for people to read")]
    let held_up = tally.held_up as f64 * 100.0 / (tally.held_up + on_time).max(1) as f64;
    let held_up = format!("{held_up:.1} % held up by the answer before");
    if on_time == 0 {
        return format!("{held_up}\n");
    }
    format!(
        "99 % sent within {:.3} ms of being due, longest {:.3}; {held_up}\n",
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
    use crate::bench::pace::Began;

    #[test]
    fn says_what_of_the_waits_is_our_own() {
        let mut tally = Tally::new();
        tally.sent(Began::HeldUp, 3, || Duration::ZERO);
        assert_eq!(own_delays(&tally), "100.0 % held up by the answer before\n");
        for (count, micros) in [(990, 62), (7, 1_500)] {
            tally.sent(Began::WhenDue, count, || Duration::from_micros(micros));
        }
        assert_eq!(
            own_delays(&tally),
            "99 % sent within 0.062 ms of being due, longest 1.500; 0.3 % held up by the answer before\n"
        );
    }
}
