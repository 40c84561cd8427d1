//! `ratecell top`: a region that others use, live.

use std::io::{self, IsTerminal, stdout};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::thread::{self, sleep};
use std::time::{Duration, Instant};

use anyhow::{Context, Result};
use ratatui::DefaultTerminal;
use ratatui::crossterm::event::{self, Event, KeyEventKind};

use crate::cli::TopArgs;
use draw::{Palette, draw, room};
use model::{Model, Wish};
use source::Source;

mod draw;
mod figures;
mod model;
mod once;
mod source;

/// From one sample to the next.
const TICK: Duration = Duration::from_millis(500);
/// The nearest that two looks come to each other, which bounds what is read.
const NEAREST: Duration = Duration::from_millis(20);
/// For how many samples it is said what became another.
const NOTED: u32 = 20;
/// How long a key or a signal may wait, at most.
const PATIENCE: Duration = Duration::from_millis(100);

pub(crate) fn run(args: &TopArgs) -> Result<()> {
    let mut source = Source::open(&args.file)?;
    if args.json || args.once || !stdout().is_terminal() {
        let mut model = Model::new(source.about());
        first_sample(&mut source, &mut model, args.keys);
        return once::print(&model, args.json);
    }
    let is_ended = Arc::new(AtomicBool::new(false));
    let ended = Arc::clone(&is_ended);
    ctrlc::set_handler(move || ended.store(true, Ordering::Relaxed)).context("signals cannot be received")?;
    // The hook that this sets has the terminal restored if anything panics.
    let terminal = ratatui::try_init().context("the terminal cannot be used")?;
    let mut screen = Screen { terminal, palette: Palette::of_environment() };
    watch(&mut source, &mut screen, &is_ended)
}

/// The terminal, which is restored when this is dropped.
struct Screen {
    terminal: DefaultTerminal,
    palette: Palette,
}

impl Drop for Screen {
    fn drop(&mut self) {
        ratatui::restore();
    }
}

impl Screen {
    fn room(&self, model: &Model) -> usize {
        self.terminal.size().map_or(0, |size| room(model, size.height))
    }

    fn draw(&mut self, model: &Model) -> Result<()> {
        self.terminal
            .draw(|frame| draw(model, self.palette, frame))
            .context("the terminal cannot be written")?;
        Ok(())
    }
}

/// Two looks, a sample's time apart.
fn first_sample(source: &mut Source, model: &mut Model, keys: usize) {
    let started = Instant::now();
    source.sample(started.elapsed());
    sleep(TICK - ahead(source).min(TICK));
    if ahead(source) < TICK {
        source.look_ahead();
    }
    sleep(TICK.saturating_sub(started.elapsed()));
    let sample = source.sample(started.elapsed());
    let rows = source.rows(model.order, keys, &model.filter);
    model.update(source.about(), sample, rows);
}

/// How long before a sample its other look is due.
fn ahead(source: &Source) -> Duration {
    source.ahead().clamp(NEAREST, TICK)
}

/// What is due next.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Due {
    LookAhead,
    Sample,
}

/// What happens on the terminal. A thread of its own reads it, as a read of a terminal that has gone may never end; the
/// process does not wait for it.
fn events() -> Receiver<io::Result<Event>> {
    let (sender, receiver) = channel();
    thread::spawn(move || {
        loop {
            let event = event::read();
            let is_last = event.is_err();
            if sender.send(event).is_err() || is_last {
                return;
            }
        }
    });
    receiver
}

fn watch(source: &mut Source, screen: &mut Screen, is_ended: &AtomicBool) -> Result<()> {
    let events = events();
    let started = Instant::now();
    let mut model = Model::new(source.about());
    let (mut due, mut at) = (Due::Sample, started);
    // Relaxed: nothing else is read by it.
    while !is_ended.load(Ordering::Relaxed) {
        let due_in = at.saturating_duration_since(Instant::now());
        let event = match events.recv_timeout(due_in.min(PATIENCE)) {
            Ok(event) => Some(event.context("the terminal cannot be read")?),
            Err(RecvTimeoutError::Timeout) => None,
            Err(RecvTimeoutError::Disconnected) => return Ok(()),
        };
        if let Some(event) = event {
            let wish = match event {
                Event::Key(key) if key.kind != KeyEventKind::Release => model.press(key),
                Event::Resize(..) => Wish::Keys,
                _ => continue,
            };
            match wish {
                Wish::Quit => return Ok(()),
                Wish::Keys => model.rows = source.rows(model.order, screen.room(&model), &model.filter),
                Wish::Nothing => {}
            }
            screen.draw(&model)?;
        }
        if Instant::now() < at {
            continue;
        }
        let is_first = at == started;
        if !model.is_frozen {
            match source.check() {
                Ok(Some(notice)) => model.say(notice.to_owned(), NOTED),
                Ok(None) => {}
                Err(error) => {
                    model.say(format!("{error:#}"), 0);
                    screen.draw(&model)?;
                    (due, at) = (Due::Sample, Instant::now() + TICK);
                    continue;
                }
            }
            match due {
                Due::LookAhead => source.look_ahead(),
                Due::Sample => {
                    let sample = source.sample(started.elapsed());
                    let rows = source.rows(model.order, screen.room(&model), &model.filter);
                    model.update(source.about(), sample, rows);
                    screen.draw(&model)?;
                }
            }
        }
        let ahead = ahead(source);
        // A tick that was missed is left out.
        let tick = at.max(Instant::now().checked_sub(TICK).unwrap_or(at));
        (due, at) = match due {
            _ if is_first => (Due::Sample, tick + NEAREST),
            Due::LookAhead => (Due::Sample, tick + ahead),
            Due::Sample if ahead < TICK => (Due::LookAhead, tick + TICK - ahead),
            Due::Sample => (Due::Sample, tick + TICK),
        };
    }
    Ok(())
}
