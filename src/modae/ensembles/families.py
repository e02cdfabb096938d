"""The kinds of members that a search tries by itself, and the learner on X that each must beat."""

from collections.abc import Mapping, Sequence
from itertools import product
from typing import Any, NamedTuple, Self

import numpy as np
from scipy.sparse import issparse
from sklearn import get_config
from sklearn.base import BaseEstimator, TransformerMixin, clone
from sklearn.ensemble import ExtraTreesClassifier, ExtraTreesRegressor
from sklearn.frozen import FrozenEstimator
from sklearn.kernel_approximation import Nystroem
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.model_selection import ParameterGrid
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC, SVR
from sklearn.tree import ExtraTreeClassifier, ExtraTreeRegressor
from sklearn.utils.validation import check_is_fitted, has_fit_parameter, validate_data

from modae.data.validation import AcceptsRows
from modae.ensembles.neighbors import NearestNeighborClassifier, NearestNeighborRegressor
from modae.linear.model import resolved_components, share_of_columns
from modae.utils.parameters import check_count, check_diversity

#: Rows up to which an SVM is fitted to the kernel itself; beyond, to a Nystroem approximation of it.
KERNEL_ROWS = 5_000

#: Columns that trees compare at each split, at most, where they do not take the usual square root.
SPLIT_COLUMNS = 30

#: Beginnings of the names of learners that look at one column at a time: they gain from a rotation.
AXIS_ALIGNED = (
    "DecisionTree", "ExtraTree", "RandomForest", "GradientBoosting", "HistGradientBoosting", "AdaBoost",
    "XGB", "LGBM", "CatBoost",
)  # fmt: skip


class AllColumns(AcceptsRows, TransformerMixin, BaseEstimator):
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


class Family(NamedTuple):
    """One kind of member.

    Parameters
    ----------
    member : estimator
        A copy is trained for each module.
    grid : mapping
        Its own parameters, which are tuned on X itself; the modules then use the best ones.
    gammas : sequence of float
        Candidates for the gamma of a kernel, as multiples of what scikit-learn calls "scale": so they
        fit features of any number and variance.
    plain : estimator or None
        What stands for the family on X itself: None for the member, or a forest for trees.
    n_modules : int
    fractions : sequence of float
        Candidates for the size of a module, as a fraction of the columns, of 50 at most.
    diversities : sequence of float
    wants_scale : bool
        Whether to try standardised columns only, where the search may choose: solvers of linear models
        hardly converge otherwise.
    """

    member: Any
    grid: Mapping[str, Sequence[Any]] = {}
    gammas: Sequence[float | None] = (None,)
    plain: Any = None
    n_modules: int = 30
    fractions: Sequence[float] = (0.2, 0.4, 0.7)
    diversities: Sequence[float] = (0.5, 0.8, 0.95, 1.0)
    wants_scale: bool = False

    @property
    def rotation(self) -> str | None:
        """A random rotation inside the modules, for members that look at one column at a time."""
        last = self.member.steps[-1][1] if isinstance(self.member, Pipeline) else self.member
        return "random" if type(last).__name__.startswith(AXIS_ALIGNED) else None

    def variants(self) -> list[tuple[dict[str, Any], float | None]]:
        """All combinations of the own parameters and of gamma."""
        return [(own, gamma) for own in ParameterGrid(dict(self.grid)) for gamma in self.gammas]

    @staticmethod
    def with_params(learner: Any, own: dict[str, Any]) -> Any:
        """The learner, or a copy of it with these parameters."""
        return clone(learner).set_params(**own) if own else learner

    def widths(self, n_features: int) -> list[int]:
        """Candidates for the components of a module."""
        return list(dict.fromkeys(share_of_columns(each, n_features) for each in self.fractions))

    def sizes(
        self,
        extractor: Any,
        n_features: int,
        counts: list[Any] | None,
        widths: list[Any] | None,
        diversities: list[Any] | None,
    ) -> list[dict[str, Any]]:
        """Candidates for the modules, small ones first; None is for what was not given."""
        frozen = isinstance(extractor, FrozenEstimator)
        if not self.diversities:
            return []
        if frozen:
            check_is_fitted(extractor)
        if widths is not None:
            for width in widths:
                check_count("n_components", width)
                resolved_components(width, n_features)
        elif frozen:
            widths = [extractor.n_components_]
        else:
            own = resolved_components(extractor.n_components, n_features)
            widths = self.widths(n_features) or [own]
        if counts is None:
            counts = [extractor.n_modules if frozen else self.n_modules]
        diversities = list(self.diversities) if diversities is None else diversities
        if not (counts and widths and diversities):
            raise ValueError("diversities, n_modules and n_components must not be empty.")
        for count in counts:
            check_count("n_modules", count)
        for diversity in diversities:
            check_diversity(diversity)
        turned = {"rotation": self.rotation} if self.fractions and self.rotation else {}
        return [
            {
                "n_modules": int(count),
                "n_components": width if isinstance(width, float) else int(width),
                "diversity": float(diversity),
                **turned,
            }
            for count, width, diversity in product(counts, widths, diversities)
        ]


