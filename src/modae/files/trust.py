"""The classes and functions that a file may name: an explicit list, nothing by pattern.

A name is here because its state is plain data: arrays, numbers, words and other classes of this list.
Giving such a class any state runs no code of the file's choice. What its compiled code would do with a
*wrong* state is another matter: :mod:`modae.files.foreign_checks` looks at that.

A class may be here although it is missing in the installed scikit-learn (older and newer releases have
other private names): a name is only looked up when a file has it.
"""

from __future__ import annotations

from collections.abc import Iterable

from modae.files.errors import UntrustedError

ESTIMATORS = {
    "sklearn.linear_model._base": "LinearRegression",
    "sklearn.linear_model._ridge": "Ridge RidgeCV RidgeClassifier RidgeClassifierCV",
    "sklearn.linear_model._coordinate_descent": "Lasso LassoCV ElasticNet ElasticNetCV",
    "sklearn.linear_model._least_angle": "Lars LassoLars",
    "sklearn.linear_model._logistic": "LogisticRegression LogisticRegressionCV",
    "sklearn.linear_model._stochastic_gradient": "SGDClassifier SGDRegressor",
    "sklearn.linear_model._perceptron": "Perceptron",
    "sklearn.linear_model._bayes": "BayesianRidge ARDRegression",
    "sklearn.linear_model._huber": "HuberRegressor",
    "sklearn.linear_model._quantile": "QuantileRegressor",
    "sklearn.linear_model._glm.glm": "PoissonRegressor GammaRegressor TweedieRegressor",
    "sklearn.svm._classes": "SVC NuSVC SVR NuSVR OneClassSVM LinearSVC LinearSVR",
    "sklearn.tree._classes": (
        "DecisionTreeClassifier DecisionTreeRegressor ExtraTreeClassifier ExtraTreeRegressor"
    ),
    "sklearn.ensemble._forest": (
        "RandomForestClassifier RandomForestRegressor ExtraTreesClassifier ExtraTreesRegressor"
    ),
    "sklearn.ensemble._gb": "GradientBoostingClassifier GradientBoostingRegressor",
    "sklearn.ensemble._hist_gradient_boosting.gradient_boosting": (
        "HistGradientBoostingClassifier HistGradientBoostingRegressor"
    ),
    "sklearn.ensemble._bagging": "BaggingClassifier BaggingRegressor",
    "sklearn.ensemble._weight_boosting": "AdaBoostClassifier AdaBoostRegressor",
    "sklearn.ensemble._voting": "VotingClassifier VotingRegressor",
    "sklearn.ensemble._stacking": "StackingClassifier StackingRegressor",
    "sklearn.neighbors._classification": "KNeighborsClassifier RadiusNeighborsClassifier",
    "sklearn.neighbors._regression": "KNeighborsRegressor RadiusNeighborsRegressor",
    "sklearn.neighbors._unsupervised": "NearestNeighbors",
    "sklearn.neighbors._nearest_centroid": "NearestCentroid",
    "sklearn.naive_bayes": "GaussianNB MultinomialNB ComplementNB BernoulliNB",
    "sklearn.discriminant_analysis": "LinearDiscriminantAnalysis QuadraticDiscriminantAnalysis",
    "sklearn.neural_network._multilayer_perceptron": "MLPClassifier MLPRegressor",
    "sklearn.kernel_ridge": "KernelRidge",
    "sklearn.gaussian_process._gpc": "GaussianProcessClassifier",
    "sklearn.gaussian_process._gpr": "GaussianProcessRegressor",
    "sklearn.isotonic": "IsotonicRegression",
    "sklearn.dummy": "DummyClassifier DummyRegressor",
}
"""Classifiers and regressors: the members of an ensemble."""

