//! Policies beside each other, which decide the same requests.

use ratecell_core::algorithm::{Kernel, Plan};
use ratecell_core::fields::Style;
use ratecell_core::{Decision, Policy, PolicyError};
use serde::Serialize;

use crate::lane::Lane;
use crate::state::State;

/// A policy's text that was read.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Explained {
    /// In the form in which it is printed.
    pub canonical: String,
    /// The most units that can pass at one instant.
    pub capacity: u64,
    /// Nanoseconds in which as many units come back, of its slowest layer.
    pub period_ns: u64,
    /// Whether it counts requests in flight.
    pub is_in_flight: bool,
}

/// A policy's text that was refused.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Refused {
    /// The place, in bytes from 1, if it is one.
    pub column: Option<usize>,
    /// What was wrong, and what was expected.
    pub message: String,
}

impl From<PolicyError> for Refused {
    fn from(error: PolicyError) -> Self {
        Self { column: error.column(), message: error.to_string() }
    }
}

/// The policy of a text, for requests that name no time zone.
fn policy(text: &str) -> Result<Policy, Refused> {
    let policy: Policy = text.parse()?;
    if policy.asks_for_zone() {
        let message = "tz=caller takes the zone of each request, and requests here name none: \
                       expected a zone, such as tz=UTC";
        return Err(Refused { column: text.find("tz=").map(|at| at + 1), message: message.to_owned() });
    }
    Ok(policy)
}

/// What a text says, or why it is no policy.
///
/// # Errors
/// It is no policy, or one that asks for a time zone.
pub fn explain(text: &str) -> Result<Explained, Refused> {
    let policy = policy(text)?;
    let period_ns = policy.layers().iter().map(|layer| layer.rate().1).max().unwrap_or(0);
    let is_in_flight =
        policy.layers().iter().any(|layer| matches!(layer.plan(), Plan::Word(Kernel::InFlight(_))));
    Ok(Explained { canonical: policy.to_string(), capacity: policy.capacity(), period_ns, is_in_flight })
}

/// Lanes that decide the same requests.
#[derive(Debug, Default)]
pub struct Deck {
    lanes: Vec<Lane>,
}

impl Deck {
    /// A lane for each line of `texts`, none of which has seen a client. Windows of a calendar count from `epoch`, in
    /// seconds since 1970, where there is one.
    ///
    /// # Errors
    /// A line is no policy.
    pub fn new(texts: &str, epoch: Option<i64>) -> Result<Self, Refused> {
        let lanes = texts.lines().map(|text| {
            let policy = policy(text)?;
            let policy = match epoch {
                Some(epoch) => policy.at_epoch(epoch)?,
                None => policy,
            };
            Ok(Lane::new(policy))
        });
        Ok(Self { lanes: lanes.collect::<Result<_, Refused>>()? })
    }

    /// Each lane's decision on `cost` units of a client at `now_ns`, in order.
    pub fn decide(&mut self, client: u32, now_ns: u64, cost: u32) -> impl Iterator<Item = Decision> {
        self.lanes.iter_mut().map(move |lane| lane.decide(client, now_ns, cost))
    }

    /// Releases the oldest permit that a client has out in each lane: how many units came back.
    pub fn release(&mut self, client: u32, now_ns: u64) -> Vec<u32> {
        self.lanes.iter_mut().map(|lane| lane.release(client, now_ns)).collect()
    }

    /// What each lane would answer, and the share of its capacity in use.
    pub fn peek(&mut self, client: u32, now_ns: u64) -> impl Iterator<Item = (Decision, f64)> {
        self.lanes.iter_mut().map(move |lane| (lane.peek(client, now_ns), lane.fill(client, now_ns)))
    }

    /// What the layers of each lane keep of a client at `now_ns`.
    #[must_use]
    pub fn states(&self, client: u32, now_ns: u64) -> Vec<Vec<State>> {
        self.lanes.iter().map(|lane| lane.states(client, now_ns)).collect()
    }

    /// The HTTP fields of each lane's last decision.
    #[must_use]
    pub fn fields(&self, style: Style, now_unix_ns: u64) -> Vec<String> {
        self.lanes.iter().map(|lane| lane.fields(style, now_unix_ns)).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_error_has_its_place() {
        let refused = explain("10/s brust=20").unwrap_err();
        assert_eq!(refused.column, Some(6));
        assert!(refused.message.starts_with("syntax at column 6: "), "{}", refused.message);
        let refused = explain("calendar_window 3/day tz=caller").unwrap_err();
        assert_eq!(refused.column, Some(23));
    }

    #[test]
    fn a_policy_is_explained() {
        let explained = explain("10 per 5 seconds").unwrap();
        assert_eq!(
            (explained.canonical.as_str(), explained.capacity, explained.period_ns),
            ("10/5s", 10, 5_000_000_000)
        );
        let is_in_flight = |text| explain(text).unwrap().is_in_flight;
        assert!(!is_in_flight("10/5s") && is_in_flight("10/5s & in_flight 3 hold=5s"));
    }

    #[test]
    fn a_permit_is_released_in_each_lane() {
        let mut deck = Deck::new("in_flight 2 hold=5s\n2/s\nin_flight 5 hold=1s", None).unwrap();
        assert!(deck.decide(1, 0, 2).all(|decision| decision.is_allowed()));
        assert_eq!(deck.release(1, 0), [2, 0, 2]);
    }

    #[test]
    fn lanes_decide_the_same_requests() {
        let mut deck = Deck::new("2/s\nsliding_log 1/s", None).unwrap();
        let allowed = |deck: &mut Deck, now| {
            deck.decide(1, now, 1).map(|decision| decision.is_allowed()).collect::<Vec<_>>()
        };
        assert_eq!(allowed(&mut deck, 0), [true, true]);
        assert_eq!(allowed(&mut deck, 0), [true, false]);
        assert_eq!(deck.states(1, 0).len(), 2);
        assert!(Deck::new("2/s\nnonsense", None).is_err());
        // Nothing here is charged twice, or looked at by charging it.
        assert_eq!(
            deck.peek(1, 0).map(|(decision, fill)| (decision.remaining(), fill)).collect::<Vec<_>>(),
            [(0, 1.0), (0, 1.0)]
        );
    }
}
