"""A fitted model taken apart: the steps before the modules, the modules, the ensemble on them."""

from dataclasses import dataclass
from typing import Any

from sklearn.base import is_classifier, is_regressor
from sklearn.frozen import FrozenEstimator
from sklearn.pipeline import Pipeline
from sklearn.utils.validation import check_is_fitted


@dataclass(frozen=True, eq=False)
class ModelParts:
    """The parts of a fitted model.

    Parameters
    ----------
    steps : list of estimators
        The fitted steps before the modules, in their order.
    ensemble : ensemble or None
        None for modules without members.
    extractor : estimator with ``transform_modules``
        The fitted modules.
    """

    steps: list[Any]
    ensemble: Any
    extractor: Any

    @property
    def last(self) -> Any:
        """The ensemble, or the modules where there is none."""
        return self.extractor if self.ensemble is None else self.ensemble

    @property
    def task(self) -> str:
        """What the model is for: "classification", "regression", or "features"."""
        if self.ensemble is None:
            return "features"
        return "classification" if is_classifier(self.ensemble) else "regression"

    @property
    def diversity(self) -> float:
        """The diversity that the modules were fitted with, whatever the parameter is now."""
        extractor = self.extractor
        return float(getattr(extractor, "diversity_", getattr(extractor, "diversity", 0.0)))

    def prepare(self, X: Any) -> Any:
        """Rows as the modules see them: after the steps."""
        for step in self.steps:
            X = step.transform(X)
        return X


def take_apart(model: Any) -> ModelParts:
    """Find the steps, the ensemble and the modules of a fitted model; of a search, those of its best.

    Examples
    --------
    >>> from modae import ModularClassifier
    >>> from modae.ensembles.parts import take_apart
    >>> from sklearn.datasets import load_iris
    >>> from sklearn.pipeline import make_pipeline
    >>> from sklearn.preprocessing import StandardScaler
    >>> model = make_pipeline(StandardScaler(), ModularClassifier(random_state=0))
    >>> parts = take_apart(model.fit(*load_iris(return_X_y=True)))
    >>> parts.task, [type(step).__name__ for step in parts.steps], type(parts.extractor).__name__
    ('classification', ['StandardScaler'], 'LinearModularAutoencoder')
    """
    steps: list[Any] = []
    while True:
        check_is_fitted(model)
        if hasattr(model, "best_estimator_"):
            model = model.best_estimator_
        elif isinstance(model, Pipeline):
            steps += [step for _, step in model.steps[:-1] if step not in (None, "passthrough")]
            model = model.steps[-1][1]
        elif isinstance(model, FrozenEstimator):
            model = model.estimator
        else:
            break
    votes = hasattr(model, "extractor_") and (is_classifier(model) or is_regressor(model))
    extractor = model.extractor_ if votes else model
    while isinstance(extractor, FrozenEstimator):
        extractor = extractor.estimator
    if not hasattr(extractor, "transform_modules"):
        raise TypeError(
            "model must be fitted modules (LinearModularAutoencoder, BaggingAutoencoder, "
            "modae.deep.ModularAutoencoder), an ensemble on them (ModularClassifier, ModularRegressor), "
            f"or a pipeline or search with refit that ends in one of these, got {type(model).__name__}."
        )
    return ModelParts(steps, model if votes else None, extractor)
