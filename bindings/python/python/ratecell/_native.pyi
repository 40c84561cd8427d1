"""The extension module: limiters and their decisions."""

import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from datetime import datetime
from os import PathLike
from typing import Literal, SupportsIndex, TypeAlias, final, overload

from typing_extensions import Buffer, Self, disjoint_base

from ratecell._fields import Style
from ratecell._outcome import Outcome

__all__ = [
    "Clients",
    "Decision",
    "Decisions",
    "Label",
    "Limiter",
    "PolicyError",
    "Rules",
    "RulesDecision",
    "RulesError",
    "Stats",
    "Waiting",
    "Zone",
    "arrive",
    "decide_all",
    "decision",
    "decisions",
    "fields",
    "give_check",
    "leave",
    "release",
    "renew",
    "reserve",
    "reserved",
    "rules_release",
    "rules_reserve",
    "rules_settle",
    "settle",
    "turn",
    "waits",
]

_Parts: TypeAlias = tuple[int, int, int, int, int, int, int, int, int, int]
_Layer: TypeAlias = tuple[str, int, int | None, int]

class PolicyError(ValueError):
    """A policy that is refused: a ValueError with `code`, the stable name of what is wrong with it,
    and `column`, where in its text, counted in bytes from 1, or None.
    """

    code: str
    column: int | None

class RulesError(ValueError):
    """A file of rules that is refused: a ValueError with `code`, the stable name of what is wrong with it;
    `line`, where in the file, counted from 1, or None; `rule`, the name of the rule, its number where it
    has none, or None; and `field`, or None.
    """

    code: str
    line: int | None
    rule: str | int | None
    field: str | None

@disjoint_base
class Clients:
    """Knows the clients of requests: one key for each, the same text in every language and program that
    limits by ratecell.

    A key is an IPv4 address ("203.0.113.7"), a network of IPv6 ("2001:db8:1:2::/64"), "unix" for all
    peers on Unix sockets, or "unknown" for all whose address cannot be read. There is always a key, of
    at most 43 characters, and it is never text that a client has written.
    """

    def __new__(
        cls,
        *,
        field: str | None = None,
        kind: Literal["list", "forwarded", "single"] = "list",
        hops: int | None = None,
        networks: Iterable[str] | None = None,
        v4_width: int | None = None,
        v6_width: int | None = None,
    ) -> Self: ...
    def key(self, peer: str | bytes, lines: Iterable[Sequence[str | bytes]] | None = None) -> str:
        """The key of the client of a request: of its `peer`, an address with a port or without, "" for
        a Unix socket, and of the `lines` of its header, each a name and a value. A character of a `str`
        is one byte.
        """
    def search(
        self, peer: str | bytes, lines: Iterable[Sequence[str | bytes]] | None = None
    ) -> tuple[str, Literal["end", "short", "malformed", "long"]]:
        """The `key`, and why it is that one: "end", at the client; "short", the field has no more
        addresses; "malformed", the next is none; "long", all of the 64 that are read are trusted
        proxies.
        """
    @property
    def field(self) -> str | None:
        """The name of the field in which proxies name the client; None where the peer is the client."""

