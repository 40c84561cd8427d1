"""The names by which limiters are monitored: the same in every language and in `ratecell export`."""

from __future__ import annotations

from typing import Literal, NamedTuple, Protocol

from ratecell._native import Stats


class Metric(NamedTuple):
    """One number of `Stats`: docs/OPERATIONS.md lists them."""

    name: str
    """By the conventions of Prometheus, such as `ratecell_evicted_keys_total`."""
    kind: Literal["counter", "gauge"]
    field: str
    """That of `Stats`."""
    help: str
    """One sentence."""


class Source(Protocol):
    """What has `stats`: a `Limiter` or `Rules`."""

    def stats(self) -> Stats:
        """What it holds, and what has happened to it."""


PLAIN = 10
"""How many of `METRICS` do not need a store."""

METRICS = (
    Metric("ratecell_live_keys", "gauge", "live", "Keys that hold used units."),
    Metric(
        "ratecell_live_keys_error",
        "gauge",
        "live_error",
        "How many more or fewer live keys there may be; 0 where all were counted.",
    ),
    Metric(
        "ratecell_slots", "gauge", "slots", "Places for keys; the table is made for five sevenths of them."
    ),
    Metric("ratecell_table_bytes", "gauge", "bytes", "Bytes of memory of the table."),
    Metric("ratecell_evicted_keys_total", "counter", "evicted", "Live keys that were erased for new ones."),
    Metric(
        "ratecell_forgiven_units_total",
        "counter",
        "forgiven",
        "Units that erased keys still held: the most that passed beyond the policy.",
    ),
    Metric(
        "ratecell_shared_requests_total",
        "counter",
        "shared",
        "Requests decided on the cell that new keys without a place share.",
    ),
    Metric(
        "ratecell_denied_full_requests_total",
        "counter",
        "denied_full",
        "Requests of new keys that were denied because the table was full.",
    ),
    Metric(
        "ratecell_allowed_full_requests_total",
        "counter",
        "allowed_full",
        "Requests of new keys that were allowed uncharged because the table was full.",
    ),
    Metric(
        "ratecell_exhausted_requests_total",
        "counter",
        "exhausted",
        "Requests answered as by a full table because too many others came at once.",
    ),
    Metric(
        "ratecell_leased_units_total", "counter", "leased", "Units that the store granted to this machine."
    ),
    Metric(
        "ratecell_used_units_total",
        "counter",
        "used",
        "Units of leases that were used; a lease is counted when it is replaced.",
    ),
    Metric("ratecell_passed_units_total", "counter", "passed", "Units of leases that passed unused."),
    Metric(
        "ratecell_given_back_units_total", "counter", "given_back", "Units that were given back to the store."
    ),
    Metric("ratecell_misses_total", "counter", "misses", "Requests that no lease could answer."),
    Metric("ratecell_waits_total", "counter", "waits", "Misses that waited for the store."),
    Metric("ratecell_timeouts_total", "counter", "timeouts", "Misses that waited for the store in vain."),
    Metric(
        "ratecell_store_operations_total", "counter", "operations", "Operations that were sent to the store."
    ),
    Metric(
        "ratecell_swaps_lost_total",
        "counter",
        "swaps_lost",
        "Operations that came after another machine's, and were repeated.",
    ),
    Metric(
        "ratecell_lag_seconds",
        "gauge",
        "lag_ns",
        "How far the agent's time is behind the store's at most, in seconds.",
    ),
    Metric(
        "ratecell_healed_words_total",
        "counter",
        "healed",
        "Words at the store below what this machine had charged: above 0, the store has forgotten.",
    ),
    Metric(
        "ratecell_board_full_total",
        "counter",
        "board_full",
        "Misses that had no room on the machine's board.",
    ),
    Metric(
        "ratecell_opened_units_total",
        "counter",
        "opened",
        "Units that were allowed uncharged because the store was away.",
    ),
    Metric(
        "ratecell_local_units_total",
        "counter",
        "local",
        "Units that the agent granted by its part of the policy because the store was away.",
    ),
    Metric("ratecell_connected", "gauge", "connected", "1 if an agent is there and the store answers it."),
)


def metrics(source: Source) -> dict[str, float]:
    """What a `Limiter` or `Rules` holds and has counted, by the names of docs/OPERATIONS.md, in base units.

    The metrics of a store are there if one of them is not 0: `Stats` do not say whether a file is one of
    leases. It costs what `stats` does, and checks cost nothing more.
    """
    stats = source.stats()
    values = {metric.name: _value(stats, metric.field) for metric in METRICS}
    names = [metric.name for metric in METRICS]
    if any(values[name] for name in names[PLAIN:]):
        return values
    return {name: values[name] for name in names[:PLAIN]}


def _value(stats: Stats, field: str) -> float:
    if field == "lag_ns":
        return stats.lag_ns / 1e9
    value = getattr(stats, field)
    assert isinstance(value, int)
    return int(value)
