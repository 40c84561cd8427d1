//! The keys of clients: one text for an address, the same in every program that shares a table.

use core::ffi::{c_char, c_void};
use core::mem::offset_of;

use super::why::{Refusal, explained, guarded};
use super::{pointer, ratecell_status, text};
use ratecell_core::client_key::{ClientField, Clients, FieldKind, Trust, Width};

/// The bytes that every key of a client fits in, with its NUL.
pub const RATECELL_CLIENT_KEY_SIZE: usize = 44;

/// More networks than a configuration can have: no more of them are read.
const TOO_MANY_NETWORKS: usize = 257;

/// What knows the clients of requests: a width, and the proxies that are trusted to name them.
#[derive(Debug)]
pub struct ratecell_clients {
    clients: Clients,
}

/// How a field names addresses.
#[repr(i32)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ratecell_client_kind {
    /// Addresses separated by commas, as X-Forwarded-For has them: each proxy adds one at the end.
    RATECELL_CLIENT_LIST = 0,
    /// Forwarded, RFC 7239: as a list, each address the `for` of its element.
    RATECELL_CLIENT_FORWARDED = 1,
    /// One address, which the proxy overwrites, as X-Real-IP and CF-Connecting-IP have it.
    RATECELL_CLIENT_SINGLE = 2,
}

use ratecell_client_kind::*;

const KINDS: [(ratecell_client_kind, FieldKind); 3] = [
    (RATECELL_CLIENT_LIST, FieldKind::List),
    (RATECELL_CLIENT_FORWARDED, FieldKind::Forwarded),
    (RATECELL_CLIENT_SINGLE, FieldKind::Single),
];

/// How clients are known. Begin with RATECELL_CLIENTS_CONFIG_INIT; a field of 0 or NULL has its default.
///
/// Where field, kind, hops and networks all are 0 or NULL, the peer of a connection is the client. Otherwise
/// field is needed, and one of hops and networks. Later versions may append fields, as of ratecell_config.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct ratecell_clients_config {
    /// sizeof(ratecell_clients_config), which RATECELL_CLIENTS_CONFIG_INIT sets.
    pub size: usize,
    /// The bits of an IPv4 address that are the client, 8 to 32. 0 is 32.
    pub v4_width: u32,
    /// The bits of an IPv6 address that are the client, 32 to 128. 0 is 64.
    pub v6_width: u32,
    /// The name of the field in which proxies name the client, a token of 1 to 128 characters.
    pub field: *const c_char,
    /// How it names addresses: one of ratecell_client_kind.
    pub kind: i32,
    /// How many proxies of one's own stand before the program, 1 to 16; 1 for a field of one address. It is
    /// right only if every request passes every proxy.
    pub hops: u32,
    /// Or the networks that one's own proxies are in, n_networks of them, 1 to 256: each text is an address, or an
    /// address, "/" and a length, or "unix" for all Unix sockets.
    pub networks: *const *const c_char,
    /// How many networks there are.
    pub n_networks: usize,
    /// Where the call writes in a sentence what is wrong with the configuration, beginning with one of bad_width,
    /// bad_field, bad_trust, bad_hops and bad_network, and a NUL: an empty text where it makes what it was asked for.
    /// What does not fit is cut off. NULL, with a why_len of 0, for no sentence.
    pub why: *mut c_char,
    /// The bytes that why has.
    pub why_len: usize,
}

/// A line of a request's header: bytes, without what separates the name from the value. Frozen, 32 bytes.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct ratecell_line {
    /// The field's name.
    pub name: *const c_void,
    /// Its length.
    pub name_len: usize,
    /// What stands behind the colon. White space around it makes no difference.
    pub value: *const c_void,
    /// Its length.
    pub value_len: usize,
}

