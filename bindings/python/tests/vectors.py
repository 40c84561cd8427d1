"""Replays the published decisions, whose format vectors/README.md describes, through the package.

    python vectors.py DIR      the last line is "N passed, M failed"

Those of waiting, in the folder edges, are given to the machine by itself. Of the folder held, the calls of
reservations and permits are replayed, and the changes of a policy.

A policy in JSON becomes text by its fields' names. The text has no words for two policies of construct.jsonl:
no layers, and a layer that is layers. Both are no text at all, and so a syntax error here where the vectors
say bad_layers. Nor has it numbers below 0, or a limit or time of another type.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterator
from datetime import datetime, timedelta, timezone
from pathlib import Path
from typing import Any

from held import Held
from ratecell import (
    Answer,
    Decision,
    Label,
    Limiter,
    Outcome,
    PolicyError,
    Rules,
    RulesDecision,
    Zone,
    _native,
    fields,
)
from ratecell._native import Waiting

MAX_KEYS = 4096
"""More keys than any section has: a limiter that evicts is not the one that the vectors describe."""

FAILURES_SHOWN = 20
OUTCOMES = [Outcome.DENIED, Outcome.ALLOWED, Outcome.NEVER, Outcome.CLOCK_RANGE]
RATES = ("limit", "refill", "leak")
PERIODS = ("period_ns", "interval_ns", "window_ns")

FIELDS = ("drafts", "fields", "fields_several", "fields_construct")
"""The files of `edges` that are replayed."""

HELD = ("reserve", "concurrency", "concurrency_construct", "change", "change_refused")
"""The files of `held` that are replayed."""


class Replay:
    """What was stated by the lines so far, and whether it held."""

    def __init__(self) -> None:
        self.passed = 0
        self.by_policy = 0
        self.failures: list[str] = []
        self.limiter: Limiter | None = None
        self.zones: dict[str, Zone] = {}
        self.named: list[Named] = []
        self.waiting: Waiting | None = None
        self.rules: Rules | None = None
        self.held: Held | None = None

    def file(self, path: Path) -> None:
        lines = enumerate(path.read_text().splitlines(), start=1)
        _, first = next(lines)
        header = json.loads(first)
        kind = header["kind"]
        judge: Callable[[Any], str | None] = self.line
        if kind.startswith("fields"):
            judge = fields_construct if kind == "fields_construct" else self.fields
        elif kind in ("grammar", "waiting"):
            judge = grammar if kind == "grammar" else self.trace
        elif kind == "rules_decide":
            judge = self.ruled
        elif kind in HELD and kind != "concurrency_construct":
            judge = self.holding
        is_old = judge == self.line and kind not in HELD
        versions = (1, 2) if is_old else (2, 3) if kind == "reserve" else (3,)
        if header["ratecell_vectors"] not in versions:
            raise ValueError(f"{path}: expected vectors of version {versions}")
        for number, line in lines:
            value = json.loads(line)
            got = judge(value)
            if got is None:
                continue
            if got == "":
                self.passed += 1
            else:
                self.failures.append(f"{path.name}:{number}: expected {line}, got {got}")
        self.end_section()

    def line(self, value: Any) -> str | None:
        """Empty where what the line states holds, else what was got; None of a line that states nothing."""
        if isinstance(value, list):
            return self.request(value)
        if "section" not in value:
            return construct(value)
        self.end_section()
        self.limiter = Limiter(policy_text(value["policy"]), max_keys=MAX_KEYS, epoch_s=epoch_of(value))
        self.zones = {}
        if "resolved" in value and (got := resolved(self.limiter, value["resolved"])):
            raise ValueError(f"section {value['section']} does not resolve as stated: {got}")
        return None

    def request(self, row: list[Any]) -> str:
        assert self.limiter is not None, "a row belongs to a section"
        zone = None
        if row[0] == "in":
            _, name, *row = row
            zone = self.zones[name] = self.zones.get(name) or self.limiter.zone(name)
        now, key, cost, code, remaining, retry, reset = row[:7]
        delay = row[7] if len(row) > 7 else 0
        d = self.limiter.check(key, cost, at_ns=now, zone=zone)
        got = (d.outcome, d.remaining, d.retry_after_ns, d.reset_after_ns, d.delay_ns)
        held = got == (OUTCOMES[code], remaining, retry, reset, delay) and bool(d) == (code == 1)
        return "" if held else repr(got)

    def fields(self, value: dict[str, Any]) -> str | None:
        """Empty where the fields of one decision or several are as stated; None of a section's first line."""
        if "section" in value:
            # Of real layers there are limiters, too, whose fields are written by their policies.
            is_real = value["section"].startswith(("decided/", "several/"))
            self.named = [Named(policy, is_real) for policy in value["policies"]]
            return None
        several = value["decisions"] if "decisions" in value else [value["decision"]]
        made = [decision(each) for each in several]
        answers = [(n.layers, d, n.label) for n, d in zip(self.named, made, strict=True)]
        style, now = value["style"], value["now_unix_ns"]
        got = [_native.fields([*answers], [style], now)]
        if all(each["next_ns"] for each in several) and all(named.limiter for named in self.named):
            by_policy = [
                Answer(n.limiter, d, n.label) for n, d in zip(self.named, made, strict=True) if n.limiter
            ]
            got.append(fields(by_policy, style, now_unix_ns=now))
            self.by_policy += 1
        stated = [(name, text) for name, text in value["fields"]]
        return "" if all(each == stated for each in got) else repr(got)

    def trace(self, value: Any) -> str | None:
        """`line` of an event of waiting."""
        if isinstance(value, dict):
            parameters = value["waiting"]
            self.waiting = Waiting(**{**parameters, "pace": pace(parameters["pace"])})
            return None
        assert self.waiting is not None, "a row belongs to a section"
        name, now, *arguments, actions, next_ns = value
        if name == "policy":
            arguments[1] = pace(arguments[1])
        try:
            got = self.waiting.event(name, now, *arguments)
        except ValueError as refused:
            return str(refused)
        return "" if got == ([tuple(action) for action in actions], next_ns) else repr(got)

    def ruled(self, value: Any) -> str | None:
        """`line` of an answer of rules."""
        if isinstance(value, dict):
            self.end_section()
            self.rules = Rules(value["rules"], max_keys=MAX_KEYS)
            return None
        assert self.rules is not None, "a row belongs to a section"
        _, now, attributes, *stated = value
        if stated != ["unclear_path"]:
            code, refused, retry_ns, delay_ns, shown, *figures = stated
            # An answer has one name: of the rule that refused, otherwise of the one shown.
            stated = [code, refused or shown, retry_ns, delay_ns, *figures]
        got = answer(self.rules.decide(attributes, at_ns=now))
        return "" if got == stated else repr(got)

    def holding(self, value: Any) -> str | None:
        """`line` of a call that holds something of a key."""
        if isinstance(value, dict):
            text, epoch_s = policy_text(value["policy"]), epoch_of(value)
            self.held = Held(lambda: Limiter(text, max_keys=1, epoch_s=epoch_s))
            return None
        assert self.held is not None, "a row belongs to a section"
        if value[0] != "change":
            return self.held.row(value)
        _, now, policy, stated = value
        if len(policy.get("layers", policy)) < 2 and policy["algorithm"] == "multi":
            return None  # no text says one layer of several, or none
        error = self.held.change(policy_text(policy), now)
        if error != stated.get("error"):
            return repr(error)
        return resolved(self.held.changed, stated["resolved"]) if error is None else ""

    def end_section(self) -> None:
        for limits in (self.limiter, self.rules):
            if limits is None:
                continue
            stats = limits.stats(at_ns=0)
            if stats.evicted + stats.shared + stats.denied_full + stats.allowed_full:
                raise ValueError(f"the section that ends here had keys without room: {stats}")
        self.limiter = self.rules = None


