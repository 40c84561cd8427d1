//! Times within a stamp.

/// When the requests are decided that share one stamp.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Spread {
    /// At equal distances over what the stamp's digits leave open.
    Even,
    /// All at the stamp.
    Together,
}

/// What has one stamp, until that is complete.
#[derive(Debug)]
pub struct Group<T> {
    spread: Spread,
    time_ns: u64,
    digits: u8,
    items: Vec<T>,
    sharing: u64,
}

impl<T> Group<T> {
    /// An empty one.
    #[must_use]
    pub fn new(spread: Spread) -> Self {
        Self { spread, time_ns: 0, digits: 0, items: Vec::new(), sharing: 0 }
    }

    /// The next item, which has a stamp in a file whose stamps have so many digits. If its stamp is another one,
    /// those before it are taken out, each with its time.
    pub fn push(&mut self, time_ns: u64, digits: u8, item: T, take: impl FnMut(u64, T)) {
        if time_ns != self.time_ns {
            self.flush(take);
            (self.time_ns, self.digits) = (time_ns, digits);
        }
        self.digits = self.digits.max(digits);
        self.items.push(item);
    }

    /// Takes out what is left.
    pub fn flush(&mut self, mut take: impl FnMut(u64, T)) {
        let count = u64::try_from(self.items.len()).unwrap_or(u64::MAX);
        if count > 1 {
            self.sharing += count;
        }
        let resolution = resolution_ns(self.digits);
        for (place, item) in (0..).zip(self.items.drain(..)) {
            let after = match self.spread {
                Spread::Even => u128::from(resolution) * place / u128::from(count),
                Spread::Together => 0,
            };
            take(self.time_ns.saturating_add(u64::try_from(after).unwrap_or_default()), item);
        }
    }

    /// How many share their stamp with another one.
    #[must_use]
    pub fn sharing(&self) -> u64 {
        self.sharing
    }
}

/// What a stamp with so many digits leaves open, in nanoseconds.
#[must_use]
pub fn resolution_ns(digits: u8) -> u64 {
    10_u64.pow(9 - u32::from(digits.min(9)))
}