AROUND = {
    "sklearn.preprocessing._data": (
        "StandardScaler MinMaxScaler MaxAbsScaler RobustScaler Normalizer Binarizer PowerTransformer "
        "QuantileTransformer"
    ),
    "sklearn.preprocessing._polynomial": "PolynomialFeatures",
    "sklearn.preprocessing._encoders": "OneHotEncoder OrdinalEncoder",
    "sklearn.preprocessing._label": "LabelEncoder LabelBinarizer",
    "sklearn.preprocessing._discretization": "KBinsDiscretizer",
    "sklearn.preprocessing._function_transformer": "FunctionTransformer",
    "sklearn.impute._base": "SimpleImputer MissingIndicator",
    "sklearn.decomposition._pca": "PCA",
    "sklearn.decomposition._incremental_pca": "IncrementalPCA",
    "sklearn.decomposition._truncated_svd": "TruncatedSVD",
    "sklearn.decomposition._fastica": "FastICA",
    "sklearn.feature_selection._variance_threshold": "VarianceThreshold",
    "sklearn.feature_selection._univariate_selection": "SelectKBest SelectPercentile",
    "sklearn.feature_selection._from_model": "SelectFromModel",
    "sklearn.feature_selection._rfe": "RFE",
    "sklearn.random_projection": "GaussianRandomProjection SparseRandomProjection",
    "sklearn.pipeline": "Pipeline FeatureUnion",
    "sklearn.compose._column_transformer": "ColumnTransformer make_column_selector",
    "sklearn.compose._target": "TransformedTargetRegressor",
    "sklearn.calibration": "CalibratedClassifierCV",
    "sklearn.frozen._frozen": "FrozenEstimator",
    "sklearn.multiclass": "OneVsRestClassifier OneVsOneClassifier",
    "sklearn.multioutput": "MultiOutputClassifier MultiOutputRegressor",
    "sklearn.model_selection._search": "GridSearchCV RandomizedSearchCV",
    "sklearn.model_selection._split": (
        "KFold StratifiedKFold GroupKFold RepeatedKFold RepeatedStratifiedKFold ShuffleSplit "
        "StratifiedShuffleSplit LeaveOneOut"
    ),
}
"""What stands before or around a classifier."""

INTERNALS = {
    "modae.files.foreign_graph": "Part",
    "sklearn.ensemble._hist_gradient_boosting.predictor": "TreePredictor",
    "sklearn.ensemble._hist_gradient_boosting.binning": "_BinMapper",
    "sklearn._loss.loss": (
        "AbsoluteError ExponentialLoss HalfBinomialLoss HalfGammaLoss HalfMultinomialLoss "
        "HalfPoissonLoss HalfSquaredError HalfTweedieLoss HalfTweedieLossIdentity HuberLoss PinballLoss"
    ),
    "sklearn._loss.link": "HalfLogitLink IdentityLink Interval LogitLink LogLink MultinomialLogit",
    "sklearn.neural_network._stochastic_optimizers": "AdamOptimizer SGDOptimizer",
    "sklearn.calibration": "_CalibratedClassifier _SigmoidCalibration _TemperatureScaling",
    "sklearn.multiclass": "_ConstantPredictor",
    "sklearn.metrics._scorer": "_Scorer _PassthroughScorer",
    "sklearn.utils._metadata_requests": "MetadataRequest MethodMetadataRequest",
    "sklearn.gaussian_process._gpc": "_BinaryGaussianProcessClassifierLaplace",
    "sklearn.gaussian_process.kernels": (
        "RBF ConstantKernel WhiteKernel Matern RationalQuadratic DotProduct Sum Product Exponentiation"
    ),
}
"""What the others keep in their attributes."""

LOSSES = {
    "sklearn._loss._loss": (
        "CyAbsoluteError CyExponentialLoss CyHalfBinomialLoss CyHalfGammaLoss CyHalfMultinomialLoss "
        "CyHalfPoissonLoss CyHalfSquaredError CyHalfTweedieLoss CyHalfTweedieLossIdentity CyHuberLoss "
        "CyPinballLoss"
    ),
    "sklearn.linear_model._sgd_fast": (
        "EpsilonInsensitive Hinge ModifiedHuber SquaredEpsilonInsensitive SquaredHinge"
    ),
}
"""Compiled loss functions: the only classes that a file may *call*, each with a few numbers."""

