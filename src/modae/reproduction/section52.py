"""Section 5.2: members get worse while the ensemble gets better, and what their features share."""

from collections.abc import Callable
from typing import Any

from scipy.stats import spearmanr

from modae.display.style import BAND_OPACITY, BLUE, RED, open_frame, pyplot
from modae.reproduction.figure2 import Sweep, on_all, sweeps
from modae.reproduction.run import Finding, Setting
from modae.utils.arrays import Array

#: Rank correlation with diversity that counts as rising or falling throughout.
STRONG = 0.9

CURVES = {
    "faithfulness": ("distance correlation with the data", BLUE),
    "redundancy": ("distance correlation between modules", RED),
}


def run(setting: Setting) -> list[Finding]:
    """Draw ``section52.png``, write ``section52.json``, judge the claims."""
    measured = sweeps(setting)
    setting.save_figure("section52", draw(measured))
    setting.save_json("section52.json", {sweep.name: row(sweep) for sweep in measured})
    return judge(measured)


def judge(measured: list[Sweep]) -> list[Finding]:
    """Individual error rises, the ensemble's falls at first, both correlations fall."""
    gained = {s.title: 100 * (s.ensemble[:, 0] - s.ensemble[:, s.best]).mean() for s in measured}
    words = "error at 0 minus least error: {2:.1f} points or more ({1})"
    return [
        _trend("section52-individual-error-rises", measured, lambda s: s.individual.mean(axis=0), 1.0),
        on_all("section52-ensemble-error-falls", words, gained, 0.0),
        _trend("section52-faithfulness-falls", measured, lambda s: s.faithfulness[1, :, 0], -1.0),
        _trend("section52-redundancy-falls", measured, lambda s: s.redundancy[1, :, 0], -1.0),
    ]


def _trend(claim: str, measured: list[Sweep], curve: Callable[[Sweep], Array], sign: float) -> Finding:
    """Whether a curve rises (sign 1) or falls (-1) with diversity on every data set."""
    found = {s.title: float(spearmanr(s.diversities, curve(s)).statistic) for s in measured}
    return on_all(claim, "{}; weakest rank correlation: {}, {:+.3f}", found, STRONG, sign)


def row(sweep: Sweep) -> dict[str, Any]:
    """All curves of one data set."""
    return {
        "diversities": sweep.diversities,
        "ensemble_error": sweep.ensemble.mean(axis=0),
        "individual_error": sweep.individual.mean(axis=0),
        "faithfulness": dict(zip(("train", "test"), sweep.faithfulness, strict=True)),
        "redundancy": dict(zip(("train", "test"), sweep.redundancy, strict=True)),
    }


def draw(measured: list[Sweep]) -> Any:
    """Six panels with the two distance correlations, on training rows (dashed) and on others."""
    figure, axes = pyplot().subplots(2, 3, figsize=(12, 7), layout="constrained", sharey=True)
    for sweep, ax in zip(measured, axes.flat, strict=True):
        for name, (words, colour) in CURVES.items():
            for part, rows, style in ((0, "training", "--"), (1, "test", "-")):
                x, (value, error) = sweep.diversities, getattr(sweep, name)[part].T
                ax.plot(x, value, style, color=colour, label=f"{words}, {rows} rows")
                ax.fill_between(x, value - error, value + error, color=colour, alpha=BAND_OPACITY)
        ax.set(title=sweep.title, xlabel="diversity", ylim=(0, 1.02))
        open_frame(ax)
    for ax in axes[:, 0]:
        ax.set_ylabel("mean distance correlation")
    axes[0, 0].legend(fontsize="small", loc="lower left")
    return figure
