//! How a server is to be started.

use std::fmt::Write as _;
use std::fs;
use std::path::Path;
use std::process::Command;

use crate::certificates::Certificates;
use crate::programs::{Kind, faketime};
use crate::server::Server;

/// The user that the testbed itself is, whatever a test does to the others.
pub(crate) const OWN_USER: &str = "testbed";
/// That user's password.
pub(crate) const OWN_PASSWORD: &str = "testbed";

/// What a server is to be like; [`start`](Self::start) starts it.
#[derive(Clone)]
pub struct Setup {
    pub(crate) kind: Kind,
    pub(crate) port: Option<u16>,
    pub(crate) password: Option<String>,
    pub(crate) tls: bool,
    pub(crate) clock: bool,
    lines: String,
}

impl Setup {
    pub(crate) fn of(kind: Kind) -> Self {
        Self { kind, port: None, password: None, tls: false, clock: false, lines: String::new() }
    }

    /// Starts the server and waits until it answers.
    pub fn start(self) -> Server {
        Server::start(self)
    }

    /// On this port, not on one that happens to be free.
    #[must_use]
    pub fn port(mut self, port: u16) -> Self {
        self.port = Some(port);
        self
    }

    /// Who does not say this password may do nothing. It is part of [`Server::url`].
    #[must_use]
    pub fn password(mut self, password: &str) -> Self {
        assert!(
            password.chars().all(|letter| letter.is_ascii_alphanumeric()),
            "a password of a test has letters and digits only, so that it can stand in a URL"
        );
        self.password = Some(password.to_owned());
        self.line(&format!("requirepass {password}"))
    }

    /// With a user, in the words of an ACL: `reader on >secret ~tollgate:* +get`.
    #[must_use]
    pub fn user(self, rule: &str) -> Self {
        self.line(&format!("user {rule}"))
    }

    /// Also on a second port, with TLS. Redis only: the Valkey that is installed has none.
    #[must_use]
    pub fn tls(mut self) -> Self {
        self.tls = true;
        self
    }

    /// With at most so many bytes of memory; what would need more is refused.
    #[must_use]
    pub fn maxmemory(self, bytes: u64) -> Self {
        self.line(&format!("maxmemory {bytes}"))
    }

    /// With a clock that [`Server::shift_clock`] moves. Its time of day alone: how long something
    /// takes is measured as before, so the server's own work goes on at its pace.
    #[must_use]
    pub fn movable_clock(mut self) -> Self {
        self.clock = true;
        self
    }

    /// With one more line of configuration: `maxclients 20`. The last word on a setting counts.
    #[must_use]
    pub fn line(mut self, line: &str) -> Self {
        self.lines += line;
        self.lines.push('\n');
        self
    }

    /// How the server is called, with its configuration written to `folder`.
    pub(crate) fn command(
        &self,
        folder: &Path,
        port: u16,
        tls: Option<&(u16, Certificates)>,
    ) -> Command {
        let file = folder.join("server.conf");
        fs::write(&file, self.configuration(folder, port, tls))
            .expect("the server's folder can be written to");
        let mut command = Command::new(self.kind.program());
        command.arg(file);
        if self.clock {
            // The C library comes second, so that its memory is used and not jemalloc's: that one
            // asks for the time before there is one, and the two then wait for each other.
            command.env("LD_PRELOAD", format!("{}:libc.so.6", faketime().display()));
            command.env("FAKETIME_TIMESTAMP_FILE", clock_file(folder));
            // Looked at whenever the time is asked for, so that it moves at once.
            command.env("FAKETIME_NO_CACHE", "1");
            command.env("FAKETIME_DONT_FAKE_MONOTONIC", "1");
        }
        command
    }

    fn configuration(&self, folder: &Path, port: u16, tls: Option<&(u16, Certificates)>) -> String {
        // What is stored stays readable for whoever searches it: nothing is compressed.
        let mut lines = format!(
            "bind 127.0.0.1\nport {port}\ndir {}\nsave \"\"\nappendonly no\n\
             dbfilename stored.rdb\nrdbcompression no\ndaemonize no\nlogfile \"\"\n\
             user {OWN_USER} on >{OWN_PASSWORD} ~* &* +@all\n",
            folder.display()
        );
        if let Some((port, certificates)) = tls {
            let _ = writeln!(lines, "tls-port {port}");
            lines += &certificates.write_to(folder);
        }
        lines + &self.lines
    }
}

/// How far a clock is moved; the library reads it there.
pub(crate) fn clock_file(folder: &Path) -> std::path::PathBuf {
    folder.join("clock")
}