@final
class Decision:
    """The answer of a limiter to one request: true if it may go.

    A denial is an answer, not an exception. Times are relative to the request's, exact in the `_ns`
    twins and the nearest float otherwise.
    """

    def __bool__(self) -> bool: ...
    def __hash__(self) -> int: ...
    @property
    def allowed(self) -> bool:
        """Whether the request may go: what `bool(decision)` says."""
    @property
    def outcome(self) -> Outcome:
        """How the request was decided."""
    @property
    def limit(self) -> int:
        """The most units that can pass at one instant; of several layers, that of `layer`."""
    @property
    def remaining(self) -> int:
        """Units that would be allowed at this same instant, after this decision."""
    @property
    def retry_after(self) -> float | None:
        """Seconds until the same cost would be allowed, with no other traffic on the key: 0.0 if it
        was allowed, None if it never can be.
        """
    @property
    def retry_after_ns(self) -> int | None:
        """`retry_after` in nanoseconds: exact, 1 ns earlier the same cost is still denied."""
    @property
    def reset_after(self) -> float:
        """Seconds until the key is as good as never used."""
    @property
    def reset_after_ns(self) -> int:
        """`reset_after` in nanoseconds."""
    @property
    def delay(self) -> float:
        """Seconds to hold the allowed request before it goes on: 0.0 except for a `leaky_queue`. Of a
        refusal within a delay, the one that it would be given.
        """
    @property
    def delay_ns(self) -> int:
        """`delay` in nanoseconds."""
    @property
    def next_after(self) -> float | None:
        """Seconds until one unit more than `remaining` would be allowed, with no other traffic on the
        key: None where there is no such time, and where the request did not ask `with_next`.
        """
    @property
    def next_after_ns(self) -> int | None:
        """`next_after` in nanoseconds."""
    @property
    def layer(self) -> int:
        """Which of the policy's layers has the least `remaining`: the one to name to the client that
        was refused. Counted from 0; 0 where there is one layer.
        """
    @property
    def without_place(self) -> bool:
        """Whether a full table denied, which had no place for the key, and not the policy."""
    @property
    def is_leased(self) -> bool:
        """Whether the limiter's units are those of many machines. `remaining` is then a lower bound, and
        `reset_after` the end of what this machine holds.
        """
    @property
    def is_unanswered(self) -> bool:
        """Whether the store of many machines did not answer, so that `on_failure` or the end of the wait
        decided. The `retry_after` of a denial is then None: it is not known.
        """
    @property
    def without_zone(self) -> bool:
        """Whether it was refused, with NEVER and nothing charged, for it named no zone though the policy
        has tz=caller.
        """
    @property
    def given_back(self) -> int:
        """How many units a release gave back, of several layers `in_flight` the least; 0 of every other
        decision.
        """

@final
class Decisions(Sequence[Decision]):
    """The decisions of a batch, in the order of its keys: a sequence of `Decision`.

    Its columns are for code that looks at all of them at once: `bytes`, and read-only memoryviews
    of unsigned 64-bit numbers, that numpy takes without a copy.
    """

    def __len__(self) -> int: ...
    def __iter__(self) -> Iterator[Decision]: ...
    def __reversed__(self) -> Iterator[Decision]: ...
    def __contains__(self, value: object, /) -> bool: ...
    @overload
    def __getitem__(self, index: SupportsIndex, /) -> Decision: ...
    @overload
    def __getitem__(self, index: slice, /) -> Decisions: ...
    def count(self, value: object, /) -> int:
        """How many of the decisions are equal to `value`."""
    def index(self, value: object, start: int = 0, stop: int = sys.maxsize, /) -> int:
        """The number of the first decision from `start` on and before `stop` that is equal to `value`;
        ValueError where there is none.
        """
    @property
    def allowed(self) -> bytes:
        """One byte for each key: 1 if it is allowed, 0 if not."""
    @property
    def allowed_count(self) -> int:
        """How many are allowed."""
    @property
    def all_allowed(self) -> bool:
        """Whether every one is allowed; true of an empty batch."""
    def denied(self) -> list[int]:
        """The numbers of those that are not allowed, in order."""
    @property
    def remaining(self) -> memoryview[int]:
        """`remaining` of each."""
    @property
    def retry_after_ns(self) -> memoryview[int]:
        """`retry_after_ns` of each; 2^64-1 is never."""
    @property
    def reset_after_ns(self) -> memoryview[int]:
        """`reset_after_ns` of each."""
    @property
    def delay_ns(self) -> memoryview[int]:
        """`delay_ns` of each."""
    @property
    def next_after_ns(self) -> memoryview[int]:
        """`next_after_ns` of each; 0 is None."""

