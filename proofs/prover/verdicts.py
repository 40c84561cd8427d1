"""The verdicts that were had, by the digest of what each was a proof of."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path as File
from typing import Any


@dataclass
class Verdicts:
    """A file with a line for each proof."""

    file: File

    def __post_init__(self) -> None:
        self._read()

    def _read(self) -> None:
        text = self.file.read_text() if self.file.exists() else "{}"
        self._lines: dict[str, dict[str, Any]] = json.loads(text)

    def of(self, name: str, digest: str) -> str | None:
        """The verdict of a proof, if it was of this digest."""
        line = self._lines.get(name)
        return line["verdict"] if line is not None and line["digest"] == digest else None

    def keep(self, name: str, digest: str, verdict: str, seconds: float) -> None:
        """Writes a verdict, with the seconds of a processor that it took."""
        # Others may have kept theirs meanwhile.
        self._read()
        self._lines[name] = {"digest": digest, "verdict": verdict, "seconds": round(seconds, 1)}
        self._write()

    def open(self) -> list[str]:
        """The names of what is neither proved nor refuted."""
        return sorted(name for name, line in self._lines.items() if line["verdict"] == "open")

    def seconds(self, name: str) -> float:
        """Of a processor, that a proof took."""
        return float(self._lines[name]["seconds"])

    def names(self) -> set[str]:
        """The names of all proofs that have a verdict."""
        return set(self._lines)

    def _write(self) -> None:
        lines = ",\n".join(f"{json.dumps(name)}: {json.dumps(line)}" for name, line in sorted(self._lines.items()))
        self.file.write_text(f"{{\n{lines}\n}}\n")
