//! When to ask a limiter again, and which waiter is first: the core's machine, driven from C.

use core::ffi::c_void;
use core::mem::{MaybeUninit, offset_of};

use super::ratecell_status::RATECELL_EINVAL;
use super::why::guarded;
use super::{pointer, ratecell_decision, ratecell_limiter, ratecell_status};
use ratecell_core::waiting::{Action, Answer, Event, Pace, Parameters, WaitOutcome, Waiting};

/// A machine that says when to ask a limiter again, and which waiter is first. It has no clock, no thread and no
/// lock, and calls no limiter: its driver does, which is the caller.
#[derive(Debug)]
pub struct ratecell_waiting {
    machine: Waiting,
}

/// How a machine waits. Begin with RATECELL_WAITING_PARAMETERS_INIT, which has the defaults.
///
/// Later versions may append fields, of which 0 is the default; sizes are read as those of ratecell_config.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct ratecell_waiting_parameters {
    /// sizeof(ratecell_waiting_parameters), which RATECELL_WAITING_PARAMETERS_INIT sets.
    pub size: usize,
    /// The most waiters of one key, those that are held included; 1000. With 0 nobody waits: each is one try.
    pub max_waiting: u64,
    /// The most waiters of all keys; 100,000.
    pub max_total: u64,
    /// At least 1: between the asks of a first waiter whose units others have taken; 1 ms.
    pub min_pause_ns: u64,
    /// At least 1: after so long a first waiter asks again, however long it was to wait; 10 s.
    pub max_pause_ns: u64,
    /// At least 1: between asks while the table is full and does not say until when; 100 ms.
    pub full_pause_ns: u64,
    /// Whose policy has the three numbers below, which are then 0. NULL: they are given. It is read during the call
    /// and not kept.
    pub limiter: *const ratecell_limiter,
    /// The largest cost that the policy admits; 0: not known.
    pub capacity: u64,
    /// One unit takes pace_num / pace_den nanoseconds. Policies of gcra, token_bucket, leaky_meter and leaky_queue
    /// have a pace, but for mode=interval; of several layers it is the least.
    pub pace_num: u64,
    /// 0: the policy has no pace.
    pub pace_den: u64,
}

/// The kinds of a ratecell_wait_event.
#[repr(u32)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ratecell_wait_event_kind {
    /// A new waiter: id, key, cost and by_ns. Its id is of no other that stands.
    RATECELL_WAIT_ARRIVE = 1,
    /// The limiter's decision on the last RATECELL_WAIT_ASK: id, decision, and by_ns as the action had it.
    RATECELL_WAIT_ANSWER = 2,
    /// Some time has passed. Too early and too late are both allowed.
    RATECELL_WAIT_TIMER = 3,
    /// The waiter id gives up. Of one that is finished already nothing happens.
    RATECELL_WAIT_CANCEL = 4,
    /// This process gave units of the key back, or forgot it.
    RATECELL_WAIT_CHANGED = 5,
    /// This process has another policy: parameters, of which limiter, capacity and pace count.
    RATECELL_WAIT_POLICY = 6,
    /// The limiter is to be ended: all waiters are finished.
    RATECELL_WAIT_CLOSE = 7,
}

/// Something that has happened: 64 bytes on 64-bit machines, the same in every version. What its kind does not
/// name is not looked at.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct ratecell_wait_event {
    /// One of ratecell_wait_event_kind.
    pub kind: u32,
    /// Units. A waiter for 0 goes at once.
    pub cost: u32,
    /// When, by the limiter's own time. Of an answer, the instant of its request.
    pub now_ns: u64,
    /// The driver's name for a waiter.
    pub id: u64,
    /// The key's bytes; may be NULL if key_len is 0. They are copied.
    pub key: *const c_void,
    /// How many.
    pub key_len: usize,
    /// The last instant at which the waiter may go; UINT64_MAX: there is none. now_ns is one try.
    pub by_ns: u64,
    /// What the limiter decided.
    pub decision: *const ratecell_decision,
    /// The policy's.
    pub parameters: *const ratecell_waiting_parameters,
}

