//! The Common family: `client ident user [time] "request" status bytes`, then anything; also with a virtual
//! host in front.

use std::borrow::Cow;

use memchr::{memchr, memchr_iter};

use super::ReadLine;
use crate::client::{host, is_like_address, is_like_name, without_port};
use crate::number;
use crate::reason::{NoRecord, Reason};
use crate::record::Record;
use crate::text::{quoted, some, split_once, trim_blank, trim_start};
use crate::time::{ClfClock, Zone};

/// A reader of the family.
#[derive(Debug)]
pub(super) struct Combined {
    clock: ClfClock,
    zone: Zone,
    vhost: bool,
}

impl Combined {
    pub(super) fn new(vhost: bool, zone: Zone) -> Self {
        Self { clock: ClfClock::default(), zone, vhost }
    }
}

impl ReadLine for Combined {
    fn read<'l>(&'l mut self, text: &'l [u8]) -> Result<Record<'l>, NoRecord> {
        // A user may hold a bracket, but hardly one after a space; a client that is IPv6 may begin with one.
        let open = memchr_iter(b'[', text).find(|at| text[..*at].ends_with(b" ")).ok_or(Reason::NoTime)?;
        let (who, rest) = (&text[..open - 1], &text[open + 1..]);
        let (vhost, who) = match self.vhost {
            false => (None, who),
            true => split_once(who, b' ').map(|(vhost, who)| (Some(vhost), who)).ok_or(Reason::Who)?,
        };
        let (client, user) = client_and_user(who, self.vhost).ok_or(Reason::Who)?;
        let (time, rest) = split_once(rest, b']').ok_or(Reason::Bracket)?;
        let mut record = Record::at(self.clock.read(time, self.zone)?);
        let rest = rest.strip_prefix(b" \"").ok_or(Reason::Request)?;
        let (request, rest) = quoted(rest).ok_or(Reason::Request)?;
        let (status, rest) = figure(rest).ok_or(Reason::Status)?;
        let (bytes, rest) = figure(rest).ok_or(Reason::Status)?;
        record.status = number::status(status)?;
        record.bytes = number::bytes(bytes, Some(0))?;
        record.client = Some(without_port(Cow::Borrowed(client)));
        record.user = some(Cow::Borrowed(user));
        if let Some(vhost) = vhost {
            record.set_host(host(Cow::Borrowed(vhost)));
        }
        record.request_line = Some(request);
        record.rest = rest;
        Ok(record)
    }
}

/// Reads `client ident user`, in which a user may hold spaces only if the ident is `-`.
fn client_and_user(who: &[u8], vhost: bool) -> Option<(&[u8], &[u8])> {
    let (client, rest) = split_once(who, b' ')?;
    let (ident, user) = split_once(rest, b' ')?;
    let user = if user.len() > 1 { user.strip_suffix(b" ").unwrap_or(user) } else { user };
    let words = !client.is_empty() && !ident.is_empty() && !user.is_empty();
    let one_user = ident == b"-" || memchr(b' ', user).is_none();
    let someone = client != b"-" && (is_like_address(client) || (!vhost && is_like_name(client)));
    (words && one_user && someone).then(|| (client, trim_blank(user)))
}

/// A word after spaces, and what follows it.
fn figure(text: &[u8]) -> Option<(&[u8], &[u8])> {
    let word = trim_start(text, b' ');
    let end = memchr(b' ', word).unwrap_or(word.len());
    (word.len() < text.len() && end > 0).then(|| word.split_at(end))
}
