//! What is shown, from samples and keys: no file, no terminal, no clock.

use std::collections::VecDeque;
use std::time::Duration;

use ratatui::crossterm::event::{KeyCode, KeyEvent, KeyModifiers};
use ratecell::{KeyOrder, KeyUse};

use super::figures::{grouped, rate, short};
use crate::output::one_line;

/// What of a bar is kept: a minute of samples, twice a second.
const KEPT: usize = 120;

/// What does not change while one region is watched.
#[derive(Clone, Debug, Default)]
pub(super) struct About {
    pub(super) file: String,
    pub(super) policy: String,
    pub(super) layers: usize,
    pub(super) max_keys: u64,
    pub(super) when_full: String,
    pub(super) age: Option<Duration>,
    /// Whether denied keys are named.
    pub(super) has_names: bool,
}

/// What a look found, and what happened since the one before.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Sample {
    pub(super) live: u64,
    pub(super) live_error: u64,
    /// Buckets that were looked at, and all.
    pub(super) sampled: (usize, usize),
    /// Units, no fewer and no more, in that time.
    pub(super) admitted: Option<(u64, u64, Duration)>,
    /// Whether this policy's words say what was admitted.
    pub(super) tells_admitted: bool,
    /// The time since the sample before; zero for the first.
    pub(super) over: Duration,
    /// What happened in that time.
    pub(super) evicted: u64,
    pub(super) forgiven: u64,
    pub(super) denied_full: u64,
    /// `None` where nobody counts it.
    pub(super) denied: Option<u64>,
}

/// A key, as it is shown.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Row {
    /// Where it is known.
    pub(super) name: Option<String>,
    pub(super) hash: u64,
    pub(super) layer: usize,
    pub(super) used: u64,
    pub(super) limit: u64,
    /// Units admitted a second, at least.
    pub(super) admitted: f64,
    /// Requests denied a second, at least.
    pub(super) denied: f64,
    /// `None`: no wait helps.
    pub(super) retry_after: Option<Duration>,
}

/// A line of the header: a rate, how sure it is, and its last minute.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Gauge {
    pub(super) label: &'static str,
    pub(super) figure: String,
    pub(super) remark: String,
    pub(super) bars: Vec<u64>,
}

/// What is to be done after a key was pressed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Wish {
    Nothing,
    /// Other keys are to be shown, or in another order.
    Keys,
    Quit,
}

/// See the module.
#[derive(Debug, Default)]
pub(super) struct Model {
    pub(super) about: About,
    pub(super) sample: Sample,
    pub(super) rows: Vec<Row>,
    pub(super) order: KeyOrder,
    pub(super) filter: String,
    /// Whether the filter is being typed.
    pub(super) is_typing: bool,
    pub(super) is_frozen: bool,
    pub(super) shows_help: bool,
    /// What became another, or why nothing is seen.
    pub(super) notice: Option<String>,
    /// For how many samples more that is to be said.
    noted: u32,
    admitted: Series,
    denied: Series,
    evicted: Series,
    forgiven: Series,
    denied_full: Series,
}

/// Rates of the last minute, the newest last.
#[derive(Clone, Debug, Default)]
struct Series(VecDeque<f64>);

impl Series {
    fn push(&mut self, rate: f64) {
        if self.0.len() == KEPT {
            self.0.pop_front();
        }
        self.0.push_back(rate);
    }

    /// The minute in so many columns, in tenths; what was not seen yet is 0.
    fn bars(&self, columns: usize) -> Vec<u64> {
        let missing = KEPT - self.0.len();
        let value = |at: usize| at.checked_sub(missing).and_then(|at| self.0.get(at)).copied().unwrap_or(0.0);
        let mean = |column: usize| {
            let (from, to) =
                (column * KEPT / columns, ((column + 1) * KEPT / columns).max(column * KEPT / columns + 1));
            (from..to).map(value).sum::<f64>() / (to - from) as f64
        };
        (0..columns).map(|column| (mean(column) * 10.0).ceil() as u64).collect()
    }
}

fn per_second(count: u64, over: Duration) -> f64 {
    if over.is_zero() { 0.0 } else { count as f64 / over.as_secs_f64() }
}

/// The digits by which a key without a name is shown.
pub(super) fn digits(hash: u64) -> String {
    format!("{:08x}", hash & 0xFFFF_FFFF)
}

impl Row {
    /// The row of a key, whose units and whose denials are of these times.
    pub(super) fn new(name: Option<String>, usage: KeyUse, over: [Duration; 2]) -> Self {
        let KeyUse { hash, layer, used, limit, admitted, denied, retry_after, .. } = usage;
        let (admitted, denied) = (per_second(admitted, over[0]), per_second(denied, over[1]));
        Self { name, hash, layer, used, limit, admitted, denied, retry_after }
    }

    pub(super) fn title(&self) -> String {
        self.name.as_deref().map_or_else(|| digits(self.hash), one_line)
    }

    pub(super) fn retry(&self) -> String {
        self.retry_after.map_or_else(|| "never".to_owned(), short)
    }
}

impl Sample {
    /// Units that are admitted a second, and by how much that may be wrong.
    pub(super) fn admitted_rate(&self) -> Option<(f64, f64)> {
        let (least, most, over) = self.admitted?;
        let (least, most) = (per_second(least, over), per_second(most, over));
        Some((f64::midpoint(least, most), (most - least) / 2.0))
    }

