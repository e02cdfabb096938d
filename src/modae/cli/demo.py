"""The quick tour, ``modae demo``: a tuned ensemble on digits, and what it is better than."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from sklearn.decomposition import PCA
from sklearn.model_selection import train_test_split
from sklearn.pipeline import make_pipeline

from modae.datasets import load_benchmark
from modae.display import AllocationDisplay, DiversityPathDisplay, ReconstructionDisplay
from modae.display.style import pyplot
from modae.ensembles.classifier import ModularClassifier
from modae.ensembles.classifier_cv import ModularClassifierCV
from modae.ensembles.neighbors import NearestNeighborClassifier
from modae.linear.autoencoder import LinearModularAutoencoder
from modae.linear.bagging import BaggingAutoencoder
from modae.report.api import build
from modae.report.page import require_plotly
from modae.utils.atomic import atomic_write

N_TRAIN, N_TEST = 2000, 2000


def main(out: Path = Path("modae-demo")) -> None:
    """Tune, compare, print, draw."""
    pyplot()  # without which there would be no pictures after the work
    require_plotly()
    X, y = load_benchmark("basic", N_TRAIN + N_TEST, random_state=0, return_X_y=True)
    out.mkdir(parents=True, exist_ok=True)
    train, test, y_train, y_test = train_test_split(X, y, train_size=N_TRAIN, random_state=0, stratify=y)
    print(f"MNIST digits: {N_TRAIN:,} to train, {N_TEST:,} to test. Ten modules of ten components,")
    print("a nearest-neighbour classifier on each, and a vote.\n")
    extractor = LinearModularAutoencoder(10, 10)
    neighbor, bagging = NearestNeighborClassifier(), BaggingAutoencoder(10, 10)
    search = ModularClassifierCV(extractor, neighbor, scale=False, n_jobs=-1, random_state=0)
    print_path(search.fit(train, y_train))
    others = {
        "one PCA, 10 components, 1-NN": make_pipeline(PCA(10, random_state=0), neighbor),
        "one PCA, 100 components, 1-NN": make_pipeline(PCA(100, random_state=0), neighbor),
        "Bagging Autoencoders, 1-NN": ModularClassifier(bagging, n_jobs=-1, random_state=0),
    }
    print("  on the test part                    error")
    for name, model in others.items():
        print(f"  {name:<32}{1.0 - model.fit(train, y_train).score(test, y_test):9.1%}")
    print(
        f"  {'modular, tuned, 1-NN':<32}{1.0 - search.score(test, y_test):9.1%}"
        f"   (diversity {search.best_params_['diversity']})\n"
    )
    best = search.best_estimator_.extractor_
    print(
        f"  loss {best.loss_:.6f}, lower bound {best.lower_bound_:.6f}, gap "
        f"{abs(best.optimality_gap_):.0e} of the variance: {best.attainment_}."
    )
    if best.certified_:
        print("  No ten modules of this size have a smaller loss at this diversity.")
    print("\nPictures:")
    drawings: dict[str, Any] = {
        "diversity.png": DiversityPathDisplay.from_estimator(search),
        "allocation.png": AllocationDisplay.from_estimator(best),
        "reconstructions.png": ReconstructionDisplay.from_estimator(best, test),
    }
    for name, display in drawings.items():
        with atomic_write(out / name) as file:
            display.figure_.savefig(file, format="png", dpi=150, bbox_inches="tight")
        pyplot().close(display.figure_)
        print(f"  {out / name}")
    page = build(search, train, y_train, title="Handwritten digits", n_jobs=-1)
    print("\nA page about this model, with a slider for diversity: open it in a browser.")
    print(f"  {page.save(out / 'report.html')}")


def print_path(search: ModularClassifierCV) -> None:
    """Cross-validated errors against diversity: members get worse, their vote gets better."""
    results = search.cv_results_
    print("  diversity   error of one member   error of the vote   (5-fold, training part)")
    for place, diversity in enumerate(results["param_diversity"]):
        member, vote = (results[f"mean_{kind}_error"][place] for kind in ("individual", "ensemble"))
        chosen = "  <- chosen" if place == search.best_index_ else ""
        print(f"  {diversity:9.1f}{member:22.1%}{vote:20.1%}{chosen}")
    print()