@final
class Stats:
    """What a limiter holds and what has happened to it. Of several layers, the sum of the events and
    of the bytes, and the most slots and live keys of any.
    """

    @property
    def slots(self) -> int:
        """Places for keys; `max_keys` is five sevenths of them."""
    @property
    def live(self) -> int:
        """Keys that are not as good as never used."""
    @property
    def live_error(self) -> int:
        """How many more or fewer than `live` there may be: 0 where all were counted, which is exact
        while nothing else runs. Of a sample it is four standard errors, and bounds the error of all
        but 1 of 10,000 limiters.
        """
    @property
    def bytes(self) -> int:
        """Bytes of memory, fixed at construction; a `sliding_log`'s entries come on top."""
    @property
    def evicted(self) -> int:
        """Live keys that were erased for newcomers."""
    @property
    def forgiven(self) -> int:
        """Units that erased keys still held: what may have passed beyond the policy."""
    @property
    def shared(self) -> int:
        """Requests decided on a cell shared by newcomers without room."""
    @property
    def denied_full(self) -> int:
        """Newcomers denied for want of room."""
    @property
    def allowed_full(self) -> int:
        """Newcomers allowed uncharged for want of room."""
    @property
    def exhausted(self) -> int:
        """Requests that met so many others at once that they were answered as by a full table."""
    @property
    def leased(self) -> int:
        """Units that the store granted to this machine. This and all below are 0 but of a file of
        leases, whose counts are those of all processes since it was made.
        """
    @property
    def used(self) -> int:
        """Units of them that were used. A lease is counted when it is replaced."""
    @property
    def passed(self) -> int:
        """Units of them that passed unused."""
    @property
    def given_back(self) -> int:
        """Units that were given back to the store."""
    @property
    def misses(self) -> int:
        """Requests that no lease could answer."""
    @property
    def waits(self) -> int:
        """Misses that waited for the store."""
    @property
    def timeouts(self) -> int:
        """Misses that waited in vain."""
    @property
    def operations(self) -> int:
        """Operations that were sent to the store."""
    @property
    def swaps_lost(self) -> int:
        """Operations that came after another machine's, and were repeated."""
    @property
    def lag_ns(self) -> int:
        """How far the machine's idea of the store's clock is behind at most, in nanoseconds."""
    @property
    def healed(self) -> int:
        """Words that were found below what this machine had charged. Above 0, the store has forgotten
        what it was told.
        """
    @property
    def board_full(self) -> int:
        """Misses that had no room on the machine's board."""
    @property
    def opened(self) -> int:
        """Units that were allowed uncharged, because the store was away."""
    @property
    def local(self) -> int:
        """Units that the agent granted by its part of the policy, because the store was away."""
    @property
    def connected(self) -> bool:
        """Whether an agent is there, and the store answers it."""

