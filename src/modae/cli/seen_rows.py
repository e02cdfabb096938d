"""Which rows a model was fitted to: enough to tell new rows from old ones, too little to read them."""

from __future__ import annotations

from base64 import b64decode, b64encode
from typing import Any, Self

import numpy as np
from scipy.sparse import issparse

#: Rows that are remembered; of larger tables a part, the same part of every table.
MOST_ROWS = 20_000

#: A part of the rows below this that the model was fitted to may be chance: equal rows, or equal hashes.
MOSTLY_NEW = 0.01

#: Of a Bloom filter: then one row in 20,000 that is new is taken for an old one, in small tables fewer.
BITS_FOR_ROW, FEWEST_BITS, N_HASHES = 24, 2**14, 8


class SeenRows:
    """A Bloom filter of hashes of rows. A row counts if its hash is below ``share`` of all hashes."""

    def __init__(self) -> None:
        self.share, self.looked, self.seen = 1.0, 0, 0
        self._hashes = np.zeros(0, dtype=np.uint64)
        self._bits: np.ndarray | None = None

    def add(self, rows: Any) -> None:
        """Remember these rows."""
        hashes = row_hashes(rows)
        self._hashes = np.union1d(self._hashes, hashes[_is_below(hashes, self.share)])
        while len(self._hashes) > MOST_ROWS:
            self.share /= 2
            self._hashes = self._hashes[_is_below(self._hashes, self.share)]

    def look_for(self, rows: Any) -> None:
        """Count in ``looked`` the rows that could have been remembered, in ``seen`` those that were."""
        assert self._bits is not None
        hashes = row_hashes(rows)
        hashes = hashes[_is_below(hashes, self.share)]
        self.looked += len(hashes)
        self.seen += int(self._bits[_places(hashes, len(self._bits))].all(axis=1).sum())

    @property
    def part(self) -> float:
        """The part of the rows looked for that the model was fitted to."""
        return self.seen / self.looked if self.looked else 0.0

    @property
    def kind(self) -> str | float:
        """What these rows are to the model: "new", "training", or the part that it was fitted to."""
        if self.part < MOSTLY_NEW:
            return "new"
        return self.part if self.part <= 1.0 - MOSTLY_NEW else "training"

    def notes(self) -> dict[str, Any]:
        """For a model file."""
        bits = np.zeros(max(FEWEST_BITS, BITS_FOR_ROW * len(self._hashes)), dtype=bool)
        bits[_places(self._hashes, len(bits))] = True
        text = b64encode(np.packbits(bits).tobytes()).decode()
        return {"share": self.share, "n_bits": len(bits), "bits": text}

    @classmethod
    def of(cls, notes: Any) -> Self | None:
        """From a model file; None if it does not tell, or tells nonsense."""
        try:
            found = cls()
            found.share = float(notes["share"])
            packed = np.frombuffer(b64decode(notes["bits"], validate=True), dtype=np.uint8)
            found._bits = np.unpackbits(packed)[: int(notes["n_bits"])].astype(bool)
        except (TypeError, KeyError, ValueError):
            return None
        return found if 0.0 < found.share <= 1.0 and len(found._bits) >= 64 else None


def row_hashes(rows: Any) -> np.ndarray:
    """A hash of each row as it was read, whatever the file was; names of columns do not matter.

    Each cell has one; a row has their sum, weighted by random odd numbers for the columns.
    """
    from pandas.api.types import is_numeric_dtype
    from pandas.util import hash_array

    hashes = np.empty(rows.shape, dtype=np.uint64)
    if hasattr(rows, "columns"):
        numeric = np.array([is_numeric_dtype(kind) for kind in rows.dtypes], dtype=bool)
        for place in np.flatnonzero(~numeric):
            hashes[:, place] = hash_array(rows.iloc[:, place].to_numpy(dtype=object))
        numbers = rows.iloc[:, np.flatnonzero(numeric)].to_numpy(dtype=np.float64)
    else:
        numeric = np.ones(rows.shape[1], dtype=bool)
        numbers = np.asarray(rows.toarray() if issparse(rows) else rows, dtype=np.float64)
    numbers = np.where(numbers == 0.0, 0.0, numbers)  # -0.0 is written as 0 too
    hashes[:, numeric] = hash_array(numbers.ravel()).reshape(numbers.shape)
    weights = np.random.default_rng(0).integers(2**63, size=rows.shape[1], dtype=np.uint64) * 2 + 1
    return (hashes * weights).sum(axis=1, dtype=np.uint64)


def _is_below(hashes: np.ndarray, share: float) -> np.ndarray:
    return hashes >> np.uint64(32) < np.uint64(share * 2**32)


def _places(hashes: np.ndarray, n_bits: int) -> np.ndarray:
    """The bits of each hash, (n, N_HASHES): from its two halves, as usual."""
    low, high = hashes & np.uint64(0xFFFFFFFF), hashes >> np.uint64(32) | np.uint64(1)
    steps = np.arange(N_HASHES, dtype=np.uint64)
    return (low[:, None] + steps * high[:, None]) % np.uint64(n_bits)
