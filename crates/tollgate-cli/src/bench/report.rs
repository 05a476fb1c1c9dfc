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
    #[allow(clippy::cast_precision_loss, reason = "for people to read")]
    let millis = |micros: u64| micros as f64 / 1_000.0;
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
    if let Some(complaint) = &tally.complaint {
        let _ = writeln!(text, "the first error: {complaint}");
    }
    text
}
