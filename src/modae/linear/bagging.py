r"""BaggingAutoencoder: the paper's baseline, on bootstrap samples that know nothing of each other.

A bootstrap sample of n rows gives each row a count. Multinomial counts, n draws from n rows, depend on
all rows at once. Poisson counts of mean 1 are their limit and are independent, so the count of a row
can be a pure function of (seed, module, index of the row): any chunking of the data, any order of the
modules and any number of workers gives the same sample. A counter-based generator (Philox) makes it so:
the index of the row is the counter.
"""

from __future__ import annotations

from copy import copy
from dataclasses import KW_ONLY, dataclass, field
from math import exp, factorial
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.utils import check_random_state

from modae.core.frames import random_rotations
from modae.data.rows import Rows
from modae.data.spectrum import KeptRows
from modae.data.summary import DataSummary
from modae.data.validation import summarised
from modae.linear.model import ROTATIONS, Modules, read_only, resolved_components
from modae.linear.modules import LinearModules, fitted
from modae.utils.arrays import Array
from modae.utils.parallel import run_parallel
from modae.utils.parameters import check_choice, check_count, check_flag

#: Distribution of a Poisson count of mean 1; beyond 17 lies less than 1e-16.
_CUMULATED = np.cumsum([exp(-1.0) / factorial(k) for k in range(18)])

#: Numbers that Philox makes from one value of its counter.
_PER_COUNTER = 4


def bootstrap_counts(seed: int, module: int, start: int, stop: int) -> NDArray[np.int64]:
    """Counts of the rows ``start`` to ``stop - 1`` in the bootstrap sample of one module.

    Examples
    --------
    >>> from modae.linear.bagging import bootstrap_counts
    >>> bootstrap_counts(seed=2, module=3, start=0, stop=8).tolist()
    [2, 4, 1, 1, 2, 1, 1, 2]
    >>> bootstrap_counts(seed=2, module=3, start=5, stop=8).tolist()
    [1, 1, 2]
    """
    first, skip = divmod(start, _PER_COUNTER)
    generator = np.random.Philox(key=[seed, module], counter=first)
    raw = generator.random_raw(skip + stop - start)[skip:]
    uniform = (raw >> np.uint64(11)) * 2.0**-53
    return np.searchsorted(_CUMULATED, uniform, side="right").astype(np.int64)


@dataclass(frozen=True, eq=False)
class Resamples:
    """A stream of all rows, and one of the bootstrap sample of each module: they grow together."""

    whole: DataSummary
    samples: tuple[DataSummary, ...]

    def join(self, other: Resamples) -> Resamples:
        """Resamples of all rows of both."""
        pairs = zip(self.samples, other.samples, strict=True)
        return Resamples(self.whole.join(other.whole), tuple(one.join(two) for one, two in pairs))

    def of_module(self, module: int) -> DataSummary:
        """The sample of a module. One that draws no row at all takes every row once."""
        sample = self.samples[module]
        return self.whole if sample.is_empty else sample


@dataclass(frozen=True, eq=False)
class BaggedAxes(Modules):
    """What a fit leaves behind, replaced as a whole: modules that were not trained to differ."""

    diversity: float = 0.0
    eigenvalues: Array = field(kw_only=True)


