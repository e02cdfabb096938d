"""BaggingAutoencoder: the paper's baseline."""

from __future__ import annotations

from typing import Any, NamedTuple, Self

import numpy as np
from sklearn.utils import check_random_state

from modae.data import reduce_rows
from modae.data.bootstrap import Resamples
from modae.data.rows import Rows
from modae.data.spectrum import Spectrum
from modae.data.summary import Stream
from modae.linear.model import Published, _read_only
from modae.linear.modules import LinearModules, Modules
from modae.utils.arrays import Array, swap
from modae.utils.parallel import in_threads
from modae.utils.parameters import check_choice, check_count, check_flag, resolved_components


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
    n_modules : int, default=10
    n_components : int or None, default=None
        Components of each module. None means ``min(10, n_features)``.
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

    mean_ = Published("modules.mean")
    encoders_ = Published("modules.encoders")
    decoders_ = Published("modules.decoders")
    eigenvalues_ = Published("eigenvalues")
    n_components_ = Published("n_components")

    _fitted: FittedBagging

    def __init__(
        self,
        n_modules: int = 10,
        n_components: int | None = None,
        *,
        spectrum: str = "auto",
        upcast: bool = False,
        n_jobs: int | None = None,
        random_state: Any = None,
    ) -> None:
        self.n_modules = n_modules
        self.n_components = n_components
        self.spectrum = spectrum
        self.upcast = upcast
        self.n_jobs = n_jobs
        self.random_state = random_state

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
        self._check_parameters()
        seed = int(check_random_state(self.random_state).randint(2**31 - 1))

        def resample(rows: Rows, weights: Array | None, start: int) -> Resamples:
            return Resamples.of(rows, seed, self.n_modules, start)

        resamples = reduce_rows(X, self, resample, upcast=self.upcast, indexed=True)
        width = int(resolved_components(self.n_components, self.n_features_in_))
        model = BaggingModel.of(resamples.whole, self._module_spectra(resamples, width))
        self._fitted = FittedBagging(model)
        return self

    def _check_parameters(self) -> None:
        check_count("n_modules", self.n_modules)
        if self.n_components is not None:
            check_count("n_components", self.n_components)
        check_choice("spectrum", self.spectrum, ("auto", "exact", "krylov"))
        check_flag("upcast", self.upcast)

    def _module_spectra(self, resamples: Resamples, width: int) -> list[Spectrum]:
        def leading(module: int) -> Spectrum:
            return resamples.of_module(module).spectrum(width, self.spectrum).leading(1, width)

        return in_threads(leading, [(module,) for module in range(self.n_modules)], self.n_jobs)

    def _modules(self) -> Modules:
        return self._fitted.model.modules


class BaggingModel(NamedTuple):
    """What the fitted attributes are read from."""

    modules: Modules
    eigenvalues: Array
    n_components: int

    @classmethod
    def of(cls, whole: Stream, spectra: list[Spectrum]) -> BaggingModel:
        """The modules of the spectra of the samples, around the mean of all rows."""
        axes = np.array([spectrum.axes for spectrum in spectra])
        eigenvalues = np.array([s.eigenvalues * s.variance_unit for s in spectra])
        encoders = np.where(eigenvalues[:, :, None] > 0.0, axes, 0.0)
        modules = Modules(
            mean=_read_only(whole.mean, whole.dtype),
            encoders=_read_only(encoders, whole.dtype),
            decoders=_read_only(swap(axes), whole.dtype),
            diversity=0.0,
        )
        return cls(modules, _read_only(eigenvalues), encoders.shape[1])


class FittedBagging(NamedTuple):
    """What a fit leaves behind, replaced as a whole."""

    model: BaggingModel
