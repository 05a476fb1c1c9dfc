//! How a server is to be started.

use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;

use crate::certificates::Certificates;
use crate::ports::Ports;
use crate::programs::{Kind, faketime};
use crate::server::Server;

/// The user that the testbed itself is, whatever a test does to the others.
pub(crate) const OWN_USER: &str = "testbed";
/// That user's password.
pub(crate) const OWN_PASSWORD: &str = "testbed";

/// What a server is a part of.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Part {
    /// Of nothing.
    Alone,
    /// Of those that copy from each other, watched by sentinels.
    Replicated,
    /// It watches those.
    Sentinel,
    /// Of a cluster.
    Node,
}

/// What a server is to be like; [`start`](Self::start) starts it.
#[derive(Clone)]
pub struct Setup {
    pub(crate) kind: Kind,
    pub(crate) part: Part,
    pub(crate) port: Option<u16>,
    pub(crate) password: Option<String>,
    pub(crate) certificates: Option<Arc<Certificates>>,
    pub(crate) clock: bool,
    lines: String,
}

impl Setup {
    pub(crate) fn of(kind: Kind, part: Part) -> Self {
        Self {
            kind,
            part,
            port: None,
            password: None,
            certificates: None,
            clock: false,
            lines: String::new(),
        }
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

    /// With a user, in the words of an ACL: `reader on >secret ~sluicegate:* +get`.
    #[must_use]
    pub fn user(self, rule: &str) -> Self {
        self.line(&format!("user {rule}"))
    }

    /// Also on a second port, with TLS. Redis only: the Valkey that is installed has none.
    #[must_use]
    pub fn tls(mut self) -> Self {
        self.certificates = Some(Arc::new(Certificates::issue()));
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

    /// Whether others change its configuration and its file keeps what they said.
    pub(crate) fn keeps_configuration(&self) -> bool {
        self.part != Part::Alone
    }

    /// How the server is called, once its configuration is [written](Self::write_to).
    pub(crate) fn command(&self, folder: &Path) -> Command {
        let mut command = Command::new(self.kind.program());
        command.arg(configuration_file(folder));
        if self.part == Part::Sentinel {
            command.arg("--sentinel");
        }
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

    /// Writes the configuration to `folder`.
    pub(crate) fn write_to(&self, folder: &Path, ports: Ports) {
        fs::write(configuration_file(folder), self.configuration(folder, ports))
            .expect("the server's folder can be written to");
    }

    fn configuration(&self, folder: &Path, ports: Ports) -> String {
        let mut lines = format!(
            "bind 127.0.0.1\nport {}\ndir {}\ndaemonize no\nlogfile \"\"\n\
             user {OWN_USER} on >{OWN_PASSWORD} ~* &* +@all\n",
            ports.plain,
            folder.display()
        );
        if self.part != Part::Sentinel {
            // What is stored stays readable for whoever searches it: nothing is compressed.
            lines += "save \"\"\nappendonly no\ndbfilename stored.rdb\nrdbcompression no\n";
        }
        if let Some(certificates) = &self.certificates {
            let _ = writeln!(lines, "tls-port {}", ports.tls);
            lines += &certificates.write_to(folder);
        }
        lines += &self.together(ports);
        lines + &self.lines
    }

    /// What a server needs to know to be a part of something.
    fn together(&self, ports: Ports) -> String {
        // Whatever a test does to the other users, servers find each other as the testbed's own.
        let mut lines = match self.part {
            Part::Alone => return String::new(),
            Part::Sentinel => format!(
                "sentinel sentinel-user {OWN_USER}\nsentinel sentinel-pass {OWN_PASSWORD}\n"
            ),
            Part::Replicated | Part::Node => format!(
                "masteruser {OWN_USER}\nmasterauth {OWN_PASSWORD}\n\
                 repl-diskless-sync yes\nrepl-diskless-sync-delay 0\n"
            ),
        };
        if self.part == Part::Node {
            let _ = writeln!(
                lines,
                "cluster-enabled yes\ncluster-port {}\ncluster-config-file nodes.conf\n\
                 cluster-require-full-coverage no",
                ports.bus
            );
        }
        if self.certificates.is_some() {
            lines += "tls-replication yes\n";
            if self.part == Part::Node {
                lines += "tls-cluster yes\n";
            }
        }
        lines
    }
}

fn configuration_file(folder: &Path) -> PathBuf {
    folder.join("server.conf")
}

/// How far a clock is moved; the library reads it there.
pub(crate) fn clock_file(folder: &Path) -> PathBuf {
    folder.join("clock")
}