    /// Requests that were denied a second, which are all counted.
    pub(super) fn denied_rate(&self) -> Option<f64> {
        self.denied.map(|count| per_second(count, self.over))
    }

    /// Evicted keys, forgiven units and requests denied for want of room, a second.
    pub(super) fn rates(&self) -> [f64; 3] {
        [self.evicted, self.forgiven, self.denied_full].map(|count| per_second(count, self.over))
    }
}

impl Model {
    pub(super) fn new(about: About) -> Self {
        Self { about, ..Self::default() }
    }

    /// Says something until so many samples have come, and one more.
    pub(super) fn say(&mut self, notice: String, samples: u32) {
        (self.notice, self.noted) = (Some(notice), samples);
    }

    /// Takes in what was sampled.
    pub(super) fn update(&mut self, about: About, sample: Sample, rows: Vec<Row>) {
        if !sample.over.is_zero() {
            let [evicted, forgiven, denied_full] = sample.rates();
            self.admitted.push(sample.admitted_rate().map_or(0.0, |(rate, _)| rate));
            self.denied.push(sample.denied_rate().unwrap_or(0.0));
            self.evicted.push(evicted);
            self.forgiven.push(forgiven);
            self.denied_full.push(denied_full);
        }
        (self.about, self.sample, self.rows) = (about, sample, rows);
        match self.noted.checked_sub(1) {
            Some(left) => self.noted = left,
            None => self.notice = None,
        }
    }

    pub(super) fn gauges(&self, columns: usize) -> Vec<Gauge> {
        let [evicted, forgiven, denied_full] = self.sample.rates();
        let admitted = match self.sample.admitted_rate() {
            Some((per_second, error)) => {
                let remark = if error < 0.05 { String::new() } else { format!("± {}", rate(error)) };
                (rate(per_second), remark)
            }
            None if self.sample.tells_admitted => ("…".to_owned(), String::new()),
            None => ("-".to_owned(), "not in the words".to_owned()),
        };
        let gauge = |label, (figure, remark), series: &Series| Gauge {
            label,
            figure,
            remark,
            bars: series.bars(columns),
        };
        let plain = |per_second| (rate(per_second), String::new());
        let denied = self.sample.denied_rate().map(|rate| gauge("denied/s", plain(rate), &self.denied));
        let mut gauges = vec![gauge("admitted/s", admitted, &self.admitted)];
        gauges.extend(denied);
        gauges.extend([
            gauge("evicted/s", plain(evicted), &self.evicted),
            gauge("forgiven/s", plain(forgiven), &self.forgiven),
            gauge("no room/s", plain(denied_full), &self.denied_full),
        ]);
        gauges
    }

    /// How many keys are live, of how many that have room.
    pub(super) fn summary(&self) -> String {
        let Sample { live, live_error, .. } = self.sample;
        let error = if live_error == 0 { String::new() } else { format!(" ± {}", grouped(live_error)) };
        let age = self.about.age.map(|age| format!("; made {} ago", short(age)));
        format!(
            "live {}{error} of {} keys; when full: {}{}",
            grouped(live),
            grouped(self.about.max_keys),
            self.about.when_full,
            age.unwrap_or_default()
        )
    }

    /// What part of the keys is looked at, where that is not all.
    pub(super) fn sampled(&self) -> Option<String> {
        let (seen, all) = self.sample.sampled;
        (seen < all).then(|| format!("one key in {} is looked at", grouped(all.div_ceil(seen.max(1)) as u64)))
    }

    /// What a key does.
    pub(super) fn press(&mut self, key: KeyEvent) -> Wish {
        if key.modifiers.contains(KeyModifiers::CONTROL) {
            return if key.code == KeyCode::Char('c') { Wish::Quit } else { Wish::Nothing };
        }
        if self.is_typing {
            return self.typed(key.code);
        }
        if self.shows_help {
            self.shows_help = false;
            return if key.code == KeyCode::Char('q') { Wish::Quit } else { Wish::Nothing };
        }
        match key.code {
            KeyCode::Char('q') => Wish::Quit,
            KeyCode::Char('u') => self.ordered(KeyOrder::Used),
            KeyCode::Char('a') => self.ordered(KeyOrder::Admitted),
            KeyCode::Char('d') if self.about.has_names => self.ordered(KeyOrder::Denied),
            KeyCode::Char('k') => self.ordered(KeyOrder::Hash),
            KeyCode::Char('/') => {
                self.is_typing = true;
                Wish::Nothing
            }
            KeyCode::Char(' ') => {
                self.is_frozen = !self.is_frozen;
                Wish::Nothing
            }
            KeyCode::Char('?') => {
                self.shows_help = true;
                Wish::Nothing
            }
            KeyCode::Esc if !self.filter.is_empty() => {
                self.filter.clear();
                Wish::Keys
            }
            _ => Wish::Nothing,
        }
    }

    fn typed(&mut self, code: KeyCode) -> Wish {
        match code {
            KeyCode::Char(c) => self.filter.push(c),
            KeyCode::Backspace => drop(self.filter.pop()),
            KeyCode::Enter => self.is_typing = false,
            KeyCode::Esc => {
                self.filter.clear();
                self.is_typing = false;
            }
            _ => return Wish::Nothing,
        }
        Wish::Keys
    }

    fn ordered(&mut self, order: KeyOrder) -> Wish {
        self.order = order;
        Wish::Keys
    }
}

#[cfg(test)]
pub(in crate::top) mod tests;
