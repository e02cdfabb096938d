"""What the deep estimators share: fit, partial_fit and resume around one training loop."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator
from contextlib import contextmanager
from copy import copy, deepcopy
from functools import partial
from typing import Any, NamedTuple, Self

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted

from modae.data import rows_of
from modae.data.rows import Rows
from modae.deep.batches import Scaling, Source
from modae.deep.net import Objective
from modae.deep.options import check_training, device_of, optimizer_class
from modae.deep.trained import Recipe, TrainedModel
from modae.deep.training import State, Training
from modae.linear.model import Published
from modae.linear.notebook import KeyFigures

PUBLISHED = ("n_features_in_", "feature_names_in_", "classes_")
"""Fitted attributes that are part of the state, where an estimator has them."""


class Targets(NamedTuple):
    """What the modules are to say of each row."""

    values: np.ndarray
    """Numbers (n, T), or indices of classes (n,)."""

    n_outputs: int
    flat: bool = False
    """Whether y had one axis, so that predictions have too."""


class Fitted(NamedTuple):
    """What a fit leaves behind, replaced as a whole."""

    model: TrainedModel


class DeepModules(KeyFigures, BaseEstimator):
    """A scikit-learn estimator around one :class:`modae.deep.training.Training`.

    Abstract: a subclass says what its network, its objective and its targets are.
    """

    history_ = Published("history")
    n_epochs_ = Published("n_epochs")
    best_epoch_ = Published("best_epoch")
    mean_ = Published("mean")
    scale_ = Published("scale")
    loss_ = Published("loss")
    diversity_term_ = Published("diversity_term")

    _fitted: Fitted

    # The parameters that every subclass has.
    n_modules: int
    diversity: float
    hidden_layer_sizes: tuple[int, ...]
    activation: Any
    equal_start: bool
    batch_size: Any
    max_epochs: int
    early_stopping: bool
    validation_fraction: float
    normalize: bool
    dtype: str
    device: str
    checkpoint: Any
    random_state: Any

    def _store(self, parameters: dict[str, Any]) -> None:
        """Keep the parameters of the constructor as they are: its ``locals()``."""
        names = self._get_param_names()
        self.__dict__.update({name: parameters[name] for name in names})

    def _fit(self, X: Any, y: Any = None) -> Self:
        with self._unchanged_if_it_fails():
            self._check_parameters()
            rows, targets = self._checked(X, y, reset=True)
            self._train(rows, targets, None, int(self.max_epochs))
        return self

    def _partial_fit(self, X: Any, y: Any = None, classes: Any = None) -> Self:
        first = not self.__sklearn_is_fitted__()
        with self._unchanged_if_it_fails():
            self._check_parameters()
            rows, targets = self._checked(X, y, reset=first, classes=classes)
            start = None if first else self._restarted()
            n_epochs = 0 if start is None else start["epoch"]
            self._train(rows, targets, start, n_epochs + 1, stream=True)
        return self

    def _resume(self, X: Any, y: Any = None) -> Self:
        check_is_fitted(self)
        with self._unchanged_if_it_fails():
            self._check_parameters()
            rows, targets = self._checked(X, y, reset=False)
            start = self._fitted.model.state
            self._check_same_rows(rows, start["n_rows"])
            if not self.early_stopping:
                start = _without_best(start)
            self._train(rows, targets, start, int(self.max_epochs))
        return self

    def _train(
        self,
        rows: Rows,
        targets: Targets | None,
        start: State | None,
        until: int,
        *,
        stream: bool = False,
    ) -> None:
        validate = bool(self.early_stopping) and not stream
        n_outputs = rows.shape[1] if targets is None else targets.n_outputs
        recipe, objective = self._recipe(rows.shape[1], n_outputs), self._objective()
        if start is not None:
            self._check_same_network(recipe)
        source = self._source(rows, targets, start)
        constants = {
            "n_rows": None if stream else rows.shape[0],
            "flat": targets is not None and targets.flat,
            "scaling": source.scaling._asdict(),
            "target_scaling": source.target_scaling and source.target_scaling._asdict(),
            "final": None,
            "optimizer_name": optimizer_class(self.optimizer).__name__,
        }
        if start is not None and start["optimizer_name"] != constants["optimizer_name"]:
            start = {**start, "optimizer": {}}  # another optimiser has nothing to remember

        def model_of(state: State | None) -> TrainedModel:
            return TrainedModel(
                recipe, objective, self.dtype, self.device, {**(state or {}), **constants}
            )

        def after_epoch(state: State) -> None:
            if self.checkpoint is not None:
                self._with_model(model_of(state))._write_checkpoint()

        training = Training(recipe, objective, source, self, start, stream=stream)
        try:
            training.run(until, validate=validate, after_epoch=after_epoch)
        except (KeyboardInterrupt, OSError):  # by hand, or a checkpoint that could not be written
            if training.latest is not start:
                self._fitted = Fitted(model_of(training.latest))
            raise
        model = model_of(training.latest)
        model.measure(source, training.trained_rows(validate=validate))
        self._fitted = Fitted(model)
        if self.checkpoint is not None:
            self._write_checkpoint()  # with the losses that were just measured

    def _model(self) -> TrainedModel:
        check_is_fitted(self)
        return self._fitted.model

    def _checked(
        self, X: Any, y: Any, *, reset: bool, classes: Any = None
    ) -> tuple[Rows, Targets | None]:
        rows = rows_of(X, self, reset=reset)
        return rows, self._targets(y, rows, classes, reset=reset)

    def _source(self, rows: Rows, targets: Targets | None, start: State | None) -> Source:
        """The data as the network takes them: normalised by themselves, or as they were at the start."""
        target_scaling = None
        if start is not None:
            model = self._fitted.model
            scaling, target_scaling = model.scaling, model.target_scaling
        else:
            scaling = Scaling.of(rows, normalize=self.normalize)
            if targets is not None and targets.values.ndim == 2:
                target_scaling = Scaling.of(targets.values, name="y", normalize=self.normalize)
        values = None if targets is None else targets.values
        device = device_of(self.device, self.dtype)
        return Source(rows, scaling, values, target_scaling, np.dtype(self.dtype), device)

    def _restarted(self) -> State:
        """Where ``partial_fit`` goes on: with the weights that predictions use now."""
        model = self._fitted.model
        return _without_best({**model.state, "weights": model.kept_weights})

    def _check_same_rows(self, rows: Rows, n_rows: int | None) -> None:
        if n_rows is None:
            raise ValueError("resume continues fit, but the last call was partial_fit: call that again.")
        if rows.shape[0] != n_rows:
            raise ValueError(
                f"X must be the data of fit, which had {n_rows} rows, got {rows.shape[0]}: new rows go "
                "to partial_fit."
            )

    def _check_same_network(self, recipe: Recipe) -> None:
        """A training can go on with other options, but not with another network."""
        before = self._fitted.model.recipe
        for name, value in recipe.keywords.items():
            if name not in before.keywords or before.keywords[name] != value:
                raise ValueError(
                    f"{name} must be what it was in fit, {before.keywords.get(name)!r}, to continue it, "
                    f"got {value!r}: call fit for another network."
                )

    @contextmanager
    def _unchanged_if_it_fails(self) -> Iterator[None]:
        """All attributes as they were, unless whole epochs were done and kept."""
        before = vars(self).copy()
        try:
            yield
        except BaseException:
            if vars(self).get("_fitted") is before.get("_fitted"):
                self.__dict__.clear()
                self.__dict__.update(before)
            raise

    def _with_model(self, model: TrainedModel) -> Self:
        twin = copy(self)
        twin._fitted = Fitted(model)
        return twin

    def _write_checkpoint(self) -> None:
        from modae.files.api import save  # its layouts of deep estimators import this file

        save(self, self.checkpoint)

    def _key_figures(self) -> dict[str, str]:
        model = self._fitted.model
        kept = "" if model.best_epoch == model.n_epochs else f", the weights of epoch {model.best_epoch}"
        return {
            "Modules": f"{model.n_modules}",
            "Diversity": f"{model.objective.diversity:g}",
            "Epochs": f"{model.n_epochs}{kept}",
            "Loss": f"{model.loss:.6g}",
            "Loss of one module": f"{model.members:.6g}, on average",
            "Loss of their mean": f"{model.of_mean:.6g}",
        }

    def _check_parameters(self) -> None:
        check_training(self)

    def __sklearn_is_fitted__(self) -> bool:
        return "_fitted" in vars(self)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.non_deterministic = False
        return tags

    @abstractmethod
    def _recipe(self, n_features: int, n_outputs: int) -> Recipe:
        """The network for these data."""

    @abstractmethod
    def _objective(self) -> Objective:
        """What is minimised."""

    @abstractmethod
    def _targets(self, y: Any, rows: Rows, classes: Any, *, reset: bool) -> Targets | None:
        """y, checked; None if the rows are their own targets. Labels may be announced by ``classes``."""


def _without_best(state: State) -> State:
    """A state whose last weights are the ones to use."""
    return {**state, "best_weights": None, "best_epoch": state["epoch"]}


def training_state(estimator: DeepModules) -> State:
    """All that a fitted estimator is, apart from its parameters, in plain numbers, arrays and dicts.

    With :func:`restore_training_state` it makes an equal estimator out of a new one with the same
    parameters, which can also ``resume``.
    """
    check_is_fitted(estimator)
    model = estimator._fitted.model
    arguments = model.recipe.keywords.items()
    return deepcopy(
        {
            **model.state,
            "published": {
                name: getattr(estimator, name) for name in PUBLISHED if hasattr(estimator, name)
            },
            "network": {name: value for name, value in arguments if not callable(value)},
            "objective": model.objective._asdict(),
            "dtype": model.dtype,
        }
    )


def restore_training_state(estimator: DeepModules, state: State) -> None:
    """Make a new estimator what the one was that :func:`training_state` looked at."""
    rest = dict(state)
    published, sizes, objective, dtype = (
        rest.pop(name) for name in ("published", "network", "objective", "dtype")
    )
    # Sizes as they were at the fit, whatever was set since; functions are parameters of the estimator.
    sizes = {name: tuple(value) if isinstance(value, list) else value for name, value in sizes.items()}
    recipe = estimator._recipe(sizes["n_features"], sizes.get("n_outputs", sizes["n_features"]))
    recipe = partial(recipe.func, **{**recipe.keywords, **sizes})
    estimator.__dict__.update(published)
    model = TrainedModel(recipe, Objective(**objective), dtype, estimator.device, rest)
    estimator._fitted = Fitted(model)