/// The size of the first version.
const OLDEST: usize = offset_of!(ratecell_clients_config, why_len) + size_of::<usize>();
impl ratecell_clients_config {
    const fn defaults() -> Self {
        Self {
            size: size_of::<Self>(),
            v4_width: 0,
            v6_width: 0,
            field: core::ptr::null(),
            kind: 0,
            hops: 0,
            networks: core::ptr::null(),
            n_networks: 0,
            why: core::ptr::null_mut(),
            why_len: 0,
        }
    }

    /// The caller's config as this version's; what an older one lacks is 0.
    ///
    /// # Safety
    /// If `config` is neither NULL nor misaligned, it points to a size, and that many bytes are there that
    /// nobody changes during the call.
    unsafe fn read(config: *const Self) -> Result<Self, ratecell_status> {
        // SAFETY: the caller's word; a config's fields are integers and raw pointers.
        unsafe { pointer::sized(config, Self::defaults(), OLDEST) }
    }

    /// # Safety
    /// The field and the networks are texts that end in a NUL, as many as there are said to be.
    unsafe fn clients(&self) -> Result<Clients, Refusal> {
        let has_networks = !self.networks.is_null() || self.n_networks > 0;
        let is_trusting = !self.field.is_null() || self.kind != 0 || self.hops > 0 || has_networks;
        let name = if self.field.is_null() {
            &[]
        } else {
            // SAFETY: the caller's word.
            unsafe { pointer::text(self.field) }?.to_bytes()
        };
        // SAFETY: the caller's word.
        let texts = unsafe { pointer::inputs(self.networks, self.n_networks) }?;
        let texts = texts.iter().take(TOO_MANY_NETWORKS);
        // SAFETY: the caller's word.
        let networks = texts.map(|text| unsafe { pointer::text(*text) }.map(core::ffi::CStr::to_bytes));
        let networks = networks.collect::<Result<Vec<_>, _>>()?;

        let or_default = |width, default| if width == 0 { default } else { width };
        let width = Width::new(or_default(self.v4_width, 32), or_default(self.v6_width, 64))?;
        if !is_trusting {
            return Ok(Clients::new(width, None));
        }
        let trust = self.trust(name, has_networks.then_some(networks))?;
        Ok(Clients::new(width, Some(trust)))
    }

    fn trust(&self, name: &[u8], networks: Option<Vec<&[u8]>>) -> Result<Trust, Refusal> {
        let field = |kind| ClientField::new(name, kind);
        let Some((_, kind)) = KINDS.into_iter().find(|(number, _)| *number as i32 == self.kind) else {
            // What is wrong with the name comes first.
            field(FieldKind::List)?;
            let kind = self.kind;
            return Err(Refusal::config(format!(
                "bad_field: the kind is {kind}: expected one of ratecell_client_kind"
            )));
        };
        Ok(field(kind)?.trusting((self.hops > 0).then_some(self.hops), networks)?)
    }
}

impl ratecell_line {
    /// # Safety
    /// As the header's preamble has it.
    unsafe fn read<'a>(&self) -> Result<(&'a [u8], &'a [u8]), ratecell_status> {
        // SAFETY: the caller's word.
        unsafe { Ok((pointer::key(self.name, self.name_len)?, pointer::key(self.value, self.value_len)?)) }
    }
}

