"""The metrics of limiters for the package `prometheus_client`: `pip install ratecell[prometheus]`.

    from prometheus_client import REGISTRY, start_http_server
    from ratecell.prometheus import Collector

    REGISTRY.register(Collector({"login": limiter}))
    start_http_server(8000, "127.0.0.1")

Where several processes share a file, the counts are those of all: let one of them tell Prometheus, or
`ratecell export`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import asdict

from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily
from prometheus_client.registry import Collector as _Collector

from ratecell._gate import Counts
from ratecell._metrics import METRICS, Source, metrics

__all__ = ["Collector", "RequestsCollector"]


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


class RequestsCollector(_Collector):
    """What middlewares and decorators have done with requests, by the value of the label `limiter`.

        REGISTRY.register(RequestsCollector({"site": lambda: app.counts}))

    Each value is a function that returns `Counts`; these are of this process alone.
    """

    def __init__(self, counts: Mapping[str, Callable[[], Counts]]) -> None:
        self._counts = dict(counts)

    def collect(self) -> Iterator[CounterMetricFamily]:
        """One family, with the fields of `Counts` as the label `result`."""
        family = _requests()
        for name, counted in self._counts.items():
            for result, number in asdict(counted()).items():
                family.add_metric([name, result], number)
        yield family

    def describe(self) -> Iterator[CounterMetricFamily]:
        """The name alone, which a registry asks for when the collector is registered."""
        yield _requests()


def _requests() -> CounterMetricFamily:
    text = "Requests that this process has let through and refused, by what became of them."
    return CounterMetricFamily("ratecell_requests_total", text, labels=["limiter", "result"])
