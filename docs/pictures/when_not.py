"""The table of docs/when-not.md: ``python docs/pictures/when_not.py`` writes it into the page.

Nested cross-validation: every method is tuned on three inner folds of each outer training part, and all
see the same folds. Wine, which is small, gets two repetitions of the five outer folds. Columns are
standardised, except the pixels of the digits, which have one unit. Needs ``pip install statsmodels`` for
the survey "fair", of which 3,000 random rows are used. The errors go to docs/when-not/errors.json;
names of data sets as arguments compute only those again. About ten minutes on one free core.
"""

import json
import sys
from pathlib import Path

import numpy as np
from sklearn.datasets import load_breast_cancer, load_digits, load_wine
from sklearn.decomposition import PCA
from sklearn.ensemble import HistGradientBoostingClassifier, RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV, RepeatedStratifiedKFold, StratifiedKFold
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC

from modae import ModularClassifierCV
from modae.utils.atomic import atomic_write

DOCS = Path(__file__).parents[1]
PAGE, STORE = DOCS / "when-not.md", DOCS / "when-not" / "errors.json"
BEGIN, END = "<!-- The table begins here. -->\n", "<!-- The table ends here. -->\n"
INNER = StratifiedKFold(3, shuffle=True, random_state=1)
NEIGHBOURS = [1, 25]
WIDTHS = {"digits": [5, 10, 20], "wine": [2, 4, 8], "breast cancer": [3, 6, 12], "fair": [2, 4]}
OURS = "modular, nearest neighbours"


def data(name):
    if name == "fair":
        from statsmodels.datasets import fair

        table = fair.load_pandas().data.sample(3000, random_state=0)
        return table.drop(columns="affairs").to_numpy(float), (table["affairs"] > 0).to_numpy(int)
    loaders = {"digits": load_digits, "wine": load_wine, "breast cancer": load_breast_cancer}
    return loaders[name](return_X_y=True)


def modular(widths):
    """Ours: one search for each number of neighbours; `BestOf` keeps the best by the inner folds."""
    return BestOf(
        [
            ModularClassifierCV(
                estimator=KNeighborsClassifier(neighbours),
                diversities=[0.0, 0.5, 0.7, 0.8, 0.9, 1.0],
                n_modules=20,
                n_components=widths,
                cv=INNER,
                random_state=0,
            )
            for neighbours in NEIGHBOURS
        ]
    )


class BestOf:
    """The search with the best mean score on its inner folds."""

    def __init__(self, searches):
        self.searches = searches

    def fit(self, X, y):
        self.best_ = max((search.fit(X, y) for search in self.searches), key=lambda s: s.best_score_)
        return self

    def predict(self, X):
        return self.best_.predict(X)


def tuned(model, **grid):
    return GridSearchCV(model, grid, cv=INNER)


def methods(widths):
    """Each way to classify, from ours to the trees."""
    nearest = KNeighborsClassifier()
    on_pca = make_pipeline(PCA(svd_solver="covariance_eigh"), KNeighborsClassifier())
    return {
        OURS: modular(widths),
        "nearest neighbours on the best PCA": tuned(
            on_pca, pca__n_components=widths, kneighborsclassifier__n_neighbors=NEIGHBOURS
        ),
        "nearest neighbours on all columns": tuned(nearest, n_neighbors=NEIGHBOURS),
        "logistic regression": tuned(LogisticRegression(max_iter=5000), C=[0.01, 0.1, 1.0, 10.0]),
        "RBF-SVM": tuned(SVC(), C=[1.0, 10.0, 100.0]),
        "random forest, 300 trees": RandomForestClassifier(300, random_state=0),
        "gradient boosting": tuned(
            HistGradientBoostingClassifier(max_iter=100, random_state=0), learning_rate=[0.05, 0.2]
        ),
    }


def errors(name):
    """Percent wrong on each outer fold, for each method."""
    X, y = data(name)
    repeats = 2 if len(y) < 500 else 1
    outer = RepeatedStratifiedKFold(n_splits=5, n_repeats=repeats, random_state=0)
    found = {method: [] for method in methods(WIDTHS[name])}
    for train, test in outer.split(X, y):
        scaler = StandardScaler(with_std=name != "digits").fit(X[train])
        A, B = scaler.transform(X[train]), scaler.transform(X[test])
        for method, model in methods(WIDTHS[name]).items():
            found[method].append(100 * np.mean(model.fit(A, y[train]).predict(B) != y[test]))
        print(f"{name}: fold {len(found[OURS])} done", flush=True)
    return found


def cell(values, ours):
    """Mean error, and the difference to ours paired over the folds, with one standard error."""
    values, difference = np.array(values), np.array(values) - np.array(ours)
    if not difference.any():
        return f"{values.mean():.1f}"
    spread = difference.std(ddof=1) / np.sqrt(len(values))
    return f"{values.mean():.1f} ({difference.mean():+.1f} ± {spread:.1f})"


def table(results):
    header = ["wrong, in percent"]
    for name in results:
        X, y = data(name)
        header.append(f"{name}: {len(y):,} x {X.shape[1]}, {len(np.unique(y))} classes")
    lines = [header, ["---"] * len(header)]
    for method in results["digits"]:
        cells = [cell(found[method], found[OURS]) for found in results.values()]
        lines.append([f"**{method}**" if method == OURS else method, *cells])
    return "".join(f"| {' | '.join(line)} |\n" for line in lines)


def main():
    names = sys.argv[1:] or list(WIDTHS)
    results = json.loads(STORE.read_text()) if STORE.exists() else {}
    for name in names:
        results[name] = errors(name)
        STORE.parent.mkdir(exist_ok=True)
        with atomic_write(STORE, "w") as file:
            json.dump(results, file, indent=1)
    written = table({name: results[name] for name in WIDTHS})
    print(written)
    head, rest = PAGE.read_text(encoding="utf-8").split(BEGIN)
    with atomic_write(PAGE, "w") as file:
        file.write(f"{head}{BEGIN}\n{written}\n{END}{rest.split(END)[1]}")


if __name__ == "__main__":
    main()