/// The kinds of a ratecell_wait_action.
#[repr(u32)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ratecell_wait_action_kind {
    /// Ask the limiter for the waiter's cost with RATECELL_AT, at the event's now_ns, and RATECELL_WITHIN, of
    /// by_ns - now_ns; without RATECELL_WITHIN if by_ns is UINT64_MAX. Hand its decision in as a RATECELL_WAIT_ANSWER of
    /// the same now_ns.
    RATECELL_WAIT_ASK = 1,
    /// The end of this waiter, with its outcome: nothing more is said of it.
    RATECELL_WAIT_FINISH = 2,
    /// The waiter was charged and does not go: give its units back, where the policy can.
    RATECELL_WAIT_GIVE_BACK = 3,
}

/// How a waiter ends. Nothing but RATECELL_WAIT_GO is charged, and one that was held when it ended, as far as its
/// units were not given back.
#[repr(u32)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ratecell_wait_outcome {
    /// It goes.
    RATECELL_WAIT_GO = 0,
    /// It cannot go by its deadline; at_ns is an instant before which it could not, UINT64_MAX where none is known.
    RATECELL_WAIT_LATE = 1,
    /// Its cost is above the capacity.
    RATECELL_WAIT_NEVER = 2,
    /// The clock is past the range of the policy's state.
    RATECELL_WAIT_CLOCK_RANGE = 3,
    /// Too many wait already.
    RATECELL_WAIT_BUSY = 4,
    /// It gave up.
    RATECELL_WAIT_CANCELLED = 5,
    /// The limiter is to be ended.
    RATECELL_WAIT_CLOSED = 6,
}

/// Something that the driver is to do: 32 bytes, the same in every version.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct ratecell_wait_action {
    /// One of ratecell_wait_action_kind.
    pub kind: u32,
    /// Of RATECELL_WAIT_FINISH one of ratecell_wait_outcome, otherwise 0.
    pub outcome: u32,
    /// The waiter.
    pub id: u64,
    /// Of RATECELL_WAIT_ASK the instant by which the request must be able to go, otherwise UINT64_MAX: any.
    pub by_ns: u64,
    /// Of RATECELL_WAIT_LATE, as there; otherwise UINT64_MAX.
    pub at_ns: u64,
}

use ratecell_wait_action_kind::*;
use ratecell_wait_event_kind::*;
use ratecell_wait_outcome::*;

/// The size of the first version.
const OLDEST: usize = offset_of!(ratecell_waiting_parameters, pace_den) + size_of::<u64>();

/// No instant.
const NONE: u64 = u64::MAX;

/// Make a machine without waiters, for one limiter.
///
/// Returns 0; *waiting is then to be ended by ratecell_waiting_free.
/// Errors: RATECELL_EINVAL (parameters: a pause is 0, or capacity or pace is given beside limiter) and
/// RATECELL_EALIGN (parameters, its limiter, waiting), RATECELL_ESIZE and RATECELL_E2BIG (parameters' size),
/// RATECELL_EPANIC. *waiting is then as it was.
/// NULL: parameters may be, for the defaults.
/// Threads: any. Not from a signal handler.
/// Since: 0.1
#[must_use]
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ratecell_waiting_new(
    parameters: *const ratecell_waiting_parameters,
    waiting: *mut *mut ratecell_waiting,
) -> i32 {
    guarded(|| {
        // SAFETY: as the header's preamble has it.
        let (parameters, out) =
            unsafe { (ratecell_waiting_parameters::read(parameters)?, pointer::output(waiting)?) };
        let machine = Waiting::new(parameters);
        out.write(Box::into_raw(Box::new(ratecell_waiting { machine })));
        Ok(())
    })
}

