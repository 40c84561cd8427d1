//! The commands that clients connect by.

use super::list::{Kind, unknown_subcommand, wrong_number};
use super::observe::Server;
use super::password::{NEEDED, NONE_SET, WRONG, given};
use super::session::{ClientName, Session};
use super::shown;
use crate::resp::{Protocol, Replies};

pub(super) fn answer(
    server: &Server,
    session: &mut Session,
    replies: &mut Replies,
    kind: Kind,
    arguments: &[&[u8]],
) -> Result<(), String> {
    match (kind, arguments) {
        (Kind::Ping, []) => replies.simple("PONG"),
        (Kind::Ping | Kind::Echo, [text, ..]) => replies.bulk(text),
        (Kind::Hello, _) => return hello(server, session, replies, arguments),
        (Kind::Auth, _) => {
            let (user, password) = given(arguments);
            authenticate(server, session, user, password)?;
            replies.simple("OK");
        }
        (Kind::Client, [subcommand, rest @ ..]) => return client(session, replies, subcommand, rest),
        (Kind::Select, [b"0"]) => replies.simple("OK"),
        (Kind::Select, _) => return Err("ERR DB index is out of range".to_owned()),
        // What redis-benchmark looks for, and finds that there is none of it.
        (Kind::Config, [subcommand, ..]) if subcommand.eq_ignore_ascii_case(b"get") => replies.map(0),
        (Kind::Config, [subcommand, ..]) => return Err(unknown_subcommand(subcommand)),
        (Kind::Reset, _) => {
            *session = Session::new(session.id, server.password.is_none());
            replies.protocol = session.protocol;
            replies.simple("RESET");
        }
        (Kind::Quit, _) => {
            session.is_ended = true;
            replies.simple("OK");
        }
        _ => {}
    }
    Ok(())
}

fn authenticate(server: &Server, session: &mut Session, user: &[u8], password: &[u8]) -> Result<(), String> {
    match &server.password {
        None => Err(NONE_SET.to_owned()),
        Some(right) if right.is(user, password) => {
            session.is_known = true;
            Ok(())
        }
        Some(_) => Err(WRONG.to_owned()),
    }
}

/// `HELLO [version [AUTH user password] [SETNAME name]]`. Nothing is changed unless all of it can be.
fn hello(
    server: &Server,
    session: &mut Session,
    replies: &mut Replies,
    arguments: &[&[u8]],
) -> Result<(), String> {
    let (version, mut options) = match arguments {
        [] => (session.protocol, arguments),
        [b"2", options @ ..] => (Protocol::Resp2, options),
        [b"3", options @ ..] => (Protocol::Resp3, options),
        [version, ..] if version.iter().all(u8::is_ascii_digit) => {
            return Err("NOPROTO unsupported protocol version".to_owned());
        }
        _ => return Err("ERR Protocol version is not an integer or out of range".to_owned()),
    };
    let (mut name, mut credentials) = (None, None);
    while let [option, rest @ ..] = options {
        options = match (option.to_ascii_lowercase().as_slice(), rest) {
            (b"auth", [user, password, rest @ ..]) => {
                credentials = Some((*user, *password));
                rest
            }
            (b"setname", [given, rest @ ..]) => {
                name = Some(ClientName::new(given)?);
                rest
            }
            _ => return Err(format!("ERR Syntax error in HELLO option '{}'", shown(option))),
        };
    }
    if let Some((user, password)) = credentials {
        authenticate(server, session, user, password)?;
    }
    if !session.is_known {
        let how = "HELLO must be called with the client already authenticated, otherwise the HELLO <proto> AUTH <user> \
                   <pass> option can be used to authenticate the client and select the RESP protocol version at the same time";
        return Err(format!("{} {how}", NEEDED.split(' ').next().unwrap_or_default()));
    }
    if let Some(name) = name {
        session.name = name;
    }
    session.protocol = version;
    replies.protocol = version;
    replies.map(7);
    for (key, value) in [("server", "ratecell"), ("version", env!("CARGO_PKG_VERSION"))] {
        replies.bulk(key.as_bytes());
        replies.bulk(value.as_bytes());
    }
    replies.bulk(b"proto");
    replies.integer(version.number());
    replies.bulk(b"id");
    replies.integer(super::throttle::signed(session.id));
    for (key, value) in [("mode", "standalone"), ("role", "master")] {
        replies.bulk(key.as_bytes());
        replies.bulk(value.as_bytes());
    }
    replies.bulk(b"modules");
    replies.array(0);
    Ok(())
}

/// What clients say of themselves when they connect.
fn client(
    session: &mut Session,
    replies: &mut Replies,
    subcommand: &[u8],
    arguments: &[&[u8]],
) -> Result<(), String> {
    match (subcommand.to_ascii_lowercase().as_slice(), arguments) {
        (b"id", []) => replies.integer(super::throttle::signed(session.id)),
        (b"getname", []) => match session.name.bytes() {
            Some(name) => replies.bulk(name),
            None => replies.null(),
        },
        (b"setname", [name]) => {
            session.name = ClientName::new(name)?;
            replies.simple("OK");
        }
        // Nobody asks for it again.
        (b"setinfo", [_, _]) => replies.simple("OK"),
        (b"no-evict" | b"no-touch", [_]) => replies.simple("OK"),
        (b"id" | b"getname" | b"setname" | b"setinfo" | b"no-evict" | b"no-touch", _) => {
            return Err(wrong_number(&format!("client|{}", shown(subcommand).to_ascii_lowercase())));
        }
        _ => return Err(unknown_subcommand(subcommand)),
    }
    Ok(())
}