def answer(d: RulesDecision) -> list[Any]:
    """The columns of an answer of rules."""
    if d.is_unclear_path:
        return ["unclear_path"]
    shadow = [[rule, OUTCOMES.index(outcome)] for rule, outcome in d.shadow]
    code = OUTCOMES.index(d.outcome)
    figures = [d.limit, d.remaining, d.reset_after_ns]
    return [code, d.rule, d.retry_after_ns, d.delay_ns, *figures, shadow]


class Named:
    """A policy of a file of fields."""

    def __init__(self, policy: dict[str, Any], is_real: bool) -> None:
        self.label = label(policy)
        self.layers = [tuple(layer[of] for of in LAYER) for layer in policy["layers"]]
        texts = " & ".join(layer["text"] for layer in policy["layers"])
        self.limiter = Limiter(texts, max_keys=1) if is_real else None


LAYER = ("text", "limit", "period_ns", "capacity")


def label(policy: dict[str, Any]) -> Label:
    unit = {} if policy["unit"] is None else {"unit": policy["unit"]}
    partition = None if policy["partition"] is None else bytes.fromhex(policy["partition"])
    return Label(policy["name"], partition=partition, **unit)


def decision(stated: dict[str, Any]) -> Decision:
    """The decision of a line of a file of fields."""
    retry_ns = 2**64 - 1 if stated["retry_ns"] is None else stated["retry_ns"]
    return _native.decision(
        (
            Outcome[stated["outcome"].upper()],
            stated["limit"],
            stated["remaining"],
            retry_ns,
            stated["reset_ns"],
            stated["delay_ns"],
            stated["layer"],
            stated["next_ns"] or 0,
            0,
            0,
        )
    )


