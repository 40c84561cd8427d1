"""The bytes that a path of the code has written, in pieces of the sizes that it wrote them in."""

from __future__ import annotations

from .path import Path
from .term import Term

HALF = 1 << 32


class Memory:
    """Pieces by their addresses, above the module's own bytes."""

    def __init__(self, path: Path, initial: dict[int, int]):
        self._path, self._initial = path, initial
        self._pieces: dict[int, tuple[int, Term]] = {}

    def load(self, address: int, size: int) -> Term:
        """The number of `size` bytes there."""
        piece = self._pieces.get(address)
        if piece is None:
            before = self._pieces.get(address - 4)
            if before is not None and before[0] == 8 and size <= 4:
                piece = (4, self._path.floor(before[1], HALF))
        if piece is None:
            if any(address < at + length and at < address + size for at, (length, _) in self._pieces.items()):
                raise NotImplementedError(f"a load of {size} bytes at {address} that were written in other pieces")
            return Term.of(sum(self._initial.get(address + at, 0) << 8 * at for at in range(size)))
        length, value = piece
        if length == size:
            return value
        if length > size:
            modulus = 1 << 8 * size
            return value - self._path.floor(value, modulus).times(modulus)
        if (length, size) != (4, 8):
            raise NotImplementedError(f"a load of {size} bytes where {length} were written")
        return value + self.load(address + 4, 4).times(HALF)

    def store(self, address: int, size: int, value: Term) -> None:
        """Writes a number of `size` bytes."""
        for at in range(address - 7, address + size):
            length, old = self._pieces.get(at, (0, value))
            if length == 0 or at + length <= address:
                continue
            del self._pieces[at]
            if at < address or at + length > address + size:
                if length != 8 or size > 4 or address not in (at, at + 4):
                    raise NotImplementedError(f"a store of {size} bytes at {address} over a part of {length} at {at}")
                high = self._path.floor(old, HALF)
                self._pieces[at] = (4, old - high.times(HALF))
                self._pieces[at + 4] = (4, high)
                if at == address:
                    del self._pieces[at]
        self._pieces.pop(address, None)
        self._pieces[address] = (size, value)
