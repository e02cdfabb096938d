"""The kinds of members that a search tries by itself, and the learner on X that each must beat."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple, Self

import numpy as np
from scipy.sparse import issparse
from sklearn.base import BaseEstimator, TransformerMixin, clone
from sklearn.ensemble import ExtraTreesClassifier, ExtraTreesRegressor
from sklearn.kernel_approximation import Nystroem
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.model_selection import ParameterGrid
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.svm import SVC, SVR
from sklearn.tree import ExtraTreeClassifier, ExtraTreeRegressor
from sklearn.utils.validation import validate_data

from modae.ensembles.neighbors import NearestNeighborClassifier, NearestNeighborRegressor

KERNEL_ROWS = 5_000
"""Rows up to which an SVM is fitted to the kernel itself; beyond, to a Nystroem approximation of it."""

SHARES = (0.2, 0.4, 0.7)
DIVERSITIES = (0.5, 0.8, 0.95, 1.0)

AXIS_ALIGNED = (
    "DecisionTree", "ExtraTree", "RandomForest", "GradientBoosting", "HistGradientBoosting", "AdaBoost",
    "XGB", "LGBM", "CatBoost",
)  # fmt: skip
"""Beginnings of the names of learners that look at one column at a time: they gain from a rotation."""


class AllColumns(TransformerMixin, BaseEstimator):
    """One module, which holds the columns as they are: an ensemble on it is the plain learner on X.

    Examples
    --------
    >>> from modae.ensembles.families import AllColumns
    >>> AllColumns().fit([[1.0, 2.0]]).transform_modules([[3.0, 4.0]]).shape
    (1, 1, 2)
    """

    def fit(self, X: Any, y: Any = None) -> Self:
        """Remember number and names of the columns."""
        validate_data(self, X, skip_check_array=True)
        return self

    def transform_modules(self, X: Any) -> Sequence[Any]:
        """The rows, as the features of one module."""
        rows = validate_data(self, X, reset=False, accept_sparse="csr", dtype=(np.float64, np.float32))
        return [rows] if issparse(rows) else rows[None]

    def transform(self, X: Any) -> Any:
        """The rows."""
        return self.transform_modules(X)[0]

    def get_feature_names_out(self, input_features: Any = None) -> np.ndarray:
        """Names of the columns."""
        numbered = [f"x{place}" for place in range(self.n_features_in_)]
        return np.asarray(getattr(self, "feature_names_in_", numbered), dtype=object)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags


class Family(NamedTuple):
    """One kind of member.

    Parameters
    ----------
    member : estimator
        A copy is trained for each module.
    grid : mapping
        Its own parameters, which are tuned on X itself; the modules then use the best ones.
    plain : estimator
        What stands for the family on X itself: the member, or a forest for trees.
    n_modules : int
    shares : sequence of float
        Candidates for the size of a module, as a share of what there is.
    diversities : sequence of float
    """

    member: Any
    grid: Mapping[str, Sequence[Any]]
    plain: Any
    n_modules: int = 30
    shares: Sequence[float] = SHARES
    diversities: Sequence[float] = DIVERSITIES

    @property
    def rotation(self) -> str | None:
        """A random rotation inside the modules, for members that look at one column at a time."""
        last = self.member.steps[-1][1] if isinstance(self.member, Pipeline) else self.member
        return "random" if type(last).__name__.startswith(AXIS_ALIGNED) else None

    def variants(self) -> list[dict[str, Any]]:
        """All combinations of the own parameters."""
        return list(ParameterGrid(dict(self.grid)))

    def on_columns(self, own: dict[str, Any]) -> Any:
        """The learner on X itself, with these parameters."""
        return clone(self.plain).set_params(**own)

    def widths(self, n_features: int) -> list[int]:
        """Candidates for the components of a module: a share, but never all columns if there are two."""
        room, most = min(n_features, 50), max(1, n_features - 1)
        return list(dict.fromkeys(max(1, min(round(share * room), most)) for share in self.shares))


def default_families(task: str, n_rows: int) -> dict[str, Family]:
    """What a search tries if it is left alone, by the task and the number of rows."""
    if task == "classification":
        neighbor: Any = NearestNeighborClassifier()
        kernel: Any = SVC()
        linear: Any = LogisticRegression(max_iter=1000)
        tree: Any = ExtraTreeClassifier()
        forest: Any = ExtraTreesClassifier(300)
        costs = {"C": [0.1, 1.0, 10.0]}
    else:
        neighbor, kernel, linear = NearestNeighborRegressor(), SVR(), Ridge()
        tree, forest = ExtraTreeRegressor(), ExtraTreesRegressor(300)
        costs = {"alpha": [0.1, 1.0, 10.0]}
    families = {
        "neighbors": Family(neighbor, {"n_neighbors": [1, 5]}, neighbor),
        "svm": Family(kernel, {"C": [1.0, 10.0, 100.0]}, kernel),
        # Means of linear models on linear modules are linear again, and gain nothing.
        "linear": Family(linear, costs, linear, diversities=()),
        "trees": Family(tree, {}, forest, n_modules=100, shares=(0.7,), diversities=(0.8, 1.0)),
    }
    if n_rows > KERNEL_ROWS:
        approximate = make_pipeline(Nystroem(n_components=300), clone(linear))
        (name, values), *_ = costs.items()
        grid = {f"{approximate.steps[-1][0]}__{name}": values}
        families["svm"] = Family(approximate, grid, approximate)
    return families