@disjoint_base
class Limiter:
    """The limiter without what waits, which is Python."""

    def __new__(
        cls,
        policy: str | None = None,
        *,
        max_keys: int | None = None,
        when_full: Literal["evict", "share", "deny", "allow"] | None = None,
        path: str | PathLike[str] | None = None,
        on_miss: Literal["wait", "deny"] | None = None,
        wait_ns: int | None = None,
        on_failure: Literal["closed", "open"] | None = None,
        epoch_s: int | None = None,
        names: bool | None = None,
        follow: bool | None = None,
        change: bool | None = None,
        _beside: Limiter | None = None,
    ) -> Self: ...
    def check(
        self, key: str | bytes, cost: int = 1, *, at_ns: int | None = None, zone: Zone | None = None
    ) -> Decision:
        """Decides `cost` units of `key`: all of them or none. A cost of 0 is a peek. `at_ns` is the
        time, in nanoseconds since `epoch`, or since any other as long as all users of the limiter use
        one and no window is of a calendar; None is now.

        `zone`: under a policy with tz=caller, the zone whose windows decide, which `zone` made; for
        every other limiter None. Where it is needed and None, the request is refused with NEVER.
        """
    def decide(
        self,
        key: str | bytes,
        cost: int = 1,
        *,
        at_ns: int | None = None,
        within_ns: int | None = None,
        charge: bool = False,
        with_next: bool = False,
        wait: bool = True,
        zone: Zone | None = None,
    ) -> Decision:
        """Decides a request: as `check`, with these options.

        `within_ns`: what would be allowed with a `delay` of more than so many nanoseconds is denied,
        and charges nothing; its `retry_after` is the time until the delay is no longer. Where its own
        units alone are delayed for longer, it can never go. For callers that can hold a request only
        so long.

        `charge`: the units have been spent already, and are charged as far as there is room for them,
        whether or not they would be allowed. The decision is what a peek sees afterwards.

        `with_next`: the decision has its `next_after`, too. This costs a second look at the key.

        `wait=False`: it does not wait for the store that many machines share. Where only that can answer,
        it is asked, and the outcome is ASKED; with `charge`, only what this machine holds is charged. Other
        limiters never wait here.
        """
    def decide_many(
        self,
        keys: Iterable[str | bytes] | Buffer,
        cost: int = 1,
        *,
        width: int | None = None,
        at_ns: int | None = None,
        within_ns: int | None = None,
        charge: bool = False,
        with_next: bool = False,
        wait: bool = True,
        zone: Zone | None = None,
    ) -> Decisions:
        """Decides the same request for each of `keys`, at one instant and in their order: the options
        are those of `decide`.

        `keys` are any iterable of str and bytes, or memory: an array of numbers, of numpy's type
        `S` or of two dimensions, whose items or rows are the keys; or any buffer, with the `width`
        of a key in bytes. A number is known by the bytes that it has in memory: 5 as int32 and as
        int64 are two keys, and neither is "5". In type `S` the zeros at the end are no part of a
        key, unless `width` is given.
        """
    def peek(self, key: str | bytes, *, at_ns: int | None = None, zone: Zone | None = None) -> Decision:
        """What a check of `key` would see, without charging it: a check of cost 0."""
    def zone(self, name: str) -> Zone:
        """The time zone of this name, for requests to this limiter, whose policy has tz=caller: a name
        of the time zone database such as "Asia/Tokyo", "UTC", or an offset such as "+05:30". Raises
        PolicyError where there is no such zone, and where the policy names its zone itself. Make each
        zone once.
        """
    def forget(self, key: str | bytes) -> bool:
        """Makes `key` as if never seen; says whether there was anything to forget."""
    def change(self, policy: str, *, at_ns: int | None = None) -> None:
        """Limits by another policy from now on, here and in every other limiter of the same keys, in all
        processes, while others decide. What each key has used stays used, in units: a raised limit
        lets those go on who were exhausted, a lowered one forgives nothing, and changing forth and
        back gives nobody a unit more. A policy that decides as the one in force does changes nothing.
        `at_ns` is the time of the change, as for `check`.

        Rate, burst, capacity, limit and, of a calendar, the zone may change; the number of layers,
        their algorithms and the lengths of windows may not. gcra, leaky_meter, leaky_queue and a
        continuous token_bucket may follow each other. A limiter of `with_policy`, or that opened the
        file with another policy, keeps its own burst, capacity or limit where that was another than
        the one in force, and takes the rate of the new policy.

        Every third change reads and writes the whole table, in tens of milliseconds for ten million
        keys; other threads run meanwhile. A fork of the process waits until the change is made.

        Raises PolicyError, and changes nothing, for a policy that is refused or cannot follow: its
        `code` is then "different_table", "range", "precision" or "clock_range". Raises ValueError for
        a limiter that shares its units with other machines, and OSError for a file that cannot be
        locked.
        """
    def stats(self, *, at_ns: int | None = None, exact: bool = False) -> Stats:
        """What the limiter holds and what has happened to it. Above 163,840 keys `live` is estimated,
        within `live_error`; if `exact`, it is counted: tens of milliseconds for ten million keys, in
        which other threads run.
        """
    @property
    def policy(self) -> str:
        """The policy, as text that makes the same one."""
    @property
    def capacity(self) -> int:
        """The most units that can pass at one instant: the least capacity of the layers."""
    @property
    def max_now_ns(self) -> int:
        """The last `at_ns` that can be decided."""
    def now_ns(self) -> int:
        """Nanoseconds since `epoch`, by the limiter's clock: CLOCK_MONOTONIC."""
    @property
    def epoch(self) -> datetime:
        """The zero of the limiter's clock, a datetime in UTC: the Monday 00:00 UTC before it was made."""

@final
class Zone:
    """A time zone, ready for requests to a limiter whose policy has tz=caller: `Limiter.zone` makes it,
    in up to a millisecond and of about 40 KB for days. Make each zone once.

    It may be used for every limiter of the same period, `at`, `week`, `day`, epoch and horizon. Two
    zones are equal if they have the same windows.
    """

    def __hash__(self) -> int: ...
    @property
    def name(self) -> str:
        """The name as the time zone database spells it, "UTC", or an offset such as "+05:30"."""

