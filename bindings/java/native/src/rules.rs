//! Limits by a file of rules.

use std::path::Path;

use ratecell::fields::Styles;
use ratecell::rules::{Rules, RulesDecision, RulesLimiter, RulesReservation};

use crate::fault::Fault;
use crate::fields::{styles, write_fields};
use crate::message::{Reader, Writer};
use crate::{decision, handle, limiter, making};

fn read<'a>(reader: &mut Reader<'_>) -> Result<&'a RulesLimiter, Fault> {
    reader.u64().map(handle::at)
}

/// The rules of a text, or of a file.
fn parsed(reader: &mut Reader<'_>) -> Result<Rules, Fault> {
    let given = reader.bytes()?;
    let path = reader.maybe(Reader::text)?.map(Path::new);
    match path {
        None => Rules::parse(given).map_err(|error| Fault::rules(None, &error)),
        Some(path) => {
            let bytes = std::fs::read(path).map_err(|error| Fault::unreadable(path, &error))?;
            Rules::parse(bytes).map_err(|error| Fault::rules(Some(path), &error))
        }
    }
}

pub(crate) fn make(reader: &mut Reader<'_>, writer: &mut Writer) -> Result<(), Fault> {
    let mut builder = RulesLimiter::builder(parsed(reader)?);
    if let Some(keys) = reader.maybe(making::max_keys)? {
        builder = builder.max_keys(keys);
    }
    if let Some(full) = reader.maybe(making::when_full)? {
        builder = builder.when_full(full);
    }
    if let Some(seconds) = reader.maybe(Reader::i64)? {
        builder = builder.epoch(making::epoch(seconds)?);
    }
    if reader.flag()? {
        builder = builder.reserving();
    }
    if reader.flag()? {
        builder = builder.follow();
    }
    if reader.flag()? {
        builder = builder.change();
    }
    let made = match reader.maybe(Reader::text)? {
        None => builder.build()?,
        Some(path) => builder.open(path)?,
    };
    writer.u64(handle::keep(made));
    Ok(())
}

pub(crate) fn free(reader: &mut Reader<'_>, _: &mut Writer) -> Result<(), Fault> {
    handle::free::<RulesLimiter>(reader.u64()?);
    Ok(())
}

/// Whether every request is to be reserved, the epoch, and the names of the rules.
pub(crate) fn about(reader: &mut Reader<'_>, writer: &mut Writer) -> Result<(), Fault> {
    let rules = read(reader)?;
    writer.flag(rules.is_reserving());
    limiter::write_instant(writer, rules.epoch());
    let in_force = rules.rules();
    writer.count(in_force.len());
    for rule in in_force.iter() {
        writer.text(rule.name());
    }
    Ok(())
}

pub(crate) fn now(reader: &mut Reader<'_>, writer: &mut Writer) -> Result<(), Fault> {
    writer.u64(read(reader)?.now_ns());
    Ok(())
}

/// A request's attributes.
fn attributes<'a>(reader: &mut Reader<'a>) -> Result<Vec<(&'a str, &'a [u8])>, Fault> {
    reader.several(|reader| Ok((reader.text()?, reader.bytes()?)))
}

/// The styles that are asked for, and the time of the decision since 1970.
fn wanted(reader: &mut Reader<'_>) -> Result<Option<(Styles, u64)>, Fault> {
    reader.maybe(|reader| Ok((styles(reader)?, reader.u64()?)))
}

