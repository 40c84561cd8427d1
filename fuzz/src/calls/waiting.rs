//! The machine that waits, given any events; its twin is the core's.

use core::ptr;

use arbitrary::Arbitrary;
use ratecell::ffi::ratecell_status::{RATECELL_EALIGN, RATECELL_EINVAL, RATECELL_ESIZE};
use ratecell::ffi::{
    ratecell_decision, ratecell_wait_action, ratecell_wait_action_kind as action_kind, ratecell_wait_event,
    ratecell_wait_event_kind as kind, ratecell_waiting, ratecell_waiting_event, ratecell_waiting_free,
    ratecell_waiting_new, ratecell_waiting_parameters,
};
use ratecell_core::waiting::{Action, Answer, Event, Pace, Parameters, Waiting as Twin};

use super::Key;
use super::faults::Fault;
use crate::memory::Memory;

/// A machine, and what happens to it.
#[derive(Arbitrary, Debug)]
pub(super) struct Waiting {
    max_waiting: u8,
    max_total: u8,
    capacity: u8,
    pace: (u16, u8),
    /// Room for actions at each call.
    room: u8,
    steps: Vec<(u32, Step, Fault)>,
}

#[derive(Arbitrary, Clone, Copy, Debug)]
enum Step {
    Arrive {
        id: u8,
        key: Key,
        cost: u8,
        by: Option<u32>,
    },
    Answer {
        id: u8,
        outcome: u8,
        retry: u32,
        delay: u16,
        by: Option<u32>,
    },
    Timer,
    Cancel {
        id: u8,
    },
    Changed {
        key: Key,
    },
    Policy {
        capacity: u8,
        pace: (u16, u8),
    },
    Close,
    /// Nothing: what is left is taken.
    Take,
}

struct Handle(*mut ratecell_waiting);

impl Drop for Handle {
    fn drop(&mut self) {
        // SAFETY: made by ratecell_waiting_new, and ended once.
        unsafe { ratecell_waiting_free(self.0) };
    }
}

fn parameters(capacity: u8, (num, den): (u16, u8)) -> (ratecell_waiting_parameters, Parameters) {
    let given = ratecell_waiting_parameters {
        size: size_of::<ratecell_waiting_parameters>(),
        max_waiting: 1000,
        max_total: 100_000,
        min_pause_ns: 7,
        max_pause_ns: 10_000,
        full_pause_ns: 100,
        limiter: ptr::null(),
        capacity: capacity.into(),
        pace_num: num.into(),
        pace_den: den.into(),
    };
    let twin = Parameters {
        capacity: (capacity > 0).then_some(capacity.into()),
        pace: Pace::new(num.into(), den.into()),
        min_pause_ns: 7,
        max_pause_ns: 10_000,
        full_pause_ns: 100,
        ..Parameters::default()
    };
    (given, twin)
}

fn written(action: &ratecell_wait_action) -> (u32, u64, u64, u64) {
    (action.kind, action.id, action.by_ns, action.at_ns)
}

fn expected(action: &Action) -> (u32, u64, u64, u64) {
    const NONE: u64 = u64::MAX;
    match *action {
        Action::Ask { id, by } => (action_kind::RATECELL_WAIT_ASK as u32, id, by.unwrap_or(NONE), NONE),
        Action::Finish { id, at, .. } => {
            (action_kind::RATECELL_WAIT_FINISH as u32, id, NONE, at.unwrap_or(NONE))
        }
        Action::GiveBack { id } => (action_kind::RATECELL_WAIT_GIVE_BACK as u32, id, NONE, NONE),
    }
}

impl Waiting {
    pub(super) fn run(self) {
        let (mut given, mut of_twin) = parameters(self.capacity, self.pace);
        (given.max_waiting, of_twin.max_waiting) = (self.max_waiting.into(), self.max_waiting.into());
        (given.max_total, of_twin.max_total) = (self.max_total.into(), self.max_total.into());
        let mut handle = Handle(ptr::null_mut());
        // SAFETY: parameters of this version, and a place for a machine.
        assert_eq!(unsafe { ratecell_waiting_new(&raw const given, &raw mut handle.0) }, 0);
        let mut twin = Twin::new(of_twin);
        let mut now = 0_u64;
        for (later, step, fault) in &self.steps {
            now = now.saturating_add((*later).into());
            self.step(&handle, &mut twin, now, *step, *fault);
        }
    }

