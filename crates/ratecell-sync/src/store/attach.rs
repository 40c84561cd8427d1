//! From an address to a connection: what is checked before the first batch.

use std::fmt;
use std::sync::Arc;
use std::time::{Duration, Instant};

use ratecell_core::algorithm::{Span, Want};
use redis::{Cmd, Value as Raw};

use super::address::Address;
use super::connection::{Connection, clock, set_if_none, unanswered};
use super::error::{StoreError, StoreErrorKind};
use super::links::{Ask, Links};
use super::operation::{self, Abilities};
use super::record::{Record, Terms};
use super::script::{Scripts, packed};
use super::value::{nothing_key, record_key};

/// The address of a store.
#[derive(Clone)]
pub struct Store(Arc<Address>);

/// A store under a name: the prefix of its keys. The same name is the same limit.
#[derive(Clone)]
pub struct Named {
    store: Store,
    name: String,
}

/// A store that has been found fit.
#[derive(Debug)]
#[non_exhaustive]
pub struct Attached {
    /// The connection.
    pub connection: Connection,
    /// What holds for all machines.
    pub record: Record,
    /// What the operator should know.
    pub warnings: Vec<String>,
    /// What the server calls itself, such as `Redis 7.0.15`.
    pub server: String,
}

/// The rights that a user of the store needs, in the words of `ACL SETUSER`.
pub fn acl_rules(name: &str) -> String {
    format!(
        "~{name}* +time +get +getrange +set +del +eval +evalsha +scan (below Redis 6.2 +pexpireat, in a cluster +cluster|slots +asking)"
    )
}

impl Store {
    /// Reads an address; connects to nothing. One of
    ///
    /// - `redis://[user:password@]host[:port][/database]`;
    /// - `rediss://…`, the same by TLS, with the feature `tls`;
    /// - `redis+cluster://[user:password@]host:port,host:port…` or `rediss+cluster://…`, some servers of a cluster;
    /// - `unix:/path`, or `redis+unix:///path[?db=database&user=user&pass=password]`.
    ///
    /// # Errors
    ///
    /// [`StoreErrorKind::Url`], which names the address, but not its password.
    pub fn open(url: &str) -> Result<Self, StoreError> {
        Address::parse(url).map(Arc::new).map(Self)
    }

    /// The store under `name`, of 1 to 64 of `A-Z a-z 0-9 _ . : -`.
    ///
    /// # Errors
    ///
    /// [`StoreErrorKind::Name`].
    pub fn named(&self, name: &str) -> Result<Named, StoreError> {
        let fits = |byte: u8| byte.is_ascii_alphanumeric() || b"_.:-".contains(&byte);
        if (1..=64).contains(&name.len()) && name.bytes().all(fits) {
            return Ok(Named { store: self.clone(), name: name.to_owned() });
        }
        let text = format!("{name:?} is no name of a store: expected 1 to 64 of A-Z a-z 0-9 _ . : -");
        Err(StoreError::new(StoreErrorKind::Name, text))
    }
}

impl fmt::Debug for Store {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Store").field(&self.0.shown).finish()
    }
}

impl fmt::Debug for Named {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Named").field("store", &self.store).field("name", &self.name).finish()
    }
}

impl Named {
    /// The name.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The address, without its password, and the name: for messages.
    pub fn shown(&self) -> String {
        format!("{} under the name {}", self.store.0.shown, self.name)
    }

    /// Connects, checks that the server and the user's rights do, and makes the record or compares `terms` with it.
    /// Without terms it follows what is there. Each question, and each batch afterwards, may take `timeout`.
    ///
    /// A store under another rate or capacity is no error: its record holds, and a warning says so.
    ///
    /// # Errors
    ///
    /// Any kind of [`StoreErrorKind`] but `Name` and `Forgotten`; the text says what was found and what to do.
    pub fn attach(&self, terms: Option<&Terms>, timeout: Duration) -> Result<Attached, StoreError> {
        terms.map_or(Ok(()), Terms::check)?;
        let timeout = timeout.max(Duration::from_millis(1));
        let links = Links::new(Address::clone(&self.store.0), self.name.clone());
        let mut asking = Asking { links, timeout };
        let server = asking.hello()?;
        let mut warnings = asking.eviction();
        let record = asking.record(terms)?;
        if let Some(terms) = terms {
            warnings.extend(terms.compare(&record, asking.links.shown())?);
        }
        asking.rights(&record, server.can)?;
        let connection = Connection::new(asking.links, timeout, server.can, record.clone());
        Ok(Attached { connection, record, warnings, server: server.shown })
    }
}

