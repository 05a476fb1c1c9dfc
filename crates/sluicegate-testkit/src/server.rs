//! A real server, exclusive to one test.

use std::fs;
use std::io;
use std::net::SocketAddr;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tempfile::TempDir;

use crate::binaries::ServerKind;
use crate::certificates::Certificates;
use crate::connection::Connection;
use crate::poll::wait_until;
use crate::ports::Ports;
use crate::process::Process;
use crate::resp::value::RespValue;
use crate::server::builder::{ConfigLine, OWN_PASSWORD, OWN_USER, ServerBuilder};

mod admin;
pub(crate) mod builder;
mod clock;
mod dump;

/// How long a server may take to answer for the first time; machines can be busy.
const STARTING: Duration = Duration::from_secs(60);

/// A Redis or Valkey on a port of 127.0.0.1, empty at first, without persistence. It is terminated,
/// and its files are removed, when this value is dropped or the test program ends.
///
/// Its methods block until they are done; none needs a runtime.
pub struct Server {
    setup: ServerBuilder,
    ports: Ports,
    // Two locks: while one thread waits for an answer, another one may pause or kill.
    connection: Mutex<Option<Connection>>,
    // Before the folder, so that the process ends before its files are removed.
    process: Mutex<Option<Process>>,
    folder: TempDir,
}

impl Server {
    /// A started Redis.
    pub fn redis() -> Self {
        Self::setup(ServerKind::Redis).start()
    }

    /// A started Valkey.
    pub fn valkey() -> Self {
        Self::setup(ServerKind::Valkey).start()
    }

    /// The settings of a server.
    pub fn setup(kind: ServerKind) -> ServerBuilder {
        ServerBuilder::of(kind, ConfigLine::Alone)
    }

    pub(crate) fn start(setup: ServerBuilder) -> Self {
        let folder = folder();
        let ports = Ports::find(setup.port);
        let (connection, process) = (Mutex::default(), Mutex::default());
        let mut server = Self { setup, ports, connection, process, folder };
        if server.setup.clock {
            server.shift_clock(0);
        }
        // A port that was free a moment ago may be in use by now.
        for _ in 0..5 {
            server.setup.write_to(server.folder.path(), server.ports);
            match server.run() {
                Ok(()) => return server,
                Err(log) if server.setup.port.is_none() && log.contains("in use") => {
                    server.ports = Ports::find(None);
                }
                Err(log) => panic!("started {:?}, and it ended:\n{log}", server.setup.kind),
            }
        }
        panic!("started {:?} on five ports, and all were in use", server.setup.kind)
    }

    /// The port without TLS.
    pub fn port(&self) -> u16 {
        self.ports.plain
    }

    /// 127.0.0.1 with the [`port`](Self::port).
    pub fn address(&self) -> SocketAddr {
        SocketAddr::from(([127, 0, 0, 1], self.ports.plain))
    }

    /// `redis://…`, with the password, if there is one.
    pub fn url(&self) -> String {
        format!("redis://{}127.0.0.1:{}", self.password(), self.ports.plain)
    }

    /// The port with TLS.
    pub fn tls_port(&self) -> u16 {
        self.with_tls();
        self.ports.tls
    }

    /// `rediss://…`, with the password, if there is one.
    pub fn tls_url(&self) -> String {
        format!("rediss://{}127.0.0.1:{}", self.password(), self.tls_port())
    }

    /// The certificate of the authority that signed the server's own, in PEM.
    pub fn ca_pem(&self) -> &str {
        &self.with_tls().authority
    }

    /// The id of its process.
    pub fn pid(&self) -> u32 {
        self.process(Process::id)
    }

    /// Pauses it: connections stay open, and no command is answered.
    pub fn pause(&self) {
        self.process(Process::pause);
    }

    /// Resumes it after [`pause`](Self::pause).
    pub fn resume(&self) {
        self.process(Process::resume);
    }

    /// Kills it, with all its data.
    pub fn kill(&self) {
        *locked(&self.process) = None;
        *locked(&self.connection) = None;
    }

