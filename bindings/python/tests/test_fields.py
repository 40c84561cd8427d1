"""The HTTP fields: of one limiter and of several, in every style, and what they refuse."""

from __future__ import annotations

from typing import Any

import pytest

from ratecell import Answer, Label, Limiter, fields

SECOND = 10**9


def test_the_fields_of_a_denial() -> None:
    limiter = Limiter("2/m")
    assert limiter.check("k", 2, at_ns=0)
    denied = limiter.check("k", at_ns=0)
    answer = Answer(limiter, denied, Label("api"))
    assert fields([answer], ["draft11", "x"]) == [
        ("RateLimit-Policy", '"api";q=2;w=60'),
        ("RateLimit", '"api";r=0;t=30'),
        ("X-RateLimit-Limit", "2"),
        ("X-RateLimit-Remaining", "0"),
        ("X-RateLimit-Reset", "60"),
        ("Retry-After", "30"),
    ]
    assert fields([Answer(limiter, denied)])[0] == ("RateLimit-Policy", '"2/m";q=2;w=60')


def test_an_instant_counts_from_the_time_of_the_decision() -> None:
    limiter = Limiter("2/m")
    answer = Answer(limiter, limiter.check("k", 2, at_ns=0))
    reset = dict(fields([answer], "x_unix", now_unix_ns=1000 * SECOND))["X-RateLimit-Reset"]
    assert reset == "1060"
    assert int(dict(fields([answer], "x_unix"))["X-RateLimit-Reset"]) > 1_700_000_000


def test_of_a_sliding_window_what_is_next_is_asked_for() -> None:
    limiter = Limiter("sliding_log 2/60s")
    assert limiter.check("k", at_ns=0)
    plain = limiter.check("k", at_ns=10 * SECOND)
    # Without it the fields have the next best, which is never too early.
    assert fields([Answer(limiter, plain)])[1] == ("RateLimit", '"sliding_log 2/m";r=0;t=60')
    asked = limiter.decide("k", 0, at_ns=10 * SECOND, with_next=True)
    assert fields([Answer(limiter, asked)])[1] == ("RateLimit", '"sliding_log 2/m";r=0;t=50')


def test_several_limiters_have_a_member_each() -> None:
    person, team = Limiter("2/m"), Limiter("9/h")
    answers = [
        Answer(person, person.check("ann", at_ns=0), Label("person", partition=b"\1")),
        Answer(team, team.check("red", 5, at_ns=0), Label("team", unit="content-bytes")),
    ]
    assert dict(fields(iter(answers))) == {
        "RateLimit-Policy": '"person";q=2;w=60;pk=:AQ==:, "team";q=9;qu="content-bytes";w=3600',
        "RateLimit": '"person";r=1;t=30;pk=:AQ==:, "team";r=4;t=400',
    }
    assert fields([]) == []


def test_a_label_is_a_value() -> None:
    label = Label("api", unit="content-bytes", partition=b"p")
    assert (label.name, label.unit, label.partition) == ("api", "content-bytes", b"p")
    assert label == Label("api", unit="content-bytes", partition=b"p") != Label("api")
    assert hash(Label("api")) == hash(Label("api"))
    assert (Label().name, Label().unit, Label().partition) == (None, "requests", None)
    assert repr(Label("api")) == '<Label "api": unit=requests>'


BAD: list[tuple[Any, type[Exception], str]] = [
    (lambda: Label(""), ValueError, "bad_name: the name is ``: expected 1 to 256"),
    (lambda: Label("ä"), ValueError, "bad_name"),
    (lambda: Label("a" * 257, unit="apples"), ValueError, "bad_name"),  # type: ignore[arg-type]
    (lambda: Label(unit="apples", partition=bytes(257)), ValueError, "bad_unit"),  # type: ignore[arg-type]
    (lambda: Label(partition=bytes(257)), ValueError, "bad_partition: the partition has 257 bytes"),
    (lambda: Label(partition="p"), TypeError, "partition is of type str: expected bytes"),  # type: ignore[arg-type]
    (lambda: Label(unit=3), TypeError, "unit is of type int: expected str"),  # type: ignore[arg-type]
    (lambda: Label(3), TypeError, "name is of type int: expected str"),  # type: ignore[arg-type]
    (lambda: fields([], "draft12"), ValueError, 'no style is called "draft12": expected draft11, '),  # type: ignore[arg-type]
    (lambda: fields([], []), ValueError, "styles is empty"),
    (
        lambda: fields([], ["x", "github"]),
        ValueError,
        "the styles x and github write fields of the same name",
    ),
    (lambda: fields([], now_unix_ns=-1), ValueError, "now_unix_ns is -1: expected 0 to"),
]


@pytest.mark.parametrize("number", range(len(BAD)))
def test_what_no_field_can_carry_is_refused(number: int) -> None:
    call, error, text = BAD[number]
    with pytest.raises(error) as refused:
        call()
    assert text in str(refused.value)


def test_a_decision_is_of_its_limiter() -> None:
    layers, one = Limiter("10/s & 3/m"), Limiter("10/s")
    decision = layers.check("k")
    assert decision.layer == 1
    with pytest.raises(ValueError, match="names layer 1 of 1: expected a decision of the same limiter"):
        fields([Answer(one, decision)])
    with pytest.raises(TypeError, match="limiter is of type str: expected Limiter"):
        fields([Answer("10/s", decision)])  # type: ignore[arg-type]
