//! What the script of the page calls. `site/src/core.js` is the other side.
//!
//! Texts go in through the input buffer, texts and rows out through the output buffer. The script has the addresses of both
//! and reads and writes them in the module's memory, which is valid until the next call.
#![expect(
    unsafe_code,
    reason = "the names of exports, each of which is the only one of its name in the module"
)]

use std::cell::RefCell;

use ratecell_core::Decision;
use ratecell_core::fields::Style;
use serde::Serialize;

use crate::deck::{Deck, explain};
use crate::log;

/// The requests as they come, and the same again up to an instant that is looked back at.
const DECKS: usize = 2;

#[derive(Debug, Default)]
struct Page {
    input: Vec<u8>,
    output: Vec<u8>,
    decks: [Deck; DECKS],
}

thread_local! {
    static PAGE: RefCell<Page> = RefCell::default();
}

impl Page {
    fn text(&self) -> String {
        String::from_utf8_lossy(&self.input).into_owned()
    }

    fn json<T: Serialize>(&mut self, value: &T) {
        self.output = serde_json::to_vec(value).unwrap_or_default();
    }

    /// Eight numbers of a decision. `ROW` in the script has their names.
    fn row(&mut self, decision: &Decision, fill: f64) {
        let numbers = [
            decision.outcome() as u64,
            decision.limit(),
            decision.remaining(),
            decision.retry_after_ns(),
            decision.reset_after_ns(),
            decision.delay_ns(),
            decision.layer() as u64,
            fill.to_bits(),
        ];
        self.output.extend(numbers.iter().flat_map(|number| number.to_le_bytes()));
    }
}

fn with<T>(act: impl FnOnce(&mut Page) -> T) -> T {
    PAGE.with_borrow_mut(act)
}

/// With the deck of that number: any but the first is the last.
fn on_deck(number: u32, act: impl FnOnce(&mut Page, &mut Deck)) {
    with(|page| {
        let place = usize::from(number > 0);
        let mut deck = std::mem::take(&mut page.decks[place]);
        page.output.clear();
        act(page, &mut deck);
        page.decks[place] = deck;
    });
}

/// Room for an input of `len` bytes.
#[unsafe(no_mangle)]
extern "C" fn input(len: usize) -> *mut u8 {
    with(|page| {
        page.input.clear();
        page.input.resize(len, 0);
        page.input.as_mut_ptr()
    })
}

/// Where the output is.
#[unsafe(no_mangle)]
extern "C" fn output() -> *const u8 {
    with(|page| page.output.as_ptr())
}

/// How many bytes it has.
#[unsafe(no_mangle)]
extern "C" fn output_len() -> usize {
    with(|page| page.output.len())
}

/// The input is a policy: what it says, or why it is none.
#[unsafe(no_mangle)]
extern "C" fn policy() {
    with(|page| match explain(&page.text()) {
        Ok(explained) => page.json(&explained),
        Err(refused) => page.json(&refused),
    });
}

/// The input has a policy on each line: they are the lanes of a deck. Returns whether all could be read; the output is
/// otherwise why not.
#[unsafe(no_mangle)]
extern "C" fn start(deck: u32, has_epoch: u32, epoch: i64) -> u32 {
    with(|page| match Deck::new(&page.text(), (has_epoch != 0).then_some(epoch)) {
        Ok(made) => {
            page.decks[usize::from(deck > 0)] = made;
            1
        }
        Err(refused) => {
            page.json(&refused);
            0
        }
    })
}

/// A request to all lanes: a row of each.
#[unsafe(no_mangle)]
extern "C" fn decide(deck: u32, client: u32, now_ns: u64, cost: u32) {
    on_deck(deck, |page, deck| {
        for decision in deck.decide(client, now_ns, cost) {
            page.row(&decision, 0.0);
        }
    });
}

/// Releases the oldest permit of a client in all lanes: the units that came back in each.
#[unsafe(no_mangle)]
extern "C" fn release(deck: u32, client: u32, now_ns: u64) {
    on_deck(deck, |page, deck| page.json(&deck.release(client, now_ns)));
}

/// A peek at all lanes: a row of each, with the share of the capacity in use.
#[unsafe(no_mangle)]
extern "C" fn peek(deck: u32, client: u32, now_ns: u64) {
    on_deck(deck, |page, deck| {
        for (decision, fill) in deck.peek(client, now_ns) {
            page.row(&decision, fill);
        }
    });
}

/// What is kept of a client, of all lanes.
#[unsafe(no_mangle)]
extern "C" fn states(deck: u32, client: u32, now_ns: u64) {
    on_deck(deck, |page, deck| page.json(&deck.states(client, now_ns)));
}

/// The HTTP fields of the last decision of all lanes. The input is the name of their style.
#[unsafe(no_mangle)]
extern "C" fn fields(deck: u32, now_unix_ns: u64) {
    on_deck(deck, |page, deck| {
        let style = Style::from_name(&page.text()).unwrap_or(Style::Draft11);
        page.json(&deck.fields(style, now_unix_ns));
    });
}

/// The input is a log. Returns the number of its requests, of which the output has times and clients, two numbers each;
/// `log_facts` has the rest. Of no log it is 0, and the output says why.
#[unsafe(no_mangle)]
extern "C" fn log_requests() -> usize {
    with(|page| match log::read(std::mem::take(&mut page.input)) {
        Ok(read) => {
            let count = read.requests.len();
            page.output = read
                .requests
                .iter()
                .flat_map(|request| [request.time_ns, u64::from(request.client)])
                .flat_map(u64::to_le_bytes)
                .collect();
            page.input = serde_json::to_vec(&read).unwrap_or_default();
            count
        }
        Err(why) => {
            page.json(&why);
            0
        }
    })
}

/// What is known of the log that `log_requests` has read.
#[unsafe(no_mangle)]
extern "C" fn log_facts() {
    with(|page| page.output = std::mem::take(&mut page.input));
}
