//! How to start a server.

use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;

use crate::binaries::{ServerKind, faketime};
use crate::certificates::Certificates;
use crate::ports::Ports;
use crate::server::Server;

/// The user of the testkit itself, independent of the users of a test.
pub(crate) const OWN_USER: &str = "testkit";
/// The password of that user.
pub(crate) const OWN_PASSWORD: &str = "testkit";

/// The group that a server belongs to.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum ConfigLine {
    /// A single server.
    Alone,
    /// A group of replicas, watched by sentinels.
    Replicated,
    /// A sentinel of such a group.
    Sentinel,
    /// A cluster.
    Node,
}

/// The settings of a server; [`start`](Self::start) starts it.
#[derive(Clone)]
pub struct ServerBuilder {
    pub(crate) kind: ServerKind,
    pub(crate) part: ConfigLine,
    pub(crate) port: Option<u16>,
    pub(crate) password: Option<String>,
    pub(crate) certificates: Option<Arc<Certificates>>,
    pub(crate) clock: bool,
    lines: String,
}

impl ServerBuilder {
    pub(crate) fn of(kind: ServerKind, part: ConfigLine) -> Self {
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

    /// Uses this port instead of a free one.
    #[must_use]
    pub fn port(mut self, port: u16) -> Self {
        self.port = Some(port);
        self
    }

    /// Requires this password. It is part of [`Server::url`].
    #[must_use]
    pub fn password(mut self, password: &str) -> Self {
        assert!(
            password.chars().all(|letter| letter.is_ascii_alphanumeric()),
            "a password of a test has letters and digits only, so that it can be part of a URL"
        );
        self.password = Some(password.to_owned());
        self.line(&format!("requirepass {password}"))
    }

    /// Adds a user, in the syntax of an ACL: `reader on >secret ~sluicegate:* +get`.
    #[must_use]
    pub fn user(self, rule: &str) -> Self {
        self.line(&format!("user {rule}"))
    }

    /// Adds a second port, with TLS. Redis only, because the installed Valkey lacks it.
    #[must_use]
    pub fn tls(mut self) -> Self {
        self.certificates = Some(Arc::new(Certificates::issue()));
        self
    }

    /// Limits the memory; commands that need more are refused.
    #[must_use]
    pub fn maxmemory(self, bytes: u64) -> Self {
        self.line(&format!("maxmemory {bytes}"))
    }

    /// Makes the clock movable by [`Server::shift_clock`]. This affects the time of day only:
    /// durations are measured as before, so the server's own tasks run at their normal pace.
    #[must_use]
    pub fn movable_clock(mut self) -> Self {
        self.clock = true;
        self
    }

    /// Adds a line of configuration: `maxclients 20`. The last line of a setting counts.
    #[must_use]
    pub fn line(mut self, line: &str) -> Self {
        self.lines += line;
        self.lines.push('\n');
        self
    }

    /// Whether other servers change its configuration, so that its file has to be kept.
    pub(crate) fn keeps_configuration(&self) -> bool {
        self.part != ConfigLine::Alone
    }

    /// The command that starts the server, once its configuration is [written](Self::write_to).
    pub(crate) fn command(&self, folder: &Path) -> Command {
        let mut command = Command::new(self.kind.program());
        command.arg(configuration_file(folder));
        if self.part == ConfigLine::Sentinel {
            command.arg("--sentinel");
        }
        if self.clock {
            // The C library comes second, so that its allocator is used and not jemalloc: jemalloc
            // asks for the time during start-up, and the two would deadlock.
            command.env("LD_PRELOAD", format!("{}:libc.so.6", faketime().display()));
            command.env("FAKETIME_TIMESTAMP_FILE", clock_file(folder));
            // Read on every query of the time, so that a shift is effective at once.
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
        if self.part != ConfigLine::Sentinel {
            // Without compression, so that stored data can be searched.
            lines += "save \"\"\nappendonly no\ndbfilename stored.rdb\nrdbcompression no\n";
        }
        if let Some(certificates) = &self.certificates {
            let _ = writeln!(lines, "tls-port {}", ports.tls);
            lines += &certificates.write_to(folder);
        }
        lines += &self.together(ports);
        lines + &self.lines
    }

    /// The settings of a member of a group.
    fn together(&self, ports: Ports) -> String {
        // Servers authenticate to each other as the testkit's user, independent of the users of a
        // test.
        let mut lines = match self.part {
            ConfigLine::Alone => return String::new(),
            ConfigLine::Sentinel => format!(
                "sentinel sentinel-user {OWN_USER}\nsentinel sentinel-pass {OWN_PASSWORD}\n"
            ),
            ConfigLine::Replicated | ConfigLine::Node => format!(
                "masteruser {OWN_USER}\nmasterauth {OWN_PASSWORD}\n\
                 repl-diskless-sync yes\nrepl-diskless-sync-delay 0\n"
            ),
        };
        if self.part == ConfigLine::Node {
            let _ = writeln!(
                lines,
                "cluster-enabled yes\ncluster-port {}\ncluster-config-file nodes.conf\n\
                 cluster-require-full-coverage no",
                ports.bus
            );
        }
        if self.certificates.is_some() {
            lines += "tls-replication yes\n";
            if self.part == ConfigLine::Node {
                lines += "tls-cluster yes\n";
            }
        }
        lines
    }
}

fn configuration_file(folder: &Path) -> PathBuf {
    folder.join("server.conf")
}

/// The file with the shift of the clock, which the library reads.
pub(crate) fn clock_file(folder: &Path) -> PathBuf {
    folder.join("clock")
}
