//! The keys of clients: a configuration and a request of any content, and a twin that is asked through Rust.

use core::ffi::c_char;
use core::ptr;
use std::ffi::{CStr, CString};

use arbitrary::Arbitrary;
use ratecell::client_key::{self, ClientField, ClientsError, FieldKind, Width};
use ratecell::ffi::ratecell_status::RATECELL_ECONFIG;
use ratecell::ffi::{
    ratecell_client_key, ratecell_clients, ratecell_clients_config, ratecell_clients_free,
    ratecell_clients_new, ratecell_line, ratecell_strerror,
};

use super::faults::Fault;
use crate::memory::Memory;
use crate::text::written;

#[derive(Arbitrary, Debug)]
pub(super) struct Clients {
    v4_width: u8,
    v6_width: u8,
    field: Option<Pieces>,
    kind: u8,
    hops: u8,
    networks: Option<Vec<Pieces>>,
    why_len: u8,
    peer: Pieces,
    /// Whether a line is of the field, and its value.
    lines: Vec<(bool, Pieces)>,
    fault: Fault,
}

/// A text of pieces that addresses and lists are made of; other numbers are a byte each.
#[derive(Arbitrary, Debug)]
struct Pieces(Vec<u8>);

const PIECES: [&str; 24] = [
    "10.0.0.1",
    "203.0.113.7",
    "2001:db8::1",
    "::ffff:",
    "64:ff9b::",
    "10.0.0.0/8",
    "::/0",
    "unix",
    "unix:",
    "unknown",
    "[",
    "]",
    ":80",
    "%eth0",
    ",",
    " ",
    "\t",
    "\"",
    "\\",
    "for=",
    ";",
    "X-Forwarded-For",
    "/",
    "_x",
];

impl Pieces {
    fn bytes(&self) -> Vec<u8> {
        let piece = |number: &u8| match PIECES.get(usize::from(*number)) {
            Some(piece) => piece.as_bytes().to_vec(),
            None => vec![*number],
        };
        self.0.iter().flat_map(piece).collect()
    }

    /// As C has it: without NUL.
    fn text(&self) -> CString {
        CString::new(self.bytes().into_iter().filter(|byte| *byte != 0).collect::<Vec<_>>()).expect("no NUL")
    }
}

impl Clients {
    pub(super) fn run(&self) {
        let field = self.field.as_ref().map(Pieces::text);
        let networks: Option<Vec<_>> =
            self.networks.as_ref().map(|networks| networks.iter().map(Pieces::text).collect());
        let pointers: Option<Vec<_>> =
            networks.as_ref().map(|networks| networks.iter().map(|network| network.as_ptr()).collect());
        // Of no networks too the array is there.
        let place = [ptr::null::<c_char>()];
        let why = Memory::new(usize::from(self.why_len), 1);
        let config = ratecell_clients_config {
            size: size_of::<ratecell_clients_config>(),
            v4_width: self.v4_width.into(),
            v6_width: self.v6_width.into(),
            field: field.as_ref().map_or(ptr::null(), |field| field.as_ptr()),
            kind: i32::from(self.kind % 4),
            hops: self.hops.into(),
            networks: match &pointers {
                None => ptr::null(),
                Some(pointers) if pointers.is_empty() => place.as_ptr(),
                Some(pointers) => pointers.as_ptr(),
            },
            n_networks: pointers.as_ref().map_or(0, Vec::len),
            why: why.pointer(),
            why_len: usize::from(self.why_len),
        };
        let out = Memory::room::<*mut ratecell_clients>(self.fault.shift());
        // SAFETY: texts end in a NUL, as many as there are said to be; the outputs have room.
        let status = unsafe { ratecell_clients_new(&config, self.fault.output(out.pointer())) };
        if let (Fault::OutputNull | Fault::OutputMisaligned(_), Some(expected)) =
            (self.fault, self.fault.status())
        {
            assert_eq!(status, expected, "{self:?}");
            out.assert_untouched("ratecell_clients_new");
            // SAFETY: static text.
            self.told(&why, unsafe { CStr::from_ptr(ratecell_strerror(expected)) }.to_bytes());
            return;
        }
        match self.twin(field.as_deref(), networks.as_deref()) {
            Ok(twin) => {
                assert_eq!(status, 0, "{self:?}: expected clients");
                assert!(
                    self.why_len == 0 || why.bytes().first() == Some(&0),
                    "{self:?}: expected an empty text"
                );
                let clients: *mut ratecell_clients = out.value(0);
                self.key(clients, &twin, field.as_deref());
                // SAFETY: just made, and not used again.
                unsafe { ratecell_clients_free(clients) };
            }
            Err(error) => {
                assert_eq!(status, RATECELL_ECONFIG as i32, "{self:?}: expected {error}");
                out.assert_untouched("ratecell_clients_new");
                self.told(&why, error.as_bytes());
            }
        }
    }

