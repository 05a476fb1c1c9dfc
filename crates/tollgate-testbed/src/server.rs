//! A real server, alone for one test.

use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::net::SocketAddr;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tempfile::TempDir;

use crate::certificates::Certificates;
use crate::connection::Connection;
use crate::ports::free_port;
use crate::process::Process;
use crate::programs::Kind;
use crate::setup::{OWN_PASSWORD, OWN_USER, Setup};
use crate::share::share_of;
use crate::value::Value;
use crate::waiting::wait_until;

mod clock;
mod contents;

/// How long a server may take to answer for the first time; machines can be busy.
const STARTING: Duration = Duration::from_secs(30);

/// A Redis or Valkey on a port of 127.0.0.1, empty at first, keeping nothing on disk. It is gone,
/// with all its files, when this value is dropped or the test program ends.
///
/// Its methods block until they are done; none needs a runtime.
pub struct Server {
    setup: Setup,
    port: u16,
    tls: Option<(u16, Certificates)>,
    // Two locks: while one thread waits for an answer, another may pause or kill.
    connection: Mutex<Option<Connection>>,
    // Before the folder: what uses the files ends before they do.
    process: Mutex<Option<Process>>,
    folder: TempDir,
}

impl Server {
    /// A Redis, started.
    pub fn redis() -> Self {
        Self::setup(Kind::Redis).start()
    }

    /// A Valkey, started.
    pub fn valkey() -> Self {
        Self::setup(Kind::Valkey).start()
    }

    /// A server that is to be started, to say more about.
    pub fn setup(kind: Kind) -> Setup {
        Setup::of(kind)
    }

    pub(crate) fn start(setup: Setup) -> Self {
        let folder = tempfile::Builder::new()
            .prefix("tollgate-testbed-")
            .tempdir()
            .expect("a folder for temporary files can be made");
        let port = setup.port.unwrap_or_else(free_port);
        let tls = setup.tls.then(|| (free_port(), Certificates::issue()));
        let (connection, process) = (Mutex::default(), Mutex::default());
        let mut server = Self { setup, port, tls, connection, process, folder };
        if server.setup.clock {
            server.shift_clock(0);
        }
        // A port that was free a moment ago may be another's by now.
        for _ in 0..5 {
            match server.run() {
                Ok(()) => return server,
                Err(log) if server.setup.port.is_none() && log.contains("in use") => {
                    server.port = free_port();
                    if let Some((port, _)) = &mut server.tls {
                        *port = free_port();
                    }
                }
                Err(log) => panic!("started {:?}, and it ended:\n{log}", server.setup.kind),
            }
        }
        panic!("started {:?} on five ports, and all were in use", server.setup.kind)
    }

    /// The port that is spoken on without TLS.
    pub fn port(&self) -> u16 {
        self.port
    }

    /// 127.0.0.1 with the [`port`](Self::port).
    pub fn address(&self) -> SocketAddr {
        SocketAddr::from(([127, 0, 0, 1], self.port))
    }

    /// `redis://…`, with the password, if there is one.
    pub fn url(&self) -> String {
        format!("redis://{}127.0.0.1:{}", self.password(), self.port)
    }

    /// The port that TLS is spoken on.
    pub fn tls_port(&self) -> u16 {
        self.with_tls().0
    }

    /// `rediss://…`, with the password, if there is one.
    pub fn tls_url(&self) -> String {
        format!("rediss://{}127.0.0.1:{}", self.password(), self.tls_port())
    }

    /// The certificate of the authority that signed the server's own, in PEM.
    pub fn ca_pem(&self) -> &str {
        &self.with_tls().1.authority
    }

    /// The number of its process.
    pub fn pid(&self) -> u32 {
        self.process(Process::id)
    }

    /// Stops it where it is: connections stay, nothing is answered.
    pub fn pause(&self) {
        self.process(Process::pause);
    }

    /// Lets it go on after [`pause`](Self::pause).
    pub fn resume(&self) {
        self.process(Process::resume);
    }

    /// Ends it at once, with all it holds.
    pub fn kill(&self) {
        *locked(&self.process) = None;
        *locked(&self.connection) = None;
    }