@final
class Label:
    """The names of a limiter's policy in HTTP fields.

    `name` is 1 to 256 characters of printable ASCII; of several layers, the first is called name-1,
    the second name-2 and so on. Without a name, each layer is called by its text. `unit` is what the
    policy counts: "requests", "content-bytes" or "concurrent-requests". `partition` is at most 256
    bytes that tell apart the clients that the limit is for. Every client that asks reads it: put no
    address in it, nor a hash of one without a key.

    Raises ValueError, whose text begins with "bad_name", "bad_unit" or "bad_partition", for what no
    field can carry.
    """

    def __new__(
        cls,
        name: str | None = None,
        *,
        unit: Literal["requests", "content-bytes", "concurrent-requests"] = "requests",
        partition: bytes | None = None,
    ) -> Self: ...
    def __hash__(self) -> int: ...
    @property
    def name(self) -> str | None:
        """The policy's name, or None."""
    @property
    def unit(self) -> str:
        """What the policy counts."""
    @property
    def partition(self) -> bytes | None:
        """The partition of the clients, or None."""

@disjoint_base
class Rules:
    """Limits by a file of rules, which says which limits apply to which requests.

    The file is given as its `text`, str or bytes, or by its `path`; it is read once. All rules have one
    table, with room for `max_keys` keys at once (default 100,000): a key counts once for each layer of the
    policy that it is limited by. `when_full`, which is not "share", and `epoch_s` are those of `Limiter`.
    Threads may share it. The limits are this process's alone. With `forked` it shares them with the processes
    that are forked off later, and together they admit exactly what the rules allow; a change after the fork
    is of its process alone. With `reserving` every request is reserved, and rules may count requests
    `in_flight`.

    With `file`, the path of another file, the limits are in that: all processes that name it, in any
    language, admit together exactly what the rules allow. If it is absent, empty or all zeros, it is made. It
    knows each limit by the name of its rule and tier, and a change is for all processes. Rules of other names
    are added to it, and none is ever taken away. A rule that has another policy there is refused; with
    `follow` the policy of the file holds, and with `change` this one, for all.

    Raises RulesError, a ValueError, for a file that is refused; ValueError for a `max_keys` of 0, for a
    `when_full` of "share", for a rule with `in_flight` without `reserving`, and with `forked` or `file` for a
    rule with a `sliding_log`; also for a `file` that holds another policy of a rule, or something else, and
    for options that do not go with it; OSError, as `open` does, for a file that cannot be read or used;
    MemoryError where there is too little for `max_keys`.
    """

    def __new__(
        cls,
        text: str | bytes | None = None,
        *,
        path: str | PathLike[str] | None = None,
        max_keys: int | None = None,
        when_full: Literal["evict", "share", "deny", "allow"] | None = None,
        epoch_s: int | None = None,
        forked: bool = False,
        reserving: bool = False,
        file: str | PathLike[str] | None = None,
        follow: bool = False,
        change: bool = False,
    ) -> Self: ...
    def decide(
        self, attributes: Mapping[str, str | bytes | None], *, at_ns: int | None = None
    ) -> RulesDecision:
        """Decides a request with these attributes: all limits that apply to it are charged, or none is.

        `attributes` are the values, str (by its UTF-8) or bytes, by the names that the file uses:
        "method", "path" as it was sent, still encoded, "host", "client" (the key of
        `Clients(v6_width=128)`, for rules have widths of their own), "header:x-api-key" in small letters,
        and those that the file lists. One that is not there, or is None, is absent; one that the file does
        not use is passed over. `at_ns` is the time, in nanoseconds since `epoch`; None is now.

        Raises TypeError for a name that is no str, or a value that is neither str nor bytes nor None, and
        ValueError for a str that has no UTF-8, and where the rules were made with `reserving`; nothing is
        charged then.
        """
    def change(
        self,
        text: str | bytes | None = None,
        *,
        path: str | PathLike[str] | None = None,
        at_ns: int | None = None,
    ) -> None:
        """Limits by another file from now on, given as to `Rules`, while other threads decide. Each request
        is decided by the old file or by the new one. A rule goes on with what it has counted if its name
        and its key stay: where the numbers of its limit change, what each key has used stays used, in
        units. With another algorithm, another window or another number of layers it begins anew; with
        `forked`, where its limit changes at all. `at_ns` is the time of the change, as for `decide`. A fork
        of the process waits until the change is made. With `file` the limits change for all processes, each
        of which goes on with its own rules; rules that are not in the new text stay in the file.

        Raises what `Rules` raises, and PolicyError where a new limit cannot decide at that time; then the
        rules in force stay.
        """
    def stats(self, *, at_ns: int | None = None) -> Stats:
        """What the rules hold and what has happened. They have one table, and one for each sliding_log:
        events and bytes are summed over them, and slots and live keys are those of the table with the most.
        """
    @property
    def reserving(self) -> bool:
        """Whether every request is to be reserved."""
    @property
    def names(self) -> list[str]:
        """The names of the rules in force, in their order."""
    def now_ns(self) -> int:
        """Nanoseconds since `epoch`, by the clock of the limits: CLOCK_MONOTONIC."""
    @property
    def epoch(self) -> datetime:
        """The zero of that clock, a datetime in UTC: the Monday 00:00 UTC before it was made."""

