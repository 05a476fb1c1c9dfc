//! Tests of the commands about the connection and the server.

use sluicegate::{ManualClock, Memory};
use sluicegate_server::Server;

use super::resp_client::{RespClient, RespReply};
use super::test_server::{TestServer, without_rules};

/// Starts a server with a password.
async fn locked() -> TestServer {
    let clock = ManualClock::default();
    let server = Server::new(without_rules(Memory::with_clock(clock.clone())));
    TestServer::open_with(server.resp_password("open sesame"), clock).await
}

async fn assert_errors(client: &mut RespClient, table: &[(&str, &str)]) {
    for (asked, expected) in table {
        assert_eq!(client.ask(asked).await, RespReply::error(expected), "{asked}");
    }
}

#[tokio::test]
async fn hello_describes_the_server_in_the_selected_version() {
    let gate = TestServer::open().await;
    let mut client = gate.resp().await;
    let version = env!("CARGO_PKG_VERSION");
    let fields = [
        ("server", "sluicegate"),
        ("version", version),
        ("mode", "standalone"),
        ("role", "master"),
    ];
    for (asked, proto) in
        [("HELLO", 2), ("HELLO 3", 3), ("HELLO", 3), ("hello 2", 2), ("HELLO 3 SETNAME me", 3)]
    {
        let hello = client.ask(asked).await;
        assert_eq!(matches!(hello, RespReply::Map(_)), proto == 3, "{asked}");
        for (name, value) in fields {
            assert_eq!(*hello.get(name), RespReply::text(value));
        }
        assert_eq!(*hello.get("proto"), RespReply::Integer(proto), "{asked}");
        assert_eq!(*hello.get("modules"), RespReply::List(Vec::new()));
        assert_eq!(client.ask("CLIENT ID").await, *hello.get("id"));
    }
    assert_eq!(client.ask("CLIENT GETNAME").await, RespReply::text("me"));
    assert_eq!(client.ask("RESET").await, RespReply::Simple("RESET".to_owned()));
    assert_eq!(client.ask("CLIENT GETNAME").await, RespReply::Null);
    assert_eq!(*client.ask("HELLO").await.get("proto"), RespReply::Integer(2));
    let other = gate.resp().await.ask("CLIENT ID").await;
    assert_ne!(client.ask("CLIENT ID").await, other, "ids are unique");
}

#[tokio::test]
async fn replies_use_the_selected_version() {
    let gate = TestServer::open().await;
    let mut client = gate.resp().await;
    assert_eq!(client.ask("CONFIG GET maxclients").await, RespReply::List(Vec::new()));
    assert_eq!(*client.ask("CONFIG GET save appendonly").await.get("save"), RespReply::text(""));
    assert!(
        matches!(client.ask("INFO").await, RespReply::Text(text) if text.contains("loading:0\r\n"))
    );
    client.ask("HELLO 3").await;
    assert_eq!(client.ask("CONFIG GET maxclients").await, RespReply::Map(Vec::new()));
    assert_eq!(*client.ask("CONFIG GET appendonly").await.get("appendonly"), RespReply::text("no"));
    assert_eq!(client.ask("CLIENT GETNAME").await, RespReply::Null);
    let RespReply::Verbatim(info) = client.ask("INFO server").await else { panic!("no text") };
    assert!(info.contains(&format!("\r\nsluicegate_version:{}\r\n", env!("CARGO_PKG_VERSION"))));
    assert_eq!(client.ask("CL.THROTTLE k 1 1 1").await, RespReply::numbers([0, 2, 1, -1, 1]));
}

#[tokio::test]
async fn the_usual_commands_of_clients_are_answered() {
    let gate = TestServer::open().await;
    let mut client = gate.resp().await;
    for asked in [
        "CLIENT SETINFO LIB-NAME redis-py",
        "client setinfo lib-ver 5.0",
        "CLIENT SETNAME me",
        "CLIENT NO-EVICT on",
        "CLIENT NO-TOUCH OFF",
        "SELECT 0",
        "AUTH default anything",
    ] {
        assert_eq!(client.ask(asked).await, RespReply::ok(), "{asked}");
    }
    assert_eq!(client.ask("PING").await, RespReply::Simple("PONG".to_owned()));
    assert_eq!(client.ask("ping hello").await, RespReply::text("hello"));
    assert_eq!(client.ask("ECHO hello").await, RespReply::text("hello"));
    let RespReply::Text(line) = client.ask("CLIENT INFO").await else { panic!("no text") };
    assert!(line.contains(" name=me "), "{line}");
    assert_eq!(client.ask("QUIT").await, RespReply::ok());
    assert_eq!(client.try_answer().await, None);
}

#[tokio::test]
async fn commands_are_listed_and_described() {
    let gate = TestServer::open().await;
    let mut client = gate.resp().await;
    let RespReply::Integer(count) = client.ask("COMMAND COUNT").await else { panic!("no count") };
    let RespReply::List(all) = client.ask("COMMAND").await else { panic!("no list") };
    assert_eq!(i64::try_from(all.len()), Ok(count));
    let RespReply::List(one) = client.ask("COMMAND INFO cl.throttle nothing").await else {
        panic!("no list")
    };
    let RespReply::List(throttle) = &one[0] else { panic!("no description") };
    assert_eq!(throttle[..2], [RespReply::text("cl.throttle"), RespReply::Integer(-5)]);
    assert_eq!(throttle[3..6], [1, 1, 1].map(RespReply::Integer), "its key is the first argument");
    assert_eq!(one[1], RespReply::Null);
    let RespReply::List(names) = client.ask("COMMAND LIST").await else { panic!("no list") };
    assert!(names.contains(&RespReply::text("sluicegate.check")));
    let docs = client.ask("COMMAND DOCS").await;
    assert!(matches!(docs.get("ping").get("summary"), RespReply::Text(_)));
    let RespReply::List(docs) = client.ask("COMMAND DOCS ping nothing").await else { panic!() };
    assert_eq!(docs.len(), 2);
    client.ask("HELLO 3").await;
    assert!(matches!(client.ask("COMMAND DOCS ping").await, RespReply::Map(_)));
}