    fn step(&self, handle: &Handle, twin: &mut Twin, now: u64, step: Step, fault: Fault) {
        const NONE: u64 = u64::MAX;
        let until = |by: Option<u32>| by.map(|by| now.saturating_add(by.into()));
        let (key, cost, id, by) = match step {
            Step::Arrive { id, key, cost, by } => (key.bytes(), cost, id, until(by)),
            Step::Answer { id, by, .. } => (Vec::new(), 0, id, until(by)),
            Step::Changed { key } => (key.bytes(), 0, 0, None),
            Step::Cancel { id } => (Vec::new(), 0, id, None),
            _ => (Vec::new(), 0, 0, None),
        };
        let decision = decision(step);
        let (policy, of_twin) = match step {
            Step::Policy { capacity, pace } => parameters(capacity, pace),
            _ => parameters(0, (0, 0)),
        };
        let has_key = matches!(step, Step::Arrive { .. } | Step::Changed { .. });
        let (fault, refusal) = match fault {
            Fault::InputHuge if has_key => (fault, Some(RATECELL_ESIZE)),
            Fault::InputNull if has_key && !key.is_empty() => (fault, Some(RATECELL_EINVAL)),
            Fault::LimiterNull => (fault, Some(RATECELL_EINVAL)),
            Fault::LimiterMisaligned(_) | Fault::OutputMisaligned(_) => (fault, Some(RATECELL_EALIGN)),
            _ => (Fault::None, None),
        };
        let event = ratecell_wait_event {
            kind: number(step),
            cost: cost.into(),
            now_ns: now,
            id: id.into(),
            key: fault.input(key.as_ptr()).cast(),
            key_len: fault.len(key.len()),
            by_ns: by.unwrap_or(NONE),
            decision: &raw const decision,
            parameters: &raw const policy,
        };
        let id = u64::from(id);
        let same = match step {
            Step::Arrive { .. } => Some(Event::Arrive { id, key: &key, cost: cost.into(), deadline: by }),
            Step::Answer { outcome, retry, delay, .. } => {
                let within = by.map_or(NONE, |by| by - now);
                let (retry_ns, delay_ns) = (u64::from(retry), u64::from(delay));
                let excess = delay_ns.saturating_sub(within);
                let answer = match outcome % 4 {
                    0 => Answer::Charged { delay_ns },
                    1 => Answer::Denied { retry_ns: retry_ns.saturating_sub(excess), delay_ns },
                    2 if delay > 0 => Answer::Denied { retry_ns: 0, delay_ns },
                    2 => Answer::Never,
                    _ => Answer::ClockRange,
                };
                Some(Event::Answer { id, answer })
            }
            Step::Timer => Some(Event::Timer),
            Step::Cancel { .. } => Some(Event::Cancel { id }),
            Step::Changed { .. } => Some(Event::Changed { key: &key }),
            Step::Policy { .. } => Some(Event::Policy { capacity: of_twin.capacity, pace: of_twin.pace }),
            Step::Close => Some(Event::Close),
            Step::Take => None,
        };
        let room = usize::from(self.room % 5);
        let mut places = [ratecell_wait_action { kind: 0, outcome: 0, id: 0, by_ns: 0, at_ns: 0 }; 4];
        let next = Memory::room::<u64>(fault.shift());
        let machine = match fault {
            Fault::LimiterNull => ptr::null_mut(),
            Fault::LimiterMisaligned(shift) => handle.0.wrapping_byte_add(shift),
            _ => handle.0,
        };
        let given = if same.is_none() { ptr::null() } else { &raw const event };
        // SAFETY: a machine, an event whose pointers are there or NULL for none, room for so many actions, and a
        // place for an instant; or what must be refused.
        let status =
            unsafe { ratecell_waiting_event(machine, given, places.as_mut_ptr(), room, next.pointer()) };
        if let Some(refusal) = refusal {
            assert_eq!(status, refusal as i32, "{step:?} with {fault:?}");
            next.assert_untouched("ratecell_waiting_event");
            return;
        }
        let handed = match same {
            Some(event) => match twin.event(now, event) {
                Ok(handed) => handed,
                Err(error) => {
                    assert_eq!(status, RATECELL_EINVAL as i32, "{step:?}: {error}");
                    return;
                }
            },
            None => twin.actions(),
        };
        assert_eq!(usize::try_from(status), Ok(handed.len()), "{step:?} at {now}");
        let taken: Vec<_> = handed.take(room).collect();
        let got: Vec<_> = places.iter().take(taken.len()).map(written).collect();
        assert_eq!(got, taken.iter().map(expected).collect::<Vec<_>>(), "{step:?} at {now}");
        assert_eq!(next.value::<u64>(0), twin.next_ns().unwrap_or(NONE), "{step:?} at {now}");
    }
}

fn number(step: Step) -> u32 {
    let kind = match step {
        Step::Arrive { .. } => kind::RATECELL_WAIT_ARRIVE,
        Step::Answer { .. } => kind::RATECELL_WAIT_ANSWER,
        Step::Timer | Step::Take => kind::RATECELL_WAIT_TIMER,
        Step::Cancel { .. } => kind::RATECELL_WAIT_CANCEL,
        Step::Changed { .. } => kind::RATECELL_WAIT_CHANGED,
        Step::Policy { .. } => kind::RATECELL_WAIT_POLICY,
        Step::Close => kind::RATECELL_WAIT_CLOSE,
    };
    kind as u32
}

fn decision(step: Step) -> ratecell_decision {
    let (outcome, retry, delay) = match step {
        Step::Answer { outcome, retry, delay, .. } => (outcome % 4, retry, delay),
        _ => (0, 0, 0),
    };
    ratecell_decision {
        limit: 1,
        remaining: 0,
        retry_after_ns: retry.into(),
        reset_after_ns: 0,
        delay_ns: delay.into(),
        outcome: outcome.into(),
        layer: 0,
        next_ns: 0,
        given_back: 0,
        notes: 0,
    }
}
