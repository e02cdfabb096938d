"""What the deep estimators share: fit, partial_fit and resume around one training loop."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator
from contextlib import contextmanager
from copy import deepcopy
from dataclasses import replace
from typing import Any, Self

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.utils import check_consistent_length, check_random_state
from sklearn.utils.validation import check_is_fitted

from modae.data import rows_of
from modae.data.rows import Rows
from modae.deep.batches import Scaling
from modae.deep.model import TrainedModel, TrainingState
from modae.deep.options import check_training_parameters
from modae.deep.training import train
from modae.files.api import save
from modae.linear.notebook import KeyFigures
from modae.utils.parallel import progress_bar


class DeepModules(KeyFigures, BaseEstimator):
    """A scikit-learn estimator around one training loop.

    Abstract: a subclass says what its network, its objective and its targets are.
    """

    _fitted: TrainedModel
    """Replaced as a whole after each epoch; all fitted attributes are read from it."""

    _network_kind: str
    """A name in :data:`modae.deep.networks.NETWORKS`."""

    history_ = property(lambda self: deepcopy(self._model().state.history))
    n_epochs_ = property(lambda self: self._model().state.epoch)
    best_epoch_ = property(lambda self: self._model().state.best_epoch)
    mean_ = property(lambda self: self._model().scaling.mean.copy())
    scale_ = property(lambda self: self._model().scaling.scale)
    diversity_ = property(lambda self: self._model().objective["diversity"])
    loss_ = property(lambda self: self._model().terms["loss"])
    diversity_term_ = property(lambda self: self._model().terms["diversity"])

    def _store(self, parameters: dict[str, Any]) -> None:
        """Keep the parameters of the constructor as they are: its ``locals()``."""
        names = self._get_param_names()
        self.__dict__.update({name: parameters[name] for name in names})

    def _model(self) -> TrainedModel:
        check_is_fitted(self)
        return self._fitted

    def fit(self, X: Any, y: Any = None) -> Self:
        """Train the modules from a fresh start.

        Ctrl-C stops it after all: the last whole epoch is kept, and ``resume`` goes on from there.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
        y : array-like of shape (n_samples,), or (n_samples, n_targets) for a regressor
            Ignored by an autoencoder.

        Returns
        -------
        self
        """
        return self._train(X, y, None, int(self.max_epochs))

    def partial_fit(self, X: Any, y: Any = None) -> Self:
        """One epoch over these rows, from where training is now, at a constant learning rate.

        The first call starts training, and its rows set what all later ones are shifted and divided by.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
        y : array-like of shape (n_samples,), or (n_samples, n_targets) for a regressor
            Ignored by an autoencoder.

        Returns
        -------
        self
        """
        return self._train_one_epoch(X, y)

    def resume(self, X: Any, y: Any = None) -> Self:
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
        start = self._model()
        if start.n_rows is None:
            raise ValueError("resume continues fit, but the last call was partial_fit: call that again.")
        if not self.early_stopping:
            start = replace(start, state=_without_best(start.state))
        return self._train(X, y, start, int(self.max_epochs))

    def _train_one_epoch(self, X: Any, y: Any, classes: Any = None) -> Self:
        """As one part of a stream, from the weights that predictions use now."""
        start = vars(self).get("_fitted")
        if start is not None:
            state = replace(_without_best(start.state), weights=start.kept_weights)
            start = replace(start, state=state)
        n_epochs = 0 if start is None else start.state.epoch
        return self._train(X, y, start, n_epochs + 1, classes=classes, stream=True)

    def _train(
        self,
        X: Any,
        y: Any,
        start: TrainedModel | None,
        until: int,
        *,
        classes: Any = None,
        stream: bool = False,
    ) -> Self:
        """Train until so many epochs are done in all, from a fresh start or from a model."""
        with self._unchanged_on_failure():
            check_training_parameters(self)
            rows = rows_of(X, self, reset=start is None)
            targets = self._validated_targets(y, rows, start, classes)
            if start is not None and not stream and rows.shape[0] != start.n_rows:
                raise ValueError(
                    f"X must be the data of fit, which had {start.n_rows} rows, got {rows.shape[0]}: "
                    "new rows go to partial_fit."
                )
            model = self._initial_model(rows, targets, start, stream=stream)
            if targets is not None and model.target_scaling is not None:
                targets = targets.reshape(len(targets), -1)
            data, validate = model.data(rows, targets), bool(self.early_stopping) and not stream
            epochs = train(model, data, self, until=until, validate=validate, stream=stream)
            n_steps = max(0, until - model.state.epoch) + 1  # the last one measures all losses
            with progress_bar("training", n_steps, shown=self.verbose) as advance:
                for trained in epochs:
                    self._fitted = trained
                    if self.checkpoint is not None:
                        save(self, self.checkpoint)
                    advance()
        return self

    def _initial_model(
        self, rows: Rows, targets: np.ndarray | None, start: TrainedModel | None, *, stream: bool
    ) -> TrainedModel:
        """What there is before the first epoch of this call."""
        arguments = self._network_arguments(rows.shape[1], targets)
        arguments |= {"n_modules": int(self.n_modules), "equal_start": bool(self.equal_start)}
        if start is not None:
            _check_same_network(start.arguments, arguments)
            state, scaling, target_scaling = start.state, start.scaling, start.target_scaling
        else:
            state = TrainingState(int(check_random_state(self.random_state).randint(2**31 - 1)))
            scaling, target_scaling = Scaling.of(rows, normalize=self.normalize), None
            if targets is not None and targets.dtype.kind == "f":
                table = targets.reshape(len(targets), -1)
                target_scaling = Scaling.of(table, name="y", normalize=self.normalize)
        return TrainedModel(
            kind=self._network_kind,
            arguments=arguments,
            objective=self._objective(),
            dtype=self.dtype,
            device=str(self.device),
            scaling=scaling,
            target_scaling=target_scaling,
            flat=targets is not None and targets.ndim == 1,
            n_rows=None if stream else int(rows.shape[0]),
            state=state,
        )

    @contextmanager
    def _unchanged_on_failure(self) -> Iterator[None]:
        """All attributes as they were, but for whole epochs before an interruption or a full disk."""
        before = vars(self).copy()
        try:
            yield
        except BaseException as error:
            has_epochs = vars(self).get("_fitted") is not before.get("_fitted")
            if not (has_epochs and isinstance(error, (KeyboardInterrupt, OSError))):
                self.__dict__.clear()
                self.__dict__.update(before)
            raise

    def _key_figures(self) -> dict[str, str]:
        model, terms = self._model(), self._model().terms
        epoch, best = model.state.epoch, model.state.best_epoch
        return {
            "Modules": f"{model.n_modules}",
            "Diversity": f"{model.objective['diversity']:g}",
            "Epochs": f"{epoch}" if best == epoch else f"{epoch}, the weights of epoch {best}",
            "Loss": f"{terms['loss']:.6g}",
            "Loss of one module": f"{terms['members']:.6g}, on average",
            "Loss of their mean": f"{terms['of_mean']:.6g}",
        }

    def __sklearn_is_fitted__(self) -> bool:
        return "_fitted" in vars(self)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.non_deterministic = False
        return tags

    @abstractmethod
    def _network_arguments(self, n_features: int, targets: np.ndarray | None) -> dict[str, Any]:
        """Arguments of the network for these data, but for those that all networks have."""

    @abstractmethod
    def _objective(self) -> dict[str, Any]:
        """Diversity, loss and average, see :func:`modae.deep.loss.modular_loss`."""

    def _validated_targets(
        self, y: Any, rows: Rows, start: TrainedModel | None, classes: Any
    ) -> np.ndarray | None:
        """Numbers, or indices of classes; None if the rows are their own targets."""
        return None


class SupervisedModules(DeepModules):
    """Modules that learn targets y from rows X. Abstract: a subclass says what targets are."""

    _network_kind = "regression"

    def _network_arguments(self, n_features: int, targets: np.ndarray | None) -> dict[str, Any]:
        assert targets is not None
        is_numeric = targets.dtype.kind == "f"
        return {
            "n_features": n_features,
            "n_outputs": targets[0].size if is_numeric else len(self.classes_),
            "hidden_layer_sizes": as_tuple(self.hidden_layer_sizes),
            "activation": self.activation,
            "shared_body": self.shared_body,
            "module": self.module,
        }

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


def as_tuple(sizes: Any) -> Any:
    """A list as the tuple it stands for; the network refuses what is neither."""
    return tuple(sizes) if isinstance(sizes, list) else sizes


def _without_best(state: TrainingState) -> TrainingState:
    """A state whose last weights are the ones to use."""
    return replace(state, best_weights=None, best_epoch=state.epoch)


def _check_same_network(before: dict[str, Any], now: dict[str, Any]) -> None:
    """A training can go on with other options, but not with another network."""
    for name, value in now.items():
        if name not in before or before[name] != value:
            raise ValueError(
                f"{name} must be what it was in fit, {before.get(name)!r}, to continue it, got "
                f"{value!r}: call fit for another network."
            )
