"""The picture of the README: ``python docs/pictures/diversity.py`` writes docs/images/diversity.png.

Left, how the modules share out the principal components of the digits. Right, the error of a vote of
1-nearest-neighbour classifiers, one on each module, over ten random halves of the data.
"""

from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
from scipy.stats import mode
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split
from sklearn.neighbors import KNeighborsClassifier

from modae import LinearModularAutoencoder

N_MODULES, N_COMPONENTS, SPLITS = 10, 5, 10
CURVE = np.linspace(0.05, 1.0, 20)
BLUE, ORANGE, GREY = "#0072B2", "#D55E00", "#555555"
NOBODY = 1e-6  # a component that no module looks at stays white, as in AllocationDisplay


def member_predictions(model, X_train, y_train, X_test):
    """Prediction of each module's classifier, (M, n)."""
    train, test = model.transform_modules(X_train), model.transform_modules(X_test)
    return np.array(
        [
            KNeighborsClassifier(1).fit(features, y_train).predict(queries)
            for features, queries in zip(train, test, strict=True)
        ]
    )


def errors(X, y, seed):
    """Ensemble and mean individual error along the path for one random half of the data."""
    X_train, X_test, y_train, y_test = train_test_split(X, y, test_size=0.5, random_state=seed)
    first = LinearModularAutoencoder(N_MODULES, N_COMPONENTS, CURVE[0], random_state=seed).fit(X_train)
    rows = []
    for model in first.path([0.0, *CURVE]):
        members = member_predictions(model, X_train, y_train, X_test)
        rows.append([np.mean(mode(members).mode != y_test), np.mean(members != y_test)])
    return 100 * np.array(rows)


def draw_allocation(axis, X):
    """Share of the modules on each principal component against diversity."""
    grid = np.linspace(0.0, 1.0, 101)
    first = LinearModularAutoencoder(N_MODULES, N_COMPONENTS, random_state=0).fit(X)
    shares = np.array([model.allocation_[:30] for model in first.path(grid)])
    shares = np.ma.masked_less(shares, NOBODY)
    image = axis.imshow(
        shares.T, aspect="auto", cmap="viridis_r", vmin=0, vmax=1, extent=(-0.005, 1.005, 30.5, 0.5)
    )
    axis.set(
        title="Who looks at what",
        xlabel="diversity",
        ylabel="principal component",
        yticks=[1, 10, 20, 30],
    )
    axis.figure.colorbar(image, ax=axis, label="share of the modules")


def draw_errors(axis, curves):
    """Mean and standard error over the splits."""
    mean = curves.mean(axis=0)
    band = curves.std(axis=0, ddof=1) / np.sqrt(len(curves))
    for column, colour, label in ((1, ORANGE, "mean of the members"), (0, BLUE, "vote of the members")):
        axis.plot(CURVE, mean[1:, column], color=colour, label=label, lw=2)
        low, high = mean[1:, column] - band[1:, column], mean[1:, column] + band[1:, column]
        axis.fill_between(CURVE, low, high, color=colour, alpha=0.25, lw=0)
    axis.axhline(mean[0, 0], color=GREY, ls="--", lw=1.5, label="PCA, one classifier (diversity 0)")
    axis.set(title="Worse alone, better together", xlabel="diversity", ylabel="test error (%)")
    axis.set(xlim=(0, 1), ylim=(0, 40))
    axis.legend(frameon=False, loc="upper left")
    axis.spines[["top", "right"]].set_visible(False)


def main():
    X, y = load_digits(return_X_y=True)
    curves = np.array([errors(X, y, seed) for seed in range(SPLITS)])
    figure, (left, right) = plt.subplots(1, 2, figsize=(9, 3.6), layout="constrained")
    draw_allocation(left, X)
    draw_errors(right, curves)
    target = Path(__file__).parents[1] / "images" / "diversity.png"
    figure.savefig(target, dpi=150)
    best = curves.mean(axis=0)[1:, 0].argmin()
    print(
        f"{target.relative_to(Path.cwd())}: error {curves.mean(axis=0)[0, 0]:.1f} % at diversity 0,",
        end="",
    )
    print(f" {curves.mean(axis=0)[1 + best, 0]:.1f} % at {CURVE[best]:.2f}")


if __name__ == "__main__":
    main()
