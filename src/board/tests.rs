//! One board, in one thread and between threads, and in memory of any content.

use std::time::Instant;

use super::*;
use crate::sync::Ordering;

/// Long enough for any machine; what returns before has been woken.
const LONG: Duration = Duration::from_secs(60);

fn board() -> Board {
    Board::private().expect("a board")
}

fn all(board: &Board) -> Vec<(u64, u64)> {
    let mut taken = Vec::new();
    board.take(|h, units| taken.push((h, units)));
    taken
}

#[test]
fn it_has_the_bytes_that_its_table_says() {
    assert_eq!([ANSWERS_AT, LINE_AT, COUNTERS_AT, NAME_AT], [16_384, 16_640, 16_704, 16_832]);
    assert_eq!(Board::BYTES, 16_960);
    let module = include_str!("../board.rs");
    let grouped = |number: usize| match number {
        0 => "0".to_owned(),
        number => format!("{},{:03}", number / 1_000, number % 1_000),
    };
    for (at, end) in [(0, ANSWERS_AT), (ANSWERS_AT, LINE_AT), (LINE_AT, COUNTERS_AT), (COUNTERS_AT, NAME_AT)]
    {
        let row = format!("| {} to {} |", grouped(at), grouped(end - 1));
        assert!(module.contains(&row), "src/board.rs: expected {row}");
    }
}

#[test]
fn what_was_posted_is_taken_once() {
    let board = board();
    assert_eq!(all(&board), []);
    for (h, units) in [(7, 3), (7, 5), (7, 4), (9, 0), (0, 2), (1 << 40, 1)] {
        assert!(board.post(h, units));
    }
    // No units count as one. The hash 0 stands where 2^64 - 1 does: last.
    assert_eq!(all(&board), [(1 << 40, 1), (7, 5), (9, 1), (0, 2)]);
    assert_eq!(all(&board), []);
}

#[test]
fn what_units_are_for_is_kept_whatever_their_number() {
    let (fill, forget) = (1 << 63, 1 << 62);
    let board = board();
    for units in [5, forget, fill | 2] {
        assert!(board.post(7, units));
    }
    assert_eq!(all(&board), [(7, fill | forget | 5)]);
    assert!(board.post(7, forget));
    assert_eq!(all(&board), [(7, forget)]);
    assert_eq!(Board::UNITS, (1 << 48) - 1);
}

#[test]
fn a_key_without_a_place_is_refused_and_counted() {
    let board = board();
    let at_home_in_3 = |number: u64| 3 + number * PAIRS as u64;
    for number in 0..4 {
        assert!(board.post(at_home_in_3(number), 1), "{number}");
    }
    assert!(!board.post(at_home_in_3(4), 1));
    assert!(board.post(at_home_in_3(3), 8), "it is there");
    assert_eq!(board.counters()[Counter::BoardFull as usize], 1);
    assert_eq!(all(&board).len(), 4);
    assert!(board.post(at_home_in_3(4), 1));
}

#[test]
fn the_last_places_go_on_at_the_first() {
    let board = board();
    for number in 1..=4 {
        assert!(board.post(number * PAIRS as u64 - 1, 1), "{number}");
    }
    let mut taken: Vec<_> = all(&board).into_iter().map(|(h, _)| h).collect();
    taken.sort_unstable();
    assert_eq!(taken, [1_023, 2_047, 3_071, 4_095]);
}

#[test]
fn counters_state_and_beat_are_kept() {
    let board = board();
    assert_eq!((board.state(), board.last_beat(), board.name()), (State::NoAgent, 0, None));
    board.count(Counter::Leased, 3);
    board.count(Counter::Leased, 4);
    board.set(Counter::Lag, 9);
    board.set(Counter::Lag, 5);
    board.beat(77);
    for (number, counter) in Counter::ALL.into_iter().enumerate() {
        assert_eq!(counter as usize, number);
    }
    let mut counters = [0; COUNTERS];
    (counters[Counter::Leased as usize], counters[Counter::Lag as usize]) = (7, 5);
    assert_eq!((board.clone().counters(), board.last_beat()), (counters, 77));
    for state in [State::Away, State::Here, State::NoAgent] {
        board.set_state(state);
        assert_eq!(board.state(), state);
    }
}

#[test]
fn a_name_is_read_as_it_was_written() {
    let longest = "a".repeat(Name::MAX);
    for name in ["api", "A-z_0.9:x", "eight888", longest.as_str()] {
        let board = board();
        board.name.write(name).expect("a name");
        assert_eq!(board.name().as_deref(), Some(name));
    }
    let too_long = "a".repeat(Name::MAX + 1);
    for name in ["", "a b", "ä", "a\n", "a/b", too_long.as_str()] {
        let board = board();
        assert_eq!(board.name.write(name), None, "{name}");
        assert_eq!(board.name(), None);
    }
}

#[test]
fn a_ticket_of_before_an_answer_is_not_waited_by() {
    let board = board();
    let ticket = board.ticket(5);
    assert!(!board.wait(5, ticket, Duration::ZERO));
    assert_eq!(board.ticket(5), ticket, "that somebody waits is no answer");
    board.answered(5 + ANSWERS as u64);
    assert!(board.wait(5, ticket, LONG));
    assert!(!board.wait(5, board.ticket(5), Duration::from_micros(1)));
    let another = board.ticket(6);
    board.answered(5);
    assert_eq!(board.ticket(6), another);
}