def several(values: Any) -> list[Any] | None:
    """One value or a sequence of them as a list; None stays None."""
    if values is None:
        return None
    return list(values) if np.iterable(values) else [values]


def default_families(
    task: str, y: np.ndarray, n_features: int, *, weighted: bool = False
) -> dict[str, Family]:
    """What a search tries if it is left alone, by the task and the size of the data.

    With weights, only what takes weights; with metadata routing on, all of it asks for them.
    """
    n_rows, costs, gammas = len(y), [0.1, 1.0, 10.0, 100.0], (0.1, 0.3, 1.0, 3.0)
    # Many columns at each split help where few of them matter; of more than 30 that takes too long.
    splits = {"max_features": ["sqrt", min(1.0, SPLIT_COLUMNS / n_features)]}
    if task == "classification":
        neighbor: Any = NearestNeighborClassifier()
        kernel = Family(SVC(), {"C": costs}, gammas, n_modules=10)
        linear: Any = LogisticRegression(max_iter=1000)
        trees = Family(ExtraTreeClassifier(), splits, plain=ExtraTreesClassifier(300))
        cost = {"C": [0.01, 0.1, 1.0, 10.0]}
    else:
        # C and epsilon in units of the targets: as if these were standardised.
        spread = float(np.std(y, axis=0).mean()) or 1.0
        neighbor = NearestNeighborRegressor()
        own = {"C": [spread * cost for cost in costs]}
        kernel = Family(SVR(epsilon=0.1 * spread), own, gammas, n_modules=10)
        linear = Ridge()
        trees = Family(ExtraTreeRegressor(), splits, plain=ExtraTreesRegressor(300))
        cost = {"alpha": [0.1, 1.0, 10.0, 100.0]}
    if n_rows > KERNEL_ROWS:
        approximate = make_pipeline(Nystroem(n_components=300), clone(linear))
        grid = {f"{approximate.steps[-1][0]}__{name}": values for name, values in cost.items()}
        kernel = Family(approximate, grid, n_modules=10)
    families = {
        "neighbors": Family(neighbor, {"n_neighbors": [1, 5]}),
        "svm": kernel._replace(fractions=(0.4, 0.7), diversities=(0.8, 1.0)),
        # Linear models on linear modules are linear, or nearly so, together again: they gain nothing.
        "linear": Family(linear, cost, diversities=(), wants_scale=True),
        "trees": trees._replace(n_modules=100, fractions=(0.7,), diversities=(0.8, 1.0)),
    }
    if np.ndim(y) > 1 and n_rows <= KERNEL_ROWS:
        del families["svm"]  # one target only
    if weighted:
        families = {k: f for k, f in families.items() if has_fit_parameter(f.member, "sample_weight")}
    if get_config()["enable_metadata_routing"]:
        for family in families.values():
            for learner in (family.member, family.plain):
                if learner is not None and has_fit_parameter(learner, "sample_weight"):
                    learner.set_fit_request(sample_weight=True)
    return families


def make_scaler(rows: Any) -> StandardScaler:
    """Standardises columns; sparse ones are not centred."""
    return StandardScaler(with_mean=not hasattr(rows, "tocsr"))


def variance(features: Any) -> float:
    """Variance of all entries, as scikit-learn's kernels take it."""
    if hasattr(features, "tocsr"):
        return float(features.multiply(features).mean() - features.mean() ** 2)
    return float(np.var(features))
