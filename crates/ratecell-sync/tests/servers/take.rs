//! What the server does is what `Span::take` does, and a compare-and-swap compares.

use std::collections::HashMap;

use ratecell_core::algorithm::{Span, Want};
use ratecell_sync::{Abilities, Answer, Connection, MOST_LAYERS, Operation, Value, takes};

use super::support::{Server, attach, depth, later, one, take, taken, value};

/// Random numbers, the same each time.
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0.wrapping_mul(0x2545_F491_4F6C_DD1D)
    }

    fn below(&mut self, bound: u64) -> u64 {
        (self.next() >> 11) % bound
    }

    /// A number of some length, often at an edge of one.
    fn edgy(&mut self) -> u64 {
        let edges = [0, 1, (1 << 31) - 1, 1 << 32, (1 << 51) + 1, 1 << 52, (1 << 53) + 1, 1 << 63, u64::MAX];
        let bits = self.below(64);
        let number = match self.below(3) {
            0 => edges[usize::try_from(self.below(9)).expect("an index")],
            1 => self.next() >> bits,
            _ => (1 << bits) - 1,
        };
        number.wrapping_add(self.below(5)).wrapping_sub(2)
    }
}

/// A span whose bounds are near `word`, and sometimes far away.
fn span(random: &mut Random, word: u64) -> Span {
    let floor = match random.below(4) {
        0 => random.edgy(),
        1 => word,
        2 => word.saturating_add(random.below(4)),
        _ => word.saturating_sub(random.edgy() >> 14),
    };
    let width = random.edgy() >> (12 + random.below(20));
    let ceiling = match random.below(8) {
        0 => random.edgy(),
        1 => floor.saturating_sub(random.below(3)),
        _ => floor.saturating_add(width),
    };
    let unit = match random.below(3) {
        0 => 1,
        1 => (width / (1 + random.below(100))).max(1),
        _ => (random.edgy() >> 12).max(1),
    };
    Span { floor, ceiling, unit, raises: random.below(3) > 0 }
}

fn operation(random: &mut Random, held: Option<&Value>, h: u64) -> Operation {
    let generation = if random.below(20) == 0 { 1 } else { held.map_or(0, |value| value.generation) };
    let layers = held.map_or(1 + usize::try_from(random.below(3)).expect("small"), |value| value.words.len());
    let layers = if random.below(50) == 0 { MOST_LAYERS } else { layers };
    match random.below(32) {
        0 => return Operation::Read { h },
        1 => return Operation::Forget { h },
        kind @ 2..10 => {
            let new = (0..layers).map(|_| random.edgy()).collect();
            let mut old = held.cloned();
            if kind == 2 {
                old = Some(value(generation, &[random.edgy()]));
            } else if kind == 3 {
                old = None;
            }
            return Operation::Swap { h, old, new: Value { generation, words: new }, expires_ms: later() };
        }
        _ => {}
    }
    let word = |layer: usize| held.and_then(|value| value.words.get(layer).copied()).unwrap_or(0);
    let spans = (0..layers).map(|layer| span(random, word(layer))).collect();
    let least = if random.below(3) == 0 { random.edgy() >> random.below(64) } else { 1 };
    let most = least.saturating_add(random.edgy() >> random.below(64));
    let share = if random.below(2) == 0 { 1 } else { random.edgy() >> random.below(64) };
    Operation::Take { h, generation, spans, want: Want { most, least, share }, expires_ms: later() }
}

/// What must be answered, and what is there then.
fn expected(operation: &Operation, held: &mut Option<Value>) -> Option<Answer> {
    Some(match operation {
        Operation::Take { generation, spans, want, .. } => {
            if !spans.iter().all(takes) {
                return None;
            }
            let fits = |value: &Value| value.generation == *generation && value.words.len() == spans.len();
            if !held.as_ref().is_none_or(fits) {
                return Some(Answer::Refused(held.clone()));
            }
            let mut words =
                held.as_ref().map_or_else(|| spans.iter().map(|_| 0).collect(), |value| value.words.clone());
            match Span::take(spans, &mut words, *want) {
                None => Answer::Refused(held.clone()),
                Some(units) => {
                    *held = Some(Value { generation: *generation, words: words.clone() });
                    Answer::Taken { units, words }
                }
            }
        }
        Operation::Swap { old, .. } if old != held => Answer::Lost(held.clone()),
        Operation::Swap { new, .. } => {
            *held = Some(new.clone());
            Answer::Swapped
        }
        Operation::Read { .. } => Answer::Value(held.clone()),
        Operation::Forget { .. } => Answer::Forgotten(held.take().is_some()),
        // They are about no key.
        Operation::ReadRecord | Operation::SwapRecord { .. } | Operation::Scan { .. } => return None,
    })
}

