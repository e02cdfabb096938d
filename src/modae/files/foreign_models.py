"""Estimators whose compiled code trusts their attributes: what must agree in each.

A wrong index or a short array here is not an exception later but memory that is not theirs. Each check
was written with the compiled source beside it; the comments say what that source does.
"""

from __future__ import annotations

from functools import partial
from types import BuiltinFunctionType, FunctionType
from typing import Any

import numpy as np
from scipy.sparse import issparse
from sklearn.compose import ColumnTransformer
from sklearn.dummy import DummyRegressor
from sklearn.ensemble._forest import BaseForest
from sklearn.ensemble._gb import BaseGradientBoosting
from sklearn.ensemble._hist_gradient_boosting.binning import _BinMapper
from sklearn.ensemble._hist_gradient_boosting.common import PREDICTOR_RECORD_DTYPE
from sklearn.ensemble._hist_gradient_boosting.gradient_boosting import BaseHistGradientBoosting
from sklearn.ensemble._hist_gradient_boosting.predictor import TreePredictor
from sklearn.neighbors._base import NeighborsBase
from sklearn.preprocessing import FunctionTransformer, OneHotEncoder, OrdinalEncoder, PolynomialFeatures
from sklearn.svm._base import BaseLibSVM, BaseSVC
from sklearn.tree import BaseDecisionTree, DecisionTreeRegressor
from sklearn.tree._tree import Tree

from modae.files.foreign_rules import check_binary_tree, is_array, is_count, require

MOST_OUTPUTS = 10**7
"""Columns that a transformer may make of one row."""


def check_decision_tree(model: Any) -> None:
    """The inner tree looks at the features and gives the outputs that the estimator says."""
    tree = model.tree_
    require(isinstance(tree, Tree), "tree_ is a tree")
    require(tree.n_features == model.n_features_in_, "a tree has the features of its estimator")
    require(tree.n_outputs == model.n_outputs_, "a tree has the outputs of its estimator")
    n_classes = getattr(model, "n_classes_", 1 if tree.n_outputs == 1 else tree.n_classes)
    require(
        np.array_equal(np.ravel(n_classes), tree.n_classes), "a tree has the classes of its estimator"
    )


def check_forest(model: Any) -> None:
    """Trees get rows that only the forest has looked at."""
    require(isinstance(model.estimators_, list) and model.estimators_, "a forest has trees")
    for tree in model.estimators_:
        require(
            isinstance(tree, BaseDecisionTree) and hasattr(tree, "tree_"), "a forest is of fitted trees"
        )
        require(tree.n_features_in_ == model.n_features_in_, "trees have the features of their forest")
        require(tree.n_outputs_ == model.n_outputs_, "trees have the outputs of their forest")
        same = np.array_equal(getattr(tree, "n_classes_", 0), getattr(model, "n_classes_", 0))
        require(same, "trees have the classes of their forest")


def check_gradient_boosting(model: Any) -> None:
    """Each stage adds to the columns of the first guess without asking how many there are."""
    stages, n_features = model.estimators_, model.n_features_in_
    require(is_array(stages, "O", 2) and stages.size, "stages of boosting are a table of trees")
    require(is_count(n_features, MOST_OUTPUTS), f"there are at most {MOST_OUTPUTS} features")
    for tree in stages.ravel():
        require(isinstance(tree, DecisionTreeRegressor) and hasattr(tree, "tree_"), "stages are trees")
        require(tree.n_features_in_ == n_features, "stages have the features of their model")
        require(tree.tree_.value.shape[1:] == (1, 1), "stages give one number")
    start = np.asarray(model._raw_predict_init(np.zeros((1, n_features), dtype=np.float32)))
    require(start.shape == (1, stages.shape[1]), "stages have as many columns as the first guess")
    require(model.n_trees_per_iteration_ == stages.shape[1], "n_trees_per_iteration_ is their number")


def check_bin_mapper(mapper: Any) -> None:
    """Categories are bits of 8 words: 0 to 255."""
    is_categorical, thresholds = mapper.is_categorical_, mapper.bin_thresholds_
    require(
        is_array(is_categorical, "u", 1) and is_categorical.dtype == np.uint8, "is_categorical_ is flags"
    )
    require(
        isinstance(thresholds, list) and len(thresholds) == len(is_categorical), "features have bins"
    )
    for flag, edges in zip(is_categorical, thresholds, strict=True):
        require(is_array(edges, "f", 1), "edges of bins are floats")
        require(not flag or ((edges >= 0) & (edges < 256)).all(), "categories are below 256")


