"""Awkward sizes: very large, very small, far from zero."""

import numpy as np

from sources.awkward_case import BASE, right, same, wrong
from sources.awkward_shapes import random

EPS = np.finfo(np.float64).eps
SPREAD = (
    r"^X spreads over about \S+, and the square of that is no float64: "
    r"multiply X by a power of ten that brings it nearer to 1\.$"
)


def offset(size, dtype=np.float64):
    """Columns with a standard deviation near 1, and means of this size."""
    return (random(60, 8) * np.linspace(1.5, 0.5, 8) + size).astype(dtype)


SIZES = [
    *(
        same(
            f"the data times {scale}",
            lambda scale=scale: BASE * float(scale),
            gives="the same modules; losses times the square",
            scale=float(scale),
        )
        for scale in ("1e-150", "1e-100", "1e100", "1e150")
    ),
    *(
        wrong(
            f"the data times {scale}",
            lambda scale=scale: BASE * float(scale),
            "the variance is no float64; multiply X by a power of ten",
            ValueError,
            SPREAD,
        )
        for scale in ("1e-170", "1e170", "1e200", "1e300")
    ),
    wrong(
        "entries of 0 and 1.7e308",
        lambda: np.where(BASE > 10, 1.7e308, 0.0),
        "the variance is no float64; multiply X by a power of ten",
        ValueError,
        SPREAD,
    ),
    wrong(
        "a spread of subnormal numbers around 0",
        lambda: BASE * 5e-324,
        "the variance is no float64; multiply X by a power of ten",
        ValueError,
        SPREAD,
    ),
    same(
        "a spread of a few units in the last place around 1",
        lambda: 1.0 + BASE * EPS,
        gives="the same modules as without the 1",
        scale=EPS,
    ),
    same(
        "a spread of a few units in the last place around 1, fewer rows than columns",
        lambda: 1.0 + BASE[:5] * EPS,
        lambda: BASE[:5],
        gives="the same modules as without the 1",
        scale=EPS,
    ),
    *(
        same(
            f"float32 data times {scale}",
            lambda scale=scale: (BASE * float(scale)).astype(np.float32),
            gives="the same modules, to the precision of float32; losses times the square",
            scale=float(scale),
        )
        for scale in ("1e-30", "1e-20", "1e17", "1e30")
    ),
    *(
        same(
            f"column means {size} times the standard deviation",
            lambda size=size: offset(float(size)),
            lambda size=size: offset(float(size)) - float(size),
            gives="the same model as centred data",
        )
        for size in ("1e4", "1e8")
    ),
    same(
        "column means 1e4 times the standard deviation in float32",
        lambda: offset(1e4, np.float32),
        lambda: offset(1e4, np.float32).astype(np.float64) - 1e4,
        gives="the same model as centred data, to the precision of float32",
    ),
    right(
        "columns whose spreads differ by 1e20",
        lambda: BASE * np.logspace(-10, 10, 8),
        "only the largest columns have components above round-off; standardise first",
        holds=lambda m: m.eigenvalues_[0] > 0.99 * m.total_variance_,
    ),
]
