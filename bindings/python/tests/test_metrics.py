"""Metrics: the names of docs/OPERATIONS.md, and what `prometheus_client` is told."""

from __future__ import annotations

import re
import urllib.request
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest
from prometheus_client import CollectorRegistry, generate_latest, start_http_server

from ratecell import Counts, Limiter, Rules, Stats, metrics
from ratecell._metrics import METRICS
from ratecell.prometheus import Collector, RequestsCollector

PAGE = Path(__file__).parents[3] / "docs" / "OPERATIONS.md"
DOCUMENTED = re.findall(
    r"^\| `(ratecell_\w+)` \| (\w+) \| `(\w+)` \| (.*) \|$", PAGE.read_text(), re.MULTILINE
)
FIELDS = {name for name in dir(Stats) if not name.startswith("_")}


class Told:
    """A limiter with these stats, and zeros."""

    def __init__(self, **stats: int) -> None:
        assert stats.keys() <= FIELDS
        self.told: Any = SimpleNamespace(**dict.fromkeys(FIELDS, 0) | stats)

    def stats(self) -> Stats:
        return cast(Stats, self.told)


def test_the_metrics_are_those_that_are_documented() -> None:
    assert [tuple(metric) for metric in METRICS] == DOCUMENTED
    assert {metric.field for metric in METRICS} == FIELDS


def test_every_metric_is_its_field() -> None:
    numbers = {metric.field: number for number, metric in enumerate(METRICS, 1)}
    numbers["lag_ns"] *= 10**9
    assert metrics(Told(**numbers)) == {metric.name: number for number, metric in enumerate(METRICS, 1)}


@pytest.mark.parametrize(("stats", "count"), [({}, 10), ({"live": 7}, 10), ({"misses": 1}, 25)])
def test_the_metrics_of_a_store_are_there_if_one_is_not_0(stats: dict[str, int], count: int) -> None:
    assert len(metrics(Told(**stats))) == count


def test_the_metrics_of_a_limiter() -> None:
    limiter = Limiter("1/h", max_keys=1000)
    for key in ["a", "b", "c"]:
        assert limiter.check(key)
    found = metrics(limiter)
    assert (found["ratecell_live_keys"], found["ratecell_slots"]) == (3, limiter.stats().slots)


def test_a_collector_is_scraped() -> None:
    registry = CollectorRegistry()
    rules = Rules("ratecell_rules = 1\n[[rule]]\nname = 'site'\nkey = []\nlimit = '1/h'\n")
    registry.register(Collector({"rules": rules, "leases": Told(leased=7, evicted=2)}))
    with pytest.raises(ValueError, match="Duplicated"):
        registry.register(Collector({}))
    server, thread = start_http_server(0, "127.0.0.1", registry)
    try:
        with urllib.request.urlopen(f"http://127.0.0.1:{server.server_port}/metrics") as response:
            text = response.read().decode()
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
    for name, kind, _, meaning in DOCUMENTED:
        assert f"# HELP {name} {meaning}\n# TYPE {name} {kind}\n" in text
    lines = text.splitlines()
    assert 'ratecell_leased_units_total{limiter="leases"} 7.0' in lines
    assert 'ratecell_evicted_keys_total{limiter="leases"} 2.0' in lines
    assert 'ratecell_live_keys{limiter="rules"} 0.0' in lines
    assert 'ratecell_leased_units_total{limiter="rules"}' not in text


def test_what_middlewares_did_is_scraped() -> None:
    registry = CollectorRegistry()
    registry.register(RequestsCollector({"site": lambda: Counts(allowed=7, failed_open=2)}))
    with pytest.raises(ValueError, match="Duplicated"):
        registry.register(RequestsCollector({}))
    lines = generate_latest(registry).decode().splitlines()
    assert "# TYPE ratecell_requests_total counter" in lines
    assert 'ratecell_requests_total{limiter="site",result="allowed"} 7.0' in lines
    assert 'ratecell_requests_total{limiter="site",result="failed_open"} 2.0' in lines
    assert 'ratecell_requests_total{limiter="site",result="denied"} 0.0' in lines
