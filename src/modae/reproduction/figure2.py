"""Section 4, Figure 2: error against diversity on six data sets, modular and Bagging Autoencoders.

The measurements, five folds of all diversities on each data set, also serve section 5.2 and the page.
"""

from dataclasses import dataclass, replace
from functools import partial
from typing import Any, Self

import numpy as np
from scipy.stats import sem
from sklearn.model_selection import StratifiedKFold, cross_val_score

from modae.datasets import load_benchmark
from modae.display import DiversityPathDisplay
from modae.display.style import pyplot
from modae.ensembles.classifier import ModularClassifier
from modae.ensembles.cv import ModularClassifierCV
from modae.ensembles.neighbors import NearestNeighborClassifier
from modae.linear.autoencoder import LinearModularAutoencoder
from modae.linear.bagging import BaggingAutoencoder
from modae.metrics import faithfulness, redundancy
from modae.reproduction.run import Finding, Setting
from modae.utils.arrays import Array

SIZES: dict[str, Any] = {"n_modules": 10, "n_components": 10}
N_FOLDS = 5

FROM_DIGITS = ("basic", "rotations", "background_noise", "background_images")
#: Rows of each data set at full scale: those of the original training and validation sets, but for
#: rectangles, of which the originals have 1,200 (and 50,000 to test on).
FULL_SIZES = dict.fromkeys((*FROM_DIGITS, "rectangles"), 12_000) | {"convex": 8_000}

QUICK_SIZE = 3_000

#: All that the embedded source has: there the full scale is less than the paper's.
EMBEDDED_DIGITS = 5_000

#: Standard errors of a paired difference that count as clear.
CLEARLY = 2.0


@dataclass(frozen=True)
class Sweep:
    """What was measured on one data set, over all folds and seeds.

    Parameters
    ----------
    name : str
    diversities : ndarray of shape (n_diversities,)
    ensemble, individual : ndarrays of shape (n_runs, n_diversities)
        Errors; a run is one fold with one seed.
    bagging : ndarray of shape (n_runs,)
        Error of Bagging Autoencoders on the same folds.
    faithfulness, redundancy : ndarrays of shape (2, n_diversities, 2)
        Mean distance correlation with the data, and between modules: on rows of the training and of
        the test part of one fold; value and standard error.
    """

    name: str
    diversities: Array
    ensemble: Array
    individual: Array
    bagging: Array
    faithfulness: Array
    redundancy: Array

    @property
    def title(self) -> str:
        """The name for people."""
        return self.name.replace("_", " ")

    @property
    def best(self) -> int:
        """Which diversity has the least mean error."""
        return int(self.ensemble.mean(axis=0).argmin())

    @property
    def gain(self) -> Array:
        """Error of Bagging minus that of the best diversity, for each run."""
        return self.bagging - self.ensemble[:, self.best]

    @property
    def rise(self) -> Array:
        """Error at diversity 1 minus that at the best diversity, for each run."""
        return self.ensemble[:, -1] - self.ensemble[:, self.best]

    def at(self, stops: list[int]) -> Self:
        """The same at some of the diversities."""
        per_diversity = ("ensemble", "individual", "faithfulness", "redundancy")
        curves = {name: getattr(self, name)[:, stops] for name in per_diversity}
        return replace(self, diversities=self.diversities[stops], **curves)


def run(setting: Setting) -> list[Finding]:
    """Measure, draw ``figure2.png``, write ``figure2.json`` and ``figure2.txt``, judge the claims."""
    measured = sweeps(setting)
    setting.save_figure("figure2", draw(measured))
    setting.save_json("figure2.json", [row(sweep) for sweep in measured])
    setting.save_text("figure2.txt", table(measured))
    return judge(measured)


# --- measurements ------------------------------------------------------------------------------------


def grid(setting: Setting) -> list[float]:
    """Diversities: 0, 0.05, ..., 1 at full scale, 0, 0.1, ..., 1 else."""
    return np.linspace(0.0, 1.0, 21 if setting.full else 11).round(2).tolist()