/// Make what knows the clients of requests by a configuration: one key for each, the same text in every program.
///
/// A key is an IPv4 address (203.0.113.7), an IPv6 network (2001:db8:1:2::/64), "unix" or "unknown". The client is
/// looked for from the right: the peer, then the addresses in the field from its end, each read as long as the one
/// before it is trusted. vectors/edges/client_keys.md defines it.
///
/// Returns 0; *clients is then to be ended by ratecell_clients_free.
/// Errors: RATECELL_EINVAL and RATECELL_EALIGN (config, its networks and why, clients), RATECELL_ESIZE and
/// RATECELL_E2BIG (config's size; n_networks, why_len), RATECELL_ECONFIG (why says more), RATECELL_EPANIC. *clients is
/// then as it was, and nothing but why is written.
/// NULL: config may be, for the defaults; in it field, networks where n_networks is 0, why where why_len is 0.
/// Threads: any. Not from a signal handler.
/// Since: 0.1
#[must_use]
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ratecell_clients_new(
    config: *const ratecell_clients_config,
    clients: *mut *mut ratecell_clients,
) -> i32 {
    guarded(|| {
        // SAFETY: as the header's preamble has it.
        let config = unsafe { ratecell_clients_config::read(config) }?;
        // SAFETY: as the header's preamble has it.
        let (out, clients) = unsafe {
            let construct = || Ok((pointer::output(clients)?, config.clients()?));
            explained(config.why, config.why_len, construct, |_| None)
        }?;
        out.write(Box::into_raw(Box::new(ratecell_clients { clients })));
        Ok(())
    })
}

/// Write the key of a request's client and a NUL, without allocation.
///
/// peer is the address of the connection's other end as text, with a port or without. It is a Unix socket's where it
/// is empty or begins with "@", "/" or "unix:"; other text that is no address has the key "unknown". lines are the
/// lines of the request's header, in their order; those of other fields are passed over, so they may be left out.
/// There is always a key, and RATECELL_CLIENT_KEY_SIZE bytes have room for each.
///
/// Returns the length without the NUL. With len 0 only the length is returned.
/// Errors: RATECELL_EINVAL (clients, peer, lines, a name or value, buffer), RATECELL_EALIGN (clients, lines),
/// RATECELL_ESIZE (peer_len, n, a line's lengths, len), RATECELL_ENOSPC, RATECELL_EPANIC.
/// NULL: peer may be, if peer_len is 0; lines, if n is 0; a name or value, if its length is 0; buffer, if len is 0.
/// Threads: any.
/// Since: 0.1
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ratecell_client_key(
    clients: *const ratecell_clients,
    peer: *const c_void,
    peer_len: usize,
    lines: *const ratecell_line,
    n: usize,
    buffer: *mut c_char,
    len: usize,
) -> i32 {
    text::guarded(|| {
        // SAFETY: as the header's preamble has it.
        let (clients, peer, lines) =
            unsafe { (pointer::input(clients)?, pointer::key(peer, peer_len)?, pointer::inputs(lines, n)?) };
        for line in lines {
            // SAFETY: as the header's preamble has it.
            unsafe { line.read() }?;
        }
        // SAFETY: as the header's preamble has it; none is refused, for each was read above.
        let lines = lines.iter().map(|line| unsafe { line.read() }.unwrap_or_default());
        let key = clients.clients.key(peer, lines);
        // SAFETY: as the header's preamble has it.
        unsafe { text::write(&key, buffer, len) }
    })
}

/// End what knows clients and give its memory back.
///
/// It must come from this library, not be ended yet, and no call on it be under way.
///
/// Returns nothing.
/// Errors: none.
/// NULL: clients may be; nothing happens.
/// Threads: one, after all others are done with it. Not from a signal handler.
/// Since: 0.1
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ratecell_clients_free(clients: *mut ratecell_clients) {
    if clients.is_null() || !clients.is_aligned() {
        return;
    }
    // SAFETY: made by Box::into_raw, and by the caller's word not ended and not in use.
    drop(unsafe { Box::from_raw(clients) });
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_kind_has_its_number() {
        assert_eq!(KINDS.map(|(_, kind)| kind), FieldKind::ALL);
        assert_eq!(KINDS.map(|(number, _)| number as i32), [0, 1, 2]);
    }

    #[test]
    fn the_longest_key_fits_its_size() {
        let width = Width::new(32, 127).expect("a width");
        let longest = ratecell_core::client_key::ClientKey::of_address(
            b"1111:2222:3333:4444:5555:6666:7777:8888",
            width,
        );
        assert_eq!(longest.expect("an address").as_bytes().len() + 1, RATECELL_CLIENT_KEY_SIZE);
    }
}