    /// As much of the sentence is at `why` as has room there.
    fn told(&self, why: &Memory, sentence: &[u8]) {
        let Some(most) = usize::from(self.why_len).checked_sub(1) else { return };
        let told = CStr::from_bytes_until_nul(why.bytes()).expect("a NUL").to_bytes();
        assert_eq!(told, &sentence[..most.min(sentence.len())], "{self:?}");
    }

    /// The same by Rust, or the sentence that C has.
    fn twin(
        &self,
        field: Option<&CStr>,
        networks: Option<&[CString]>,
    ) -> Result<client_key::Clients, String> {
        let said = |error: ClientsError| error.to_string();
        let or_default = |width: u8, default| if width == 0 { default } else { width.into() };
        let width = Width::new(or_default(self.v4_width, 32), or_default(self.v6_width, 64)).map_err(said)?;
        let kind = self.kind % 4;
        if field.is_none() && kind == 0 && self.hops == 0 && networks.is_none() {
            return Ok(client_key::Clients::new(width, None));
        }
        let name = field.unwrap_or_default().to_bytes();
        let kind = FieldKind::ALL.get(usize::from(kind)).copied();
        let trusted = ClientField::new(name, kind.unwrap_or(FieldKind::List)).map_err(said)?;
        if kind.is_none() {
            return Err("bad_field: the kind is 3: expected one of ratecell_client_kind".to_owned());
        }
        let hops = (self.hops > 0).then_some(self.hops.into());
        let networks = networks.map(|networks| networks.iter().map(|network| network.to_bytes()));
        let trust = trusted.trusting(hops, networks).map_err(said)?;
        Ok(client_key::Clients::new(width, Some(trust)))
    }

    fn key(&self, clients: *const ratecell_clients, twin: &client_key::Clients, field: Option<&CStr>) {
        let peer = self.peer.bytes();
        let name = field.map_or(&b"X"[..], CStr::to_bytes);
        let lines: Vec<_> = self
            .lines
            .iter()
            .map(|(is_field, value)| (if *is_field { name } else { &b"Other"[..] }, value.bytes()))
            .collect();
        let raw: Vec<_> = lines
            .iter()
            .map(|(name, value)| ratecell_line {
                name: name.as_ptr().cast(),
                name_len: name.len(),
                value: value.as_ptr().cast(),
                value_len: value.len(),
            })
            .collect();
        let fault = match self.fault {
            Fault::InputNull | Fault::InputMisaligned(_) | Fault::InputHuge if !raw.is_empty() => self.fault,
            _ => Fault::None,
        };
        let got = written("ratecell_client_key", |buffer, len| {
            let (lines, n) = (fault.input(raw.as_ptr()), fault.len(raw.len()));
            // SAFETY: as many bytes and lines as there are said to be, or a fault that is refused.
            unsafe { ratecell_client_key(clients, peer.as_ptr().cast(), peer.len(), lines, n, buffer, len) }
        });
        match fault.status() {
            Some(status) => assert_eq!(got, Err(status), "{self:?}"),
            None => assert_eq!(got, Ok(twin.key(&*peer, lines).to_string()), "{self:?}"),
        }
    }
}
