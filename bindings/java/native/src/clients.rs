//! The keys of clients.

use ratecell::client_key::{ClientField, Clients, ClientsError, Width};

use crate::fault::Fault;
use crate::handle;
use crate::message::{Reader, Writer};

#[expect(clippy::needless_pass_by_value, reason = "for map_err")]
fn refused(error: ClientsError) -> Fault {
    Fault::argument(error.to_string())
}

pub(crate) fn make(reader: &mut Reader<'_>, writer: &mut Writer) -> Result<(), Fault> {
    let width = Width::new(reader.u32()?, reader.u32()?).map_err(refused)?;
    let field = reader.maybe(Reader::bytes)?;
    let kind = reader.text()?;
    let hops = reader.maybe(Reader::u32)?;
    let networks = reader.maybe(|reader| reader.several(Reader::bytes))?;
    let clients = if field.is_none() && hops.is_none() && networks.is_none() && kind == "list" {
        Clients::new(width, None)
    } else {
        let kind = kind.parse().map_err(refused)?;
        let field = ClientField::new(field.unwrap_or_default(), kind).map_err(refused)?;
        let trust = match (hops, networks) {
            (Some(hops), None) => field.hops(hops),
            (hops, networks) => field.trusting(hops, networks),
        };
        Clients::new(width, Some(trust.map_err(refused)?))
    };
    writer.u64(handle::keep(clients));
    Ok(())
}

pub(crate) fn free(reader: &mut Reader<'_>, _: &mut Writer) -> Result<(), Fault> {
    handle::free::<Clients>(reader.u64()?);
    Ok(())
}

/// The key of a peer and of the lines of a header, and why it is that one.
pub(crate) fn search(reader: &mut Reader<'_>, writer: &mut Writer) -> Result<(), Fault> {
    let clients: &Clients = handle::at(reader.u64()?);
    let peer = reader.bytes()?;
    let lines = reader.several(|reader| Ok((reader.bytes()?, reader.bytes()?)))?;
    let (key, end) = clients.search(peer, lines);
    writer.text(key.as_str());
    writer.text(end.name());
    Ok(())
}
