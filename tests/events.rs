//! The events of the feature `tracing`.
#![cfg(feature = "tracing")]

use std::fmt::{Debug, Write};
use std::sync::{Arc, Mutex};

use ratecell::{Limiter, Policy};
use tracing::field::{Field, Visit};
use tracing::span::{Attributes, Id, Record};
use tracing::{Event, Metadata, Subscriber};

/// Keeps the events of one thread as lines.
#[derive(Clone, Debug, Default)]
struct Lines(Arc<Mutex<Vec<String>>>);

struct Fields(String);

impl Visit for Fields {
    fn record_debug(&mut self, field: &Field, value: &dyn Debug) {
        write!(self.0, " {}={value:?}", field.name()).unwrap();
    }
}

impl Subscriber for Lines {
    fn enabled(&self, metadata: &Metadata<'_>) -> bool {
        metadata.target() == "ratecell"
    }
    fn new_span(&self, _: &Attributes<'_>) -> Id {
        unreachable!("there are no spans")
    }
    fn record(&self, _: &Id, _: &Record<'_>) {}
    fn record_follows_from(&self, _: &Id, _: &Id) {}
    fn event(&self, event: &Event<'_>) {
        let mut fields = Fields(event.metadata().level().to_string());
        event.record(&mut fields);
        self.0.lock().unwrap().push(fields.0);
    }
    fn enter(&self, _: &Id) {}
    fn exit(&self, _: &Id) {}
}

impl Lines {
    fn taken(&self) -> Vec<String> {
        std::mem::take(&mut self.0.lock().unwrap())
    }
}

fn policy(text: &str) -> Policy {
    text.parse().unwrap()
}

#[test]
fn what_happens_to_a_limiter_is_told_and_no_decision() {
    let lines = Lines::default();
    tracing::subscriber::with_default(lines.clone(), || {
        let limiter = Limiter::builder(policy("2/h")).max_keys(1_000).build().unwrap();
        assert_eq!(lines.taken(), ["DEBUG message=limiter built policy=2/h"]);
        let outcomes = [(); 3].map(|()| limiter.check("user:42").is_allowed());
        assert_eq!((outcomes, lines.taken().len()), ([true, true, false], 0));
        limiter.change(policy("3/h")).unwrap();
        assert_eq!(lines.taken(), ["INFO message=policy changed policy=3/h"]);
        // It decides as the one in force does.
        limiter.change(policy("3/h")).unwrap();
        limiter.change(policy("sliding_window 3/h")).unwrap_err();
        assert_eq!(lines.taken(), [""; 0]);
    });
}

#[cfg(target_os = "linux")]
#[test]
fn a_file_that_is_opened_is_told() {
    let path = std::env::temp_dir().join(format!("ratecell-events-{}", std::process::id()));
    let lines = Lines::default();
    tracing::subscriber::with_default(lines.clone(), || {
        Limiter::builder(policy("2/h")).max_keys(1_000).open(&path).unwrap();
        assert_eq!(lines.taken(), [format!("DEBUG message=file opened policy=2/h path={}", path.display())]);
        std::fs::write(&path, "something else").unwrap();
        Limiter::following().open(&path).unwrap_err();
        assert_eq!(lines.taken(), [""; 0]);
    });
    std::fs::remove_file(&path).unwrap();
}
