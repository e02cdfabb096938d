"""Section 5.2: members get worse while the ensemble gets better, and what their features share."""

from __future__ import annotations

from scipy.stats import spearmanr

from modae.display.style import BAND_OPACITY, BLUE, RED, open_frame, pyplot
from modae.reproduction.findings import Finding, Setting
from modae.reproduction.store import save_figure, save_json
from modae.reproduction.sweep import Sweep, sweeps
from modae.utils.arrays import Array

STRONG = 0.9
"""Rank correlation with diversity that counts as rising or falling throughout."""

CURVES = {
    "faithfulness": "distance correlation with the data",
    "redundancy": "distance correlation between modules",
}


def run(setting: Setting) -> list[Finding]:
    """Draw ``section52.png``, write ``section52.json``, judge the claims."""
    measured = sweeps(setting)
    draw(measured, setting)
    save_json(setting.out / "section52.json", {sweep.name: row(sweep) for sweep in measured})
    return judge(measured)


def judge(measured: list[Sweep]) -> list[Finding]:
    """Individual error rises, the ensemble's falls at first, both correlations fall."""
    rises = {sweep.title: _trend(sweep, sweep.individual.mean(axis=0)) for sweep in measured}
    faithful = {sweep.title: -_trend(sweep, sweep.faithfulness[1, :, 0]) for sweep in measured}
    redundant = {sweep.title: -_trend(sweep, sweep.redundancy[1, :, 0]) for sweep in measured}
    return [
        _trend_finding("section52-individual-error-rises", rises, 1.0),
        _ensemble_falls(measured),
        _trend_finding("section52-faithfulness-falls", faithful, -1.0),
        _trend_finding("section52-redundancy-falls", redundant, -1.0),
    ]


def _trend(sweep: Sweep, values: Array) -> float:
    return float(spearmanr(sweep.diversities, values).statistic)


def _trend_finding(claim: str, strengths: dict[str, float], sign: float) -> Finding:
    strong = [value > STRONG for value in strengths.values()]
    least = min(strengths, key=lambda name: strengths[name])
    text = f"{sum(strong)} of {len(strong)}; weakest rank correlation: {least}"
    return Finding(claim, all(strong), f"{text}, {sign * strengths[least]:+.3f}")


def _ensemble_falls(measured: list[Sweep]) -> Finding:
    falls = {s.title: float((s.ensemble[:, 0] - s.ensemble[:, s.best]).mean()) for s in measured}
    least = min(falls, key=lambda name: falls[name])
    text = f"error at 0 minus least error: {100 * falls[least]:.1f} points or more ({least})"
    return Finding("section52-ensemble-error-falls", falls[least] > 0.0, text)


def row(sweep: Sweep) -> dict[str, object]:
    """All curves of one data set."""
    return {
        "diversities": sweep.diversities.tolist(),
        "ensemble_error": sweep.ensemble.mean(axis=0).tolist(),
        "individual_error": sweep.individual.mean(axis=0).tolist(),
        "faithfulness": dict(zip(("train", "test"), sweep.faithfulness.tolist(), strict=True)),
        "redundancy": dict(zip(("train", "test"), sweep.redundancy.tolist(), strict=True)),
    }


def draw(measured: list[Sweep], setting: Setting) -> None:
    """Six panels with the two distance correlations, on training rows (dashed) and on others."""
    figure, axes = pyplot().subplots(2, 3, figsize=(12, 7), layout="constrained", sharey=True)
    for sweep, ax in zip(measured, axes.flat, strict=True):
        for name, colour in (("faithfulness", BLUE), ("redundancy", RED)):
            for part, style in enumerate(("--", "-")):
                value, error = getattr(sweep, name)[part].T
                words = f"{CURVES[name]}, {('training', 'test')[part]} rows"
                ax.plot(sweep.diversities, value, style, color=colour, label=words)
                ax.fill_between(
                    sweep.diversities, value - error, value + error, color=colour, alpha=BAND_OPACITY
                )
        ax.set(title=sweep.title, xlabel="diversity", ylim=(0, 1.02))
        open_frame(ax)
    axes[0, 0].set_ylabel("mean distance correlation")
    axes[1, 0].set_ylabel("mean distance correlation")
    axes[0, 0].legend(fontsize="small", loc="lower left")
    save_figure(figure, setting.out / "section52")