#[test]
fn the_agent_does_not_sleep_beside_a_miss() {
    let board = board();
    board.sleep(Duration::from_micros(1));
    assert!(board.post(5, 1));
    board.sleep(LONG);
    assert_eq!(all(&board), [(5, 1)]);
}

#[test]
fn the_agent_is_woken_without_a_miss() {
    let board = board();
    std::thread::scope(|scope| {
        let agent = scope.spawn(|| board.sleep(LONG));
        while !agent.is_finished() {
            board.wake();
            std::thread::yield_now();
        }
    });
    assert_eq!(all(&board), []);
}

/// A caller that ends, also by a panic, posts this: the agent ends with the last.
struct Ends<'b>(&'b Board, u64);

const ENDS: u64 = 500;

impl Drop for Ends<'_> {
    fn drop(&mut self) {
        self.0.post(ENDS + self.1, 1);
    }
}

/// Callers miss, wait and are answered; the agent sleeps in between. Whoever is not woken waits for all of its time, and
/// says so. A wait may end before without an answer: the wake of an earlier one may be late.
#[test]
fn callers_and_the_agent_wake_each_other() {
    const CALLERS: u64 = 4;
    const ROUNDS: u64 = 2_000;
    let board = board();
    let answers: [AtomicU64; CALLERS as usize] = Default::default();
    std::thread::scope(|scope| {
        for caller in 0..CALLERS {
            let (board, answers) = (&board, &answers);
            scope.spawn(move || {
                let _ends = Ends(board, caller);
                // Two to a futex.
                let h = 1 + caller / 2 + (caller % 2) * ANSWERS as u64;
                for round in 1..=ROUNDS {
                    loop {
                        let ticket = board.ticket(h);
                        // Acquire: as a caller finds its grant in the table.
                        if answers[caller as usize].load(Ordering::Acquire) >= round {
                            break;
                        }
                        assert!(board.post(h, caller + 1));
                        let started = Instant::now();
                        let answered = board.wait(h, ticket, LONG);
                        assert!(answered || started.elapsed() < LONG, "caller {caller}, round {round}");
                    }
                }
            });
        }
        let mut ended = 0;
        while ended < CALLERS {
            let taken = all(&board);
            for (h, units) in &taken {
                if *h >= ENDS {
                    ended += 1;
                    continue;
                }
                // Release: as the agent writes a grant to the table.
                answers[*units as usize - 1].fetch_add(1, Ordering::Release);
                board.answered(*h);
            }
            if taken.is_empty() {
                board.sleep(LONG);
            }
        }
    });
}

#[test]
fn any_words_are_a_board() {
    for value in [1, 2, u64::MAX, 1 << 32, 0x8000_0000_8000_0001] {
        let memory = Memory::private(Board::BYTES + 128).expect("memory");
        for word in memory.array::<AtomicU64>(128, Board::BYTES / 8).expect("room").all() {
            // Relaxed: one thread.
            word.store(value, Ordering::Relaxed);
        }
        let board = Board::in_memory(&memory, 128).expect("a processor").expect("room");
        assert_eq!((board.counters(), board.last_beat(), board.name()), ([value; COUNTERS], value, None));
        board.state();
        board.post(3, 1);
        assert!(all(&board).len() >= PAIRS - 1);
        board.sleep(Duration::from_micros(1));
        let ticket = board.ticket(3);
        assert!(!board.wait(3, ticket, Duration::from_micros(1)));
        board.answered(3);
        assert!(board.wait(3, ticket, LONG));
        board.count(Counter::Misses, 1);
    }
    let memory = Memory::private(Board::BYTES).expect("memory");
    for word in memory.array::<AtomicU64>(0, 2 * PAIRS).expect("room").all().iter().skip(1).step_by(2) {
        // Relaxed: one thread.
        word.store(u64::MAX, Ordering::Relaxed);
    }
    let board = Board::in_memory(&memory, 0).expect("a processor").expect("room");
    assert!(board.post(3, 2));
    assert_eq!(all(&board), [(3, 2)], "units of no key are nobody's");
    for at in [8, 128, usize::MAX] {
        assert!(Board::in_memory(&memory, at).expect("a processor").is_none(), "{at}");
    }
}

/// Two mappings of one file are two processes' to the system: it knows a futex by the file.
#[cfg(target_os = "linux")]
#[test]
fn a_futex_is_one_in_all_processes() {
    use rustix::fs::{MemfdFlags, memfd_create};
    let file = std::fs::File::from(memfd_create("board", MemfdFlags::empty()).expect("a file"));
    file.set_len(Board::BYTES as u64).expect("room");
    let mapped = || {
        let memory = Memory::of_file(&file, Board::BYTES).expect("memory");
        Board::in_memory(&memory, 0).expect("a processor").expect("room")
    };
    let (here, there) = (mapped(), mapped());
    std::thread::scope(|scope| {
        let caller = scope.spawn(move || wait::wait(there.answer(5).0, 0, LONG));
        // The word stays, and the caller comes at any time: it is woken until it is awake.
        while !caller.is_finished() {
            wait::wake_all(here.answer(5).0);
            std::thread::yield_now();
        }
        assert!(caller.join().expect("no panic"), "not woken");
    });
    assert_eq!(here.ticket(5), 0);
    let reader = Memory::of_file_to_read(&file, Board::BYTES).expect("memory");
    let reader = Board::in_memory(&reader, 0).expect("a processor").expect("room");
    assert_eq!((reader.ticket(5), reader.state()), (here.ticket(5), State::NoAgent));
    assert_eq!((reader.counters(), reader.last_beat(), reader.name()), ([0; COUNTERS], 0, None));
}