def check_predictor(predictor: Any) -> None:
    """Children, and bits for the categorical splits. The features are the model's to look at."""
    nodes = predictor.nodes
    require(
        is_array(nodes, "V", 1) and nodes.dtype == PREDICTOR_RECORD_DTYPE, "nodes have another layout"
    )
    is_leaf = nodes["is_leaf"] != 0
    any_feature = np.iinfo(np.int64).max
    check_binary_tree(nodes["left"], nodes["right"], is_leaf, nodes["feature_idx"], any_feature)
    require(np.isfinite(nodes["value"]).all(), "values of a tree are finite")
    require(not np.isnan(nodes["num_threshold"]).any(), "thresholds of a tree are numbers")
    splits = nodes[~is_leaf & (nodes["is_categorical"] != 0)]
    for bits in (predictor.raw_left_cat_bitsets, predictor.binned_left_cat_bitsets):
        require(
            is_array(bits, "u", 2) and bits.dtype == np.uint32 and bits.shape[1] == 8, "bits of 8 words"
        )
        require((splits["bitset_idx"] < len(bits)).all(), "a categorical split has its bits")


def check_hist_boosting(model: Any) -> None:
    """Features of all splits, and the width of each iteration."""
    n_features, mapper = model.n_features_in_, model._bin_mapper
    require(is_count(n_features) and model._n_features == n_features, "n_features_in_ is a count")
    require(isinstance(mapper, _BinMapper), "the bins have a mapper")
    require(len(mapper.is_categorical_) == n_features, "the mapper has the features of its model")
    require(is_count(model.n_trees_per_iteration_, 2**20), "n_trees_per_iteration_ is a count")
    require(is_array(model._baseline_prediction, "f", 2), "there is a first guess")
    require(model._baseline_prediction.shape == (1, model.n_trees_per_iteration_), "and of one row")
    if model._preprocessor is not None:
        _check_encoder(model._preprocessor, n_features)
    for iteration in model._predictors:
        require(isinstance(iteration, list), "an iteration has trees")
        require(
            len(iteration) == model.n_trees_per_iteration_, "an iteration has a tree for each output"
        )
        for predictor in iteration:
            require(isinstance(predictor, TreePredictor), "an iteration is of trees")
            _check_features(predictor.nodes, mapper.is_categorical_, n_features)


def _check_encoder(encoder: Any, n_features: int) -> None:
    """It gives as many columns as it gets: each goes through one of two transformers."""
    require(isinstance(encoder, ColumnTransformer), "categories are encoded by columns")
    n_columns = 0
    for _, transformer, columns in encoder.transformers_:
        if isinstance(transformer, (OrdinalEncoder, FunctionTransformer)):
            require(is_array(columns, "b", 1) and len(columns) == n_features, "columns are flags")
            n_columns += int(columns.sum())
    require(n_columns == n_features, "each column is encoded")


def _check_features(nodes: np.ndarray, is_categorical: np.ndarray, n_features: int) -> None:
    splits = nodes[nodes["is_leaf"] == 0]
    require((splits["feature_idx"] < n_features).all(), "a split is on a feature that is there")
    categorical = splits["feature_idx"][splits["is_categorical"] != 0]
    require(is_categorical[categorical].all(), "a categorical split is on a categorical feature")


def check_svm(model: Any) -> None:
    """Libsvm takes the sizes of all arrays from two of them."""
    vectors, coefficients = model.support_vectors_, model._dual_coef_
    # A kernel that is a function could give any number of columns.
    require(isinstance(model.kernel, str), "the kernel of an SVM is a word")
    n_classes = len(model.classes_) if isinstance(model, BaseSVC) else 2
    n_pairs = n_classes * (n_classes - 1) // 2
    counts, support = model._n_support, model.support_
    require(
        n_classes >= 2 and is_array(counts, "i", 1) and counts.dtype == np.int32, "n_support is int32"
    )
    require(len(counts) == n_classes and (counts >= 0).all(), "each class has its support vectors")
    require(is_array(support, "i", 1) and support.dtype == np.int32, "support_ is int32")
    n_support = len(support)
    used = counts.sum(dtype=np.int64) if isinstance(model, BaseSVC) else counts[0]
    require(int(used) == n_support, "n_support sums to the support vectors")
    _check_support_vectors(model, vectors, n_support)
    _check_coefficients(coefficients, (n_classes - 1, n_support), issparse(vectors))
    require(_is_floats(model._intercept_, (n_pairs,)), "an SVM has an intercept for each pair")
    required = bool(getattr(model, "_effective_probability", model.probability))
    for numbers in (model._probA, model._probB):
        require(
            is_array(numbers, "f", 1) and numbers.dtype == np.float64, "probabilities have two numbers"
        )
        require(len(numbers) == n_pairs or (len(numbers) == 0 and not required), "for each pair")
    require(len(model._probA) == len(model._probB), "probabilities have two numbers for each pair")