fn write(writer: &mut Writer, told: &RulesDecision, wanted: Option<(Styles, u64)>) {
    writer.u32(decision::code(told.outcome));
    writer.flag(told.is_unclear_path());
    writer.maybe(told.rule_name().or_else(|| told.shown_name()), Writer::text);
    writer.u64(told.retry_after_ns);
    writer.u64(told.delay_ns);
    let figures = told.shown.map(|shown| (shown.limit, shown.remaining, shown.reset_after_ns));
    let (limit, remaining, reset_ns) = figures.unwrap_or_default();
    writer.u64(limit);
    writer.u64(remaining);
    writer.u64(reset_ns);
    let shadows = told.shadows();
    writer.count(shadows.len());
    for (rule, outcome) in shadows {
        writer.text(rule);
        writer.u32(decision::code(outcome));
    }
    match wanted {
        None => writer.count(0),
        Some((styles, now_unix_ns)) => {
            let fields = told.fields(styles, now_unix_ns);
            write_fields(writer, fields.iter().map(|(name, value)| (name, value.to_string())).collect());
        }
    }
}

pub(crate) fn decide(reader: &mut Reader<'_>, writer: &mut Writer) -> Result<(), Fault> {
    let rules = read(reader)?;
    if rules.is_reserving() {
        return Err(Fault::argument(
            "rules that are made with reserving: decide gives no permit that could be released; expected reserve",
        ));
    }
    let (request, at_ns, wanted) = (attributes(reader)?, reader.maybe(Reader::u64)?, wanted(reader)?);
    let now_ns = at_ns.unwrap_or_else(|| rules.now_ns());
    write(writer, &rules.decide_at(&request, now_ns), wanted);
    Ok(())
}

pub(crate) fn reserve(reader: &mut Reader<'_>, writer: &mut Writer) -> Result<(), Fault> {
    let rules = read(reader)?;
    let (request, at_ns, wanted) = (attributes(reader)?, reader.maybe(Reader::u64)?, wanted(reader)?);
    let (told, reservation) = match at_ns {
        Some(at_ns) => rules.reserve_at(&request, at_ns),
        None => rules.reserve(&request),
    };
    write(writer, &told, wanted);
    writer.maybe(reservation, |writer, reservation| writer.bytes(&reservation.to_bytes()));
    Ok(())
}

fn data(reader: &mut Reader<'_>) -> Result<RulesReservation, Fault> {
    RulesReservation::from_bytes(reader.bytes()?).map_err(|error| Fault::argument(error.to_string()))
}

/// Settles by attributes that are known afterwards; without any, cancels.
pub(crate) fn settle(reader: &mut Reader<'_>, _: &mut Writer) -> Result<(), Fault> {
    let (rules, reservation) = (read(reader)?, data(reader)?);
    let (actual, at_ns) = (reader.maybe(attributes)?, reader.maybe(Reader::u64)?);
    match (actual, at_ns) {
        (Some(actual), Some(at_ns)) => rules.settle_at(reservation, &actual, at_ns),
        (Some(actual), None) => rules.settle(reservation, &actual),
        (None, Some(at_ns)) => rules.cancel_at(reservation, at_ns),
        (None, None) => rules.cancel(reservation),
    }
    Ok(())
}

/// Gives permits back: how many units came back.
pub(crate) fn release(reader: &mut Reader<'_>, writer: &mut Writer) -> Result<(), Fault> {
    let (rules, reservation) = (read(reader)?, data(reader)?);
    writer.u32(match reader.maybe(Reader::u64)? {
        Some(at_ns) => rules.release_at(reservation, at_ns),
        None => rules.release(reservation),
    });
    Ok(())
}

pub(crate) fn change(reader: &mut Reader<'_>, _: &mut Writer) -> Result<(), Fault> {
    let (rules, parsed) = (read(reader)?, parsed(reader)?);
    match reader.maybe(Reader::u64)? {
        Some(at_ns) => rules.change_at(parsed, at_ns)?,
        None => rules.change(parsed)?,
    }
    Ok(())
}

pub(crate) fn stats(reader: &mut Reader<'_>, writer: &mut Writer) -> Result<(), Fault> {
    let rules = read(reader)?;
    let at_ns = reader.maybe(Reader::u64)?.unwrap_or_else(|| rules.now_ns());
    limiter::write_stats(writer, &rules.stats_at(at_ns));
    Ok(())
}