@final
class RulesDecision:
    """The answer of rules to one request: true if it may go. Its figures are those of `rule`.

    It keeps the rules that it was decided by, whatever they are changed to: drop it when the response is
    sent.
    """

    def __bool__(self) -> bool: ...
    @property
    def allowed(self) -> bool:
        """Whether the request may go: what `bool(decision)` says."""
    @property
    def outcome(self) -> Outcome:
        """How the request was decided: the gravest outcome of the rules that limit it, ALLOWED if there is
        none.
        """
    @property
    def rule(self) -> str | None:
        """The name of the rule that refused; of an allowed request, that of the rule which runs out first.
        `limit`, `remaining` and `reset_after` are its. None, and they are 0, if no rule limits the request,
        or its path is unclear.
        """
    @property
    def is_unclear_path(self) -> bool:
        """Whether the path can be read in several ways, which the file refuses. Nothing was charged; the
        answer is 400.
        """
    @property
    def retry_after(self) -> float | None:
        """Seconds until the same request would be allowed, with no other traffic on its keys: 0.0 if it was
        allowed, None if it never can be.
        """
    @property
    def retry_after_ns(self) -> int | None:
        """`retry_after` in nanoseconds."""
    @property
    def delay(self) -> float:
        """Seconds to hold the allowed request before it goes on: 0.0 except where a `leaky_queue` limits
        it.
        """
    @property
    def delay_ns(self) -> int:
        """`delay` in nanoseconds."""
    @property
    def limit(self) -> int:
        """The most units that can pass the rule at one instant."""
    @property
    def remaining(self) -> int:
        """Units that the rule would allow at this same instant, after this decision."""
    @property
    def reset_after(self) -> float:
        """Seconds until the rule's key is as good as never used."""
    @property
    def reset_after_ns(self) -> int:
        """`reset_after` in nanoseconds."""
    @property
    def shadow(self) -> list[tuple[str, Outcome]]:
        """The name and the outcome of each shadow rule that applies, in the order of the file."""
    def fields(
        self, styles: Style | Iterable[Style] = "draft11", *, now_unix_ns: int | None = None
    ) -> list[tuple[str, str]]:
        """The fields of the response in these styles, one name or several, as (name, value), of the rules
        that limit the request, each named by its rule. `now_unix_ns` is the time of the decision in
        nanoseconds since 1970, None is now; it is for the styles that write an instant. Shadow rules and
        blocked requests have no fields.
        """

def decide_all(
    claims: list[tuple[Limiter, str | bytes, int, int | None, int | None, bool, bool, bool, Zone | None]],
) -> tuple[Outcome, Decisions]:
    """Decides all of `claims`, each (limiter, key, cost, at_ns or None, within_ns or None, charge,
    with_next, wait, zone or None), as one request; returns its outcome, and the decision of each by
    itself.
    """

def decision(parts: _Parts) -> Decision:
    """The decision of these parts, as a pickle has them: outcome, limit, remaining, retry_after_ns,
    reset_after_ns, delay_ns, layer, next_after_ns (0 for none), notes and given_back.
    """

