"""The two terms of the loss, and the ambiguity decomposition, for the outputs of any ensemble."""

from typing import Any, NamedTuple

import numpy as np
from sklearn.utils import check_array, gen_batches

from modae.core.objective import Terms, output_terms
from modae.data.rows import weights_of
from modae.utils.arrays import Array

#: Outputs are taken in blocks of about this size.
BLOCK_BYTES = 1 << 26


class AmbiguityDecomposition(NamedTuple):
    """Mean member error = ambiguity + error of the mean: three numbers computed apart."""

    mean_member_error: float
    ambiguity: float
    error_of_mean: float

    @property
    def residual(self) -> float:
        """What the identity misses: round-off."""
        return self.mean_member_error - self.ambiguity - self.error_of_mean


def loss_terms(outputs: Any, target: Any, *, sample_weight: Any = None) -> Terms:
    r"""The terms of the loss, for the outputs of any members: linear or not, of any library.

    For outputs :math:`F_i(x)`, their mean :math:`\bar F(x)` and the target :math:`y`, averaged over
    rows:

    .. math::
       \text{reconstruction}=\frac1M\sum_i\|F_i-y\|^2,\qquad
       \text{diversity}=\frac1M\sum_i\|F_i-\bar F\|^2,\qquad
       \text{error of mean}=\|\bar F-y\|^2.

    Parameters
    ----------
    outputs : array-like of shape (n_members, n_samples, ...)
        What each member makes of each row: reconstructions, predicted numbers (no further axis), several
        targets, probabilities of classes.
    target : array-like of shape (n_samples, ...)
        What they should be: the rows themselves for autoencoders.
    sample_weight : array-like of shape (n_samples,), default=None
        Weight of each row in the averages.

    Returns
    -------
    terms : Terms
        ``reconstruction``, ``diversity``, ``error_of_mean``; ``loss(lam)`` and ``ambiguity_loss(lam)``
        are the loss at any diversity in both its forms.

    Examples
    --------
    >>> from modae.metrics import loss_terms
    >>> terms = loss_terms([[1.0, 2.0], [3.0, 2.0]], [1.0, 0.0])  # two members, two rows
    >>> terms
    Terms(reconstruction=3.0, diversity=0.5, error_of_mean=2.5)
    >>> terms.loss(0.5), terms.ambiguity_loss(0.5)
    (2.75, 2.75)
    """
    checks: dict[str, Any] = {"dtype": [np.float64, np.float32], "ensure_2d": False, "allow_nd": True}
    stack: Array = check_array(outputs, input_name="outputs", **checks)
    rows: Array = check_array(target, input_name="target", **checks)
    if stack.ndim < 2 or stack.shape[1:] != rows.shape:
        raise ValueError(
            f"outputs must have the shape (n_members, *target.shape) = (n_members, "
            f"{', '.join(map(str, rows.shape))}), got {stack.shape}."
        )
    # Further axes are laid out as columns: (M, n, D) and (n, D).
    stack, rows = stack.reshape(len(stack), len(rows), -1), rows.reshape(len(rows), -1)
    weights = weights_of(sample_weight, len(rows))
    if weights is not None and not weights.any():
        raise ValueError("sample_weight must have at least one positive weight, got zeros only.")
    # Some rows at a time in float64, because the terms need copies of them.
    height = max(1, BLOCK_BYTES // (8 * stack[:, 0].size))
    blocks = [
        output_terms(np.asarray(stack[:, cut], np.float64), np.asarray(rows[cut], np.float64))
        for cut in gen_batches(len(rows), height)
    ]
    columns = map(np.concatenate, zip(*blocks, strict=True))
    return Terms(*(float(np.average(column, weights=weights)) for column in columns))


def ambiguity_decomposition(
    outputs: Any, target: Any, *, sample_weight: Any = None
) -> AmbiguityDecomposition:
    """Why the mean of an ensemble is never worse than its members on average, in squared error.

    The mean error of the members is the error of their mean plus their ambiguity, which is how far
    they spread around it (Krogh and Vedelsby, 1995). The three are computed apart, so ``residual`` is
    a check.

    Parameters
    ----------
    outputs, target, sample_weight
        As in :func:`loss_terms`.

    Returns
    -------
    decomposition : AmbiguityDecomposition
        ``mean_member_error``, ``ambiguity``, ``error_of_mean``, and the property ``residual``.

    Examples
    --------
    >>> from modae.metrics import ambiguity_decomposition
    >>> parts = ambiguity_decomposition([[1.0, 2.0], [3.0, 2.0]], [1.0, 0.0])
    >>> parts
    AmbiguityDecomposition(mean_member_error=3.0, ambiguity=0.5, error_of_mean=2.5)
    >>> parts.residual
    0.0
    """
    terms = loss_terms(outputs, target, sample_weight=sample_weight)
    return AmbiguityDecomposition(*map(float, terms))
