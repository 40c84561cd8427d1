//! Limits by a file of rules.

use core::ffi::c_char;
use core::mem::MaybeUninit;
use std::panic::{AssertUnwindSafe, catch_unwind};

use arrayvec::ArrayVec;

use super::flags::{RATECELL_RESERVE, instant};
use super::ratecell_status::{
    RATECELL_EINVAL, RATECELL_ENOSPC, RATECELL_EPANIC, RATECELL_ERESERVE, RATECELL_ERULES, RATECELL_ESIZE,
    RATECELL_UNCLEAR_PATH,
};
use super::why::{Refusal, explained, guarded};
use super::{decision, fields, pointer, ratecell_config, ratecell_stats, ratecell_status, stats, text};
use crate::limiter::layers::MAX_LAYERS;
use crate::rules::{Decided, File, HeldList, MadeList, Rules, RulesError, RulesLimiter};
use ratecell_core::Outcome;
use ratecell_core::fields::Fields;

mod config;
mod held;
mod request;

pub use held::{ratecell_rules_release, ratecell_rules_settle};
use request::{Given, name};
pub use request::{
    RATECELL_RULE_NAME_SIZE, ratecell_attribute, ratecell_rules_answer, ratecell_rules_claim,
    ratecell_rules_held, ratecell_rules_request, ratecell_rules_shadow,
};

/// A limiter whose limits are those of a file of rules.
#[derive(Debug)]
pub struct ratecell_rules {
    limiter: RulesLimiter,
}

/// Make a limiter by a file of rules, with all its memory.
///
/// text is the file's, TOML of len bytes; it is not kept. All rules have one table. The config's max_keys is the room of all
/// of them together: a key counts once for each layer of the policy that it is limited by. when_full, epoch_s and
/// RATECELL_FORKED are the table's; RATECELL_FULL_SHARE is refused, because a shared cell is of one policy. With
/// RATECELL_RESERVATIONS every request has RATECELL_RESERVE, and rules may count requests in_flight. With beside, an earlier
/// limiter by rules, all of them are 0: its own hold.
///
/// With file, the table is in that file: all processes that name it admit together exactly what the rules allow. The file knows
/// each limit by the name of its rule and tier; to which requests it applies, its key and cost are those of each process's
/// own text. Rules of other names are added to what the file has. Where a rule of the same name has another policy in it, the
/// call is refused, or that one holds with RATECELL_FOLLOW, or is changed for all with RATECELL_CHANGE. No name is ever taken
/// away: all rules that the file has seen have 4,094 layers together at most.
///
/// Returns 0; free *rules with ratecell_rules_free.
/// Errors: RATECELL_ERULES (the config's why names the line, the rule, the field, and what was wrong),
/// RATECELL_EINVAL and RATECELL_EALIGN (text, config, rules), RATECELL_ESIZE and RATECELL_E2BIG (len, config's size),
/// RATECELL_ECONFIG (also a field that has no use here), RATECELL_EPOLICY_RANGE (a calendar does not fit from the epoch),
/// RATECELL_ENOMEM, RATECELL_ENORANDOM, RATECELL_EPROCESSOR, RATECELL_EPANIC. *rules is then as it was. A rule with in_flight
/// without RATECELL_RESERVATIONS, and one with a sliding_log with RATECELL_FORKED or a file, is RATECELL_ERULES, too. Of a file
/// also RATECELL_EREGION_POLICY (why names the first rule that differs, and both policies), the others of
/// ratecell_limiter_open, and RATECELL_ECHANGE.
/// NULL: config may be, for the defaults.
/// Threads: any. Not from a signal handler.
/// Since: 0.1
#[must_use]
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ratecell_rules_new(
    text: *const c_char,
    len: usize,
    config: *const ratecell_config,
    rules: *mut *mut ratecell_rules,
) -> i32 {
    guarded(|| {
        // SAFETY: as the header's preamble has it.
        let config = unsafe { ratecell_config::read(config) }?;
        // SAFETY: as the header's preamble has it.
        let (out, limiter) = unsafe {
            let construct = || {
                let out = pointer::output(rules)?;
                Ok((out, config.rules_limiter(|| parsed(text, len))?))
            };
            explained(config.why, config.why_len, construct, |_| None)
        }?;
        out.write(Box::into_raw(Box::new(ratecell_rules { limiter })));
        Ok(())
    })
}

