//! The connections to a store's servers: commands go to the servers of their keys, all at once.
//!
//! A command is sent again only where the server said that it did nothing: the key is elsewhere, or the script is not
//! known. So none is done twice.

use std::collections::HashSet;
use std::time::Instant;

use redis::{Cmd, ServerError, Value as Raw};

use super::address::Address;
use super::error::{StoreError, StoreErrorKind};
use super::node::Node;
use super::operation::Form;
use super::slots::{self, Slots};

/// How often a command is sent on to where a server says that its key is.
const ROUNDS: usize = 6;

/// A command, and the key by which its server is chosen.
pub(crate) struct Ask {
    pub(crate) key: Vec<u8>,
    pub(crate) command: Cmd,
}

/// The command with a script's text in the place of its hash, of the n-th that is asked, and which script that is.
pub(crate) type Whole<'a> = &'a dyn Fn(usize) -> Option<(Cmd, usize)>;

pub(crate) type Outcome = Result<Raw, StoreError>;

pub(crate) struct Links {
    address: Address,
    name: String,
    nodes: Vec<Node>,
    /// In a cluster.
    slots: Option<Slots>,
    /// A server said, or seems to say, that the slots have moved.
    stale: bool,
    /// From which server on the slots were asked for last.
    turn: usize,
}

/// A command on its way: whose server, and how it is sent.
struct Pending {
    index: usize,
    node: usize,
    asking: bool,
    form: Form,
}

impl Links {
    pub(crate) fn new(address: Address, name: String) -> Self {
        let nodes = address.servers.iter().cloned().map(Node::new).collect();
        let stale = address.cluster;
        Self { address, name, nodes, slots: None, stale, turn: 0 }
    }

    /// Sends all of `asks` and waits for their answers: one for each. The first two stay together: where the second is
    /// sent on, the first is asked there again.
    pub(crate) fn exchange(
        &mut self,
        asks: &[Ask],
        whole: Whole<'_>,
        deadline: Instant,
    ) -> Result<Vec<Outcome>, StoreError> {
        if self.stale {
            self.find_slots(deadline)?;
        }
        let mut outcomes: Vec<Option<Outcome>> = asks.iter().map(|_| None).collect();
        let mut pending = Vec::new();
        for (index, ask) in asks.iter().enumerate() {
            match self.node_of(&ask.key) {
                Ok(node) => pending.push(Pending { index, node, asking: false, form: Form::Short }),
                Err(error) => outcomes[index] = Some(Err(error)),
            }
        }
        for _ in 0..ROUNDS {
            if pending.is_empty() {
                break;
            }
            // Stable: the commands to one server stay in order.
            pending.sort_by_key(|ask| ask.node);
            pending = self.round(asks, whole, &pending, deadline, &mut outcomes);
        }
        let lost = || {
            Err(StoreError::new(
                StoreErrorKind::Other,
                "the servers of the cluster send it from one to another",
            ))
        };
        Ok(outcomes.into_iter().map(|outcome| outcome.unwrap_or_else(lost)).collect())
    }

    /// Sends what is pending, all of a server at once, and reads the answers; what is to be sent again.
    fn round(
        &mut self,
        asks: &[Ask],
        whole: Whole<'_>,
        pending: &[Pending],
        deadline: Instant,
        outcomes: &mut [Option<Outcome>],
    ) -> Vec<Pending> {
        let groups = || pending.chunk_by(|one, other| one.node == other.node);
        let mut failed = Vec::new();
        for group in groups() {
            let mut bytes = Vec::new();
            for ask in group {
                if ask.asking {
                    redis::cmd("ASKING").write_packed_command(&mut bytes);
                }
                match whole(ask.index).filter(|_| ask.form == Form::Whole) {
                    Some((command, _)) => command.write_packed_command(&mut bytes),
                    None => asks[ask.index].command.write_packed_command(&mut bytes),
                }
            }
            failed.push(self.nodes[group[0].node].send(&bytes, deadline).err());
        }
        let mut again = Vec::new();
        let mut texts = HashSet::new();
        let mut replicas = Vec::new();
        for (group, mut failed) in groups().zip(failed) {
            for ask in group {
                let answer = match &failed {
                    Some(error) => Err(error.clone()),
                    None => self.answer(ask, deadline),
                };
                match answer {
                    Ok(Raw::ServerError(error)) => match self.next(ask, &error, whole, &mut texts) {
                        Some(next) => {
                            outcomes[ask.index] = None;
                            if next.index == 1 && next.form == Form::Short {
                                again.push(Pending { index: 0, asking: false, ..next });
                            }
                            again.push(next);
                        }
                        None => {
                            let node = &self.nodes[ask.node];
                            let error = StoreError::of_server(&error, &node.shown, &self.name);
                            if error.kind() == StoreErrorKind::Replica {
                                replicas.push(ask.node);
                            }
                            outcomes[ask.index] = Some(Err(error));
                        }
                    },
                    Ok(raw) => outcomes[ask.index] = Some(Ok(raw)),
                    Err(error) => {
                        self.stale = self.slots.is_some();
                        outcomes[ask.index] = Some(Err(error.clone()));
                        failed = Some(error);
                    }
                }
            }
        }
        // The address, or the cluster, may name another master by now.
        for node in replicas {
            self.nodes[node].close();
            self.stale = self.slots.is_some();
        }
        again
    }

    fn answer(&mut self, ask: &Pending, deadline: Instant) -> Outcome {
        if ask.asking {
            let asking = self.nodes[ask.node].receive(deadline)?;
            if let Raw::ServerError(error) = asking {
                // The command after it was answered too: as by a server that does not have the key.
                self.nodes[ask.node].receive(deadline)?;
                return Ok(Raw::ServerError(error));
            }
        }
        self.nodes[ask.node].receive(deadline)
    }

