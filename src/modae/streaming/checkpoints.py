"""A sum over the rows of a source that is not at its end yet, as a file."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from modae.data.summary import Stream
from modae.files.rules import Count, Layout, Record, Sizes, require
from modae.linear.layouts import STREAM


@dataclass(frozen=True, eq=False)
class StreamCheckpoint:
    """How far a sum has come, and of what.

    Parameters
    ----------
    stream : Stream
        The sum of the rows so far.
    n_rows : int
        Rows that are in it.
    n_features : int
    fingerprint : dict of str to str
        What must be the same for the sum to go on.
    """

    stream: Stream
    n_rows: int
    n_features: int
    fingerprint: dict[str, str]


def words(value: Any, sizes: Sizes) -> None:
    """A dict of words."""
    known = isinstance(value, dict) and all(
        isinstance(word, str) for each in value.items() for word in each
    )
    require(known, "must be a dict of words")


CHECKPOINT = Layout(
    "modae.StreamCheckpoint",
    StreamCheckpoint,
    {
        "stream": Record(STREAM),
        "n_rows": Count(minimum=0),
        "n_features": Count("D"),
        "fingerprint": words,
    },
)

LAYOUTS = (CHECKPOINT,)