def n_images(setting: Setting, name: str) -> int:
    """How many there are of one data set."""
    size = FULL_SIZES[name] if setting.full else QUICK_SIZE
    return min(size, EMBEDDED_DIGITS) if setting.source == "embedded" and name in FROM_DIGITS else size


def load_images(setting: Setting, name: str, n_samples: int, seed: int = 0) -> tuple[Array, np.ndarray]:
    """Images of one data set as rows, and their labels."""
    return load_benchmark(name, n_samples, source=setting.source, random_state=seed, return_X_y=True)


def folds(seed: int = 0) -> StratifiedKFold:
    """The paper's five, drawn from a seed."""
    return StratifiedKFold(N_FOLDS, shuffle=True, random_state=seed)


def nearest_neighbours(extractor: Any, **options: Any) -> ModularClassifier:
    """The paper's ensemble: one nearest neighbour on the features of each module, modal vote."""
    return ModularClassifier(extractor, NearestNeighborClassifier(), voting="hard", **options)


def sweeps(setting: Setting) -> list[Sweep]:
    """All six, each data set and seed from the disk if it was measured before."""
    measured, diversities, n_rows = [], grid(setting), 1000 if setting.full else 500
    for name in FULL_SIZES:
        question = {"data": name, "n_samples": n_images(setting, name), "diversities": diversities}
        question |= {"source": str(setting.source)}
        runs = []
        for seed in range(3 if setting.full else 1):
            measure = partial(_errors, setting, name, seed)
            runs.append(setting.remembered(f"sweep-{name}-{seed}", question | {"seed": seed}, measure))
        curves = {kind: np.concatenate([run[kind] for run in runs]) for kind in runs[0]}
        measure = partial(_correlations, setting, name, n_rows)
        about = question | {"seed": 0, "rows": n_rows}
        correlations = setting.remembered(f"sweep-{name}-correlations", about, measure)
        curves |= {kind: np.array(values) for kind, values in correlations.items()}
        measured.append(Sweep(name, np.array(diversities), **curves))
    return measured


def _errors(setting: Setting, name: str, seed: int) -> dict[str, Any]:
    """Errors of modular and bagging autoencoders on the folds of one seed."""
    n_samples, n_jobs = n_images(setting, name), setting.n_jobs
    setting.tell(f"Figure 2: {name.replace('_', ' ')}, {n_samples:,} images, seed {seed}")
    X, y = load_images(setting, name, n_samples, seed)
    search = ModularClassifierCV(
        LinearModularAutoencoder(**SIZES, diversity=0.5),
        NearestNeighborClassifier(),
        diversities=grid(setting),
        cv=folds(seed),
        scale=False,
        voting="hard",
        n_jobs=n_jobs,
        random_state=seed,
    )
    results = search.fit(X, y).cv_results_
    bagging = BaggingAutoencoder(**SIZES, n_jobs=n_jobs)
    baseline = nearest_neighbours(bagging, n_jobs=n_jobs, random_state=seed)
    return {
        "ensemble": [results[f"split{fold}_ensemble_error"] for fold in range(N_FOLDS)],
        "individual": [results[f"split{fold}_individual_error"] for fold in range(N_FOLDS)],
        "bagging": 1.0 - cross_val_score(baseline, X, y, cv=folds(seed)),
    }


def _correlations(setting: Setting, name: str, n_rows: int) -> dict[str, Any]:
    """Distance correlations of one fold, on rows that trained the modules and on others."""
    setting.tell(f"Section 5.2: {name.replace('_', ' ')}, distance correlations")
    X, y = load_images(setting, name, n_images(setting, name))
    parts = next(folds().split(X, y))
    model = LinearModularAutoencoder(**SIZES, diversity=0.5, random_state=0).fit(X[parts[0]])
    models, options = list(model.path(grid(setting))), {"n_samples": n_rows, "random_state": 0}
    return {
        metric.__name__: [[metric(at, X[part], **options) for at in models] for part in parts]
        for metric in (faithfulness, redundancy)
    }


# --- judgement ---------------------------------------------------------------------------------------