/// Limit by another file of rules from now on, while other threads decide. Each request is decided by the old file or by
/// the new one. A rule goes on with what it has counted if its name and its key stay. Where the numbers of its limit change,
/// what each key has used stays used, in units, as by ratecell_limiter_change; with another algorithm, another window or
/// another number of layers it begins anew. So does a rule whose limit changes at all with RATECELL_FORKED, or while there is
/// another limiter beside it. In a file the limits change for all processes that have it open: each has the new policies of the
/// rules in its own text from the next request on, and rules that are not in this text stay as they are.
///
/// flags is 0, or RATECELL_AT: then the change is at now_ns, for callers that give every request its time. Requests that were
/// given a later time, and are decided by the rules before, count as before the change.
///
/// Returns 0, and writes an empty text to why.
/// Errors: those of ratecell_rules_new, of text, len, rules, why and why_len; RATECELL_EINVAL (also of flags);
/// RATECELL_ECHANGE (the time is past the last that a new limit can decide at); RATECELL_EFILE and RATECELL_EREGION_DAMAGED of a
/// file that cannot be locked or read, or has no room for more rules. Then why says what was wrong, and the rules in
/// force stay.
/// NULL: why may be, if why_len is 0.
/// Threads: any; of several changes each is made. Not from a signal handler.
/// Since: 0.1
#[must_use]
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ratecell_rules_change(
    rules: *const ratecell_rules,
    text: *const c_char,
    len: usize,
    flags: u32,
    now_ns: u64,
    why: *mut c_char,
    why_len: usize,
) -> i32 {
    guarded(|| {
        // SAFETY: as the header's preamble has it.
        unsafe {
            let change = || {
                let (limiter, now_ns) = (&pointer::input(rules)?.limiter, instant(flags, now_ns)?);
                Ok(limiter.change_by(parsed(text, len)?, now_ns)?)
            };
            explained(why, why_len, change, |()| None)
        }
    })
}

/// Decide a request by rules: all limits that apply are charged, or none is.
///
/// Shadow rules are decided after the others, each by itself, and charged if the request is allowed. It allocates until its
/// thread has seen the longest keys of the file, and where it asks by a rule for the first time after a change of limits.
///
/// With RATECELL_RESERVE what was charged of each rule is written to the request's held, to be settled or released;
/// nothing of shadow rules is held. Such a call allocates.
///
/// Returns the gravest outcome: RATECELL_ALLOWED if all allow it or none applies, RATECELL_DENIED, RATECELL_NEVER (also of a
/// rule with "blocked", and where the rules have more than 64 layers together) or RATECELL_CLOCK_RANGE;
/// RATECELL_UNCLEAR_PATH where the file refuses a path that can be read in several ways, which is to be answered with 400.
/// Writes *answer, and the request's claims, shadows and held; of a request that is not allowed nothing is held.
/// Errors: RATECELL_EINVAL (rules, request, its attributes, flags, reserved, claims, shadows or held, answer, an attribute's
/// name or value), RATECELL_EALIGN, RATECELL_ESIZE (a length or count), RATECELL_ERESERVE (a limiter of
/// RATECELL_RESERVATIONS, and no RATECELL_RESERVE), RATECELL_ENOSPC (max_held), RATECELL_EPANIC. Then nothing was charged or
/// written, but for RATECELL_EPANIC.
/// NULL: attributes, claims, shadows and held may be, if there are none; a name or value, if its length is 0.
/// Threads: any. Not from a signal handler.
/// Since: 0.1
#[must_use]
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ratecell_rules_decide(
    rules: *const ratecell_rules,
    request: *const ratecell_rules_request,
    answer: *mut ratecell_rules_answer,
) -> i32 {
    // SAFETY: as the header's preamble has it.
    let decide =
        || unsafe { decided(pointer::input(rules)?, pointer::input(request)?, pointer::output(answer)?) };
    match catch_unwind(AssertUnwindSafe(decide)).unwrap_or(Err(RATECELL_EPANIC)) {
        Ok(status) | Err(status) => status as i32,
    }
}

