"""How each kind of input becomes a summary: one open dispatch by type.

A new kind of input (sparse, Arrow, Dask, array API) is one more registration here, never a condition
in an estimator.
"""

from modae.inputs.dispatch import collect, rows_of

__all__ = ["collect", "rows_of"]
