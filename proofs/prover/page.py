"""What the README says of the verdicts, from the verdicts.

`python -m prover.page`    writes it there, between the lines that mark it, as `python -m prover --keep` does
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import groupby
from pathlib import Path as File

from .proofs import WIDTH
from .verdicts import Verdicts

PROOFS = File(__file__).parent.parent

_KERNELS = {
    "gcra": "gcra: also the bucket, meter and queue",
    "fixed": "fixed window, aligned",
    "first": "fixed window, first",
    "bucket": "bucket, interval",
    "bucket_first": "bucket, interval_first",
    "loose": "sliding window",
    "strict": "sliding window, strict",
    "in_flight": "in_flight",
    "calendar": "calendar window",
    "lease_at_once": "lease of a window's units",
    "lease_evenly": "lease of a TAT's units",
    "lease_in_steps": "lease of a bucket's units",
    "lease": "any lease",
}

_TABLES = {
    "decisions": ("equal", "total", "retry", "reset", "split", "back", "fresh_at", "level", "carried", "above"),
    "bounds": ("rate", "window"),
    "held": ("take", "take_all", "settle", "net", "changed", "kept"),
    "leases": ("use", "total", "carried", "granted"),
}


def rendered(verdicts: Verdicts) -> dict[str, str]:
    """Each marked part by its name."""
    lines = [_Line(name, verdicts) for name in sorted(verdicts.names()) if not name.startswith("divider")]
    tables = {}
    for title, laws in _TABLES.items():
        of = [one for one in lines if one.law in laws and one.export.startswith("lease") == (title == "leases")]
        tables[title] = "\n".join(_table(laws, of))
    dividers = [name for name in verdicts.names() if name.startswith("divider")]
    seconds = sum(verdicts.seconds(name) for name in dividers)
    every = sum(verdicts.seconds(name) for name in verdicts.names())
    proved = len(verdicts.names()) - len(verdicts.open())
    tables["together"] = (
        f"The divider, any width: {len(dividers)} proofs, {seconds:.0f} s.\n\n"
        f"{proved} of {len(verdicts.names())} are proved, in {every / 60:.1f} minutes of one processor together."
    )
    tables["widths"] = "\n".join(_widths(lines))
    tables["open"] = "\n".join(_open(verdicts, lines))
    return tables


class _Line:
    """A verdict and what its name says."""

    def __init__(self, name: str, verdicts: Verdicts):
        words = name.removesuffix(f" {WIDTH} bits").split()
        self.name, self.law, self.export, self.heals = name, words[0], words[1], "heal" in words
        self.bits = int(words[-2]) if words[-1] == "bits" else WIDTH
        self.said = "open" if name in verdicts.open() else f"{max(1, round(verdicts.seconds(name)))} s"

    def row(self) -> tuple[int, bool]:
        """Where it stands in a table."""
        return list(_KERNELS).index(self.export), self.heals


def _exported(line: _Line) -> str:
    return line.export


def _table(laws: tuple[str, ...], lines: list[_Line]) -> Iterator[str]:
    yield f"| kernel | {' | '.join(laws)} |"
    yield f"| --- {'| --- ' * len(laws)}|"
    for _, row in groupby(sorted(lines, key=_Line.row), key=_Line.row):
        of = list(row)
        said = {one.law: one.said for one in of if one.bits == WIDTH}
        title = _KERNELS[of[0].export] + (", heal" if of[0].heals else "")
        yield f"| {title} | {' | '.join(said.get(law, '') for law in laws)} |"


def _widths(lines: list[_Line]) -> Iterator[str]:
    """What is proved at other widths."""
    for bits in sorted({one.bits for one in lines} - {WIDTH}):
        of = [one for one in lines if one.bits == bits and one.said != "open"]
        yield f"- {bits} bits: {', '.join(f'`{one.name}`' for one in of)}"


def _open(verdicts: Verdicts, lines: list[_Line]) -> Iterator[str]:
    known = set(verdicts.open())
    for _, group in groupby(sorted((one for one in lines if one.name in known), key=_Line.row), key=_exported):
        of = list(group)
        yield f"- {_KERNELS[of[0].export]}: {', '.join(f'`{one.name}`' for one in of)}"


def written(page: str, parts: dict[str, str]) -> str:
    """The page with each part between its marks."""
    for name, text in parts.items():
        between = re.compile(rf"(<!-- {name} -->\n).*?(\n<!-- /{name} -->)", re.DOTALL)
        if not between.search(page):
            raise ValueError(f"expected the marks of {name} on the page")
        escaped = text.replace("\\", "\\\\")
        page = between.sub(rf"\g<1>{escaped}\g<2>", page)
    return page


def write() -> None:
    """Writes it to the page."""
    page = PROOFS / "README.md"
    page.write_text(written(page.read_text(), rendered(Verdicts(PROOFS / "verdicts.json"))))


if __name__ == "__main__":
    write()
