"""How each kind of input becomes a summary: one open dispatch by type.

A new kind of input (sparse, Arrow, Dask, array API) is one more registration here, never a condition
in an estimator.
"""

from modae.data.dispatch import (
    by_rows,
    check_length,
    collect,
    columns_of,
    gather,
    map_rows,
    reduce_rows,
    split_weights,
)
from modae.data.validation import codes_of, rows_of, weights_of

__all__ = [
    "by_rows",
    "check_length",
    "codes_of",
    "collect",
    "columns_of",
    "gather",
    "map_rows",
    "reduce_rows",
    "rows_of",
    "split_weights",
    "weights_of",
]
