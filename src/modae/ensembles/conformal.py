r"""Split-conformal intervals: how far off were the predictions for rows that no member was trained on?

With residuals :math:`r_1\le\dots\le r_n` of n rows held out, the interval of half-width :math:`r_k`,
:math:`k=\lceil(n+1)c\rceil`, holds the target of a new row with probability of at least c, whatever the
model and the distribution, as long as the rows are exchangeable. The probability is over new rows and
over the rows held out; it is not promised for each region of the features.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from modae.utils.arrays import Array


@dataclass(frozen=True)
class Calibration:
    """Absolute residuals of held-out rows, sorted, for each target: (n, n_targets)."""

    residuals: Array

    @classmethod
    def of(cls, predictions: Array, targets: Array) -> Calibration:
        """Residuals of predictions, (n,) or (n, n_targets)."""
        residuals = np.abs(predictions - targets).reshape(len(targets), -1)
        return cls(np.sort(residuals, axis=0))

    def half_width(self, coverage: float) -> Array:
        """Half-width of intervals with this coverage, (n_targets,).

        Examples
        --------
        >>> import numpy as np
        >>> from modae.ensembles.conformal import Calibration
        >>> Calibration.of(np.zeros(9), np.arange(1.0, 10.0)).half_width(0.8)
        array([8.])
        """
        count = len(self.residuals)
        rank = int(np.ceil((count + 1) * coverage * (1.0 - 1e-15)))
        if rank > count:
            needed = int(np.ceil(coverage / (1.0 - coverage)))
            raise ValueError(
                f"coverage={coverage} needs at least {needed} rows held out, got {count}: raise "
                "calibrate or lower the coverage."
            )
        width: Array = self.residuals[rank - 1]
        return width