/// Write the HTTP fields of a response about the rules that limited a request, each named by its rule, and a NUL, without
/// allocation: lines as those of ratecell_fields.
///
/// claims are those that ratecell_rules_decide wrote. If the rules were changed since, there are no fields. styles and
/// now_unix_ns are those of ratecell_fields.
///
/// Returns the length without the NUL: 0, and an empty text, if no field is to be sent. With len 0 only the length is
/// returned.
/// Errors: RATECELL_EINVAL (rules, claims, buffer, styles, or a claim is none that was written), RATECELL_EALIGN (rules,
/// claims), RATECELL_ESIZE (n, len), RATECELL_ENOSPC, RATECELL_EPANIC.
/// NULL: claims may be, if n is 0; buffer, if len is 0.
/// Threads: any.
/// Since: 0.1
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ratecell_rules_fields(
    rules: *const ratecell_rules,
    styles: u32,
    claims: *const ratecell_rules_claim,
    n: usize,
    now_unix_ns: u64,
    buffer: *mut c_char,
    len: usize,
) -> i32 {
    text::guarded(|| {
        let styles = fields::chosen(styles)?;
        if n > MAX_LAYERS {
            return Err(RATECELL_ESIZE);
        }
        // SAFETY: as the header's preamble has it.
        let (rules, claims) = unsafe { (pointer::input(rules)?, pointer::inputs(claims, n)?) };
        let file = rules.limiter.file();
        let mut answers = ArrayVec::<_, MAX_LAYERS>::new();
        for claim in claims.iter().filter(|claim| claim.file == file.generation) {
            let made = claim.read(&file).ok_or(RATECELL_EINVAL)?;
            let answer = file.field(&made).ok_or(RATECELL_EINVAL)?;
            answers.try_push(answer).map_err(|_| RATECELL_ESIZE)?;
        }
        // SAFETY: as the header's preamble has it.
        unsafe { text::write(&Fields::new(styles, &answers, now_unix_ns), buffer, len) }
    })
}

/// Report the contents of a limiter by rules and the counts of their events: now, or with RATECELL_AT at
/// now_ns, which is not read otherwise.
///
/// All rules have one table, but each sliding_log has its own, and a file of more than 4,094 layers has more. Events and
/// bytes are summed over them. Slots, live keys and live_error are those of the table with the most. Live
/// keys are estimated as in ratecell_limiter_stats without RATECELL_EXACT. The counts of a table go when a change of the file
/// takes it away. Fields about many machines are 0. A table of up to 163,840 keys is read as a whole, and all of its memory
/// becomes resident.
///
/// size is sizeof(ratecell_stats): this many bytes are written. Bytes that this library does not know are 0.
///
/// In a file, another process may have put limits in force that cannot be read, or that this limiter cannot have. Then each
/// request is RATECELL_NEVER, by no rule, until they are changed again, and this function says why: it writes *stats, and
/// returns RATECELL_EREGION_DAMAGED, or RATECELL_ERULES of a limit that it cannot have.
///
/// Returns 0 and writes *stats.
/// Errors: RATECELL_EINVAL (rules, stats, or flags is neither RATECELL_AT nor 0), RATECELL_EALIGN (rules, stats),
/// RATECELL_ESIZE (size), RATECELL_EPANIC; and those above, with which *stats is written.
/// NULL: neither.
/// Threads: any. Not from a signal handler.
/// Since: 0.1
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ratecell_rules_stats(
    rules: *const ratecell_rules,
    flags: u32,
    now_ns: u64,
    stats: *mut ratecell_stats,
    size: usize,
) -> i32 {
    guarded(|| {
        let now_ns = instant(flags, now_ns)?;
        // SAFETY: as the header's preamble has it.
        let (rules, place) = unsafe { (pointer::input(rules)?, stats::place(stats, size)?) };
        let now_ns = now_ns.unwrap_or_else(|| rules.limiter.now_ns());
        ratecell_stats::from(rules.limiter.stats_at(now_ns)).write(place);
        rules.limiter.fault().map_or(Ok(()), |error| Err(error.into()))
    })
}

