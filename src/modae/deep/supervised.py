"""What networks for regression and classification share: defaults, inputs, weights, validation."""

from abc import abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import KW_ONLY, dataclass, replace
from typing import Any, Self

from torch.nn import Module
from torch.optim import Optimizer

from modae.data.rows import Rows
from modae.data.validation import rows_of
from modae.deep.base import DeepModules
from modae.deep.model import Data
from modae.deep.scaling import Scaling


@dataclass(eq=False, repr=False)
class SupervisedModules(DeepModules):
    """Modules that learn targets y from rows X. Abstract: a subclass says what targets are."""

    n_modules: int = 16
    diversity: float = 0.0
    hidden_layer_sizes: Sequence[int] = (128, 128)
    _: KW_ONLY
    module: Callable[..., Module] | None = None
    body: str = "adapters"
    embedding: str | None = None
    optimizer: str | type[Optimizer] = "adamw"
    learning_rate: float = 4e-3
    weight_decay: float = 3e-4
    max_gradient_norm: float | None = 1.0
    dropout: float = 0.1
    batch_size: int | str = 256
    max_epochs: int = 500
    early_stopping: bool = True
    validation_fraction: float = 0.15
    patience: int = 20

    _judged_together = True

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None, eval_set: Any = None) -> Self:
        """Train the modules from a fresh start.

        Ctrl-C stops it after all: the last whole epoch is kept, and ``resume`` goes on from there.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Missing entries are NaN.
        y : array-like of shape (n_samples,), or (n_samples, n_targets) for a regressor
        sample_weight : array-like of shape (n_samples,), optional
            How much each row counts; only ratios matter.
        eval_set : tuple (X, y), optional
            Rows that validate, in place of some that are held out: all rows are then trained on.

        Returns
        -------
        self
        """
        return self._train(X, y, sample_weight=sample_weight, eval_set=eval_set)

    def resume(self, X: Any, y: Any = None, sample_weight: Any = None, eval_set: Any = None) -> Self:
        """Go on with a training that was interrupted, or that is to be longer.

        With the same data and parameters the result equals, on the CPU bit for bit, that of a training
        that was not interrupted. Raise ``max_epochs`` (or ``patience``) first to train longer than
        planned.

        Parameters
        ----------
        X, y, sample_weight, eval_set
            As in ``fit``.

        Returns
        -------
        self
        """
        return self._train(X, y, self._model(), sample_weight=sample_weight, eval_set=eval_set)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        return tags

    def __setstate__(self, state: dict[str, Any]) -> None:
        """Files of earlier versions have a flag for a shared body."""
        if "shared_body" in state:
            state = dict(state)
            state["body"] = "shared" if state.pop("shared_body") else "separate"
        super().__setstate__(state)

    def _arguments(self, n_outputs: int) -> dict[str, Any]:
        names = "body", "module", "embedding"
        return {"n_outputs": n_outputs, **{name: getattr(self, name) for name in names}}

    def _scalings(self, data: Data) -> tuple[Scaling, Scaling | None]:
        """One scale for each column: units of columns, and of targets, need not compare."""
        scaling = Scaling.of_columns(data.rows, "X", self.normalize, data.weights)
        targets = data.targets
        if targets is None or targets.dtype.kind != "f":
            return scaling, None
        of_targets = Scaling.of_columns(targets, "y", self.normalize, data.weights)
        return scaling, replace(of_targets, missing=None, limit=None)

    def _validation_data(self, eval_set: Any, targets: Any) -> Data | None:
        if eval_set is None:
            return None
        if not self.early_stopping:
            raise ValueError("eval_set is what early_stopping=True looks at, got early_stopping=False.")
        if not isinstance(eval_set, tuple) or len(eval_set) != 2:
            raise ValueError(f"eval_set must be a tuple (X, y), got {type(eval_set).__name__}.")
        rows = rows_of(eval_set[0], self)
        return Data(rows, self._validation_targets(rows, eval_set[1], targets))

    @abstractmethod
    def _validation_targets(self, rows: Rows, y: Any, targets: Any) -> Any:
        """Targets of the kind that ``fit`` was given."""