    /// Whether it runs and is not paused, so that it answers.
    pub fn is_running(&self) -> bool {
        locked(&self.process).as_ref().is_some_and(|process| !process.is_paused())
    }

    /// Kills it if it runs, and restarts it on the same port: empty, without scripts, as
    /// configured. A member of [`Sentinels`](crate::Sentinels) or of a [`Cluster`](crate::Cluster)
    /// keeps the last configuration that sentinels or other nodes gave it.
    pub fn restart(&self) {
        self.kill();
        if !self.setup.keeps_configuration() {
            self.setup.write_to(self.folder.path(), self.ports);
        }
        if let Err(log) = self.run() {
            panic!("restarted {:?}, and it ended:\n{log}", self.setup.kind);
        }
    }

    /// Processor time that the server used so far, in all its threads.
    pub fn cpu_time(&self) -> Duration {
        self.process(Process::cpu_time)
    }

    pub(crate) fn has_tls(&self) -> bool {
        self.setup.certificates.is_some()
    }

    /// The port for other servers: with TLS, if it was set up with it.
    pub(crate) fn announced_port(&self) -> u16 {
        if self.has_tls() { self.ports.tls } else { self.ports.plain }
    }

    /// The port of the cluster bus.
    pub(crate) fn bus_port(&self) -> u16 {
        self.ports.bus
    }

    /// The output of the server.
    pub fn log(&self) -> String {
        let bytes = fs::read(self.folder.path().join("log")).unwrap_or_default();
        String::from_utf8_lossy(&bytes).into_owned()
    }

    /// Starts the process and waits for its first answer; returns its output, if it ended instead.
    fn run(&self) -> Result<(), String> {
        let folder = self.folder.path();
        let log = folder.join("log");
        let _ = fs::remove_file(&log);
        let mut process = Process::start(self.setup.command(folder), folder, &log);
        let mut connection = None;
        let mut ended = false;
        wait_until("the server answers", STARTING, || {
            connection = self.first_answer(process.id());
            ended = connection.is_none() && process.has_ended();
            ended || connection.is_some()
        });
        if ended {
            return Err(self.log());
        }
        *locked(&self.process) = Some(process);
        *locked(&self.connection) = connection;
        Ok(())
    }

    /// A connection to this very process; another program could have taken its port.
    fn first_answer(&self, process: u32) -> Option<Connection> {
        let mut connection = self.connect().ok()?;
        match connection.command(&["INFO", "server"]).ok()? {
            RespValue::Text(said) => {
                let expected = format!("process_id:{process}\r\n");
                String::from_utf8_lossy(&said).contains(&expected).then_some(connection)
            }
            _ => None,
        }
    }

    /// Another connection of the testkit's user, which has all permissions.
    pub fn connection(&self) -> Connection {
        self.connect().unwrap_or_else(|error| panic!("cannot connect to the server: {error}"))
    }

    /// A connection of the testkit's user.
    fn connect(&self) -> io::Result<Connection> {
        let mut connection = Connection::to(self.address())?;
        connection.command(&["AUTH", OWN_USER, OWN_PASSWORD])?;
        Ok(connection)
    }

    pub(crate) fn password(&self) -> String {
        self.setup.password.as_ref().map_or_else(String::new, |password| format!(":{password}@"))
    }

    fn with_tls(&self) -> &Certificates {
        self.setup.certificates.as_ref().expect("the server was not set up with TLS")
    }

    #[track_caller]
    fn process<T>(&self, read: impl FnOnce(&Process) -> T) -> T {
        let process = locked(&self.process);
        read(process.as_ref().expect("the server was killed and not restarted"))
    }
}

/// The folder of a server's files: in memory if possible. A server of a cluster blocks until each
/// change of its map is on disk, which would measure only the disk.
fn folder() -> TempDir {
    let named = || tempfile::Builder::new().prefix("sluicegate-testkit-").to_owned();
    let in_memory = named().tempdir_in("/dev/shm");
    in_memory.or_else(|_| named().tempdir()).expect("a folder for temporary files can be made")
}

/// A test that panicked while holding the lock still has to end its server.
fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
