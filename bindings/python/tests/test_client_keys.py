"""The keys of clients: every published one, and what the package adds."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import pytest

import client_keys
from ratecell import Clients, client_key

FOLDER = Path(__file__).parents[3] / "vectors/edges"


def test_every_published_key() -> None:
    done = client_keys.replay(FOLDER)
    assert done.failures == []
    assert done.passed > 10_000
    assert done.requests["search"] == done.requests["ASGI"] > done.requests["WSGI"] > 5_000


@pytest.mark.parametrize(
    ("kind", "old", "new"),
    [
        ("client_keys", '"203.0.113.7","end"', '"203.0.113.8","end"'),
        ("client_keys_addresses", "null,null", '"::1","::/64"'),
        ("client_keys_construct", '"error":null', '"error":"bad_width"'),
    ],
)
def test_a_changed_line_fails(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], kind: str, old: str, new: str
) -> None:
    text = (FOLDER / f"{kind}.jsonl").read_text(encoding="utf-8")
    (tmp_path / f"{kind}.jsonl").write_text(text.replace(old, new, 1), encoding="utf-8")
    assert client_keys.main(str(tmp_path)) == 1
    assert capsys.readouterr().out.endswith(", 1 failed\n")


def test_a_peer_that_is_no_address_chooses_no_key() -> None:
    for peer in ("6.6.6.6, 203.0.113.7", "ann", "\ud800", "127.1", b"\xff", "203.0.113.7 "):
        assert client_key.key(peer) == "unknown"
    assert client_key({"wsgi.version": (1, 0), "REMOTE_ADDR": "ann"}) == "unknown"
    assert client_key({"type": "http", "client": ("ann", 0), "headers": []}) == "unknown"
    assert client_key({"wsgi.version": (1, 0)}) == client_key({"type": "http", "client": None}) == "unix"


def test_the_lines_are_of_any_kind() -> None:
    clients = Clients(field="X-Forwarded-For", networks=["10.0.0.0/8", "unix"])
    assert clients.field == "X-Forwarded-For"
    kinds: list[Iterable[Sequence[str | bytes]]] = [
        [("x-forwarded-for", "203.0.113.7")],
        [["X-FORWARDED-FOR", b"203.0.113.7"]],
        ((name, "203.0.113.7") for name in (b"x-forwarded-for",)),
        {"X-Forwarded-For": "203.0.113.7"}.items(),
    ]
    for lines in kinds:
        assert clients.search(b"10.0.0.9:80", lines) == ("203.0.113.7", "end")
    assert clients.search("10.0.0.9") == ("10.0.0.9", "short")
    # Without proxies the lines are not looked at.
    assert client_key.field is None
    assert client_key.key("10.0.0.9", [("x-forwarded-for", "203.0.113.7")]) == "10.0.0.9"


@pytest.mark.parametrize(
    ("given", "error", "message"),
    [
        ({"v4_width": -1}, ValueError, "bad_width: v4_width is -1: expected 8 to 32"),
        ({"v6_width": 2**64}, ValueError, "bad_width: v6_width is 18446744073709551616: expected 32 to 128"),
        ({"field": "X", "hops": -1}, ValueError, "bad_hops: hops is -1: expected 1 to 16"),
        ({"field": "X", "hops": 17}, ValueError, "bad_hops: 17 hops of a list field: expected 1 to 16"),
        ({"hops": 1}, ValueError, "bad_field: the field is ``"),
        ({"field": "X"}, ValueError, "bad_trust: neither"),
        ({"field": "X", "hops": -1, "networks": ["x"]}, ValueError, "bad_trust: both"),
        ({"kind": "header"}, ValueError, "bad_field: the kind is `header`"),
        ({"field": "X", "hops": "1"}, TypeError, "hops is of type str: expected int, 1 to 16"),
        ({"field": 1}, TypeError, "field is of type int: expected str"),
        (
            {"field": "X", "networks": "::1"},
            TypeError,
            "networks is of type str: expected an iterable of str",
        ),
        ({"field": "X", "networks": [1]}, TypeError, "network is of type int: expected str"),
    ],
)
def test_what_cannot_be(given: dict[str, Any], error: type[Exception], message: str) -> None:
    with pytest.raises(error) as refused:
        Clients(**given)
    assert str(refused.value).startswith(message)


def test_bad_arguments() -> None:
    clients = Clients(field="X", hops=1)
    with pytest.raises(TypeError, match="peer is of type int: expected str or bytes"):
        clients.key(1)  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="value is of type int: expected str or bytes"):
        clients.key("::1", [("X", 1)])  # type: ignore[list-item]
    with pytest.raises(TypeError, match="name is of type int: expected str or bytes"):
        clients.key("::1", [(1, "X")])  # type: ignore[list-item]
