"""The verdicts that are committed, and what the page says of them."""

import re
import unittest
from pathlib import Path

from prover.proofs import at_one_width
from prover.verdicts import Verdicts

PROOFS = Path(__file__).parent.parent


class VerdictsTest(unittest.TestCase):
    verdicts = Verdicts(PROOFS / "verdicts.json")

    def test_the_page_names_what_is_open(self) -> None:
        page = (PROOFS / "README.md").read_text().split("## What is open")[1]
        named = re.findall(r"^- `(.*?)`", page, re.MULTILINE)
        assert sorted(named) == self.verdicts.open()

    def test_most_is_proved(self) -> None:
        assert len(self.verdicts.names()) > 2 * len(self.verdicts.open())

    def test_widths_have_one_name(self) -> None:
        assert at_one_width("equal fixed heal 32 bits") == "equal fixed heal 7 bits"
        assert at_one_width("equal gcra") == "equal gcra"
