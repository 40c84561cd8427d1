//! How fast each client was, and who behaves.

use std::io;
use std::iter::StepBy;
use std::ops::Range;
use std::thread;

use crate::recording::{PARTITIONS, Recording, address};
use crate::scale::{SCALES, Scale};
use crate::wish::Wish;

/// A client behaves if no window holds more than so many times what that of the client at the 99th percentile does.
pub const LEEWAY: u64 = 3;

/// The units in the busiest window of a client, by scale.
pub(crate) type Peaks = [u64; SCALES.len()];

/// The bound below which a client behaves.
///
/// At each scale, sort the clients that have fitted requests by the units in their busiest window. The client at the
/// 99th percentile is the first that has at least 99 % of them at or before it. A client *behaves* in a part of the log
/// if, at every scale, its busiest window in that part holds at most [`LEEWAY`] times as many units as that client's.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Behaviour {
    /// The most units in a window of a client that behaves, by scale.
    pub most: [u64; SCALES.len()],
}

impl Behaviour {
    fn is_kept_by(&self, peaks: &Peaks) -> bool {
        peaks.iter().zip(&self.most).all(|(peak, most)| peak <= most)
    }
}

/// How the busiest windows of all clients are spread at one scale, over the whole log.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Spread {
    /// The length of the windows.
    pub scale: Scale,
    /// The units that the busiest window of half of the clients, of 90 %, of 99 % and of 99.9 % does not exceed.
    pub percentiles: [u64; 4],
    /// The most units in a window, and the number of the client.
    pub most: (u64, usize),
}

/// The shares of clients in [`Spread::percentiles`], in thousandths.
const PERCENTILES: [usize; 4] = [500, 900, 990, 999];

/// What the requests of a recording are, client by client.
#[derive(Debug)]
pub struct Profile {
    /// From this instant on requests are not fitted, but tried.
    pub(crate) cut_ns: u64,
    /// Of each partition, the requests before the first that is tried.
    pub(crate) fitted: Vec<u64>,
    pub(crate) behaviour: Behaviour,
    /// The busiest windows of all clients in the fitted part.
    pub(crate) peaks: Peaks,
    pub(crate) spreads: Vec<Spread>,
    /// Of each client, whether it behaves in the fitted part and in the rest.
    behaves: Vec<[bool; 2]>,
}

/// The clients of a partition.
struct Found {
    fitted: u64,
    /// The peaks of each client in the fitted part, in the rest, and in both.
    peaks: Vec<[Peaks; 3]>,
}

impl Profile {
    /// Looks at all requests once, on `threads` threads.
    pub(crate) fn new(recording: &Recording, threads: usize) -> io::Result<Self> {
        let span_ns = recording.last_ns - recording.first_ns;
        let cut_ns = recording.first_ns + span_ns / 3 * 2;
        // The recording is no shorter than three seconds, so that this is after its first request.
        let cut_ns = cut_ns - cut_ns % SCALES[0].ns;
        let looked = in_parallel(threads, |partitions| {
            partitions.map(|partition| look(recording, partition, cut_ns)).collect::<io::Result<Vec<_>>>()
        })?;
        let mut looked: Vec<_> = looked.into_iter().map(Vec::into_iter).collect();
        let found: Vec<_> =
            (0..PARTITIONS as usize).filter_map(|partition| looked[partition % threads].next()).collect();
        let of_client = |number: usize| {
            let (partition, place) = address(number as u32);
            &found[partition].peaks[place as usize]
        };
        let clients = recording.clients as usize;
        let behaviour = Behaviour {
            most: std::array::from_fn(|scale| {
                let peaks = (0..clients).map(|number| of_client(number)[0][scale]);
                let mut peaks: Vec<_> = peaks.filter(|peak| *peak > 0).collect();
                peaks.sort_unstable();
                percentile(&peaks, 990).saturating_mul(LEEWAY)
            }),
        };
        Ok(Self {
            cut_ns,
            fitted: found.iter().map(|found| found.fitted).collect(),
            behaviour,
            peaks: std::array::from_fn(|scale| {
                (0..clients).map(|number| of_client(number)[0][scale]).max().unwrap_or(0)
            }),
            spreads: (0..SCALES.len())
                .map(|scale| spread(scale, (0..clients).map(|number| of_client(number)[2][scale])))
                .collect(),
            behaves: (0..clients)
                .map(|number| {
                    let [fitted, rest, _] = of_client(number);
                    [behaviour.is_kept_by(fitted), behaviour.is_kept_by(rest)]
                })
                .collect(),
        })
    }

