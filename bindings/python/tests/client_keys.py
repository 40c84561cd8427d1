"""Replays the published keys of clients, which vectors/edges/client_keys.md defines, through the package.

    python client_keys.py DIR      the last line is "N passed, M failed"

Each request goes through `Clients.search`, and through a call with an ASGI scope and with a WSGI environ. An
environ has neither lines nor names with a hyphen: its lines are joined, and the section `names` is left out.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from ratecell import Clients

FAILURES_SHOWN = 20
FILES = {
    "client_keys": "client_keys",
    "client_keys_addresses": "client_keys_addresses",
    "client_keys_construct": "client_keys_construct",
    "rfc5952": "client_keys_addresses",
    "rfc7239": "client_keys",
}
"""The files, by their names, and each one's kind."""


class Replay:
    """What was stated by the lines so far, and whether it held."""

    def __init__(self) -> None:
        self.passed = 0
        self.requests = {"search": 0, "ASGI": 0, "WSGI": 0}
        self.failures: list[str] = []

    def file(self, path: Path) -> None:
        section: dict[str, Any] = {}
        lines = enumerate(path.read_text(encoding="utf-8").splitlines(), start=1)
        _, first = next(lines)
        header = json.loads(first)
        if (header["kind"], header["ratecell_vectors"]) != (FILES[path.stem], 3):
            raise ValueError(f"{path}: expected vectors of {FILES[path.stem]}, version 3")
        for number, line in lines:
            value = json.loads(line)
            if isinstance(value, dict) and "section" in value:
                section = value
                clients = made(value)
                continue
            if isinstance(value, dict):
                got = construct(value)
            elif len(value) == 4:
                got = self.request(section["section"], clients, *value)
            else:
                got = address(*value)
            if got == "":
                self.passed += 1
            else:
                self.failures.append(f"{path.name}:{number}: expected {line}, got {got}")

    def request(
        self, section: str, clients: Clients, peer: str, fields: list[tuple[str, str]], key: str, end: str
    ) -> str:
        """Empty where a request has its key, however it is given."""
        found: dict[str, tuple[str, str]] = {"search": clients.search(peer, fields)}
        headers = [(encoded(name), encoded(value)) for name, value in fields]
        found["ASGI"] = (clients({"type": "http", "client": (peer, 1), "headers": headers}), end)
        if not section.startswith("names"):
            found["WSGI"] = (clients(environ(peer, fields)), end)
        for way in found:
            self.requests[way] += 1
        return "" if set(found.values()) == {(key, end)} else repr(found)


def encoded(text: str) -> bytes:
    """A character is one byte; a text with others is taken as UTF-8."""
    try:
        return text.encode("latin-1")
    except UnicodeEncodeError:
        return text.encode()


def environ(peer: str, fields: list[tuple[str, str]]) -> dict[str, Any]:
    """As servers make it: the lines of a field are one variable."""
    made: dict[str, Any] = {"wsgi.version": (1, 0), "REMOTE_ADDR": peer}
    for name, value in fields:
        variable = "HTTP_" + name.upper().replace("-", "_")
        value = value.strip(" \t")
        made[variable] = f"{made[variable]},{value}" if variable in made else value
    return made


def made(line: dict[str, Any]) -> Clients:
    width, trust = line["width"], line["trust"] or {}
    given = {name: trust[name] for name in ("field", "kind", "hops", "networks") if name in trust}
    return Clients(v4_width=width["v4"], v6_width=width["v6"], **given)


def construct(line: dict[str, Any]) -> str:
    """Empty where a configuration is taken, or refused, as stated."""
    try:
        made(line)
    except ValueError as refused:
        return "" if line["error"] and str(refused).startswith(line["error"] + ": ") else str(refused)
    return "clients" if line["error"] else ""


def address(text: str, *keys: str | None) -> str:
    """Empty where a text has its keys with 128 and with 64 bits of IPv6; None of what is no address."""
    for key, width in zip(keys, (128, 64), strict=True):
        got = Clients(v6_width=width).key(text)
        if got != key and not (key is None and got in ("unix", "unknown")):
            return got
    return ""


def files(folder: Path) -> Iterator[Path]:
    return (path for name in FILES if (path := folder / f"{name}.jsonl").exists())


def replay(folder: Path) -> Replay:
    done = Replay()
    for path in files(folder):
        done.file(path)
    return done


def main(folder: str) -> int:
    done = replay(Path(folder))
    for failure in done.failures[:FAILURES_SHOWN]:
        print(failure)
    print(", ".join(f"{count} requests by {way}" for way, count in done.requests.items()))
    print(f"{done.passed} passed, {len(done.failures)} failed")
    return 0 if done.passed and not done.failures else 1


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit("usage: python client_keys.py DIR")
    sys.exit(main(sys.argv[1]))
