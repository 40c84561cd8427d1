//! Which commands there are.

use super::shown;
use crate::resp::Replies;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    Throttle,
    Check,
    Peek,
    Decide,
    Forget,
    Reserve,
    Settle,
    Release,
    Renew,
    Limits,
    Info,
    Commands,
    Ping,
    Echo,
    Hello,
    Auth,
    Client,
    Select,
    Config,
    Reset,
    Quit,
}

#[derive(Debug)]
pub(super) struct Command {
    pub(super) name: &'static str,
    pub(super) kind: Kind,
    /// Arguments behind its name.
    least: usize,
    most: usize,
    /// Where the key stands, counted from the name; 0 where there is none.
    key: i64,
    writes: bool,
}

/// No end to the arguments but that of the request.
const MANY: usize = usize::MAX;

const fn row(name: &'static str, kind: Kind, least: usize, most: usize, key: i64, writes: bool) -> Command {
    Command { name, kind, least, most, key, writes }
}

/// Those that decide come first: they are looked for most often.
static COMMANDS: [Command; 21] = [
    row("cl.throttle", Kind::Throttle, 4, 5, 1, true),
    row("ratecell.check", Kind::Check, 2, 3, 2, true),
    row("ratecell.decide", Kind::Decide, 0, MANY, 0, true),
    row("ratecell.reserve", Kind::Reserve, 3, 3, 2, true),
    row("ratecell.settle", Kind::Settle, 3, 3, 0, true),
    row("ratecell.release", Kind::Release, 2, 2, 0, true),
    row("ratecell.renew", Kind::Renew, 2, 2, 0, true),
    row("ratecell.peek", Kind::Peek, 2, 2, 2, false),
    row("ratecell.forget", Kind::Forget, 2, 2, 2, true),
    row("ratecell.info", Kind::Limits, 0, 1, 0, false),
    row("ping", Kind::Ping, 0, 1, 0, false),
    row("hello", Kind::Hello, 0, MANY, 0, false),
    row("auth", Kind::Auth, 1, 2, 0, false),
    row("client", Kind::Client, 1, MANY, 0, false),
    row("command", Kind::Commands, 0, MANY, 0, false),
    row("info", Kind::Info, 0, MANY, 0, false),
    row("echo", Kind::Echo, 1, 1, 0, false),
    row("select", Kind::Select, 1, 1, 0, false),
    row("config", Kind::Config, 1, MANY, 0, false),
    row("reset", Kind::Reset, 0, 0, 0, false),
    row("quit", Kind::Quit, 0, MANY, 0, false),
];

#[inline]
pub(super) fn find(name: &[u8]) -> Option<&'static Command> {
    COMMANDS.iter().find(|command| command.name.as_bytes().eq_ignore_ascii_case(name))
}

impl Command {
    pub(super) fn takes(&self, arguments: usize) -> bool {
        (self.least..=self.most).contains(&arguments)
    }

    /// Whether it is answered before the password was given.
    pub(super) fn is_for_strangers(&self) -> bool {
        matches!(self.kind, Kind::Auth | Kind::Hello | Kind::Quit | Kind::Reset)
    }

    /// As `COMMAND` gives it: the arguments with the name, negative where there may be more.
    fn arity(&self) -> i64 {
        let least = i64::try_from(self.least + 1).unwrap_or(i64::MAX);
        if self.least == self.most { least } else { -least }
    }

    fn write(&self, replies: &mut Replies) {
        replies.array(6);
        replies.bulk(self.name.as_bytes());
        replies.integer(self.arity());
        replies.array(2);
        replies.simple(if self.writes { "write" } else { "readonly" });
        replies.simple("fast");
        replies.integer(self.key);
        replies.integer(self.key);
        replies.integer(i64::from(self.key > 0));
    }
}

/// In Redis' words.
pub(super) fn wrong_number(name: &str) -> String {
    format!("ERR wrong number of arguments for '{name}' command")
}

/// In Redis' words.
pub(super) fn unknown_subcommand(name: &[u8]) -> String {
    format!("ERR unknown subcommand '{}'.", shown(name))
}

/// `COMMAND` and what follows it.
pub(super) fn commands(replies: &mut Replies, arguments: &[&[u8]]) -> Result<(), String> {
    let Some((subcommand, names)) = arguments.split_first() else {
        replies.array(COMMANDS.len());
        COMMANDS.iter().for_each(|command| command.write(replies));
        return Ok(());
    };
    match subcommand.to_ascii_lowercase().as_slice() {
        b"count" => replies.integer(i64::try_from(COMMANDS.len()).unwrap_or(i64::MAX)),
        b"list" => {
            replies.array(COMMANDS.len());
            COMMANDS.iter().for_each(|command| replies.bulk(command.name.as_bytes()));
        }
        b"info" => {
            replies.array(names.len());
            for name in names {
                match find(name) {
                    Some(command) => command.write(replies),
                    None => replies.null(),
                }
            }
        }
        // What redis-cli completes by. The documentation is a page.
        b"docs" => replies.map(0),
        _ => return Err(unknown_subcommand(subcommand)),
    }
    Ok(())
}
