"""From rows to moments to a spectrum, for dense, sparse and device arrays, in memory or lazy.

Estimators validate, sum up and map their data through the functions below. It imports ``utils`` only:
lazy kinds of data live in ``sources``, and are found by the names in :mod:`modae.data.validation`.
"""

from modae.data.validation import (
    by_rows,
    check_length,
    codes_of,
    columns_of,
    gather,
    lazy_rows,
    reduce_rows,
    rows_of,
    split_weights,
    weights_of,
)

__all__ = [
    "by_rows",
    "check_length",
    "codes_of",
    "columns_of",
    "gather",
    "lazy_rows",
    "reduce_rows",
    "rows_of",
    "split_weights",
    "weights_of",
]