def margin(differences: Array) -> float:
    """Mean of paired differences, in standard errors."""
    mean, error = float(differences.mean()), float(sem(differences))
    if error > 0.0:
        return mean / error
    return float(np.copysign(np.inf, mean)) if mean else 0.0


def judge(measured: list[Sweep]) -> list[Finding]:
    """The three claims: below Bagging, best strictly inside, rising again towards 1."""
    best = [float(sweep.diversities[sweep.best]) for sweep in measured]
    words = f"best diversities {', '.join(f'{value:g}' for value in best)}"
    gain, rise = ({s.title: margin(getattr(s, name)) for s in measured} for name in ("gain", "rise"))
    told = "{} in {{}}; least clear: {{}}, {{:.1f}} se"
    return [
        on_all("figure2-below-bagging", told.format("below Bagging"), gain, CLEARLY),
        Finding("figure2-best-inside", all(0.0 < value < 1.0 for value in best), words),
        on_all("figure2-rises-towards-one", told.format("higher at 1"), rise, CLEARLY),
    ]


def on_all(claim: str, words: str, found: dict[str, float], limit: float, sign: float = 1.0) -> Finding:
    """Whether what was found is above a limit, or with sign -1 below minus that, on every data set.

    ``words`` has places for the count of those where it is, and for the least clear one and its number.
    """
    count = sum(sign * number > limit for number in found.values())
    least = min(found, key=lambda name: sign * found[name])
    told = words.format(f"{count} of {len(found)}", least, found[least])
    return Finding(claim, count == len(found), told)


# --- what is written ---------------------------------------------------------------------------------


def row(sweep: Sweep) -> dict[str, Any]:
    """One line of the table, for machines."""
    mean = sweep.ensemble.mean(axis=0)
    return {
        "data": sweep.name,
        "bagging": sweep.bagging.mean(),
        "best": mean[sweep.best],
        "best_diversity": sweep.diversities[sweep.best],
        "at_zero": mean[0],
        "at_one": mean[-1],
        "gain": sweep.gain.mean(),
        "gain_in_standard_errors": margin(sweep.gain),
        "rise_in_standard_errors": margin(sweep.rise),
        "diversities": sweep.diversities,
        "ensemble": mean,
    }


def table(measured: list[Sweep]) -> str:
    """Errors in percent, 80 columns."""
    lines = [
        "Figure 2: error in % (M = H = 10, 1-NN, modal vote, 5 folds); +- is one paired",
        "standard error over folds and seeds",
        "",
        f"{'data':<18}{'Bagging':>9}{'at 0':>7}{'best':>7}{'at':>6}{'at 1':>7}{'gain':>8}  +-",
    ]
    for sweep in measured:
        found = row(sweep)
        fields = ("bagging", "at_zero", "best", "at_one", "gain")
        bagging, zero, best, one, gain = (100 * found[field] for field in fields)
        lines.append(
            f"{sweep.title:<18}{bagging:9.2f}{zero:7.2f}{best:7.2f}{found['best_diversity']:6.2f}"
            f"{one:7.2f}{gain:8.2f}  {100 * sem(sweep.gain):.2f}"
        )
    return "\n".join(lines) + "\n"


def draw(measured: list[Sweep]) -> Any:
    """Six panels: the ensemble, its members and Bagging against diversity."""
    figure, axes = pyplot().subplots(2, 3, figsize=(12, 7), layout="constrained")
    for sweep, ax in zip(measured, axes.flat, strict=True):
        DiversityPathDisplay(
            diversities=sweep.diversities,
            ensemble_error=sweep.ensemble.mean(axis=0),
            ensemble_se=sem(sweep.ensemble),
            individual_error=sweep.individual.mean(axis=0),
            individual_se=sem(sweep.individual),
            baseline={"Bagging": (float(sweep.bagging.mean()), float(sem(sweep.bagging)))},
            chosen=float(sweep.diversities[sweep.best]),
        ).plot(ax=ax)
        ax.set_title(sweep.title)
        if ax is not axes.flat[0]:
            ax.get_legend().remove()
    return figure