/// Take an event in, and write up to max of the actions that are to be performed, in their order.
///
/// What does not fit max is handed out by the next call, before what follows from its own event. An ask that follows
/// from an event is made at that event's now_ns, and its answer handed in with it. A now_ns before that of an earlier
/// event counts as that one. *next_ns is the instant at which RATECELL_WAIT_TIMER is to be handed in; one that has
/// passed means at once, UINT64_MAX that no event is due by time.
///
/// Returns how many actions there were: as many of them as max are written, and the others are left.
/// Errors: RATECELL_EINVAL (waiting, actions, event's kind, key, decision, parameters; an arrival whose id stands, an
/// answer that was not asked for), RATECELL_EALIGN (waiting, event, actions, next_ns, event's pointers but key),
/// RATECELL_ESIZE (max, event's key_len, parameters' size), RATECELL_E2BIG (parameters' size), RATECELL_EPANIC.
/// Nothing has changed then.
/// NULL: event may be, to take what is left; actions, if max is 0; next_ns, where it is not asked for.
/// Threads: one at a time. Not from a signal handler.
/// Since: 0.1
#[must_use]
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ratecell_waiting_event(
    waiting: *mut ratecell_waiting,
    event: *const ratecell_wait_event,
    actions: *mut ratecell_wait_action,
    max: usize,
    next_ns: *mut u64,
) -> i32 {
    let mut count = 0;
    let status = guarded(|| {
        // SAFETY: as the header's preamble has it; no other call is under way on this machine.
        let (machine, event, places, next) = unsafe {
            let machine = &mut pointer::in_use(waiting)?.machine;
            let event = if event.is_null() { None } else { Some(pointer::input(event)?.read()?) };
            (machine, event, pointer::outputs(actions, max)?, pointer::optional_output(next_ns)?)
        };
        let handed = match event {
            Some((now_ns, event)) => machine.event(now_ns, event).map_err(|_| RATECELL_EINVAL)?,
            None => machine.actions(),
        };
        count = i32::try_from(handed.len()).unwrap_or(i32::MAX);
        // A place is taken before its action, so that no action is lost for want of one.
        for (place, action) in places.iter_mut().zip(handed) {
            ratecell_wait_action::write(place, action);
        }
        if let Some(next) = next {
            next.write(machine.next_ns().unwrap_or(NONE));
        }
        Ok(())
    });
    if status < 0 { status } else { count }
}

/// End a machine and give its memory back. Its waiters are gone; nothing is said of them.
///
/// It must come from this library, not be ended yet, and no call on it be under way.
///
/// Returns nothing.
/// Errors: none.
/// NULL: waiting may be; nothing happens.
/// Threads: one, after all others are done with it. Not from a signal handler.
/// Since: 0.1
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ratecell_waiting_free(waiting: *mut ratecell_waiting) {
    if waiting.is_null() || !waiting.is_aligned() {
        return;
    }
    // SAFETY: made by Box::into_raw, and by the caller's word not ended and not in use.
    drop(unsafe { Box::from_raw(waiting) });
}

impl ratecell_waiting_parameters {
    const ZEROS: Self = Self {
        size: 0,
        max_waiting: 0,
        max_total: 0,
        min_pause_ns: 0,
        max_pause_ns: 0,
        full_pause_ns: 0,
        limiter: core::ptr::null(),
        capacity: 0,
        pace_num: 0,
        pace_den: 0,
    };

    /// The caller's parameters; what an older one lacks is 0.
    ///
    /// # Safety
    /// As [`pointer::sized`]; the limiter in it is one, NULL or misaligned.
    unsafe fn read(parameters: *const Self) -> Result<Parameters, ratecell_status> {
        if parameters.is_null() {
            return Ok(Parameters::default());
        }
        // SAFETY: the caller's word; its fields are integers and a raw pointer.
        let given = unsafe { pointer::sized(parameters, Self::ZEROS, OLDEST) }?;
        let pauses = [given.min_pause_ns, given.max_pause_ns, given.full_pause_ns];
        // SAFETY: the caller's word.
        let (capacity, pace) = unsafe { given.policy() }?;
        if pauses.contains(&0) {
            return Err(RATECELL_EINVAL);
        }
        Ok(Parameters {
            capacity,
            pace,
            // More than memory could hold is no limit.
            max_waiting: usize::try_from(given.max_waiting).unwrap_or(usize::MAX),
            max_total: usize::try_from(given.max_total).unwrap_or(usize::MAX),
            min_pause_ns: given.min_pause_ns,
            max_pause_ns: given.max_pause_ns,
            full_pause_ns: given.full_pause_ns,
        })
    }