FUNCTIONS = {
    "numpy": (
        "abs absolute cbrt cos exp exp2 expm1 log log10 log1p log2 sign sin sqrt square tanh "
        "arcsinh sinh"
    ),
    "scipy.special._ufuncs": "expit logit",
    "scipy.special._special_ufuncs": "expit logit",
    "sklearn.feature_selection._univariate_selection": "chi2 f_classif f_regression",
    "sklearn.metrics._classification": (
        "accuracy_score balanced_accuracy_score f1_score log_loss precision_score recall_score "
        "jaccard_score matthews_corrcoef brier_score_loss"
    ),
    "sklearn.metrics._ranking": "roc_auc_score average_precision_score",
    "sklearn.metrics._regression": (
        "explained_variance_score max_error mean_absolute_error mean_squared_error "
        "mean_squared_log_error median_absolute_error r2_score root_mean_squared_error"
    ),
}
"""Functions that may be an attribute: they look at their arguments and do nothing else."""

SCALARS = {
    "numpy": (
        "bool bool_ float16 float32 float64 int8 int16 int32 int64 intc longlong str_ uint8 uint16 "
        "uint32 uint64 uintc ulonglong"
    ),
    "builtins": "bool float int str",
}
"""Types of numbers and text, as a ``dtype`` parameter or the type of a key."""


def _names(groups: dict[str, str]) -> frozenset[str]:
    return frozenset(f"{module}.{name}" for module, names in groups.items() for name in names.split())


CLASS_NAMES = _names(ESTIMATORS) | _names(AROUND) | _names(INTERNALS)
LOSS_NAMES = _names(LOSSES)
FUNCTION_NAMES = _names(FUNCTIONS)
SCALAR_NAMES = _names(SCALARS)
TYPE_NAMES = SCALAR_NAMES | {
    f"sklearn.model_selection._split.{name}" for name in ("KFold", "StratifiedKFold")
}
"""Types that may be an attribute: a repeated split holds the class of its splits."""


def names_of(trusted: Iterable[str | type]) -> frozenset[str]:
    """The full names of classes that a user trusts.

    Parameters
    ----------
    trusted : iterable of str or type
        Full names "package.module.Class", or the classes (or functions) themselves.

    Returns
    -------
    names : frozenset of str

    Examples
    --------
    >>> from collections import Counter
    >>> from modae.files.trust import names_of
    >>> sorted(names_of([Counter, "my_package.models.Stump"]))
    ['collections.Counter', 'my_package.models.Stump']
    """
    if isinstance(trusted, (str, bytes)) or not isinstance(trusted, Iterable):
        raise TypeError(f'trusted must be a list such as ["package.module.Class"], got {trusted!r}.')
    return frozenset(_name_of(entry) for entry in trusted)


def _name_of(entry: object) -> str:
    if isinstance(entry, str) and all(part.isidentifier() for part in entry.split(".")) and "." in entry:
        return entry
    if callable(entry) and hasattr(entry, "__qualname__") and hasattr(entry, "__module__"):
        return f"{entry.__module__}.{entry.__qualname__}"
    raise TypeError(
        f'an entry of trusted must be a full name "package.module.Class" or a class, got {entry!r}.'
    )


def full_name_of(cls: type) -> str:
    """The name by which a file knows a class.

    Parameters
    ----------
    cls : type

    Returns
    -------
    name : str

    Examples
    --------
    >>> from collections import Counter
    >>> from modae.files.trust import full_name_of
    >>> full_name_of(Counter)
    'collections.Counter'
    """
    return f"{cls.__module__}.{cls.__qualname__}"


def untrusted(name: str) -> UntrustedError:
    """The error for a name that is on no list, with its remedy."""
    return UntrustedError(
        f"the file holds {name}, which is not on the list of trusted classes. If you trust whoever made "
        f'the file, and this class, open it with load(path, trusted=["{name}"]).'
    )