def decisions(parts: list[_Parts]) -> Decisions:
    """The batch of the decisions of these parts, as a pickle has them."""

def fields(
    answers: list[tuple[Limiter | list[_Layer], Decision, Label | None]],
    styles: list[str],
    now_unix_ns: int,
) -> list[tuple[str, str]]:
    """The HTTP fields in these styles for `answers`, each (limiter, decision, label or None), as
    (name, value). In place of a limiter there may be the layers of its policy: (text, limit,
    period_ns or None, capacity) of each.
    """

def give_check(cls: type[Limiter]) -> None:
    """Gives `cls`, a subclass of `Limiter`, a `check` of its own: the interpreter calls a method
    quickest on instances of the very class that has it.
    """

def reserve(
    limiter: Limiter,
    key: str | bytes,
    cost: int,
    at_ns: int | None,
    within_ns: int | None,
    with_next: bool,
    zone: Zone | None,
) -> tuple[Decision, bytes | None]:
    """Decides and charges as `decide` does: the decision, and the bytes of the reservation if it is
    allowed.
    """

def reserved(data: bytes) -> int:
    """The units that the reservation of these bytes is of."""

def settle(
    limiter: Limiter, key: str | bytes | None, data: bytes, actual: int, at_ns: int | None
) -> Decision:
    """Settles the reservation of these bytes: of its units, `actual` were used. `key` is the key that it
    is of, or None.
    """

def release(limiter: Limiter, key: str | bytes | None, data: bytes, at_ns: int | None) -> Decision:
    """Gives back the permit that the reservation of these bytes is. `key` is the key that it is of, or
    None.
    """

def renew(limiter: Limiter, data: bytes, at_ns: int | None) -> tuple[Decision, bytes]:
    """Renews the permit that the reservation of these bytes is: the decision, and the bytes from then on."""

def rules_reserve(
    rules: Rules, attributes: Mapping[str, str | bytes | None], at_ns: int | None
) -> tuple[RulesDecision, bytes | None]:
    """Decides and charges as `Rules.decide` does: the decision, and the bytes of the reservation if it is
    allowed.
    """

def rules_settle(
    rules: Rules, data: bytes, actual: Mapping[str, str | bytes | None] | None, at_ns: int | None
) -> None:
    """Settles the reservation of these bytes by attributes that are known afterwards; of None, it is
    cancelled.
    """

def rules_release(rules: Rules, data: bytes, at_ns: int | None) -> int:
    """Gives back the permits that the reservation of these bytes is, and returns how many units came back."""

def arrive(
    limiter: Limiter,
    key: str | bytes,
    cost: int,
    now_ns: int,
    deadline_ns: int | None,
    wake: Callable[[], object],
) -> tuple[int, int]:
    """Has somebody wait for `cost` units of `key`, until `deadline_ns` at the longest, or None; who it is.
    `wake` is called, by any thread, when its turn has come by what happened to others.
    """

def turn(
    limiter: Limiter, waiter: tuple[int, int], key: str | bytes, now_ns: int
) -> tuple[tuple[str, Decision] | None, int | None]:
    """The turn of a waiter: it asks, if that is due. Its end or None, and the instant until which it
    sleeps or None. That of a waiter of another process is an error.
    """

def leave(limiter: Limiter, waiter: tuple[int, int], now_ns: int) -> None:
    """A waiter gives up, wherever it is; of another process, it is gone already."""

def waits(limiter: Limiter) -> tuple[int, int]:
    """How many wait, and how often the limiter was asked by them."""

@final
class Waiting:
    """The machine that says who asks when, by itself: it asks no limiter and wakes nobody."""

    def __new__(
        cls,
        *,
        capacity: int | None,
        pace: tuple[int, int] | None,
        max_waiting: int,
        max_total: int,
        min_pause_ns: int,
        max_pause_ns: int,
        full_pause_ns: int,
    ) -> Self: ...
    def event(
        self, name: str, now_ns: int, *arguments: object
    ) -> tuple[list[tuple[object, ...]], int | None]:
        """Takes in an event, by its name and its arguments as the published traces have them. The actions
        that follow, each as there, and the instant at which the event "timer" is due, or None.
        """