    /// # Safety
    /// The limiter is one, NULL or misaligned.
    unsafe fn policy(&self) -> Result<(Option<u64>, Option<Pace>), ratecell_status> {
        if self.limiter.is_null() {
            return Ok((
                (self.capacity > 0).then_some(self.capacity),
                Pace::new(self.pace_num, self.pace_den),
            ));
        }
        if [self.capacity, self.pace_num, self.pace_den] != [0; 3] {
            return Err(RATECELL_EINVAL);
        }
        // SAFETY: the caller's word.
        let limiter = unsafe { pointer::input(self.limiter) }?;
        let Parameters { capacity, pace, .. } = Parameters::of(&limiter.limiter.policy());
        Ok((capacity, pace))
    }
}

impl ratecell_wait_event {
    /// # Safety
    /// As the header's preamble has it, of each pointer that its kind names.
    unsafe fn read(&self) -> Result<(u64, Event<'_>), ratecell_status> {
        let (now_ns, id) = (self.now_ns, self.id);
        let by = instant(self.by_ns);
        // SAFETY: the caller's word.
        let key = || unsafe { pointer::key(self.key, self.key_len) };
        let event = match self.kind {
            kind if kind == RATECELL_WAIT_ARRIVE as u32 => {
                Event::Arrive { id, key: key()?, cost: self.cost, deadline: by }
            }
            kind if kind == RATECELL_WAIT_ANSWER as u32 => {
                // SAFETY: the caller's word.
                let decision = unsafe { pointer::input(self.decision) }?.read().ok_or(RATECELL_EINVAL)?;
                let within_ns = by.map(|by| by.saturating_sub(now_ns));
                Event::Answer { id, answer: Answer::of(&decision, within_ns) }
            }
            kind if kind == RATECELL_WAIT_TIMER as u32 => Event::Timer,
            kind if kind == RATECELL_WAIT_CANCEL as u32 => Event::Cancel { id },
            kind if kind == RATECELL_WAIT_CHANGED as u32 => Event::Changed { key: key()? },
            kind if kind == RATECELL_WAIT_POLICY as u32 => {
                if self.parameters.is_null() {
                    return Err(RATECELL_EINVAL);
                }
                // SAFETY: the caller's word.
                let parameters = unsafe { ratecell_waiting_parameters::read(self.parameters) }?;
                Event::Policy { capacity: parameters.capacity, pace: parameters.pace }
            }
            kind if kind == RATECELL_WAIT_CLOSE as u32 => Event::Close,
            _ => return Err(RATECELL_EINVAL),
        };
        Ok((now_ns, event))
    }
}

impl ratecell_wait_action {
    fn write(place: &mut MaybeUninit<Self>, action: Action) {
        let (kind, id) = match action {
            Action::Ask { id, .. } => (RATECELL_WAIT_ASK, id),
            Action::Finish { id, .. } => (RATECELL_WAIT_FINISH, id),
            Action::GiveBack { id } => (RATECELL_WAIT_GIVE_BACK, id),
        };
        let mut written = Self { kind: kind as u32, outcome: 0, id, by_ns: NONE, at_ns: NONE };
        match action {
            Action::Ask { by, .. } => written.by_ns = by.unwrap_or(NONE),
            Action::Finish { outcome, at, .. } => {
                written.outcome = number(outcome) as u32;
                written.at_ns = at.unwrap_or(NONE);
            }
            Action::GiveBack { .. } => {}
        }
        place.write(written);
    }
}

fn number(outcome: WaitOutcome) -> ratecell_wait_outcome {
    match outcome {
        WaitOutcome::Go => RATECELL_WAIT_GO,
        WaitOutcome::Late => RATECELL_WAIT_LATE,
        WaitOutcome::Never => RATECELL_WAIT_NEVER,
        WaitOutcome::ClockRange => RATECELL_WAIT_CLOCK_RANGE,
        WaitOutcome::Busy => RATECELL_WAIT_BUSY,
        WaitOutcome::Cancelled => RATECELL_WAIT_CANCELLED,
        // An outcome that a later core adds ends its waiter, and nothing goes.
        _ => RATECELL_WAIT_CLOSED,
    }
}

/// The instant that C has as UINT64_MAX where there is none.
fn instant(ns: u64) -> Option<u64> {
    (ns != NONE).then_some(ns)
}
