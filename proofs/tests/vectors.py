"""Replays the published vectors through the definition: `python tests/vectors.py VECTORS`."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

PROOFS = Path(__file__).parent.parent
sys.path.insert(0, str(PROOFS))

from definition import change, hold, policy, zones  # noqa: E402

FILES = (
    *("basic", "bursts", "boundary", "huge", "idle", "backwards", "float", "random", "construct"),
    *("calendar", "calendar_construct", "callers/calendar_moving"),
    *("held/reserve", "held/reserve_unknown", "held/change", "held/change_refused"),
    *("held/concurrency", "held/concurrency_construct"),
)
LONGEST = (1 << 64) - 2

ASKED = {"in": 5, "reserve": 5, "settle": 4, "charge": 4, "change": 3, "acquire": 5, "release": 3, "renew": 3, "forget": 3}
"""How many elements of a row are asked, by its first one. The rest is the answer."""


def answered(decision: Any) -> list[Any]:
    """A decision as a row has it."""
    retry = None if decision.retry is None else min(decision.retry, LONGEST)
    answer = [int(decision.code), decision.remaining, retry, min(decision.reset, LONGEST)]
    return [*answer, decision.delay] if decision.delay else answer


class Player:
    """One section: a limiter, and what is held of it by number."""

    def __init__(self, line: dict[str, Any]):
        epoch = zones.unix(line["epoch"].replace("Z", "+00:00")) if "epoch" in line else policy.EPOCH
        self.live = change.Live(line["policy"], line.get("given") == "unknown", epoch)
        self.held: dict[int, Any] = {}

    def answer(self, row: list[Any]) -> list[Any]:
        """What is answered to what a row asks."""
        if not isinstance(row[0], str):
            return answered(self.live.check(*row))
        call: Callable[..., list[Any]] = getattr(self, f"_{row[0]}")
        return call(*row[1:])

    def _in(self, zone: str, now: int, key: str, cost: int) -> list[Any]:
        state = self.live.st.get(key, self.live.k.fresh())
        decision, self.live.st[key] = self.live.k.check(state, now, cost, zone)
        return answered(decision)

    def _reserve(self, number: int, now: int, key: str, cost: int) -> list[Any]:
        decision, self.held[number] = self.live.reserve(now, key, cost)
        return answered(decision)

    def _settle(self, number: int, now: int, actual: int) -> list[Any]:
        held = self.held[number]
        return answered(self.live.settle(now, held["reservation"] if isinstance(held, dict) else held, actual))

    def _charge(self, now: int, key: str, cost: int) -> list[Any]:
        return answered(self.live.charge(now, key, cost))

    def _forget(self, _now: int, key: str) -> list[Any]:
        self.live.forget(key)
        return []

    def _change(self, now: int, changed: dict[str, Any]) -> list[Any]:
        return [self.live.change(now, changed)]

    def _acquire(self, number: int, now: int, key: str, cost: int) -> list[Any]:
        decision, self.held[number] = self.live.acquire(now, key, cost)
        return answered(decision)

    def _release(self, number: int, now: int) -> list[Any]:
        back, decision = self.live.release(now, self.held[number])
        return [*answered(decision), back]

    def _renew(self, number: int, now: int) -> list[Any]:
        return answered(self.live.renew(now, self.held[number]))


def construction(line: dict[str, Any]) -> str:
    """What is wrong with how a policy is resolved or refused."""
    epoch = zones.unix(line["epoch"].replace("Z", "+00:00")) if "epoch" in line else policy.EPOCH
    try:
        got = {"resolved": hold.make(line["policy"], epoch)[1]}
    except policy.PolicyError as error:
        got = {"error": error.code}
    return "" if all(line.get(name) == value for name, value in got.items()) else str(got)


def replayed(file: Path) -> tuple[int, list[str]]:
    """The rows of a file, and what is wrong with which."""
    rows, wrong = 0, []
    player = None
    for number, text in enumerate(file.read_text().splitlines()[1:], 2):
        line = json.loads(text)
        said = ""
        if isinstance(line, dict) and "section" in line and "error" not in line:
            player = Player(line)
            said = "" if player.live.resolved == line["resolved"] else str(player.live.resolved)
        elif isinstance(line, dict):
            rows += 1
            said = construction(line)
        else:
            rows += 1
            asked = ASKED.get(line[0], 3)
            got = json.loads(json.dumps(player.answer(line[:asked]))) if player else None
            said = "" if got == line[asked:] else str(got)
        if said:
            wrong.append(f"{file.name}:{number}: the definition says {said}")
    return rows, wrong


def main() -> int:
    """Prints how many rows passed; 1 if one did not."""
    folder = Path(sys.argv[1])
    total, wrong = 0, []
    for name in FILES:
        rows, said = replayed(folder / f"{name}.jsonl")
        total += rows
        wrong += said if rows else [f"{name}: no rows"]
    for line in wrong[:20]:
        print(line, file=sys.stderr)
    print(f"{total - len(wrong)} of {total} rows of {len(FILES)} files are those of the definition")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
