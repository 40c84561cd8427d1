"""The HTTP fields that tell a client its limits."""

from __future__ import annotations

import time
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal, TypeAlias

from ratecell import _native
from ratecell._native import Decision, Label

Style: TypeAlias = Literal[
    "draft11", "draft07", "draft06", "draft03", "x", "x_unix", "github", "twitter", "kong"
]
"""A way to write the fields; README.md says which fields each has."""


@dataclass(frozen=True, slots=True)
class Answer:
    """A limiter's decision of a request, and how its policy is called in fields."""

    limiter: _native.Limiter
    decision: Decision
    label: Label | None = None


def fields(
    answers: Iterable[Answer],
    styles: Style | Iterable[Style] = "draft11",
    *,
    now_unix_ns: int | None = None,
) -> list[tuple[str, str]]:
    """The fields of one response, as (name, value), of all limiters that have decided its request.

    Times are whole seconds, rounded up. `now_unix_ns` is the time of the decisions, by default now; it is for
    the styles that write an instant. Retry-After is the last, and not written where the same request will not
    be allowed later. The fields are most exact where the request asked `with_next`. A cached response must
    not have them.

    Raises ValueError for a style that is not known, for two styles that write a field of the same name, and
    for a decision that names a layer which its limiter has not.
    """
    return _native.fields(
        [(answer.limiter, answer.decision, answer.label) for answer in answers],
        [styles] if isinstance(styles, str) else list(styles),
        time.time_ns() if now_unix_ns is None else now_unix_ns,
    )
