"""What the regressor and the classifier share: a network with one linear top layer for each module."""

from __future__ import annotations

from functools import partial
from typing import Any, Self

import numpy as np
from sklearn.utils import check_consistent_length

from modae.data.rows import Rows
from modae.deep.base import DeepModules
from modae.deep.copies import CopiedRegressionNetwork
from modae.deep.networks import ModularRegressionNetwork
from modae.deep.options import check_factory, layer_sizes
from modae.deep.trained import Recipe
from modae.utils.parameters import check_flag


class SupervisedModules(DeepModules):
    """Modules that learn targets y from rows X. Abstract: a subclass says what targets are."""

    module: Any
    shared_body: bool

    def fit(self, X: Any, y: Any) -> Self:
        """Train the modules from a fresh start.

        Ctrl-C stops it after all: the last whole epoch is kept, and ``resume`` goes on from there.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
        y : array-like of shape (n_samples,), or (n_samples, n_targets) for a regressor

        Returns
        -------
        self
        """
        return self._fit(X, y)

    def resume(self, X: Any, y: Any) -> Self:
        """Go on with a training that was interrupted, or that is to be longer.

        With the same data and parameters the result equals, on the CPU bit for bit, that of a training
        that was not interrupted. Raise ``max_epochs`` (or ``patience``) first to train longer than
        planned.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
        y : array-like
            Both as in ``fit``.

        Returns
        -------
        self
        """
        return self._resume(X, y)

    def _check_parameters(self) -> None:
        super()._check_parameters()
        check_factory("module", self.module)
        check_flag("shared_body", self.shared_body)
        if self.module is not None and self.shared_body:
            raise ValueError("shared_body must be False with a module of your own, got True.")

    def _recipe(self, n_features: int, n_outputs: int) -> Recipe:
        sizes: dict[str, Any] = {
            "n_features": n_features,
            "n_outputs": n_outputs,
            "n_modules": int(self.n_modules),
            "equal_start": bool(self.equal_start),
        }
        if self.module is not None:
            return partial(CopiedRegressionNetwork, module=self.module, **sizes)
        return partial(
            ModularRegressionNetwork,
            hidden_layer_sizes=layer_sizes(self.hidden_layer_sizes),
            activation=self.activation,
            shared_body=bool(self.shared_body),
            **sizes,
        )

    def _check_target(self, y: Any, rows: Rows) -> None:
        """What must hold for numbers and labels alike."""
        if y is None:
            raise ValueError(f"{type(self).__name__} requires y to be passed, but the target y is None.")
        if np.ma.is_masked(y):
            raise ValueError("y has masked entries, which would be read as values: drop those rows.")
        check_consistent_length(rows, y)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.required = True
        return tags
