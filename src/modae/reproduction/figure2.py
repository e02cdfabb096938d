"""Section 4, Figure 2: error against diversity on six data sets, modular and Bagging Autoencoders."""

from __future__ import annotations

import numpy as np

from modae.display import DiversityPathDisplay
from modae.display.style import pyplot
from modae.reproduction.findings import Finding, Setting
from modae.reproduction.store import save_figure, save_json, save_text
from modae.reproduction.sweep import Sweep, sweeps
from modae.utils.arrays import Array

CLEARLY = 2.0
"""Standard errors of a paired difference that count as clear."""


def run(setting: Setting) -> list[Finding]:
    """Measure, draw ``figure2.png``, write ``figure2.json`` and ``figure2.txt``, judge the claims."""
    measured = sweeps(setting)
    draw(measured, setting)
    save_json(setting.out / "figure2.json", [row(sweep) for sweep in measured])
    save_text(setting.out / "figure2.txt", table(measured))
    return judge(measured)


def judge(measured: list[Sweep]) -> list[Finding]:
    """The three claims: below Bagging, best strictly inside, rising again towards 1."""
    return [_below_bagging(measured), _inside(measured), _rises(measured)]


def margin(differences: Array) -> float:
    """Mean of paired differences, in standard errors."""
    error = float(differences.std(ddof=1) / np.sqrt(len(differences)))
    mean = float(differences.mean())
    if error > 0.0:
        return mean / error
    return float(np.copysign(np.inf, mean)) if mean else 0.0


def gain(sweep: Sweep) -> Array:
    """Error of Bagging minus that of the best diversity, for each run."""
    return sweep.bagging - sweep.ensemble[:, sweep.best]


def rise(sweep: Sweep) -> Array:
    """Error at diversity 1 minus that at the best diversity, for each run."""
    return sweep.ensemble[:, -1] - sweep.ensemble[:, sweep.best]


def _below_bagging(measured: list[Sweep]) -> Finding:
    margins = {sweep.title: margin(gain(sweep)) for sweep in measured}
    return _count("figure2-below-bagging", margins, "below Bagging")


def _rises(measured: list[Sweep]) -> Finding:
    margins = {sweep.title: margin(rise(sweep)) for sweep in measured}
    return _count("figure2-rises-towards-one", margins, "higher at 1")


def _count(claim: str, margins: dict[str, float], words: str) -> Finding:
    clear = [name for name, value in margins.items() if value > CLEARLY]
    least = min(margins, key=lambda name: margins[name])
    text = f"{words} in {len(clear)} of {len(margins)}; least clear: {least}, {margins[least]:.1f} se"
    return Finding(claim, len(clear) == len(margins), text)


def _inside(measured: list[Sweep]) -> Finding:
    best = {sweep.title: sweep.diversities[sweep.best] for sweep in measured}
    inside = [0.0 < value < 1.0 for value in best.values()]
    values = ", ".join(f"{value:g}" for value in best.values())
    return Finding("figure2-best-inside", all(inside), f"best diversities {values}")


def row(sweep: Sweep) -> dict[str, object]:
    """One line of the table, for people and machines."""
    mean = sweep.ensemble.mean(axis=0)
    return {
        "data": sweep.name,
        "bagging": float(sweep.bagging.mean()),
        "best": float(mean[sweep.best]),
        "best_diversity": float(sweep.diversities[sweep.best]),
        "at_zero": float(mean[0]),
        "at_one": float(mean[-1]),
        "gain": float(gain(sweep).mean()),
        "gain_in_standard_errors": _finite(margin(gain(sweep))),
        "rise_in_standard_errors": _finite(margin(rise(sweep))),
        "diversities": sweep.diversities.tolist(),
        "ensemble": mean.tolist(),
    }


def _finite(value: float) -> float | None:
    return value if np.isfinite(value) else None


def table(measured: list[Sweep]) -> str:
    """Errors in percent, 80 columns."""
    lines = [
        "Figure 2: error in % (M = H = 10, 1-NN, modal vote, 5 folds); +- is one paired",
        "standard error over folds and seeds",
        "",
        f"{'data':<18}{'Bagging':>9}{'at 0':>7}{'best':>7}{'at':>6}{'at 1':>7}{'gain':>8}  +-",
    ]
    for sweep in measured:
        mean, gained = sweep.ensemble.mean(axis=0), gain(sweep)
        error = gained.std(ddof=1) / np.sqrt(len(gained))
        lines.append(
            f"{sweep.title:<18}{100 * sweep.bagging.mean():9.2f}{100 * mean[0]:7.2f}"
            f"{100 * mean[sweep.best]:7.2f}{sweep.diversities[sweep.best]:6.2f}{100 * mean[-1]:7.2f}"
            f"{100 * gained.mean():8.2f}  {100 * error:.2f}"
        )
    return "\n".join(lines) + "\n"


def draw(measured: list[Sweep], setting: Setting) -> None:
    """Six panels: the ensemble, its members and Bagging against diversity."""
    figure, axes = pyplot().subplots(2, 3, figsize=(12, 7), layout="constrained")
    for sweep, ax in zip(measured, axes.flat, strict=True):
        DiversityPathDisplay(
            diversities=sweep.diversities,
            ensemble_error=sweep.ensemble.mean(axis=0),
            ensemble_se=_standard_error(sweep.ensemble),
            individual_error=sweep.individual.mean(axis=0),
            individual_se=_standard_error(sweep.individual),
            baseline={
                "Bagging": (
                    float(sweep.bagging.mean()),
                    float(_standard_error(sweep.bagging[:, None])[0]),
                )
            },
            chosen=float(sweep.diversities[sweep.best]),
        ).plot(ax=ax)
        ax.set_title(sweep.title)
        if ax is not axes.flat[0]:
            ax.get_legend().remove()
    save_figure(figure, setting.out / "figure2")


def _standard_error(values: Array) -> Array:
    return values.std(axis=0, ddof=1) / np.sqrt(len(values))