struct Server {
    shown: String,
    can: Abilities,
}

/// Questions one by one, to the server with the record.
struct Asking {
    links: Links,
    timeout: Duration,
}

impl Asking {
    fn ask(&mut self, command: Cmd) -> Result<Raw, StoreError> {
        let deadline = Instant::now() + self.timeout;
        let key = record_key(self.links.name());
        let mut outcomes = self.links.exchange(&[Ask { key, command }], &|_| None, deadline)?;
        outcomes.pop().unwrap_or_else(unanswered)
    }

    /// Which server it is. `HELLO` needs no right.
    fn hello(&mut self) -> Result<Server, StoreError> {
        let too_old = |text: &str| {
            let text = format!("{text}: expected Redis 6.0 or later, or Valkey");
            StoreError::new(StoreErrorKind::TooOld, text)
        };
        let shown = self.links.shown().to_owned();
        let answer = match self.ask(redis::cmd("HELLO")) {
            Err(error) if error.to_string().contains("unknown command") => {
                return Err(too_old(&format!("{shown} does not know HELLO")));
            }
            answer => answer?,
        };
        let Raw::Array(parts) = answer else { return unanswered() };
        let field = |wanted: &str| {
            let pair = parts.as_chunks::<2>().0.iter().find(|[name, _]| is(name, wanted));
            pair.and_then(|[_, value]| redis::from_redis_value_ref::<String>(value).ok()).unwrap_or_default()
        };
        let (kind, version, mode) = (field("server"), field("version"), field("mode"));
        let mut numbers = version.split('.').map_while(|number| number.parse::<u32>().ok());
        let number = (numbers.next().unwrap_or(0), numbers.next().unwrap_or(0));
        let valkey = kind == "valkey";
        let server = match kind.as_str() {
            "valkey" => format!("Valkey {version}"),
            "redis" => format!("Redis {version}"),
            other => format!("{other} {version}"),
        };
        if number < (6, 0) {
            return Err(too_old(&format!("{shown} is {server}")));
        }
        if mode == "cluster" && !self.links.is_cluster() {
            let text =
                format!("{shown} is of a cluster: expected the address redis+cluster://host:port,host:port");
            return Err(StoreError::new(StoreErrorKind::Url, text));
        }
        if is_replica(&field("role")) {
            let text = format!("{shown} is a replica, which takes no writes: expected its master's address");
            return Err(StoreError::new(StoreErrorKind::Replica, text));
        }
        Ok(Server { shown: server, can: Abilities::of(valkey, number) })
    }

    /// A warning where the server may forget keys before their time; none where the user may not ask.
    fn eviction(&mut self) -> Vec<String> {
        let mut config = redis::cmd("CONFIG");
        config.arg("GET").arg("maxmemory-policy");
        let said = self.ask(config).ok().and_then(|raw| redis::from_redis_value::<Vec<String>>(raw).ok());
        let policy = said.and_then(|said| said.into_iter().nth(1)).or_else(|| {
            let mut info = redis::cmd("INFO");
            info.arg("memory");
            let text: String = redis::from_redis_value(self.ask(info).ok()?).ok()?;
            text.lines().find_map(|line| Some(line.strip_prefix("maxmemory_policy:")?.trim().to_owned()))
        });
        let forgets = policy.filter(|policy| policy.starts_with("allkeys-"));
        forgets.map_or_else(Vec::new, |policy| {
            vec![format!(
                "{} has maxmemory-policy {policy}: when its memory is full it forgets what was charged, and the record \
                 too. Expected volatile-ttl or noeviction",
                self.links.shown()
            )]
        })
    }

