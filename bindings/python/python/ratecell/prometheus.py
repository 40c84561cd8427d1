"""The metrics of limiters for the package `prometheus_client`: `pip install ratecell[prometheus]`.

    from prometheus_client import REGISTRY, start_http_server
    from ratecell.prometheus import Collector

    REGISTRY.register(Collector({"login": limiter}))
    start_http_server(8000, "127.0.0.1")

Where several processes share a file, the counts are those of all: let one of them tell Prometheus, or
`ratecell export`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily
from prometheus_client.registry import Collector as _Collector

from ratecell._metrics import METRICS, Source, metrics

__all__ = ["Collector"]


class Collector(_Collector):
    """Limiters, or rules, by the value of the label `limiter`.

    A scrape costs what `stats` does for each. A registry calls it from the thread that is scraped in.
    """

    def __init__(self, limiters: Mapping[str, Source]) -> None:
        self._limiters = dict(limiters)

    def collect(self) -> Iterator[CounterMetricFamily | GaugeMetricFamily]:
        """One family for each metric that some limiter has."""
        found = {name: metrics(limiter) for name, limiter in self._limiters.items()}
        for metric in METRICS:
            kind = CounterMetricFamily if metric.kind == "counter" else GaugeMetricFamily
            family = kind(metric.name, metric.help, labels=["limiter"])
            for name, values in found.items():
                if metric.name in values:
                    family.add_metric([name], values[metric.name])
            if family.samples:
                yield family

    def describe(self) -> Iterator[CounterMetricFamily | GaugeMetricFamily]:
        """The names alone, which a registry asks for when the collector is registered."""
        for metric in METRICS:
            kind = CounterMetricFamily if metric.kind == "counter" else GaugeMetricFamily
            yield kind(metric.name, metric.help, labels=["limiter"])