    /// Whether a window that a wish protects is before the cut as a whole; others are of the rest.
    pub(crate) fn is_fitted(&self, window: u64, wish: Wish) -> bool {
        match wish {
            Wish::Protect { period_ns, .. } => {
                window.saturating_add(1).saturating_mul(period_ns) <= self.cut_ns
            }
            Wish::DenyNobody | Wish::DenyAtMost { .. } => false,
        }
    }

    /// Whether a client behaves in each part.
    pub(crate) fn behaves(&self, number: usize) -> [bool; 2] {
        self.behaves[number]
    }
}

/// What `work` returns on each of so many threads for its partitions: every `threads`-th, from the thread's number on.
pub(crate) fn in_parallel<T: Send>(
    threads: usize,
    work: impl Fn(StepBy<Range<usize>>) -> io::Result<T> + Sync,
) -> io::Result<Vec<T>> {
    let work = &work;
    thread::scope(|scope| {
        let start = |first: usize| scope.spawn(move || work((first..PARTITIONS as usize).step_by(threads)));
        let workers: Vec<_> = (0..threads).map(start).collect();
        let joined = workers
            .into_iter()
            .map(|worker| worker.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic)));
        joined.collect()
    })
}

/// The peaks of a partition's clients.
fn look(recording: &Recording, partition: usize, cut_ns: u64) -> io::Result<Found> {
    /// A window, and its units so far.
    #[derive(Clone, Copy, Default)]
    struct Open {
        window: u64,
        units: u64,
    }
    let clients = recording.clients_in(partition);
    // Of the fitted part, of the rest and of both.
    let mut open = vec![[[Open::default(); SCALES.len()]; 3]; clients];
    let mut found = Found { fitted: 0, peaks: vec![[[0; SCALES.len()]; 3]; clients] };
    let mut is_tried = false;
    recording.read(partition, |entries| {
        for entry in entries.iter() {
            is_tried |= entry.now_ns >= cut_ns;
            found.fitted += u64::from(!is_tried);
            for part in [usize::from(is_tried), 2] {
                let open = &mut open[entry.place as usize][part];
                let peaks = &mut found.peaks[entry.place as usize][part];
                for ((scale, open), peak) in SCALES.iter().zip(open).zip(peaks) {
                    let window = entry.now_ns / scale.ns;
                    if window != open.window {
                        *open = Open { window, units: 0 };
                    }
                    open.units += u64::from(entry.cost);
                    *peak = (*peak).max(open.units);
                }
            }
        }
        true
    })?;
    Ok(found)
}

fn spread(scale: usize, peaks: impl Iterator<Item = u64>) -> Spread {
    let peaks: Vec<_> = peaks.collect();
    let most = peaks.iter().enumerate().max_by_key(|(number, peak)| (**peak, usize::MAX - number));
    let most = most.map_or((0, 0), |(number, peak)| (*peak, number));
    let mut sorted = peaks.clone();
    sorted.sort_unstable();
    Spread { scale: SCALES[scale], percentiles: PERCENTILES.map(|share| percentile(&sorted, share)), most }
}

/// The value that so many thousandths of `sorted` do not exceed.
fn percentile(sorted: &[u64], thousandths: usize) -> u64 {
    let rank = (sorted.len() * thousandths).div_ceil(1000);
    sorted.get(rank.saturating_sub(1)).copied().unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn percentiles_are_of_the_nearest_rank() {
        let values: Vec<_> = (1..=1000).collect();
        assert_eq!(PERCENTILES.map(|share| percentile(&values, share)), [500, 900, 990, 999]);
        assert_eq!(PERCENTILES.map(|share| percentile(&[7], share)), [7; 4]);
        assert_eq!(percentile(&[1, 2], 500), 1);
        assert_eq!(percentile(&[], 500), 0);
    }
}