/// Runs this many operations, and says how many takes added units.
fn compare(connection: &mut Connection, seed: u64, cases: u64) -> HashMap<&'static str, u64> {
    let mut random = Random(seed);
    let mut store: HashMap<u64, Value> = HashMap::new();
    let mut counts = HashMap::new();
    let mut done = 0;
    while done < cases {
        let mut operations = Vec::new();
        let mut answers = Vec::new();
        // Each key once: the order within a batch is the server's choice.
        for slot in 0..128 {
            let h = (slot * 4 + random.below(4) + 1).wrapping_mul(0x9E37_79B9_7F4A_7C15 ^ seed);
            let mut held = store.get(&h).cloned();
            let operation = operation(&mut random, held.as_ref(), h);
            answers.push(expected(&operation, &mut held));
            operations.push(operation);
            match held {
                Some(value) => store.insert(h, value),
                None => store.remove(&h),
            };
        }
        let reply = connection.batch(&operations).expect("a reply");
        assert_eq!((reply.generation, reply.at, reply.answers.len()), (0, 1, operations.len()));
        for ((operation, expected), answer) in operations.iter().zip(answers).zip(reply.answers) {
            let kind = match (&answer, expected) {
                (Answer::Failed(error), None) => {
                    assert!(error.to_string().contains("below 2^52"), "{error}");
                    "failed"
                }
                (_, expected) => {
                    assert_eq!(Some(&answer), expected.as_ref(), "{operation:?}");
                    match answer {
                        Answer::Taken { .. } => "taken",
                        Answer::Refused(_) => "refused",
                        Answer::Swapped => "swapped",
                        Answer::Lost(_) => "lost",
                        _ => "other",
                    }
                }
            };
            *counts.entry(kind).or_insert(0) += 1;
        }
        done += 128;
    }
    counts
}

#[test]
#[ignore = "needs a server: ci/store.sh"]
fn a_server_does_what_the_definition_does() {
    let server = Server::start(&[]);
    let mut connection = attach(&server.url());
    let can = connection.abilities();
    let expected = Abilities {
        ifeq: server.tell(&["INFO", "server"]).contains("valkey_version") && server.version() >= (8, 1)
            || server.version() >= (8, 4),
        nx_get: server.version() >= (7, 0),
        pxat: server.version() >= (6, 2),
    };
    assert_eq!(can, expected);
    let cases = depth(200_000, 1_000_000);
    let plain = Abilities { ifeq: false, nx_get: false, ..can };
    let oldest = Abilities { pxat: false, ..plain };
    for (seed, can, cases) in [(1, can, cases), (2, plain, cases / 4), (3, oldest, cases / 4)] {
        connection.set_abilities(can);
        let counts = compare(&mut connection, seed, cases);
        println!("{can:?}: {counts:?}");
        for kind in ["taken", "refused", "swapped", "lost"] {
            assert!(
                counts.get(kind).is_some_and(|count| *count > cases / 100),
                "{kind}: too few of {counts:?}"
            );
        }
    }
}

#[test]
#[ignore = "needs a server: ci/store.sh"]
fn what_somebody_wrote_by_hand_is_named() {
    let server = Server::start(&[]);
    let mut connection = attach(&server.url());
    // The name of the key of this hash.
    let h = u64::from_be_bytes(*b"abcdefgh");
    server.tell(&["SET", "apiabcdefgh", "by hand"]);
    for operation in [take(h), Operation::Read { h }] {
        let Answer::Failed(error) = one(&mut connection, operation) else { panic!("a failure") };
        assert!(error.to_string().contains("of 7 bytes was not written by ratecell"), "{error}");
    }
    server.tell(&["DEL", "apiabcdefgh"]);
    server.tell(&["RPUSH", "apiabcdefgh", "by hand"]);
    let Answer::Failed(error) = one(&mut connection, take(h)) else { panic!("a failure") };
    assert!(error.to_string().contains("WRONGTYPE"), "{error}");
    assert_eq!(one(&mut connection, Operation::Forget { h }), Answer::Forgotten(true));
    assert_eq!(one(&mut connection, take(h)), taken(1));
}