def _check_support_vectors(model: Any, vectors: Any, n_support: int) -> None:
    shape, n_features = model.shape_fit_, model.n_features_in_
    require(
        isinstance(shape, tuple) and len(shape) == 2 and is_count(shape[0]), "shape_fit_ is two counts"
    )
    require(shape[1] == n_features and is_count(n_features), "shape_fit_ has the features")
    require(
        type(model._sparse) is bool and model._sparse == issparse(vectors), "_sparse says how rows are"
    )
    require(bool(((model.support_ >= 0) & (model.support_ < shape[0])).all()), "support_ is in the rows")
    if model.kernel == "precomputed":
        # Columns of the kernel are found by support_, which is in the rows.
        require(
            not issparse(vectors) and shape[0] == shape[1], "a precomputed kernel is dense and square"
        )
        require(_is_floats(vectors, vectors.shape) and vectors.ndim == 2, "support vectors are float64")
        return
    require(vectors.shape == (n_support, n_features), "support vectors have the features")
    if issparse(vectors):
        require(vectors.format == "csr" and vectors.dtype == np.float64, "support vectors are CSR")
        require(vectors.indices.dtype == vectors.indptr.dtype == np.int32, "with small indices")
    else:
        require(_is_floats(vectors, vectors.shape), "support vectors are float64")


def _check_coefficients(coefficients: Any, shape: tuple[int, int], sparse: bool) -> None:
    require(issparse(coefficients) == sparse, "coefficients are as the support vectors")
    if sparse:
        # libsvm reads shape[0] * shape[1] numbers, whatever the indices say.
        require(
            coefficients.format == "csr" and coefficients.dtype == np.float64, "coefficients are CSR"
        )
        full = coefficients.shape == shape and coefficients.data.size == shape[0] * shape[1]
        require(full, "coefficients fit the support vectors")
    else:
        require(_is_floats(coefficients, shape), "coefficients fit the support vectors")


def _is_floats(value: Any, shape: tuple[int, ...]) -> bool:
    return isinstance(value, np.ndarray) and value.dtype == np.float64 and value.shape == shape


def check_neighbors(model: Any) -> None:
    """Neighbours are looked up by their numbers, and votes counted by theirs."""
    rows = model._fit_X
    numbers = rows.dtype.kind in "biuf" and rows.ndim == 2 and rows.shape[0] > 0
    require((isinstance(rows, np.ndarray) or issparse(rows)) and numbers, "_fit_X is rows")
    require(rows.shape[1] == model.n_features_in_, "_fit_X has the features")
    require(model.n_samples_fit_ == rows.shape[0], "n_samples_fit_ is the number of rows")
    require(model._fit_method in ("brute", "kd_tree", "ball_tree"), "_fit_method is one of three")
    if model.n_neighbors is not None:
        require(
            is_count(model.n_neighbors, rows.shape[0]) and model.n_neighbors,
            "n_neighbors is in the rows",
        )
    for params in (model.effective_metric_params_, model.metric_params or {}):
        _check_metric(params, rows.shape[1])
    if hasattr(model, "_y"):
        _check_targets(model._y, getattr(model, "classes_", None), rows.shape[0])


def _check_metric(params: Any, n_features: int) -> None:
    """As many numbers are read as there are features, whatever the length of these arrays."""
    require(isinstance(params, dict), "parameters of a metric have names")
    for name, value in params.items():
        side = 2 if name == "VI" else 1
        fits = is_array(value, "biuf", side) and value.shape == (n_features,) * side
        require(
            fits or isinstance(value, (int, float, np.number, type(None))), f"{name} fits the features"
        )


