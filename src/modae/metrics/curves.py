"""The two curves of the paper's section 5.2: what the modules keep of the data, and what they share."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np
from sklearn.utils import resample

from modae.metrics.correlations import jackknifed_correlations, same_rows
from modae.utils.arrays import Array
from modae.utils.parameters import check_count


class Estimate(NamedTuple):
    """A number computed from a sample of rows, and how far another sample would move it."""

    value: float
    standard_error: float


def faithfulness(extractor: Any, X: Any, *, n_samples: int = 1000, random_state: Any = None) -> Estimate:
    """Mean distance correlation between the features of one module and the data themselves.

    It says how much of the metric structure of the data a single member of the ensemble sees. It falls
    as diversity grows, and the members get worse one by one.

    Parameters
    ----------
    extractor : fitted extractor with ``transform_modules``
    X : {array-like, sparse matrix} of shape (n_rows, n_features)
        Data to look at, best those that the extractor has not seen. Only the drawn rows are transformed
        and, when sparse, made dense.
    n_samples : int, default=1000
        Rows to draw at random, without replacement; all rows if there are fewer. Time grows as its
        square.
    random_state : int, RandomState instance or None, default=None
        Draws the rows. The same seed draws the same rows for each extractor, which is best for a curve.

    Returns
    -------
    estimate : Estimate
        ``value`` and ``standard_error``. The error is that of the draw: the standard deviation of the
        value over samples of that many rows from the population behind X, for this extractor, by the
        jackknife (each row left out in turn). It does not cover how another training set would change
        the modules.

    See Also
    --------
    redundancy : The same between the modules.
    distance_correlation_matrix : The single correlations, from features computed elsewhere.

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> from modae import LinearModularAutoencoder
    >>> from modae.metrics import faithfulness
    >>> X, _ = load_digits(return_X_y=True)
    >>> model = LinearModularAutoencoder(n_modules=10, n_components=5, random_state=0).fit(X)
    >>> for diversity in (0.1, 0.5, 0.9):
    ...     at = model.with_diversity(diversity)
    ...     value, error = faithfulness(at, X, n_samples=400, random_state=0)
    ...     print(f"{diversity}: {value:.2f} +- {error:.3f}")
    0.1: 0.95 +- 0.003
    0.5: 0.94 +- 0.003
    0.9: 0.77 +- 0.003
    """
    rows = _drawn(X, n_samples, random_state)
    samples = [rows, *_features(extractor, rows)]
    return _estimate(samples, lambda correlations: correlations[..., 0, 1:])


def redundancy(extractor: Any, X: Any, *, n_samples: int = 1000, random_state: Any = None) -> Estimate:
    """Mean distance correlation between the features of two different modules.

    It is 1 when all modules see the same, as at diversity 0. It falls as diversity grows, and the
    members make different errors.

    Parameters
    ----------
    extractor : fitted extractor with ``transform_modules``, of at least two modules
    X, n_samples, random_state
        As in :func:`faithfulness`.

    Returns
    -------
    estimate : Estimate
        ``value`` and ``standard_error``, as in :func:`faithfulness`.

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> from modae import LinearModularAutoencoder
    >>> from modae.metrics import redundancy
    >>> X, _ = load_digits(return_X_y=True)
    >>> model = LinearModularAutoencoder(n_modules=10, n_components=5, random_state=0).fit(X)
    >>> for diversity in (0.1, 0.5, 0.9):
    ...     at = model.with_diversity(diversity)
    ...     value, error = redundancy(at, X, n_samples=400, random_state=0)
    ...     print(f"{diversity}: {value:.2f} +- {error:.3f}")
    0.1: 0.99 +- 0.001
    0.5: 0.91 +- 0.006
    0.9: 0.55 +- 0.006
    """
    features = _features(extractor, _drawn(X, n_samples, random_state))
    if len(features) < 2:
        raise ValueError("extractor must have at least two modules to compare, got one.")
    first, second = np.triu_indices(len(features), k=1)
    return _estimate(features, lambda correlations: correlations[..., first, second])


def _drawn(X: Any, n_samples: int, random_state: Any) -> Any:
    """Rows of X at random, in the container that X is: the extractor may know its columns by name."""
    check_count("n_samples", n_samples, minimum=3)
    count = min(int(n_samples), np.shape(X)[0])
    return resample(X, replace=False, n_samples=count, random_state=random_state)


def _features(extractor: Any, rows: Any) -> list[Any]:
    if not hasattr(extractor, "transform_modules"):
        raise TypeError(
            "extractor must have a method transform_modules, as LinearModularAutoencoder has, got "
            f"{extractor!r}."
        )
    return list(extractor.transform_modules(rows))


def _estimate(samples: Sequence[Any], pick: Callable[[Array], Array]) -> Estimate:
    """Mean of the picked correlations, with its jackknife standard error."""
    names = [f"feature space {i}" for i in range(len(samples))]
    whole, without = jackknifed_correlations(same_rows(samples, names, minimum=3))
    values = pick(without).mean(axis=-1)
    variance = (len(values) - 1) * values.var()
    return Estimate(float(pick(whole).mean()), float(np.sqrt(variance)))