#[tokio::test]
async fn errors_have_the_messages_of_redis() {
    let gate = TestServer::open().await;
    let mut client = gate.resp().await;
    let no_password = "ERR AUTH <password> called without any password configured for the default \
                       user. Are you sure your configuration is correct?";
    let table = [
        ("GET k", "ERR unknown command 'GET', with args beginning with: 'k' "),
        ("foo", "ERR unknown command 'foo', with args beginning with: "),
        ("FOO a b c", "ERR unknown command 'FOO', with args beginning with: 'a' 'b' 'c' "),
        ("PING a b", "ERR wrong number of arguments for 'ping' command"),
        ("ECHO", "ERR wrong number of arguments for 'echo' command"),
        ("SELECT", "ERR wrong number of arguments for 'select' command"),
        ("SELECT 1", "ERR DB index is out of range"),
        ("SELECT -1", "ERR DB index is out of range"),
        ("SELECT x", "ERR value is not an integer or out of range"),
        ("RESET now", "ERR wrong number of arguments for 'reset' command"),
        ("AUTH", "ERR wrong number of arguments for 'auth' command"),
        ("AUTH secret", no_password),
        ("AUTH somebody secret", "WRONGPASS invalid username-password pair or user is disabled."),
        ("HELLO 4", "NOPROTO unsupported protocol version"),
        ("HELLO three", "ERR Protocol version is not an integer or out of range"),
        ("HELLO 3 AUTH default", "ERR Syntax error in HELLO option 'AUTH'"),
        ("HELLO 3 SETNAME", "ERR Syntax error in HELLO option 'SETNAME'"),
        ("HELLO 3 LOUDLY", "ERR Syntax error in HELLO option 'LOUDLY'"),
        ("CLIENT", "ERR wrong number of arguments for 'client' command"),
        ("CLIENT SETNAME", "ERR wrong number of arguments for 'client|setname' command"),
        ("CLIENT SETINFO LIB-NAME", "ERR wrong number of arguments for 'client|setinfo' command"),
        ("CLIENT NO-EVICT maybe", "ERR syntax error"),
        ("CLIENT KILL 1", "ERR unknown subcommand 'KILL'. Try CLIENT HELP."),
        ("CONFIG SET save x", "ERR unknown subcommand 'SET'. Try CONFIG HELP."),
        ("CONFIG GET", "ERR wrong number of arguments for 'config|get' command"),
        ("COMMAND GETKEYS GET k", "ERR unknown subcommand 'GETKEYS'. Try COMMAND HELP."),
        ("SLUICEGATE.CHECK", "ERR wrong number of arguments for 'sluicegate.check' command"),
        ("SLUICEGATE.CHECK user", "ERR wrong number of arguments for 'sluicegate.check' command"),
    ];
    assert_errors(&mut client, &table).await;
    client.send("CLIENT SETNAME \"my client\"\r\n").await;
    let error = "ERR Client names cannot contain spaces, newlines or special characters.";
    assert_eq!(client.answer().await, RespReply::error(error));
    let long = format!("LONG {}", "x".repeat(300));
    let RespReply::Error(error) = client.ask(&long).await else { panic!("no error") };
    assert_eq!(error.len(), "ERR unknown command 'LONG', with args beginning with: ".len() + 131);
    assert_eq!(
        *client.ask("HELLO").await.get("proto"),
        RespReply::Integer(2),
        "nothing was changed"
    );
}

#[tokio::test]
async fn commands_need_the_password() {
    let gate = locked().await;
    let mut client = gate.resp().await;
    let hello = "NOAUTH HELLO must be called with the client already authenticated, otherwise the \
                 HELLO <proto> AUTH <user> <pass> option can be used to authenticate the client and \
                 select the RESP protocol version at the same time";
    let wrong = "WRONGPASS invalid username-password pair or user is disabled.";
    let table = [
        ("CL.THROTTLE k 1 1 1", "NOAUTH Authentication required."),
        ("CL.THROTTLE k x", "NOAUTH Authentication required."),
        ("SLUICEGATE.CHECK user 1", "NOAUTH Authentication required."),
        ("PING", "NOAUTH Authentication required."),
        ("INFO", "NOAUTH Authentication required."),
        ("HELLO 3", hello),
        ("AUTH open", wrong),
        ("AUTH default sesame", wrong),
        ("HELLO 3 AUTH default sesame", wrong),
    ];
    assert_errors(&mut client, &table).await;
    for wrong_user in ["AUTH admin \"open sesame\"\r\n", "AUTH \"open sesam\"\r\n"] {
        client.send(wrong_user).await;
        assert_eq!(client.answer().await, RespReply::error(wrong));
    }
    client.send("AUTH \"open sesame\"\r\n").await;
    assert_eq!(client.answer().await, RespReply::ok());
    assert_eq!(client.ask("CL.THROTTLE k 1 1 1").await, RespReply::numbers([0, 2, 1, -1, 1]));
    client.ask("RESET").await;
    let again = client.ask("CL.THROTTLE k 1 1 1").await;
    assert_eq!(again, RespReply::error("NOAUTH Authentication required."));

    let mut other = gate.resp().await;
    other.send("HELLO 3 AUTH default 'open sesame' SETNAME me\r\n").await;
    assert!(matches!(other.answer().await, RespReply::Map(_)));
    assert_eq!(other.ask("CLIENT GETNAME").await, RespReply::text("me"));
}
