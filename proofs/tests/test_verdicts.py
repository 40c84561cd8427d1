"""The verdicts that are committed, and what the page says of them."""

import re
import unittest
from pathlib import Path

from prover import laws
from prover.page import rendered, written
from prover.proofs import at_one_width, meaning
from prover.verdicts import Verdicts

PROOFS = Path(__file__).parent.parent


class VerdictsTest(unittest.TestCase):
    verdicts = Verdicts(PROOFS / "verdicts.json")

    def test_the_page_is_of_the_verdicts(self) -> None:
        page = (PROOFS / "README.md").read_text()
        assert written(page, rendered(self.verdicts)) == page, "run python -m prover.page"
        open_ones = page.split("## What is open")[1]
        assert sorted(re.findall(r"`(\w+ \w+(?: heal)?(?: \d+ bits)?)`", open_ones)) == self.verdicts.open()

    def test_most_is_proved(self) -> None:
        assert len(self.verdicts.names()) > 2 * len(self.verdicts.open())

    def test_a_digest_is_of_what_a_law_stands_on(self) -> None:
        split = meaning(laws, "split")
        assert "FunctionDef(name='split'" in split
        assert "FunctionDef(name='_checked'" in split
        assert "FunctionDef(name='equal'" not in split
        # Two of its variables are called as laws are.
        assert "FunctionDef(name='retry'" not in meaning(laws, "equal")

    def test_widths_have_one_name(self) -> None:
        assert at_one_width("equal fixed heal 32 bits") == "equal fixed heal 7 bits"
        assert at_one_width("equal gcra") == "equal gcra"
