"""The default sizes and their evidence: ``python -m benchmarks.sizes [--rows 700]``.

For the default member, one nearest neighbour, every combination of number of modules, components (a
fraction of the columns, of 50 at most) and diversity is tried on all development sets, five folds each.
Printed is the mean over the sets of the error minus that of one nearest neighbour on all columns, in
points, and on how many sets it is lower or higher.
"""

import argparse
import warnings

import numpy as np

from benchmarks.field_data import CLASSIFICATION
from benchmarks.field_rivals import ScaleIfNeeded
from modae import ModularClassifierCV, NearestNeighborClassifier
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


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=700)
    rows = parser.parse_args().rows
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
        print(f"\n{count} modules: points against one nearest neighbour (sets below, above)")
        print("fraction " + "".join(f"{'div ' + str(each):>16}" for each in DIVERSITIES))
        for row, fraction in enumerate(FRACTIONS):
            cells = stack[:, place, row]
            texts = [f"{each.mean():+.2f} ({(each < 0).sum()}, {(each > 0).sum()})" for each in cells.T]
            print(f"{fraction:<9}" + "".join(f"{text:>16}" for text in texts))


if __name__ == "__main__":
    main()
