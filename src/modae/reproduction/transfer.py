"""The introduction's claim: one representation, learnt without labels, serves several tasks."""

from collections.abc import Callable

import numpy as np
from sklearn.frozen import FrozenEstimator
from sklearn.model_selection import StratifiedShuffleSplit, cross_val_score

from modae.linear.autoencoder import LinearModularAutoencoder
from modae.reproduction.figure2 import CLEARLY, SIZES, load_images, margin, n_images, nearest_neighbours
from modae.reproduction.run import Finding, Setting
from modae.utils.arrays import Array

DIVERSITY = 0.7
#: Rows with labels; the extractor has seen all rows, without.
LABELLED = 500

TASKS: dict[str, Callable[[np.ndarray], np.ndarray]] = {
    "which digit": lambda y: y,
    "has a loop": lambda y: np.isin(y, (0, 6, 8, 9)),
}


def run(setting: Setting) -> list[Finding]:
    """Two tasks on the features of one extractor, fitted once to unlabelled digits."""
    n_samples, repetitions = n_images(setting, "basic"), 20 if setting.full else 10
    setting.tell(f"Transfer: one extractor of {n_samples:,} unlabelled digits, two tasks")
    X, y = load_images(setting, "basic", n_samples)
    extractor = LinearModularAutoencoder(**SIZES, diversity=DIVERSITY, random_state=0).fit(X)
    before = extractor.encoders_.copy()
    errors = {task: paired_errors(extractor, X, label(y), repetitions) for task, label in TASKS.items()}
    setting.save_json("transfer.json", errors)
    return [judge(errors, unchanged=np.array_equal(before, extractor.encoders_))]


def paired_errors(extractor: LinearModularAutoencoder, X: Array, y: np.ndarray, n: int) -> Array:
    """Errors with the shared extractor and with one PCA of the same rows, on the same labels: (n, 2)."""
    single = extractor.with_params(n_modules=1, diversity=0.0)
    shared = [nearest_neighbours(FrozenEstimator(each)) for each in (extractor, single)]
    splits = StratifiedShuffleSplit(n, train_size=LABELLED, test_size=1000, random_state=0)
    return 1.0 - np.column_stack([cross_val_score(model, X, y, cv=splits) for model in shared])


def judge(errors: dict[str, Array], *, unchanged: bool) -> Finding:
    """Both tasks gain clearly, and the extractor was not trained again."""
    gains = [margin(each[:, 1] - each[:, 0]) for each in errors.values()]
    means = {task: 100 * each.mean(axis=0) for task, each in errors.items()}
    words = [f"{task}: {ours:.1f} % (PCA {pca:.1f} %)" for task, (ours, pca) in means.items()]
    return Finding("transfer-two-tasks", unchanged and min(gains) > CLEARLY, "; ".join(words))
