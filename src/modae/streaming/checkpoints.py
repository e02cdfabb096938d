"""A sum over the rows of a source that is not at its end yet, as a file."""

from __future__ import annotations

from dataclasses import dataclass

from modae.data.summary import DataSummary
from modae.files.rules import Layout, count, each, record, text


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


LAYOUTS = (
    Layout(
        StreamCheckpoint,
        {
            "stream": record(DataSummary),
            "n_rows": count(minimum=0),
            "n_features": count("D"),
            "fingerprint": each(text, dict),
        },
        summary={"rows": "n_rows", "features": "n_features"},
    ),
)
