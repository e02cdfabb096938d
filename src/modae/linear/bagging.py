"""BaggingAutoencoder: the paper's baseline."""

from copy import copy
from dataclasses import KW_ONLY, dataclass
from typing import Any, NamedTuple, Self

import numpy as np
from sklearn.utils import check_random_state

from modae.core.frames import random_rotations
from modae.data.bootstrap import Resamples
from modae.data.rows import Rows
from modae.data.validation import summarised
from modae.linear.model import ROTATIONS, Modules, read_only, resolved_components
from modae.linear.modules import LinearModules, fitted
from modae.utils.arrays import Array
from modae.utils.parallel import run_parallel
from modae.utils.parameters import check_choice, check_count, check_flag


class BaggedAxes(NamedTuple):
    """What a fit leaves behind, replaced as a whole."""

    mean: Array
    encoders: Array
    decoders: Array
    eigenvalues: Array


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
            return Resamples.of(rows, seed, self.n_modules, start)

        def module_axes(module: int) -> tuple[Array, Array]:
            _, sample, _ = resamples.of_module(module).decomposed(1, width, self.spectrum)
            return sample.axes, sample.eigenvalues * sample.variance_unit

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

    def _modules(self) -> Modules:
        return Modules(self.mean_, self.encoders_, self.decoders_, diversity=0.0)