def _check_targets(targets: Any, classes: Any, n_rows: int) -> None:
    require(isinstance(targets, np.ndarray) and targets.ndim in (1, 2), "_y is targets")
    require(targets.shape[0] == n_rows, "each row has its target")
    if classes is None:
        require(targets.dtype.kind in "biuf", "targets are numbers")
        return
    columns = classes if isinstance(classes, list) else [classes]
    require(
        targets.dtype == np.intp and targets.reshape(n_rows, -1).shape[1] == len(columns), "_y is labels"
    )
    for labels, names in zip(targets.reshape(n_rows, -1).T, columns, strict=True):
        require(((labels >= 0) & (labels < len(names))).all(), "_y is in the classes")


def check_polynomial(model: Any) -> None:
    """All columns are made at once, as many as n_output_features_ says."""
    require(
        is_count(model.n_output_features_, MOST_OUTPUTS), f"there are at most {MOST_OUTPUTS} columns"
    )
    require(is_count(model._n_out_full, MOST_OUTPUTS), f"there are at most {MOST_OUTPUTS} columns")
    sizes = {"n_features": model.n_features_in_, "min_degree": model._min_degree}
    flags = {"interaction_only": model.interaction_only, "include_bias": model.include_bias}
    require(
        is_count(model._max_degree, 1000) and is_count(model._min_degree, 1000), "degrees are counts"
    )
    columns = model._num_combinations(max_degree=model._max_degree, **sizes, **flags)
    require(columns == model.n_output_features_, "columns are as the degree says")


def check_dummy_regressor(model: Any) -> None:
    """It repeats its numbers for each output."""
    require(np.shape(model.constant_) == (1, model.n_outputs_), "a constant has the outputs")


def check_function(model: Any) -> None:
    """An array among the arguments could be written to, such as ``out``."""
    for function in (model.func, model.inverse_func):
        # A partial function is one that foreign_parts has made: check_array with plain settings.
        named = isinstance(function, (FunctionType, BuiltinFunctionType, np.ufunc, partial))
        require(function is None or named, "the function of a transformer is a function")
    for arguments in (model.kw_args, model.inv_kw_args):
        plain = isinstance(arguments, dict) and all(
            isinstance(value, (bool, int, float, str, type(None))) for value in arguments.values()
        )
        require(arguments is None or plain, "arguments of a function are numbers and words")


def _check_grouping(rare: Any, mapping: Any, n_categories: int, n_groups: int) -> None:
    require((rare is None) == (mapping is None), "rare categories have a group")
    if mapping is not None:
        require(
            is_array(mapping, "i", 1) and len(mapping) == n_categories, "each category has its group"
        )
        require(((mapping >= 0) & (mapping < n_groups)).all(), "each category has a group that is there")


def check_one_hot(model: Any) -> None:
    """It makes a sparse row of the numbers of its categories, and says itself how wide that is."""
    sizes = [len(categories) for categories in model.categories_]
    require(
        model._n_features_outs == model._compute_n_features_outs(), "columns are as the categories say"
    )
    if model._infrequent_enabled:
        groups = zip(model._infrequent_indices, model._default_to_infrequent_mappings, strict=True)
        for place, (rare, mapping) in enumerate(groups):
            sizes[place] -= 0 if rare is None else len(rare) - 1
            _check_grouping(rare, mapping, len(model.categories_[place]), sizes[place])
    dropped = model._drop_idx_after_grouping
    for size, drop in zip(sizes, [None] * len(sizes) if dropped is None else dropped, strict=True):
        require(drop is None or (is_count(drop) and drop < size), "a dropped category is there")


MODEL_CHECKS = {
    BaseDecisionTree: ("tree_", check_decision_tree),
    BaseForest: ("estimators_", check_forest),
    BaseGradientBoosting: ("estimators_", check_gradient_boosting),
    _BinMapper: ("bin_thresholds_", check_bin_mapper),
    TreePredictor: ("nodes", check_predictor),
    BaseHistGradientBoosting: ("_predictors", check_hist_boosting),
    BaseLibSVM: ("support_", check_svm),
    NeighborsBase: ("_fit_X", check_neighbors),
    OneHotEncoder: ("categories_", check_one_hot),
    DummyRegressor: ("constant_", check_dummy_regressor),
    FunctionTransformer: ("func", check_function),
    PolynomialFeatures: ("n_output_features_", check_polynomial),
}
"""For each class, the attribute that a fitted object has, and what must hold."""
