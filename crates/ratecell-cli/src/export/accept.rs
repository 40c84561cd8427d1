//! Which format a client prefers.

/// A format of metrics.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Format {
    /// OpenMetrics 1.0.0.
    OpenMetrics,
    /// The text format 0.0.4 of Prometheus.
    Prometheus,
}

impl Format {
    /// By the values of `Accept`: that with the higher quality, and OpenMetrics only where it is named.
    pub(crate) fn of<'a>(accepts: impl IntoIterator<Item = &'a str>) -> Self {
        let (mut open_metrics, mut plain) = (0.0, 0.0_f32);
        for range in accepts.into_iter().flat_map(|accept| accept.split(',')) {
            let mut parts = range.split(';').map(str::trim);
            let kind = parts.next().unwrap_or_default().to_ascii_lowercase();
            let mut parameters = parts.filter_map(|part| part.split_once('='));
            let quality = parameters.find(|(name, _)| name.trim().eq_ignore_ascii_case("q"));
            let quality = quality.map_or(1.0, |(_, value)| value.trim().parse().unwrap_or(0.0));
            match kind.as_str() {
                "application/openmetrics-text" => open_metrics = f32::max(open_metrics, quality),
                "text/plain" | "text/*" | "*/*" => plain = f32::max(plain, quality),
                _ => {}
            }
        }
        if open_metrics > 0.0 && open_metrics >= plain { Self::OpenMetrics } else { Self::Prometheus }
    }

    pub(crate) fn content_type(self) -> &'static str {
        match self {
            Self::OpenMetrics => "application/openmetrics-text; version=1.0.0; charset=utf-8",
            Self::Prometheus => "text/plain; version=0.0.4; charset=utf-8",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::Format::{self, OpenMetrics, Prometheus};

    #[test]
    fn the_client_chooses() {
        for (accepts, format) in [
            (&[][..], Prometheus),
            (&["*/*"], Prometheus),
            (&["text/html,application/xml;q=0.9,*/*;q=0.8"], Prometheus),
            (
                &["application/openmetrics-text;version=1.0.0;escaping=allow-utf-8;q=0.6,\
                     application/openmetrics-text;version=0.0.1;q=0.5,text/plain;version=1.0.0;q=0.4,*/*;q=0.1"],
                OpenMetrics,
            ),
            (&["text/plain; version=0.0.4", "Application/OpenMetrics-Text ; Q=0.5"], Prometheus),
            (&["text/plain;q=0.5", "application/openmetrics-text"], OpenMetrics),
            (&["application/openmetrics-text;q=0"], Prometheus),
            (&["application/openmetrics-text;q=none"], Prometheus),
            (&["application/json"], Prometheus),
        ] {
            assert_eq!(Format::of(accepts.iter().copied()), format, "{accepts:?}");
        }
    }
}
