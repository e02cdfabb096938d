"""A sum over the rows of a source that is not at its end yet, as a file."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from modae.data.summary import DataSummary
from modae.files.rules import Count, Layout, Record, Sizes, require
from modae.linear.layouts import STREAM


@dataclass(frozen=True, eq=False)
class StreamCheckpoint:
    """How far a sum has come, and of what.

    Parameters
    ----------
    stream : DataSummary
        The sum of the rows so far.
    n_rows : int
        Rows that are in it.
    n_features : int
    fingerprint : dict of str to str
        What must be the same for the sum to go on.
    """

    stream: DataSummary
    n_rows: int
    n_features: int
    fingerprint: dict[str, str]


def texts(value: Any, sizes: Sizes) -> None:
    """A dict of strings."""
    known = isinstance(value, dict) and {type(text) for pair in value.items() for text in pair} == {str}
    require(known, "must be a dict of strings")


CHECKPOINT = Layout(
    "modae.StreamCheckpoint",
    StreamCheckpoint,
    {
        "stream": Record(STREAM),
        "n_rows": Count(minimum=0),
        "n_features": Count("D"),
        "fingerprint": texts,
    },
    summary=lambda checkpoint: {"rows": checkpoint.n_rows, "features": checkpoint.n_features},
)

LAYOUTS = (CHECKPOINT,)
