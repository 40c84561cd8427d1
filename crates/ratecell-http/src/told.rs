//! What every response of a limit says alike, kept as text.

use std::sync::Arc;

use arc_swap::ArcSwap;
use ratecell::fields::{Answer, Label, LayerNumbers, Styles, next_ns};
use ratecell::{Decision, Policy};
use smallvec::SmallVec;

use crate::fields::{Sink, policy_field, write_all};

/// The texts of a limit, which are made anew when its policy was changed.
#[derive(Debug, Default)]
pub(crate) struct Told(ArcSwap<Option<Texts>>);

#[derive(Debug)]
struct Texts {
    policy: Arc<Policy>,
    label: Label<'static>,
    styles: Styles,
    /// Of each layer.
    layers: Box<[String]>,
    /// What the field of the policies says, if there is one.
    policies: Option<String>,
}

impl Texts {
    fn new(policy: Arc<Policy>, label: Label<'static>, styles: Styles) -> Self {
        let layers = policy.layers().iter().map(|layer| layer.to_string()).collect();
        let policies = policy_field(styles, &[Answer::of(&policy, label, Decision::default())]);
        Self { policy, label, styles, layers, policies }
    }

    fn is_of(&self, policy: &Arc<Policy>, label: Label<'static>, styles: Styles) -> bool {
        Arc::ptr_eq(&self.policy, policy) && self.styles == styles && self.label == label
    }

    fn write(&self, decision: Decision, sink: &mut Sink<'_>) {
        let layers = self.policy.layers().iter().zip(&self.layers).map(|(layer, text)| {
            let (limit, period_ns) = layer.rate();
            let period_ns = core::num::NonZeroU64::new(period_ns);
            LayerNumbers { text, limit, period_ns, capacity: layer.capacity() }
        });
        let layers: SmallVec<[_; 1]> = layers.collect();
        let next_ns = match decision.next_ns() {
            0 => next_ns(&self.policy, &decision).unwrap_or(0),
            known => known,
        };
        let answer = Answer::new(&*layers, self.label, decision.with_next(next_ns));
        write_all(self.styles, &[answer], self.policies.as_deref(), sink);
    }
}

impl Told {
    /// Hands out the fields of a decision by this policy.
    pub(crate) fn write(
        &self,
        policy: Arc<Policy>,
        label: Label<'static>,
        styles: Styles,
        decision: Decision,
        sink: &mut Sink<'_>,
    ) {
        let held = self.0.load();
        if let Some(texts) = &**held
            && texts.is_of(&policy, label, styles)
        {
            return texts.write(decision, sink);
        }
        let texts = Texts::new(policy, label, styles);
        texts.write(decision, sink);
        self.0.store(Arc::new(Some(texts)));
    }
}

#[cfg(test)]
mod tests {
    use ratecell::fields::{Fields, Style, Unit};
    use ratecell::{Limiter, Request};

    use super::*;

    #[test]
    fn what_is_kept_says_what_is_written_anew() {
        let told = Told::default();
        let mut compared = 0;
        for text in [
            "10/s burst=20",
            "7/300ms",
            "sliding_window 100/1m",
            "in_flight 5 hold=60s",
            "calendar_window 10/day tz=Europe/Berlin",
            "10/s burst=20 & sliding_window 1000/1h & fixed_window 10000/1d",
        ] {
            let limiter = Limiter::builder(text.parse::<Policy>().expect("a policy")).max_keys(100).build();
            let limiter = limiter.expect("a limiter");
            let policy = limiter.policy();
            let named = Label::new().named("a \"name\"").expect("a name").unit(Unit::ContentBytes);
            let decisions =
                [1, 2, 4, 5, 1].map(|cost| limiter.decide(Request::new("k").cost(cost).with_next()));
            for label in [Label::new(), named] {
                for style in Style::ALL.into_iter().filter(|style| !says_the_time(*style)) {
                    for decision in decisions {
                        let mut kept = Vec::new();
                        // Twice: the first time the texts are made.
                        for _ in 0..2 {
                            kept.clear();
                            told.write(
                                Arc::clone(&policy),
                                label,
                                style.into(),
                                decision,
                                &mut |name, value| {
                                    kept.push(format!("{name}: {}", String::from_utf8_lossy(value)));
                                },
                            );
                        }
                        let answers = [Answer::of(&policy, label, decision)];
                        let anew = Fields::new(style, &answers, 0).iter();
                        let anew: Vec<_> = anew
                            .map(|(name, value)| format!("{}: {value}", name.to_ascii_lowercase()))
                            .collect();
                        assert_eq!(kept, anew);
                        compared += kept.len();
                    }
                }
            }
        }
        assert!(compared > 500, "only {compared} fields");
    }

    /// Styles whose fields depend on the wall clock.
    fn says_the_time(style: Style) -> bool {
        matches!(style, Style::XUnix | Style::GitHub | Style::Twitter)
    }
}