    /// How a command that a server did not do is sent again, if it is.
    fn next(
        &mut self,
        ask: &Pending,
        error: &ServerError,
        whole: Whole<'_>,
        texts: &mut HashSet<(usize, usize)>,
    ) -> Option<Pending> {
        let Pending { index, node, asking, form } = *ask;
        match error.code() {
            "NOSCRIPT" if form == Form::Short => {
                // The text once a script and server: it is known for those that follow.
                let first = texts.insert((node, whole(index)?.1));
                let form = if first { Form::Whole } else { Form::Short };
                Some(Pending { index, node, asking, form })
            }
            code @ ("MOVED" | "ASK") => {
                let slots = self.slots.as_ref()?;
                let (slot, server) = error.details()?.split_once(' ')?;
                let slot = slot.parse().ok().filter(|slot| slots.get(*slot).is_some())?;
                let (host, port) = server.rsplit_once(':')?;
                let to =
                    self.node_at(Some(host).filter(|host| !host.is_empty()), port.parse().ok()?, node)?;
                if code == "MOVED" {
                    self.slots.as_mut()?.set(slot, to);
                }
                Some(Pending { index, node: to, asking: code == "ASK", form: Form::Short })
            }
            "CLUSTERDOWN" => {
                self.stale = self.slots.is_some();
                None
            }
            _ => None,
        }
    }

    /// The number of the server there; of one without a host, on the machine of the server `from`.
    fn node_at(&mut self, host: Option<&str>, port: u16, from: usize) -> Option<usize> {
        let host = host.or_else(|| Some(self.nodes[from].host()?.0))?.to_owned();
        let known = self.nodes.iter().position(|node| node.host() == Some((&host, port)));
        Some(known.unwrap_or_else(|| {
            self.nodes.push(Node::new(self.address.server(&host, port)));
            self.nodes.len() - 1
        }))
    }

    fn node_of(&self, key: &[u8]) -> Result<usize, StoreError> {
        let Some(slots) = &self.slots else { return Ok(0) };
        let slot = slots::slot(key);
        slots.get(slot).ok_or_else(|| {
            let text = format!("{}: no server of the cluster holds slot {slot}", self.address.shown);
            StoreError::new(StoreErrorKind::Other, text)
        })
    }

    /// Asks the servers of the cluster, one after the other, who holds what.
    fn find_slots(&mut self, deadline: Instant) -> Result<(), StoreError> {
        for info in &self.address.servers {
            let node = Node::new(info.clone());
            if !self.nodes.iter().any(|known| known.host() == node.host()) {
                self.nodes.push(node);
            }
        }
        self.turn = self.turn.wrapping_add(1);
        let count = self.nodes.len();
        let mut order: Vec<usize> = (0..count).map(|next| (self.turn.wrapping_add(next)) % count).collect();
        order.sort_by_key(|node| !self.nodes[*node].is_open());
        let mut last = None;
        for node in order {
            // A server that is silent must leave time for another.
            let left = deadline.saturating_duration_since(Instant::now());
            match self.ask_slots(node, Instant::now() + left / 2) {
                Ok(ranges) => {
                    self.take_slots(node, ranges);
                    self.stale = false;
                    return Ok(());
                }
                Err(error) => last = Some(error),
            }
        }
        Err(last.unwrap_or_else(|| StoreError::new(StoreErrorKind::Url, "the address has no servers")))
    }

    fn ask_slots(&mut self, node: usize, deadline: Instant) -> Result<Vec<slots::Range>, StoreError> {
        let asked = redis::cmd("CLUSTER").arg("SLOTS").get_packed_command();
        self.nodes[node].send(&asked, deadline)?;
        let answer = self.nodes[node].receive(deadline)?;
        let shown = &self.nodes[node].shown;
        match answer {
            Raw::ServerError(error)
                if error.details().is_some_and(|text| text.contains("cluster support disabled")) =>
            {
                let text = format!("{shown} is of no cluster: expected the address redis://{shown}");
                Err(StoreError::new(StoreErrorKind::Url, text))
            }
            Raw::ServerError(error) => Err(StoreError::of_server(&error, shown, &self.name)),
            answer => match slots::ranges(&answer) {
                Some(ranges) if !ranges.is_empty() => Ok(ranges),
                _ => {
                    let text = format!(
                        "{shown} knows of no server that holds a slot: expected a cluster that is set up"
                    );
                    Err(StoreError::new(StoreErrorKind::Other, text))
                }
            },
        }
    }

    /// Keeps the connections to the masters, and no others.
    fn take_slots(&mut self, from: usize, ranges: Vec<slots::Range>) {
        let mut slots = Slots::new();
        let mut masters = Vec::new();
        for (range, host, port) in ranges {
            let Some(node) = self.node_at(host.as_deref(), port, from) else { continue };
            let place = masters.iter().position(|master| *master == node).unwrap_or_else(|| {
                masters.push(node);
                masters.len() - 1
            });
            range.for_each(|slot| slots.set(slot, place));
        }
        let mut nodes: Vec<Option<Node>> = std::mem::take(&mut self.nodes).into_iter().map(Some).collect();
        self.nodes = masters.into_iter().filter_map(|master| nodes[master].take()).collect();
        self.slots = Some(slots);
    }

    pub(crate) fn shown(&self) -> &str {
        &self.address.shown
    }

    pub(crate) fn name(&self) -> &str {
        &self.name
    }

    pub(crate) fn is_cluster(&self) -> bool {
        self.address.cluster
    }
}
