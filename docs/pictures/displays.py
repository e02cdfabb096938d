"""One picture of each display: ``python docs/pictures/displays.py`` writes docs/images/display-*.png.

The data are the 1,797 digits of scikit-learn and, for the densities and the decision regions, three
clusters in the plane.
"""

from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_digits
from sklearn.decomposition import PCA
from sklearn.ensemble import RandomForestClassifier
from sklearn.model_selection import GridSearchCV, StratifiedKFold, cross_val_score, train_test_split
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline

from modae import (
    BaggingAutoencoder,
    LinearModularAutoencoder,
    ModularClassifier,
    ModularClassifierCV,
)
from modae.datasets import make_gaussian_mixture
from modae.display import (
    AllocationDisplay,
    DecisionRegionDisplay,
    DiversityPathDisplay,
    ModuleDensityDisplay,
    ReconstructionDisplay,
    RiskCoverageDisplay,
)

IMAGES = Path(__file__).parents[1] / "images"
CENTRES = [[-1.2, -0.6], [1.2, -0.6], [0.0, 1.2]]
FOLDS = StratifiedKFold(5, shuffle=True, random_state=0)


def cross_validated(model, X, y):
    """Error and standard error over the folds."""
    errors = 1.0 - cross_val_score(model, X, y, cv=FOLDS)
    return errors.mean(), errors.std(ddof=1) / np.sqrt(len(errors))


def diversity_path(X, y):
    search = ModularClassifierCV(
        estimator=None,
        diversities=np.linspace(0.0, 1.0, 21),
        n_components=[5],
        cv=FOLDS,
        scale=False,
        random_state=0,
    ).fit(X, y)
    bagging = ModularClassifier(BaggingAutoencoder(n_components=5), random_state=0)
    on_pca = make_pipeline(PCA(random_state=0), KNeighborsClassifier(1))
    sizes = {"pca__n_components": [5, 8, 12, 16, 20, 30, 40]}
    rivals = {
        "Bagging Autoencoders": bagging,
        "1-NN on the best PCA": GridSearchCV(on_pca, sizes, cv=3),
        "random forest on the pixels": RandomForestClassifier(300, random_state=0),
    }
    baseline = {name: cross_validated(model, X, y) for name, model in rivals.items()}
    return DiversityPathDisplay.from_estimator(search, baseline=baseline)


def allocation(X):
    return AllocationDisplay.from_estimator(LinearModularAutoencoder(10, 5, random_state=0).fit(X))


def densities():
    X, y = make_gaussian_mixture(1500, means=CENTRES, standard_deviation=0.45, random_state=0)
    model = LinearModularAutoencoder(3, 1, 0.9, random_state=0).fit(X)
    return ModuleDensityDisplay.from_estimator(model, X, y)


def reconstruction(X):
    model = LinearModularAutoencoder(10, 5, 0.8, random_state=0).fit(X)
    return ReconstructionDisplay.from_estimator(model, X)


def decision_regions():
    X, y = make_gaussian_mixture(300, means=CENTRES, standard_deviation=0.6, random_state=0)
    extractor = LinearModularAutoencoder(11, 1, 0.9)
    model = ModularClassifier(extractor, GaussianNB(), random_state=0).fit(X, y)
    return DecisionRegionDisplay.from_estimator(model, X, y)


def risk_coverage(X, y):
    train, test = train_test_split(np.arange(len(X)), test_size=0.5, random_state=0, stratify=y)
    models = {
        "vote on modules": ModularClassifier(n_components=5, random_state=0),
        "random forest on the pixels": RandomForestClassifier(300, random_state=0),
    }
    ax = None
    for name, model in models.items():
        fitted = model.fit(X[train], y[train])
        display = RiskCoverageDisplay.from_estimator(fitted, X[test], y[test], name=name, ax=ax)
        ax = display.ax_
    return display


def main():
    X, y = load_digits(return_X_y=True)
    displays = {
        "diversity-path": diversity_path(X, y),
        "allocation": allocation(X),
        "densities": densities(),
        "reconstruction": reconstruction(X),
        "decision-regions": decision_regions(),
        "risk-coverage": risk_coverage(X, y),
    }
    for name, display in displays.items():
        target = IMAGES / f"display-{name}.png"
        display.figure_.savefig(target, dpi=130)
        print(f"docs/images/{target.name}: {target.stat().st_size // 1000} kB")
    plt.close("all")


if __name__ == "__main__":
    main()