/// Free a limiter by rules and its memory.
///
/// It must come from this library and not be freed yet, and no call on it may be under way.
///
/// Returns nothing.
/// Errors: none.
/// NULL: rules may be; nothing happens.
/// Threads: one, after all others are done with it. Not from a signal handler.
/// Since: 0.1
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ratecell_rules_free(rules: *mut ratecell_rules) {
    if rules.is_null() || !rules.is_aligned() {
        return;
    }
    // SAFETY: made by Box::into_raw, and by the caller's word not ended and not in use.
    drop(unsafe { Box::from_raw(rules) });
}

/// # Safety
/// As the header's preamble has it.
unsafe fn parsed(text: *const c_char, len: usize) -> Result<Rules, Refusal> {
    // SAFETY: the caller's word.
    let text = unsafe { pointer::inputs(text.cast::<u8>(), len) }?;
    let refused = |error: RulesError| Refusal::new(RATECELL_ERULES, error.to_string());
    Rules::parse(text).map_err(refused)
}

/// Decides a request, and writes what came of it.
///
/// # Safety
/// What the request points to is as the header's preamble has it.
unsafe fn decided(
    rules: &ratecell_rules,
    request: &ratecell_rules_request,
    answer: &mut MaybeUninit<ratecell_rules_answer>,
) -> Result<ratecell_status, ratecell_status> {
    let ratecell_rules_request { attributes, n_attributes, now_ns, flags, reserved, .. } = *request;
    let now_ns = instant(flags & !RATECELL_RESERVE, now_ns)?;
    let reserves = flags & RATECELL_RESERVE != 0;
    if reserved != 0 || (!reserves && !request.held.is_null()) {
        return Err(RATECELL_EINVAL);
    }
    if rules.limiter.is_reserving() && !reserves {
        return Err(RATECELL_ERESERVE);
    }
    // SAFETY: the caller's word.
    let (attributes, claims, shadows, held_places) = unsafe {
        (
            Given::read(attributes, n_attributes)?,
            pointer::outputs(request.claims, request.max_claims)?,
            pointer::outputs(request.shadows, request.max_shadows)?,
            pointer::outputs(request.held, request.max_held)?,
        )
    };
    let mut made = MadeList::new();
    let mut held = reserves.then(|| HeldList::new(held_places.len()));
    let (mut n_shadows, mut places) = (0_u32, shadows.iter_mut());
    let shadow = |file: &File, rule, outcome| {
        n_shadows = n_shadows.saturating_add(1);
        if let Some(place) = places.next() {
            let rule = name(file, Some(rule));
            place.write(ratecell_rules_shadow { outcome: code(outcome), reserved: 0, rule });
        }
    };
    let (file, Decided { answer: decided, is_unclear_path }) =
        rules.limiter.decided(&attributes, now_ns, &mut made, held.as_mut(), shadow);
    if let Some(held) = held {
        if held.is_too_short {
            return Err(RATECELL_ENOSPC);
        }
        // Also of a request that is refused: what stood there may be another's, which is not to be given back twice.
        for (number, place) in (0..made.len()).zip(held_places) {
            ratecell_rules_held::write(place, held.claims.get(number));
        }
    }
    for (place, made) in claims.iter_mut().zip(&made) {
        ratecell_rules_claim::write(place, made, file.generation);
    }
    let status = if is_unclear_path { RATECELL_UNCLEAR_PATH } else { decision::status(decided.outcome) };
    let (limit, remaining, reset_after_ns) =
        decided.shown.map_or((0, 0, 0), |shown| (shown.limit, shown.remaining, shown.reset_after_ns));
    answer.write(ratecell_rules_answer {
        retry_after_ns: decided.retry_after_ns,
        delay_ns: decided.delay_ns,
        limit,
        remaining,
        reset_after_ns,
        outcome: status as i32,
        n_claims: u32::try_from(made.len()).unwrap_or(u32::MAX),
        n_shadows,
        reserved: 0,
        rule: name(&file, decided.rule.or(decided.shown.map(|shown| shown.rule))),
    });
    Ok(status)
}

fn code(outcome: Outcome) -> i32 {
    decision::status(outcome) as i32
}