    /// The record that stands, made of `terms` if there was none.
    fn record(&mut self, terms: Option<&Terms>) -> Result<Record, StoreError> {
        let key = record_key(self.links.name());
        let shown = format!("{} under the name {}", self.links.shown(), self.links.name());
        let found = self.ask(operation::one("GET", &key))?;
        if let (Raw::Nil, Some(terms)) = (&found, terms) {
            let now_us = clock(self.ask(redis::cmd("TIME"))?)?;
            let record = terms.begin(now_us, secret()?)?;
            self.ask(set_if_none(&key, &record))?;
        } else if let Raw::BulkString(bytes) = &found {
            return Record::parse(bytes, &shown);
        }
        // Another machine may have been the first.
        match self.ask(operation::one("GET", &key))? {
            Raw::BulkString(bytes) => Record::parse(&bytes, &shown),
            Raw::Nil => {
                let text =
                    format!("{shown} has no record: expected a machine that brings a policy to be the first");
                Err(StoreError::new(StoreErrorKind::NoRecord, text))
            }
            _ => unanswered(),
        }
    }

    /// Runs each command once where it changes nothing, so that a missing right is known now.
    fn rights(&mut self, record: &Record, can: Abilities) -> Result<(), StoreError> {
        let name = self.links.name();
        let (nothing, key) = (nothing_key(name), record_key(name));
        let mut head = operation::one("GETRANGE", &key);
        head.arg(0).arg(0);
        let mut commands =
            vec![redis::cmd("TIME"), head, set_if_none(&key, record), operation::one("DEL", &nothing)];
        // Of what is not there a swap refuses, and a take whose floor does not raise. Their texts are sent before their
        // hashes, so that the server knows those.
        let span = Span { floor: 1, ceiling: 0, unit: 1, raises: false };
        let take = packed(0, &[span], Want { most: 1, least: 1, share: 1 });
        let scripts = Scripts::of(can.pxat);
        for (script, argument) in [(&scripts.swap, b"-".as_slice()), (&scripts.take, &take)] {
            for (word, text) in [("EVAL", &script.code), ("EVALSHA", &script.hash)] {
                let mut refused = operation::one(word, text.as_bytes());
                refused.arg(1).arg(&nothing).arg(argument).arg(1).arg(1);
                commands.push(refused);
            }
        }
        for command in commands {
            self.ask(command)?;
        }
        Ok(())
    }
}

fn is(raw: &Raw, text: &str) -> bool {
    matches!(raw, Raw::BulkString(bytes) if bytes == text.as_bytes())
}

fn is_replica(role: &str) -> bool {
    role == "replica" || role == "slave"
}

fn secret() -> Result<[u64; 2], StoreError> {
    let mut bytes = [0; 16];
    getrandom::fill(&mut bytes).map_err(|error| {
        StoreError::new(
            StoreErrorKind::Other,
            format!("the system gives no random bytes for the store's secret: {error}"),
        )
    })?;
    let [first, second] =
        [0, 8].map(|at| u64::from_be_bytes(bytes[at..at + 8].try_into().unwrap_or_default()));
    Ok([first, second])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_short_and_plain() {
        let store = Store::open("redis://host").expect("an address");
        let long = "x".repeat(65);
        for name in ["", "a{b}", "a b", "ä", "a*", "a#", long.as_str()] {
            let error = store.named(name).expect_err(name);
            assert_eq!(error.kind(), StoreErrorKind::Name);
            assert!(error.to_string().starts_with(&format!("{name:?} is no name")), "{error}");
        }
        assert_eq!(store.named("Api.v1:eu_west-1").expect("a name").name(), "Api.v1:eu_west-1");
    }

    #[test]
    fn no_password_is_shown() {
        let store = Store::open("redis://user:secret@host").expect("an address");
        let shown = format!("{store:?} {:?}", store.named("api").expect("a name"));
        assert!(shown.contains("user:***@host") && !shown.contains("secret"), "{shown}");
        let named = store.named("api").expect("a name");
        assert_eq!(named.shown(), "redis://user:***@host under the name api");
    }

    #[test]
    fn a_server_that_is_not_there_is_named() {
        let named = Store::open("unix:/nowhere/at/all.sock")
            .and_then(|store| store.named("api"))
            .expect("an address");
        let error = named.attach(None, Duration::from_secs(1)).expect_err("no server");
        assert_eq!(error.kind(), StoreErrorKind::Unreachable);
        assert!(error.to_string().starts_with("cannot connect to /nowhere/at/all.sock"), "{error}");
    }
}
