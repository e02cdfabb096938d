"""Why modae iterates by itself: block Lanczos against SciPy's eigsh and a block power iteration.

``python -m benchmarks.lanczos``. All three use the same products with the rows. The power iteration is
what a randomised SVD does, with 7 rounds. *Slack* is what the lower bound loses to residuals.
"""

from __future__ import annotations

from time import perf_counter

import numpy as np
from scipy import sparse
from scipy.sparse.linalg import LinearOperator, eigsh

from modae.data.krylov import OVERSAMPLING, CentredData, leading_basis, spectrum_in_basis
from modae.data.spectrum import KeptRows

N_AXES = 100
COUNT = N_AXES + OVERSAMPLING


def by_eigsh(data: CentredData) -> np.ndarray:
    """ARPACK to 1e-6, one vector at a time."""
    side = min(data.rows.shape)
    operator = LinearOperator(
        (side, side),
        matvec=lambda vector: data.smaller_times(vector.reshape(-1, 1)).ravel(),
        matmat=data.smaller_times,
        dtype=np.float64,
    )
    return eigsh(operator, k=COUNT, ncv=2 * COUNT + 20, tol=1e-6)[1]


def by_power(data: CentredData) -> np.ndarray:
    """Seven products with a random block, made orthonormal after each."""
    rng = np.random.default_rng(0)
    block = np.linalg.qr(rng.standard_normal((min(data.rows.shape), COUNT)))[0]
    for _ in range(7):
        block = np.linalg.qr(data.smaller_times(block))[0]
    return block


def flat_sparse() -> sparse.csr_array:
    """Noise: eigenvalues that hardly fall."""
    return sparse.random_array((20_000, 30_000), density=0.002, format="csr", rng=0)


def decaying_dense() -> np.ndarray:
    """Eigenvalues that fall by 6 % each, and noise."""
    rng = np.random.default_rng(0)
    factors = rng.standard_normal((6_000, 300)) * 0.97 ** np.arange(300)
    return factors @ rng.standard_normal((300, 8_000)) + 0.1 * rng.standard_normal((6_000, 8_000))


def main() -> None:
    """Time of each, variance that its axes leave out, and slack."""
    ways = {
        "block Lanczos": lambda data: leading_basis(data, N_AXES),
        "eigsh": by_eigsh,
        "7 power steps": by_power,
    }
    for made in (flat_sparse, decaying_dense):
        data = CentredData.of(KeptRows(made()))
        first = None
        for name, find in ways.items():
            start = perf_counter()
            basis = find(data)
            seconds = perf_counter() - start
            first = first or seconds
            spectrum = spectrum_in_basis(data, data.axes_from(basis) if data.is_wide else basis)
            left = 1.0 - spectrum.eigenvalues[:N_AXES].sum() / spectrum.total_variance
            slack = spectrum.slack / spectrum.total_variance
            ratio = f"{seconds:6.1f} s, {seconds / first:5.2f} of block Lanczos"
            print(f"{made.__name__:15} {name:14} {ratio}; left out {left:.6f}, slack {slack:.0e}")


if __name__ == "__main__":
    main()
