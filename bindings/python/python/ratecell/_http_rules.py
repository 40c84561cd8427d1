"""Rules before an application, for the ASGI and the WSGI middleware."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from ratecell._fields import Style
from ratecell._http import RULES_NEVER, UNCLEAR_PATH, Answered, Decider, Fields, HttpLimiter, Limits
from ratecell._native import RulesDecision
from ratecell._rules import Rules, RulesReservation
from ratecell.attributes import Attributes, AttributesFunction, ByRequest
from ratecell.keys import function_of_request


def decider(
    limits: Limits | Rules,
    attributes: AttributesFunction | None,
    styles: Style | Iterable[Style],
    status: int,
) -> Decider:
    """What decides by these limits or rules."""
    if isinstance(limits, Rules):
        return HttpRules(limits, attributes, styles, status)
    if attributes is not None:
        raise TypeError(
            f"attributes are given with limits of type {type(limits).__name__}: expected Rules, or none"
        )
    return HttpLimiter(limits, styles, status)


class HttpRules(Decider):
    """Decides requests by rules."""

    def __init__(
        self,
        rules: Rules,
        attributes: AttributesFunction | None,
        styles: Style | Iterable[Style],
        status: int,
    ) -> None:
        super().__init__(styles, status)
        self.rules = rules
        self.attributes = ByRequest() if attributes is None else function_of_request(attributes, "attributes")

    @property
    def holds(self) -> bool:
        """Whether the rules may count requests in flight."""
        return self.rules.reserving

    def claimed(self, request: Any) -> Attributes | None:
        """The attributes of a request."""
        return self.attributes(request)

    def answer(self, claimed: Attributes, wait: bool = True) -> Answered:
        """The answer to a request with these attributes; no rule waits for a store."""
        if not self.rules.reserving:
            return AnsweredByRules(self, self.rules.decide(claimed))
        reservation = self.rules.reserve(claimed)
        assert reservation.decision is not None, "what was just reserved is decided"
        return AnsweredByRules(self, reservation.decision, [reservation] if reservation else [])


class AnsweredByRules(Answered):
    """The answer of rules."""

    never = RULES_NEVER

    def __init__(self, by: HttpRules, decision: RulesDecision, held: Iterable[RulesReservation] = ()) -> None:
        super().__init__(by, decision, held)
        self._rules_decision = decision

    def fields(self) -> Fields:
        """The fields of the rules that limit the request."""
        return self._rules_decision.fields(self.by.styles, now_unix_ns=self.now_unix_ns)

    def no_denial(self) -> tuple[int, str] | None:
        """What is said of a request that is not allowed later either."""
        return UNCLEAR_PATH if self._rules_decision.is_unclear_path else super().no_denial()