@dataclass(eq=False, repr=False)
class BaggingAutoencoder(LinearModules):
    """Independent PCAs on bootstrap samples: modules that differ by chance, not by training.

    The baseline of Reeve and Brown (2015). Each module takes the ``n_components`` leading principal axes
    of its own bootstrap sample, and all codes are of rows centred by the mean of all the data.

    The number of times that a row is drawn is a Poisson count of mean 1, not one of n multinomial draws:
    counts are then independent, so that the sample is a function of ``random_state``, the module and
    the index of the row alone, whatever the chunks of the data and the number of jobs. The counts are
    used as weights of the rows; the data are not copied. (A module that draws no row at all, which
    happens only with very few rows, takes every row once.)

    Parameters
    ----------
    n_modules : int, default=30
    n_components : int or None, default=None
        Components of each module. None means 0.4 of the columns, 20 at most.
    rotation : {None, "random"}, default=None
        As in :class:`LinearModularAutoencoder`.
    spectrum : {"auto", "exact", "krylov"}, default="auto"
        How the principal axes are found, as in :class:`LinearModularAutoencoder`.
    upcast : bool, default=False
        Whether to compute in float64 even if X is float32.
    n_jobs : int or None, default=None
        Modules fitted at the same time, in threads; None is one after the other, each with all cores.
        The model is the same to round-off.
    random_state : int, RandomState instance or None, default=None

    Attributes
    ----------
    mean_ : ndarray of shape (n_features,)
    encoders_ : ndarray of shape (n_modules, n_components, n_features)
        Principal axes of each bootstrap sample; 0 for components beyond the rank of a sample.
    decoders_ : ndarray of shape (n_modules, n_features, n_components)
        Orthonormal columns.
    eigenvalues_ : ndarray of shape (n_modules, n_components)
        Variances of each bootstrap sample along its axes.
    n_components_ : int
    n_features_in_ : int
    feature_names_in_ : ndarray of shape (n_features,)
        Only if the columns of X have names.

    See Also
    --------
    LinearModularAutoencoder : Modules trained together to differ.

    Examples
    --------
    >>> from modae import BaggingAutoencoder
    >>> from sklearn.datasets import load_digits
    >>> X, _ = load_digits(return_X_y=True)
    >>> model = BaggingAutoencoder(n_modules=5, n_components=4, random_state=0).fit(X)
    >>> model.transform_modules(X).shape
    (5, 1797, 4)
    """

    eigenvalues_ = fitted(lambda model: model.eigenvalues)
    n_components_ = fitted(lambda model: model.encoders.shape[1])

    n_modules: int = 30
    n_components: int | None = None
    _: KW_ONLY
    rotation: str | None = None
    spectrum: str = "auto"
    upcast: bool = False
    n_jobs: int | None = None
    random_state: int | np.random.RandomState | None = None

    def fit(self, X: Any, y: object = None) -> Self:
        """Fit each module to a bootstrap sample of the rows of X.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
        y : ignored

        Returns
        -------
        self
        """
        check_count("n_modules", self.n_modules)
        check_count("n_components", self.n_components, optional=True)
        check_choice("rotation", self.rotation, ROTATIONS)
        check_choice("spectrum", self.spectrum, ("auto", "exact", "krylov"))
        check_flag("upcast", self.upcast)
        seed = int(check_random_state(self.random_state).randint(2**31 - 1))

        def resample(rows: Rows, weights: Array | None, start: int) -> Resamples:
            samples = []
            for module in range(self.n_modules):
                counts = bootstrap_counts(seed, module, start, start + rows.shape[0]).astype(np.float64)
                # The rows themselves, not copies: a count of 0 is a row that is not there.
                samples.append(DataSummary(pending=(KeptRows(rows, counts),) if counts.any() else ()))
            return Resamples(DataSummary.of(rows), tuple(samples))

        def module_axes(module: int) -> tuple[Array, Array]:
            _, sample, _ = resamples.of_module(module).decomposed(1, width, self.spectrum)
            return sample.axes, sample.eigenvalues * sample.unit**2

        fresh = copy(self)  # a fit that fails leaves this model as it was
        options = {"reset": True, "upcast": self.upcast, "indexed": True}
        resamples, _ = summarised(X, fresh, resample, **options)
        width = int(resolved_components(self.n_components, fresh.n_features_in_))
        tasks = [(module,) for module in range(self.n_modules)]
        found = run_parallel(module_axes, tasks, self.n_jobs)
        axes, eigenvalues = map(np.array, zip(*found, strict=True))
        encoders, decoders = np.where(eigenvalues[:, :, None] > 0.0, axes, 0.0), axes.mT
        if self.rotation is not None:
            turns = random_rotations(self.n_modules, width, np.random.default_rng([seed, 1]))
            encoders, decoders = turns @ encoders, decoders @ turns.mT
        dtype = resamples.whole.dtype
        fresh._model = BaggedAxes(
            mean=read_only(resamples.whole.mean, dtype),
            encoders=read_only(encoders, dtype),
            decoders=read_only(decoders, dtype),
            eigenvalues=read_only(eigenvalues),
        )
        self.__dict__ = fresh.__dict__
        return self
