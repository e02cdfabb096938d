"""The picture of the README: ``python docs/pictures/diversity.py`` writes docs/images/diversity.png.

Outlines of rectangles, 14 x 14 pixels: is one wide or tall? 500 images to train, 5,000 others to test,
ten draws. Left, which share of the modules uses each principal component. Right, the errors: a vote of
15 SVMs, one on each module of 15 components; one SVM, and one forest, on the PCA of the size that is
best on the test rows, the SVM with the best C too; and the best of the usual methods on the pixels.
"""

import warnings
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
from sklearn.decomposition import PCA
from sklearn.ensemble import ExtraTreesClassifier
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.svm import SVC

from modae import LinearModularAutoencoder, ModularClassifier
from modae.datasets import load_benchmark
from modae.display.style import BLUE, GREY, RED, open_frame
from modae.metrics import rivals

DRAWS, N, TEST, C = 10, 500, 5000, 10
MODULES, COMPONENTS = 15, 15
DIVERSITIES = [0.0, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1.0]
SIZES, COSTS = [10, 15, 20, 25, 30, 35, 40, 60, 80], [1, 3, 10, 30, 100]
SHOWN = 60
NOBODY = 1e-6  # a component that no module uses stays white, as in AllocationDisplay


def data():
    """All images, at half the resolution, and their classes."""
    X, y = load_benchmark("rectangles", DRAWS * N + TEST, random_state=0, return_X_y=True)
    return X.reshape(-1, 14, 2, 14, 2).mean(axis=(2, 4)).reshape(-1, 196).astype(float), y


def errors(train, test):
    """Percent wrong by each method, for one draw."""
    first = LinearModularAutoencoder(MODULES, COMPONENTS, DIVERSITIES[1], random_state=0)
    found = {}

    def judge(name, model):
        found[name] = 100 * (1 - model.fit(*train).score(*test))
        return model

    judge(("vote of nearest neighbours", "defaults"), ModularClassifier(random_state=0))
    for diversity in DIVERSITIES:
        extractor = first.set_params(diversity=diversity)
        vote = judge(("vote", diversity), ModularClassifier(extractor, SVC(C=C), random_state=0))
        found["member", diversity] = 100 * (1 - vote.member_scores(*test).mean())
    for size in SIZES:
        pca = PCA(size, random_state=0)
        for cost in COSTS:
            judge(("SVM on PCA", size, cost), make_pipeline(pca, SVC(C=cost)))
        judge(("nearest on PCA", size), make_pipeline(pca, KNeighborsClassifier(1)))
        forest = ExtraTreesClassifier(300, random_state=0)
        judge(("extra trees on PCA", size), make_pipeline(pca, forest))
    for name, model in rivals(*train, classify=True).items():
        judge(("on pixels", name), model)
    return found


def draw_allocation(axis, X):
    """Share of the modules on each principal component against diversity."""
    grid = np.linspace(0.0, 1.0, 101)
    first = LinearModularAutoencoder(MODULES, COMPONENTS, random_state=0).fit(X)
    shares = np.array([model.allocation_[:SHOWN] for model in first.path(grid)])
    image = axis.imshow(
        np.ma.masked_less(shares, NOBODY).T,
        aspect="auto",
        cmap="viridis_r",
        vmin=0,
        vmax=1,
        extent=(-0.005, 1.005, SHOWN + 0.5, 0.5),
    )
    axis.set(title="Which components the modules use", xlabel="diversity")
    axis.set(ylabel="principal component", yticks=[1, 20, 40, 60])
    axis.figure.colorbar(image, ax=axis, label="share of the modules")


def draw_errors(axis, found):
    """Mean and one standard error over the draws."""
    for kind, colour, label in (
        ("member", RED, "one member, on average"),
        ("vote", BLUE, "vote of 15 members (SVMs)"),
    ):
        values = np.array([[each[kind, diversity] for diversity in DIVERSITIES] for each in found])
        mean, band = values.mean(axis=0), values.std(axis=0, ddof=1) / np.sqrt(len(values))
        axis.plot(DIVERSITIES, mean, color=colour, label=label, lw=2)
        axis.fill_between(DIVERSITIES, mean - band, mean + band, color=colour, alpha=0.25, lw=0)
    for kind, style, label in (
        ("SVM on PCA", ":", "SVM on the best PCA ({} components)"),
        ("extra trees on PCA", "--", "extra trees on the best PCA ({})"),
        ("on pixels", "-.", "{} on the pixels"),
    ):
        name, mean = best(found, kind)
        axis.axhline(mean, color=GREY, ls=style, lw=1.3, label=label.format(name[1]))
    axis.set(title="Errors on new images", xlabel="diversity", ylabel="test error (%)")
    axis.set(xlim=(0, 1), ylim=(0, 20))
    axis.legend(frameon=False, loc="upper center", fontsize=8)
    open_frame(axis)


def best(found, kind):
    """The best setting of one kind by its mean error, which favours it, and that error."""
    means = {name: np.mean([each[name] for each in found]) for name in found[0] if name[0] == kind}
    return min(means.items(), key=lambda item: item[1])


def main():
    warnings.filterwarnings("ignore", message="diversity=0 makes all modules equal")  # it shall
    X, y = data()
    test = X[-TEST:], y[-TEST:]
    found = []
    for draw in range(DRAWS):
        rows = slice(draw * N, (draw + 1) * N)
        found.append(errors((X[rows], y[rows]), test))
        print(f"draw {draw + 1} of {DRAWS}", flush=True)
    figure, (left, right) = plt.subplots(1, 2, figsize=(10, 4), layout="constrained")
    draw_allocation(left, X[:N])
    draw_errors(right, found)
    target = Path(__file__).parents[1] / "images" / "diversity.png"
    figure.savefig(target, dpi=150)
    ours = best(found, "vote")[0]
    for kind in dict.fromkeys(name[0] for name in found[0]):
        kept = [name for name in found[0] if name[0] == kind]
        for name in kept if kind in ("vote", "member", "on pixels") else [best(found, kind)[0]]:
            behind = np.array([each[name] - each[ours] for each in found])
            mean, spread = np.mean([each[name] for each in found]), behind.std(ddof=1) / np.sqrt(DRAWS)
            print(f"{name}: {mean:.1f} %, behind the best vote {behind.mean():+.1f} ± {spread:.1f}")


if __name__ == "__main__":
    main()
