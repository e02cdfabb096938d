"""The default sizes and their evidence: ``python -m benchmarks.sizes [--rows 700]``.

For the default member, one nearest neighbour, every combination of number of modules, components (a
fraction of the columns, of 50 at most) and diversity is tried on all development sets, five folds each.
Printed is the mean over the sets of the error minus that of one nearest neighbour on all columns, in
points, and on how many sets it is lower or higher.

``--untouched`` compares ``ModularClassifier()`` with the default before, ten modules of ten components
and diversity 0.5, on four small sets as they are, in 20 repetitions of five folds.
"""

import argparse
import warnings

import numpy as np
from sklearn.datasets import load_breast_cancer, load_digits, load_iris, load_wine
from sklearn.model_selection import StratifiedKFold, cross_val_predict

from benchmarks.field_data import CLASSIFICATION
from benchmarks.field_rivals import ScaleIfNeeded
from modae import ModularClassifier, ModularClassifierCV, NearestNeighborClassifier
from modae.linear.model import share_of_columns

N_MODULES = (10, 30)
FRACTIONS = (0.2, 0.3, 0.4, 0.5, 0.7)
DIVERSITIES = (0.5, 0.7, 0.8, 0.9, 0.95, 1.0)


def widths(n_features):
    return [share_of_columns(fraction, n_features) for fraction in FRACTIONS]


def errors_of(X, y):
    """Errors of all settings, (modules, fractions, diversities), and of the member on all columns."""
    X = ScaleIfNeeded().fit_transform(X)
    member = NearestNeighborClassifier()
    options = {"scale": False, "random_state": 0}
    wide = sorted(set(widths(X.shape[1])))
    search = ModularClassifierCV(
        None, member, n_modules=N_MODULES, n_components=wide, diversities=DIVERSITIES, **options
    ).fit(X, y)
    found = search.cv_results_["mean_ensemble_error"].reshape(len(N_MODULES), len(wide), -1)
    places = [wide.index(each) for each in widths(X.shape[1])]
    plain = ModularClassifierCV(None, {"plain": (member, {})}, diversities=[0.5], **options)
    results = plain.fit(X, y).cv_results_
    alone = [place for place, params in enumerate(results["params"]) if "n_modules" not in params]
    return found[:, places], results["mean_ensemble_error"][alone[0]]


def untouched():
    """Errors of both defaults, their paired difference over repetitions, and how modules differ."""
    for load in (load_iris, load_wine, load_breast_cancer, load_digits):
        X, y = load(return_X_y=True)
        before = ModularClassifier(
            n_modules=10, n_components=min(10, X.shape[1]), diversity=0.5, random_state=0
        )
        now, errors = ModularClassifier(random_state=0), []
        for seed in range(20):
            folds = StratifiedKFold(5, shuffle=True, random_state=seed)
            with warnings.catch_warnings():
                warnings.simplefilter("error")
                mine = cross_val_predict(now, X, y, cv=folds)
                warnings.simplefilter("ignore")
                errors.append(
                    [(mine != y).mean(), (cross_val_predict(before, X, y, cv=folds) != y).mean()]
                )
        errors = 100 * np.array(errors)
        gain = errors[:, 0] - errors[:, 1]
        spread = gain.std(ddof=1) / np.sqrt(len(gain))
        train, test = next(folds.split(X, y))
        apart = now.fit(X[train], y[train]).disagreement(X[test]).mean()
        print(
            f"{load.__name__[5:]:14} now {errors[:, 0].mean():.2f}%, before {errors[:, 1].mean():.2f}%, "
            f"difference {gain.mean():+.2f} +- {spread:.2f}; two members differ on {apart:.1%}",
            flush=True,
        )


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=700)
    parser.add_argument("--untouched", action="store_true")
    options = parser.parse_args()
    if options.untouched:
        untouched()
        return
    rows = options.rows
    warnings.simplefilter("ignore")
    gains = []
    for name, load in CLASSIFICATION.items():
        X, y = load()
        found, plain = errors_of(X[:rows], y[:rows])
        gains.append(100 * (found - plain))
        best = np.unravel_index(found.argmin(), found.shape)
        print(
            f"{name:24} 1-NN {plain:.3f}, best {found.min():.3f} with {N_MODULES[best[0]]} modules, "
            f"fraction {FRACTIONS[best[1]]}, diversity {DIVERSITIES[best[2]]}",
            flush=True,
        )
    stack = np.array(gains)
    for place, count in enumerate(N_MODULES):
        print(f"\n{count} modules: points against one nearest neighbour (sets below/above)")
        print("fraction " + "".join(f"{'div ' + str(each):>16}" for each in DIVERSITIES))
        for row, fraction in enumerate(FRACTIONS):
            cells = stack[:, place, row]
            texts = [f"{each.mean():+.2f} ({(each < 0).sum()}/{(each > 0).sum()})" for each in cells.T]
            print(f"{fraction:<9}" + "".join(f"{text:>16}" for text in texts))


if __name__ == "__main__":
    main()