    /// Ends it if it runs, and starts it on the same port: empty, without scripts, as configured.
    pub fn restart(&self) {
        self.kill();
        if let Err(log) = self.run() {
            panic!("restarted {:?}, and it ended:\n{log}", self.setup.kind);
        }
    }

    /// Sends a command on the testbed's own connection, as a user who may do all, and returns the
    /// answer, which may be an error.
    #[track_caller]
    pub fn command(&self, words: &[impl AsRef<[u8]>]) -> Value {
        let mut own = locked(&self.connection);
        let answer = match own.take() {
            Some(connection) => Ok(connection),
            None => self.connect(),
        }
        .and_then(|mut connection| {
            let answer = connection.command(words)?;
            // Kept only if nothing is left unanswered on it.
            *own = Some(connection);
            Ok(answer)
        });
        answer.unwrap_or_else(|error| {
            let first = words.first().map(|word| String::from_utf8_lossy(word.as_ref()));
            panic!("sent {} to the server and got no answer: {error}", first.unwrap_or_default())
        })
    }

    /// What `INFO` says about a section, by name.
    pub fn info(&self, section: &str) -> BTreeMap<String, String> {
        let lines = self.command(&["INFO", section]).text();
        lines
            .lines()
            .filter_map(|line| line.split_once(':'))
            .map(|(name, value)| (name.to_owned(), value.to_owned()))
            .collect()
    }

    /// Processor time that the server used so far, in all its threads.
    pub fn cpu_time(&self) -> Duration {
        self.process(Process::cpu_time)
    }

    /// Bytes of memory that the server says it uses.
    pub fn used_memory(&self) -> u64 {
        self.info("memory")["used_memory"].parse().expect("bytes are a number")
    }

    /// Has the server close a part of its connections, other than the testbed's; returns how many.
    pub fn kill_clients(&self, fraction: f64) -> usize {
        let own = self.command(&["CLIENT", "ID"]).integer().to_string();
        let listed = self.command(&["CLIENT", "LIST", "TYPE", "NORMAL"]).text();
        let others: Vec<&str> = listed
            .lines()
            .filter_map(|line| line.split_whitespace().find_map(|word| word.strip_prefix("id=")))
            .filter(|id| *id != own)
            .collect();
        let killed = |id: &str| self.command(&["CLIENT", "KILL", "ID", id]).integer() == 1;
        share_of(others, fraction).into_iter().filter(|id| killed(id)).count()
    }

    /// What the server printed.
    pub fn log(&self) -> String {
        let bytes = fs::read(self.folder.path().join("log")).unwrap_or_default();
        String::from_utf8_lossy(&bytes).into_owned()
    }

    /// Starts the process and waits for its first answer; what it printed, if it ended instead.
    fn run(&self) -> Result<(), String> {
        let folder = self.folder.path();
        let log = folder.join("log");
        let _ = fs::remove_file(&log);
        let command = self.setup.command(folder, self.port, self.tls.as_ref());
        let mut process = Process::start(command, folder, &log);
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

    /// A connection on which this very process answers; there could be another on its port.
    fn first_answer(&self, process: u32) -> Option<Connection> {
        let mut connection = self.connect().ok()?;
        match connection.command(&["INFO", "server"]).ok()? {
            Value::Text(said) => {
                let expected = format!("process_id:{process}\r\n");
                String::from_utf8_lossy(&said).contains(&expected).then_some(connection)
            }
            _ => None,
        }
    }

    /// A connection of the testbed's own user.
    fn connect(&self) -> io::Result<Connection> {
        let mut connection = Connection::to(self.address())?;
        connection.command(&["AUTH", OWN_USER, OWN_PASSWORD])?;
        Ok(connection)
    }

    fn password(&self) -> String {
        self.setup.password.as_ref().map_or_else(String::new, |password| format!(":{password}@"))
    }

    fn with_tls(&self) -> &(u16, Certificates) {
        self.tls.as_ref().expect("the server was not set up with TLS")
    }

    #[track_caller]
    fn process<T>(&self, ask: impl FnOnce(&Process) -> T) -> T {
        let process = locked(&self.process);
        ask(process.as_ref().expect("the server was killed and not restarted"))
    }
}

/// A test that panicked in the middle of something still has to end its server.
fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