def fields_construct(line: dict[str, Any]) -> str:
    """Empty where a label is made, or refused, as stated."""
    try:
        label(line["policy"])
    except ValueError as refused:
        code = str(refused).partition(":")[0]
        return "" if code == line["error"] else str(refused)
    return f"a label of {line['policy']}" if line["error"] else ""


def pace(pair: list[int] | None) -> tuple[int, int] | None:
    return None if pair is None else (pair[0], pair[1])


def construct(line: dict[str, Any]) -> str:
    text = policy_text(line["policy"])
    error = line.get("error") if text and is_sayable(line["policy"]) else "syntax"
    try:
        limiter = Limiter(text, max_keys=MAX_KEYS, epoch_s=epoch_of(line))
    except PolicyError as refused:
        return "" if refused.code == error else str(refused)
    return f"a limiter of {text!r}" if error else resolved(limiter, line["resolved"])


def grammar(line: dict[str, Any]) -> str:
    """Empty where a text is read and printed, or refused, as stated."""
    try:
        got = Limiter(line["text"], max_keys=1).policy
    except PolicyError as refused:
        expected = f"{line['error']} at column {line['column']}: {line['message']}" if "error" in line else ""
        held = (refused.code, str(refused)) == (line.get("error"), expected)
        return "" if held and refused.column == line["column"] else str(refused)
    meant = Limiter(policy_text(line["policy"]), max_keys=1).policy if "policy" in line else ""
    return "" if got == line.get("canonical") == meant else got


def resolved(limiter: Limiter, expected: dict[str, Any]) -> str:
    """Empty where the policy resolved as `expected`, as far as a caller can tell."""
    last = expected["max_now_ns"]
    zone = limiter.zone("UTC") if "tz=caller" in limiter.policy else None
    got = (limiter.capacity, limiter.max_now_ns, limiter.peek("resolved", at_ns=last, zone=zone).outcome)
    if got != (expected["capacity"], last, Outcome.ALLOWED):
        return repr(got)
    if (
        last < 2**64 - 1
        and (after := limiter.peek("resolved", at_ns=last + 1, zone=zone)).outcome != Outcome.CLOCK_RANGE
    ):
        return f"{after} after the last instant"
    return ""


def epoch_of(value: dict[str, Any]) -> int | None:
    """The seconds since 1970 of the epoch that a line states."""
    if "epoch" not in value:
        return None
    epoch = datetime.fromisoformat(value["epoch"].replace("Z", "+00:00"))
    return (epoch - datetime(1970, 1, 1, tzinfo=timezone.utc)) // timedelta(seconds=1)


def policy_text(policy: dict[str, Any]) -> str:
    return " & ".join(layer_text(layer) for layer in layers(policy))


def is_sayable(policy: dict[str, Any]) -> bool:
    """Whether the numbers of the policy are such as its text can have."""
    numbers = (v for layer in layers(policy) for n, v in layer.items() if n in RATES or n.endswith("_ns"))
    return all(type(number) is int and number >= 0 for number in numbers)


def layers(policy: dict[str, Any]) -> Iterator[dict[str, Any]]:
    if "layers" not in policy:
        yield policy
        return
    for layer in policy["layers"]:
        yield from layers(layer)


def layer_text(layer: dict[str, Any]) -> str:
    """One layer: `algorithm LIMIT/PERIODns option=value ...`."""
    limit = period = ""
    options: list[str] = []
    for name, value in layer.items():
        said = str(value).lower() if isinstance(value, bool) else str(value)
        if name in RATES:
            limit = said
        elif name in PERIODS:
            period = f"/{said}ns"
        elif name == "period":
            period = f"/{said}"
        elif name == "day" and isinstance(value, str):
            options.append(f'day="{said}"')  # it stays text
        elif name != "algorithm":
            options.append(f"{name[:-3]}={said}ns" if name.endswith("_ns") else f"{name}={said}")
    return " ".join([layer.get("algorithm", ""), limit + period, *options])


def replay(folder: Path) -> Replay:
    done = Replay()
    files = [path for path in sorted(folder.glob("edges/*.jsonl")) if path.stem in (*FIELDS, "waiting")]
    files += folder.glob("rules/rules_decide.jsonl")
    files += [path for path in sorted(folder.glob("held/*.jsonl")) if path.stem in HELD]
    for path in (*sorted(folder.glob("*.jsonl")), *sorted(folder.glob("callers/*.jsonl")), *files):
        done.file(path)
    return done


def main(folder: str) -> int:
    done = replay(Path(folder))
    for failure in done.failures[:FAILURES_SHOWN]:
        print(failure)
    print(f"{done.passed} passed, {len(done.failures)} failed")
    return 0 if done.passed and not done.failures else 1


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit("usage: python vectors.py DIR")
    sys.exit(main(sys.argv[1]))
