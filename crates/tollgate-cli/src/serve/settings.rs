//! What to go by: what was typed, else what the rule file says, else what is usual.

use std::net::{Ipv4Addr, SocketAddr};
use std::path::PathBuf;
use std::time::Duration;

use anyhow::{Result, bail};
use tollgate_rules::Listen;

use crate::args::ServeArgs;
use crate::period::Every;

const USUAL_PORT: u16 = 7070;
const USUALLY_EVERY: Duration = Duration::from_secs(60);

/// What the program goes by until it ends.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Settings {
    /// Where to listen for HTTP.
    pub(crate) address: SocketAddr,
    /// Networks whose connections begin with a PROXY header.
    pub(crate) proxy_protocol: Vec<String>,
    /// The most bytes that counters take.
    pub(crate) memory_max: Option<usize>,
    /// A file that keeps the counters over a restart …
    pub(crate) snapshot: Option<PathBuf>,
    /// … and how often it is written.
    pub(crate) snapshot_every: Duration,
    /// How long requests in flight may take when told to stop.
    pub(crate) shutdown_timeout: Duration,
}

impl Settings {
    /// What was typed goes before what the file says.
    pub(super) fn of(args: &ServeArgs, file: &tollgate_rules::Settings) -> Result<Self> {
        let usual = Listen::At((Ipv4Addr::LOCALHOST, USUAL_PORT).into());
        let address = match (args.http, file.http.unwrap_or(usual)) {
            (Some(Listen::At(address)), _) | (None, Listen::At(address)) => address,
            (typed, _) => {
                let off = if typed.is_some() { "--http" } else { "`listen.http` in the rule file" };
                bail!(
                    "nothing to listen on: {off} is off\n\
                     hint: give it an address, as in --http 127.0.0.1:7070"
                );
            }
        };
        let memory = &file.memory;
        let typed_max = args.memory_max.map(|max| max.0);
        let file_max = memory.max.map(|max| usize::try_from(max).unwrap_or(usize::MAX));
        let typed_every = args.snapshot_every.map(|Every(every)| every);
        let file_every = memory.snapshot_every.map(Duration::from);
        Ok(Self {
            address,
            proxy_protocol: file.proxy_protocol.clone(),
            memory_max: typed_max.or(file_max),
            snapshot: args.snapshot.clone().or_else(|| memory.snapshot.clone()),
            snapshot_every: typed_every.or(file_every).unwrap_or(USUALLY_EVERY),
            shutdown_timeout: Duration::from_secs(args.shutdown_timeout),
        })
    }
}

#[cfg(test)]
mod tests {
    use clap::Parser;
    use tollgate_rules::{RuleFile, Shelf};

    use super::*;
    use crate::args::{Args, Command};

    fn settings(typed: &str, file: &str) -> Result<Settings> {
        let words = "tollgate serve".split(' ').chain(typed.split(' ').filter(|w| !w.is_empty()));
        let Command::Serve(args) = Args::parse_from(words).command else { panic!("not serve") };
        let shelf = Shelf::new().with("etc/rules.yaml", file);
        let file = RuleFile::load_with("etc/rules.yaml".as_ref(), &shelf, &|_| None).unwrap();
        assert!(file.rules.is_some(), "{}", file.report);
        Settings::of(&args, &file.settings)
    }

    const FILE: &str = "
store: { memory: { max: 8MiB, snapshot: kept, snapshot_every: 5m } }
listen: { http: { address: 127.0.0.1:1, proxy_protocol: [10.0.0.0/8] } }
";

    #[test]
    fn what_nobody_says_is_usual() {
        let usual = Settings {
            address: "127.0.0.1:7070".parse().unwrap(),
            proxy_protocol: Vec::new(),
            memory_max: None,
            snapshot: None,
            snapshot_every: Duration::from_secs(60),
            shutdown_timeout: Duration::from_secs(10),
        };
        assert_eq!(settings("", "").unwrap(), usual);
    }

    #[test]
    fn what_the_file_says_is_gone_by() {
        let by_file = Settings {
            address: "127.0.0.1:1".parse().unwrap(),
            proxy_protocol: vec!["10.0.0.0/8".to_owned()],
            memory_max: Some(8 << 20),
            snapshot: Some("etc/kept".into()),
            snapshot_every: Duration::from_secs(300),
            shutdown_timeout: Duration::from_secs(10),
        };
        assert_eq!(settings("", FILE).unwrap(), by_file);
    }

    #[test]
    fn what_was_typed_is_stronger_than_the_file() {
        let typed = "--http 127.0.0.1:2 --memory-max 2MiB --snapshot other --snapshot-every 1h \
                     --shutdown-timeout 3";
        let expected = Settings {
            address: "127.0.0.1:2".parse().unwrap(),
            proxy_protocol: vec!["10.0.0.0/8".to_owned()],
            memory_max: Some(2 << 20),
            snapshot: Some("other".into()),
            snapshot_every: Duration::from_secs(3_600),
            shutdown_timeout: Duration::from_secs(3),
        };
        assert_eq!(settings(typed, FILE).unwrap(), expected);
    }

    #[test]
    fn somewhere_has_to_be_listened() {
        let off = "listen: { http: off }";
        for (typed, file, words) in [
            ("--http off", "", "--http is off"),
            ("--http off", FILE, "--http is off"),
            ("", off, "`listen.http` in the rule file is off"),
        ] {
            let error = settings(typed, file).unwrap_err().to_string();
            assert!(error.contains(words) && error.contains("\nhint: "), "{error}");
        }
        let address = settings("--http 127.0.0.1:2", off).unwrap().address;
        assert_eq!(address.port(), 2, "what was typed turns it on again");
    }
}
