"""Writes the golden files of this release: ``python tests/files/make_golden.py``.

Run it once for each release, into a directory of its own, and commit what it writes: from then on every
later release must load these files. ``test_golden.py`` does so.
"""

import json
import shutil
import sys
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).parents[1]))
sys.path.insert(0, str(Path(__file__).parents[2]))

from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import modae
from files import parts
from modae import deep
from modae.data.moments import moments_of_rows

GOLDEN = Path(__file__).parents[1] / "golden"
RELEASE = ".".join(modae.__version__.split(".")[:2])

ANSWERS = ("transform", "predict", "predict_proba", "predict_interval")
"""The others follow from these."""

NEW_ROWS = parts.rows(5, seed=9)


def models():
    """Small models of every class, by the names of their files."""
    plain = {f"fitted-{kind}": parts.fitted(model) for kind, model in parts.unfitted().items()}
    members = {
        f"classifier-{name}": _one_module(parts.classifier(parts.CLASSIFIERS[name])).fit(
            parts.X, parts.LABELS > 0
        )
        for name in ("nearest", "knn", "logistic", "svm", "forest", "boosting", "hist-boosting")
    }
    regressors = {
        f"regressor-{name}": _one_module(parts.regressor(parts.REGRESSORS[name])).fit(
            parts.X, parts.TARGET
        )
        for name in ("knn", "ridge")
    }
    return {**plain, **members, **regressors, **_special_models()}


def _one_module(ensemble):
    """And one tree, so that files stay small."""
    trees = {"estimator__n_estimators": 1} if "estimator__n_estimators" in ensemble.get_params() else {}
    return ensemble.set_params(extractor__n_modules=1, **trees)


def _special_models():
    words = np.array(["no", "yes", "perhaps"])[parts.LABELS]
    search = GridSearchCV(parts.extractor(), {"n_components": [1, 2]}, cv=2)
    return {
        "unfitted-autoencoder": parts.extractor(random_state=np.random.RandomState(1)),
        "unfitted-search": modae.ModularClassifierCV(parts.extractor(), LogisticRegression(), cv=2),
        "float32": parts.extractor().fit(parts.X.astype(np.float32)),
        "frame": parts.extractor().fit(parts.inputs()["pandas"]),
        "stream-of-rows": parts.extractor().partial_fit(parts.X[:5]),
        "stream-of-sparse-rows": parts.extractor().partial_fit(parts.inputs()["sparse"][:5]),
        "stream-of-moments": parts.extractor().partial_fit(parts.X).partial_fit(parts.X[:3]),
        "moments": moments_of_rows(parts.X),
        "words": parts.classifier().fit(parts.X, words),
        "targets": parts.regressor(calibrate=0.25).fit(parts.X, parts.TARGETS),
        "frozen": modae.ModularClassifier(FrozenEstimator(parts.extractor().fit(parts.X))).fit(
            parts.X, words
        ),
        "pipeline": make_pipeline(StandardScaler(), parts.classifier()).fit(parts.X, parts.LABELS),
        "grid-search": search.fit(parts.X, parts.LABELS),
        **_deep_models(),
    }


def _deep_models():
    """In float64, so that their answers are the same on other machines to round-off."""
    small = {"hidden_layer_sizes": (3,), "max_epochs": 2, "dtype": "float64", "random_state": 0}
    return {
        "deep-autoencoder": deep.ModularAutoencoder(2, 2, **small).fit(parts.X),
        "deep-regressor": deep.ModularNetworkRegressor(2, **small).fit(parts.X, parts.TARGET),
        "deep-classifier": deep.ModularNetworkClassifier(2, **small).fit(parts.X, parts.LABELS),
    }


def facts_of(model):
    """Plain parameters and fitted scalars as text, arrays as they are, and answers to new rows."""
    if not hasattr(model, "get_params"):
        return {}, {}, {}
    params = {
        name: repr(value) for name, value in model.get_params(deep=False).items() if _is_plain(value)
    }
    attributes = parts.fitted_attributes(model)
    params |= {name: repr(value) for name, value in attributes.items() if _is_plain(value)}
    arrays = {name: value for name, value in attributes.items() if _is_numeric(value)}
    answers = parts.answers(model, NEW_ROWS) if is_ready(model) else {}
    return params, arrays, {name: value for name, value in answers.items() if name in ANSWERS}


def is_ready(model):
    return hasattr(model, "n_features_in_") and not hasattr(model, "feature_names_in_")


def _is_plain(value):
    return isinstance(value, (bool, int, float, str, type(None), np.integer, np.floating))


def _is_numeric(value):
    return isinstance(value, np.ndarray) and value.dtype.kind in "fiubU"


def main():
    directory = GOLDEN / RELEASE
    shutil.rmtree(directory, ignore_errors=True)
    directory.mkdir(parents=True)
    words, arrays = {}, {"rows": NEW_ROWS}
    for name, model in models().items():
        params, attributes, outputs = facts_of(model)
        # After its answers: they must not change a file.
        modae.save(model, directory / f"{name}.modae", resumable=name.startswith("stream"))
        words[name] = {"class": type(model).__name__, **params}
        arrays |= {f"{name}/attribute/{key}": value for key, value in attributes.items()}
        arrays |= {f"{name}/output/{key}": value for key, value in outputs.items()}
    (directory / "expected.json").write_text(json.dumps(words, indent=1, sort_keys=True) + "\n")
    np.savez_compressed(directory / "expected.npz", **arrays)
    print(f"{len(words)} files, {sum(path.stat().st_size for path in directory.iterdir()):,} bytes")


if __name__ == "__main__":
    main()
