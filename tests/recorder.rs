//! The feature `metrics`: what a recorder of that crate is given.
#![cfg(feature = "metrics")]

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};

use metrics::{Counter, Gauge, Histogram, Key, KeyName, Metadata, Recorder, SharedString, Unit};
use ratecell::{Limiter, Policy, Shared, metrics as names};

/// Keeps the bits of every counter and gauge, and each name's text.
#[derive(Debug, Default)]
struct Kept {
    counters: Mutex<BTreeMap<String, Arc<AtomicU64>>>,
    gauges: Mutex<BTreeMap<String, Arc<AtomicU64>>>,
    described: Mutex<BTreeMap<String, String>>,
}

impl Kept {
    fn describe(&self, name: &KeyName, text: &SharedString) {
        self.described.lock().unwrap().insert(name.as_str().to_owned(), text.to_string());
    }
}

fn of(kept: &Mutex<BTreeMap<String, Arc<AtomicU64>>>, key: &Key) -> Arc<AtomicU64> {
    let labels: Vec<_> = key.labels().map(|label| (label.key(), label.value())).collect();
    assert_eq!(labels, [("limiter", "logins")]);
    kept.lock().unwrap().entry(key.name().to_owned()).or_default().clone()
}

impl Recorder for Kept {
    fn describe_counter(&self, name: KeyName, _: Option<Unit>, text: SharedString) {
        self.describe(&name, &text);
    }
    fn describe_gauge(&self, name: KeyName, _: Option<Unit>, text: SharedString) {
        self.describe(&name, &text);
    }
    fn describe_histogram(&self, _: KeyName, _: Option<Unit>, _: SharedString) {
        unreachable!("there are no histograms")
    }
    fn register_counter(&self, key: &Key, _: &Metadata<'_>) -> Counter {
        Counter::from_arc(of(&self.counters, key))
    }
    fn register_gauge(&self, key: &Key, _: &Metadata<'_>) -> Gauge {
        Gauge::from_arc(of(&self.gauges, key))
    }
    fn register_histogram(&self, _: &Key, _: &Metadata<'_>) -> Histogram {
        unreachable!("there are no histograms")
    }
}

#[test]
fn a_recorder_is_given_all_of_them() {
    let limiter = Limiter::builder("1/h".parse::<Policy>().unwrap()).max_keys(8).build().unwrap();
    for number in 0..200 {
        assert!(limiter.check_at(format!("user:{number}"), 1, 0).is_allowed());
    }
    let stats = limiter.stats_at(0);
    assert!(stats.evicted > 0);
    let kept = Kept::default();
    // Twice: a counter is not added to itself.
    for _ in 0..2 {
        metrics::with_local_recorder(&kept, || names::record("logins", &stats, Some(&Shared::default())));
    }
    let described = kept.described.lock().unwrap().clone();
    assert_eq!(described, names::all().map(|m| (m.name.to_owned(), m.help.to_owned())).collect());
    for sample in names::samples(&stats, Some(&Shared::default())) {
        let name = sample.metric.name;
        let (of, value) = match sample.metric.kind {
            names::Kind::Counter => (&kept.counters, sample.value.as_f64() as u64),
            names::Kind::Gauge => (&kept.gauges, sample.value.as_f64().to_bits()),
        };
        assert_eq!(of.lock().unwrap()[name].load(Ordering::Relaxed), value, "{name}");
    }
}
