"""What the deep estimators share: their parameters, and one training loop."""

from abc import abstractmethod
from collections.abc import Callable
from copy import copy, deepcopy
from dataclasses import dataclass, replace
from os import PathLike
from typing import Any, Self
from warnings import warn

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted
from torch.nn import Module
from torch.optim import Optimizer

from modae.data.rows import Rows, weights_of
from modae.data.validation import AcceptsRows, rows_of
from modae.deep.loss import check_name
from modae.deep.model import DTYPES, Data, TrainedModel, TrainingState, device_of
from modae.deep.scaling import Scaling
from modae.deep.training import SCHEDULES, rows_held_out, train
from modae.files.api import save
from modae.linear.notebook import KeyFigures
from modae.utils.arrays import Array
from modae.utils.parallel import progress_bar
from modae.utils.parameters import check_choice, check_count, check_diversity, check_flag, check_fraction

#: Targets (numbers, indices of classes, or None if the rows are their own), arguments of the network but
#: for those that all networks have, and loss and average, see :func:`modae.deep.loss.modular_loss`.
Task = tuple[Any, dict[str, Any], dict[str, Any]]


@dataclass(eq=False, repr=False, kw_only=True)
class DeepModules(KeyFigures, AcceptsRows, BaseEstimator):
    """A scikit-learn estimator around one training loop, with the parameters of training.

    Abstract: a subclass says what its network, its objective and its targets are. It is a dataclass, so
    that the parameters which all deep estimators have are written down once: scikit-learn reads them
    from the signature of the constructor that ``dataclass`` makes. ``_fitted``, a
    :class:`modae.deep.model.TrainedModel`, is replaced as a whole after each epoch, and all fitted
    attributes are read from it.
    """

    activation: str | Callable[[], Module] = "relu"
    equal_start: bool = False
    optimizer: str | type[Optimizer] = "adam"
    learning_rate: float = 1e-3
    schedule: str | Callable[[int, int], float] = "constant"
    weight_decay: float = 0.0
    max_gradient_norm: float | None = None
    dropout: float = 0.0
    batch_size: int | str = 128
    max_epochs: int = 50
    early_stopping: bool = False
    validation_fraction: float = 0.1
    patience: int = 10
    refit: bool = False
    normalize: bool = True
    dtype: str = "float32"
    device: str = "auto"
    compile: bool = False
    verbose: bool = False
    checkpoint: str | PathLike[str] | None = None
    random_state: int | np.random.RandomState | None = None

    _network_kind = "regression"  # a name in modae.deep.networks.NETWORKS
    _judged_together = False  # whether the loss of the mean decides which epoch is best

    history_ = property(lambda self: deepcopy(self._model().state.history))
    n_epochs_ = property(lambda self: self._model().state.epoch)
    best_epoch_ = property(lambda self: self._model().state.best_epoch)
    mean_ = property(lambda self: self._model().scaling.mean.copy())
    scale_ = property(lambda self: copy(self._model().scaling.scale))
    validation_indices_ = property(lambda self: copy(self._model().held_out))
    diversity_ = property(lambda self: self._model().objective["diversity"])
    loss_ = property(lambda self: self._model().terms["loss"])
    diversity_term_ = property(lambda self: self._model().terms["diversity"])

    def _model(self) -> TrainedModel:
        check_is_fitted(self)
        return self._fitted

    def _train(
        self,
        X: Any,
        y: Any,
        start: TrainedModel | None = None,
        classes: Any = None,
        stream: bool = False,
        sample_weight: Any = None,
        eval_set: Any = None,
    ) -> Self:
        """Train from a fresh start, or go on from a model: for one epoch if the rows are of a stream."""
        self._check_parameters()
        if start is not None and start.n_rows is None:
            raise ValueError("resume continues fit, but the last call was partial_fit: call that again.")
        before, fresh = self.__dict__, copy(self)
        start = before.get("_fitted") if stream else start
        rows = rows_of(X, fresh, reset=start is None)
        targets, arguments, objective = fresh._task(rows, y, start, classes)
        weights = fresh._weights(targets, sample_weight, rows.shape[0], stream)
        valid = fresh._validation_data(eval_set, targets)
        flat = targets is not None and targets.ndim == 1
        if targets is not None and targets.dtype.kind == "f":
            targets = targets.reshape(len(targets), -1)
        data = Data(rows, targets, weights)
        sizes = self.hidden_layer_sizes
        arguments |= {
            "n_features": rows.shape[1],
            "n_modules": int(self.n_modules),
            # A list stands for a tuple; the network refuses what is neither.
            "hidden_layer_sizes": tuple(sizes) if isinstance(sizes, list) else sizes,
            "activation": self.activation,
            "equal_start": bool(self.equal_start),
            "dropout": float(self.dropout),
        }
        objective = {"diversity": float(self.diversity), **objective}
        known = {"arguments": arguments, "objective": objective, "flat": flat}
        model = self._untrained(data, start, stream, **known)
        if self.early_stopping and not stream and valid is None:
            held_out = None if start is None else start.held_out
            if held_out is None:
                held_out = rows_held_out(data, model.state.seed, float(self.validation_fraction))
            model = replace(model, held_out=held_out)
        state = model.state
        until = state.epoch + 1 if stream else int(self.max_epochs)
        n_steps = max(0, until - state.epoch) + 1  # the last one measures all losses
        try:
            with progress_bar("training", n_steps, shown=self.verbose) as advance:
                for trained in train(model, data, self, until, valid=valid, stream=stream):
                    fresh._fitted = trained
                    self.__dict__ = fresh.__dict__  # which an interruption or a full disk keeps
                    if self.checkpoint is not None:
                        save(self, self.checkpoint)
                    advance()
        except Exception as error:
            if not isinstance(error, OSError):
                self.__dict__ = before
            raise
        if model.held_out is not None or valid is not None:
            self._warn_if_unfinished()
        return self

    def _untrained(
        self, data: Data, start: TrainedModel | None, stream: bool, *, arguments: Any, **known: Any
    ) -> TrainedModel:
        """The model to train: a new one, or one to go on from."""
        n_rows = None if stream else int(data.rows.shape[0])
        if start is None:
            state = TrainingState(int(check_random_state(self.random_state).randint(2**31 - 1)))
            scaling, target_scaling = self._scalings(data)
        else:
            state, scaling, target_scaling = start.state, start.scaling, start.target_scaling
            if stream or not self.early_stopping:  # from now on, the last weights are those to use
                weights = start.kept_weights if stream else state.weights
                state = replace(state, weights=weights, best_weights=None, best_epoch=state.epoch)
                state = replace(state, refit=None)
        if scaling.missing is not None:
            arguments["n_missing"] = len(scaling.missing)
        if start is not None:
            _check_continues(start, arguments, n_rows)
        known |= {"kind": self._network_kind, "dtype": self.dtype, "device": str(self.device)}
        known |= {"arguments": arguments, "scaling": scaling, "target_scaling": target_scaling}
        return TrainedModel(**known, n_rows=n_rows, state=state)

    def _warn_if_unfinished(self) -> None:
        """Patience ends a training that is done; the ceiling ends one that is not."""
        state = self._model().state
        best = state.best_epoch if state.refit is None else state.refit
        if best + self.patience > self.max_epochs:
            warn(
                f"Training ended with max_epochs={self.max_epochs}, while the validation loss was still "
                f"improving: it was best in epoch {best}. Raise max_epochs and call resume, or raise "
                "learning_rate.",
                ConvergenceWarning,
                stacklevel=4,
            )

    @abstractmethod
    def _scalings(self, data: Data) -> tuple[Scaling, Scaling | None]:
        """Of the rows, and of the targets of a regression."""

    def _weights(self, targets: Any, sample_weight: Any, n_rows: int, stream: bool) -> Array | None:
        """How much each row counts, 1 on average over those that do."""
        weights = weights_of(sample_weight, n_rows)
        if weights is None:
            return None
        if not weights.any():
            raise ValueError("sample_weight must not be zero for all rows: nothing would be learnt.")
        return weights / weights[weights > 0.0].mean()

    def _validation_data(self, eval_set: Any, targets: Any) -> Data | None:
        """Rows of the user that validate."""
        return None

    def _check_parameters(self) -> None:
        """Those that all deep estimators have; a network and an optimiser check their own when made."""
        for name in ("n_modules", "max_epochs", "patience"):
            check_count(name, getattr(self, name))
        for name in ("equal_start", "early_stopping", "refit", "normalize", "compile", "verbose"):
            check_flag(name, getattr(self, name))
        if self.dropout != 0:
            check_fraction("dropout", self.dropout)
        check_diversity(self.diversity)
        check_fraction("validation_fraction", self.validation_fraction)
        check_choice("dtype", self.dtype, DTYPES)
        device_of(self.device, self.dtype)
        if not callable(self.schedule):
            check_name("schedule", self.schedule, SCHEDULES, "a callable(epoch, max_epochs)")
        if isinstance(self.batch_size, str):
            check_name("batch_size", self.batch_size, ("all",), "an integer of at least 1")
        else:
            check_count("batch_size", self.batch_size)
        if not (self.checkpoint is None or isinstance(self.checkpoint, (str, PathLike))):
            raise ValueError(f"checkpoint must be None or a path, got {self.checkpoint!r}.")

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

    @abstractmethod
    def _task(self, rows: Rows, y: Any, start: TrainedModel | None, classes: Any) -> Task:
        """What there is to learn from these data, which have been checked; sets ``classes_``, if any."""


def _check_continues(start: TrainedModel, arguments: dict[str, Any], n_rows: int | None) -> None:
    """A training can go on with other options, but not with other rows or another network."""
    if n_rows not in (None, start.n_rows):
        raise ValueError(
            f"X must be the data of fit, which had {start.n_rows} rows, got {n_rows}: new rows go to "
            "partial_fit."
        )
    # Files of earlier versions do not have all arguments.
    known = {"dropout": 0.0, "n_missing": 0, "embedding": None, **start.arguments}
    for name, value in arguments.items():
        if name not in known or known[name] != value:
            raise ValueError(
                f"{name} must be what it was in fit, {known.get(name)!r}, to continue it, got "
                f"{value!r}: call fit for another network."
            )
