"""Without a table: ``modae demo``, an ensemble tuned on digits, and ``modae reproduce``, the paper."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import nullcontext
from dataclasses import replace
from functools import partial
from pathlib import Path
from time import perf_counter
from typing import Any

import numpy as np
from rich import box
from rich.console import Console
from rich.markup import escape
from rich.table import Column, Table
from sklearn.base import clone
from sklearn.decomposition import PCA
from sklearn.model_selection import StratifiedKFold, train_test_split
from sklearn.pipeline import make_pipeline

from modae.cli.console import THIS, Talk, UserError, plain, say_modules, say_others
from modae.cli.tables import check_output
from modae.datasets import load_benchmark
from modae.display import AllocationDisplay, DiversityPathDisplay, ReconstructionDisplay
from modae.display.style import pyplot
from modae.ensembles.classifier import ModularClassifier
from modae.ensembles.cv import ModularClassifierCV
from modae.ensembles.neighbors import NearestNeighborClassifier
from modae.files.objects import model_summary
from modae.linear.autoencoder import LinearModularAutoencoder
from modae.linear.bagging import BaggingAutoencoder
from modae.metrics.comparison import compare, rivals
from modae.report.api import build
from modae.reproduction.page import make_page
from modae.reproduction.run import DIFFERS, PARTS, REPRODUCED, Setting, Verdict, counts, reproduce
from modae.utils.atomic import atomic_write
from modae.utils.text import percent

N_TRAIN, N_TEST = 2000, 2000

#: Modules, and components of each.
SIZES = 20, 15

#: One PCA as large as a module, others that are better, and one as large as all modules together.
PCA_SIZES = 15, 30, 60, 300

COLOURS = {REPRODUCED: "green", DIFFERS: "yellow"}

#: Tables that parts wrote, shown before the verdicts.
PRINTED = ("table1.txt", "figure2.txt")


def demo_command(options: Any, talk: Talk) -> None:
    """Tune on digits, compare with what the ensemble is better than, draw."""
    pyplot()  # without which there would be no pictures after the work
    X, y = load_benchmark("basic", N_TRAIN + N_TEST, random_state=0, return_X_y=True)
    out = options.out
    out.mkdir(parents=True, exist_ok=True)
    fold = train_test_split(np.arange(len(y)), train_size=N_TRAIN, random_state=0, stratify=y)
    (train, test), y_train = (X[each] for each in fold), y[fold[0]]
    talk.say("read", f"MNIST digits: {N_TRAIN:,} to train, {N_TEST:,} to test.")
    neighbor, bagging = NearestNeighborClassifier(), BaggingAutoencoder(*SIZES)
    folds = StratifiedKFold(5, shuffle=True, random_state=0)  # those of the page too
    search = ModularClassifierCV(
        LinearModularAutoencoder(*SIZES), neighbor, cv=folds, scale=False, n_jobs=-1, random_state=0
    )
    with talk.watch("Tuning", search):
        search.fit(train, y_train)
    models = {
        THIS: clone(search.best_estimator_).set_params(n_jobs=None),
        "Bagging Autoencoders": ModularClassifier(bagging, random_state=0),
        **{f"member on PCA({k})": make_pipeline(PCA(k, random_state=0), neighbor) for k in PCA_SIZES},
        **rivals(train, y_train, classify=True),
    }
    with talk.stage("Comparing it with other methods", len(models), "fit") as advance:
        table = compare(models, X, y, cv=[fold], n_jobs=-1, advance=advance)
    say_path(search, talk)
    better = say_others(table, f"wrong of the {N_TEST:,} that no model saw (members are 1-NN):", talk)
    talk.next(*[f"rivals(X, y, classify=True)[{better!r}]  # modae.metrics"] * bool(better))
    best = search.best_estimator_
    say_modules(model_summary(best), talk)
    drawings: dict[str, Any] = {
        "diversity.png": DiversityPathDisplay.from_estimator(search),
        "allocation.png": AllocationDisplay.from_estimator(best.extractor_),
        "reconstructions.png": ReconstructionDisplay.from_estimator(best.extractor_, test),
    }
    for name, display in drawings.items():
        with atomic_write(out / name) as file:
            display.figure_.savefig(file, format="png", dpi=150, bbox_inches="tight")
        pyplot().close(display.figure_)
    with talk.stage("Measuring for a page about it"):
        page = build(search, train, y_train, title="Handwritten digits", rivals=False, n_jobs=-1)
        page.save(out / "report.html")
    written = [str(out / name) for name in (*drawings, "report.html")]
    talk.say("written", "\n".join(f" {path}" for path in written), output=written)
    talk.say("", "The last is a page with a slider for diversity: open it in a browser.")


def say_path(search: Any, talk: Talk) -> None:
    """The errors of the vote and of one member at each diversity, and which was chosen."""
    results, lines = search.cv_results_, [f" {'diversity':>9}  {'the vote':>9}  {'one member':>10}"]
    for place, params in enumerate(results["params"]):
        vote, member = (results[f"mean_{who}_error"][place] for who in ("ensemble", "individual"))
        mark = "  <- chosen" if place == search.best_index_ else ""
        diversity = f" {params['diversity']:>9.1f}"
        lines.append(f"{diversity}  {percent(vote):>9}  {percent(member):>10}{mark}")
    talk.say("tried", f"{len(lines) - 1} diversities on {search.n_splits_} folds. Wrong:")
    talk.say("", "\n".join(lines))


def reproduce_command(options: Any, talk: Talk) -> int:
    """Run, print, and return the exit code: 1 if a claim that was reproduced stopped holding."""
    start, names, page = perf_counter(), options.what or [], options.report
    setting = Setting(options.out, options.full, options.source, options.jobs)
    unknown = [name for name in names if name not in PARTS]
    if unknown:
        raise UserError(f"There is no part {unknown[0]!r}. Parts are: {', '.join(PARTS)}.")
    try:
        setting.check_source(names or PARTS)
    except (ValueError, FileNotFoundError, NotADirectoryError) as error:
        raise UserError(f"--source {options.source}: {error}") from error
    except (OSError, ImportError):
        pass  # not a mistake: said when the work begins
    if page is not None:
        check_output(page, (".html", ".htm"), option="--report")
    setting.measured_folder.mkdir(parents=True, exist_ok=True)
    try:
        verdicts = run(names, setting, options.fresh, page, talk.errors)
    except KeyboardInterrupt:
        again = "The same command, without --fresh," if options.fresh else "The same command"
        raise KeyboardInterrupt(f"Interrupted. {again} goes on where this one stopped.") from None
    show(verdicts, names, options.out, talk.out)
    plain(talk.out, f"{perf_counter() - start:.0f} s. Pictures and numbers are in {options.out}/")
    if page is not None:
        plain(talk.out, f"The page is {page}: open it in a browser; it needs no network.")
    return int(any(verdict.stopped_holding for verdict in verdicts))


def run(
    names: Sequence[str], setting: Setting, fresh: bool, page: str | None, errors: Console
) -> list[Verdict]:
    """Run with a status line on a terminal, and with one line for each step elsewhere."""
    with errors.status("Starting") if errors.is_terminal else nullcontext() as status:
        tell = partial(plain, errors) if status is None else lambda text: status.update(escape(text))
        told = replace(setting, tell=tell)
        verdicts = reproduce(names, told, fresh=fresh)
        if page is not None:
            make_page(verdicts, told).save(page)
    return verdicts


def show(verdicts: Sequence[Verdict], names: Sequence[str], out: Path, console: Console) -> None:
    """The parts' own tables, the verdicts, and once more what differs."""
    for name in PRINTED:
        if (not names or Path(name).stem in names) and (out / name).is_file():
            console.print((out / name).read_text(encoding="utf-8"), markup=False, highlight=False)
    console.print(verdict_table(verdicts))
    for verdict in verdicts:
        if verdict.stopped_holding:
            plain(console, f"{verdict.claim.name} was reproduced before, and is not now.")
        elif verdict.verdict == DIFFERS:
            plain(console, f"{verdict.claim.name} differs.")
    counted = ", ".join(f"{word}: {count}" for word, count in counts(verdicts).items())
    plain(console, f"Claims: {len(verdicts)}. {counted}.")


def verdict_table(verdicts: Sequence[Verdict]) -> Table:
    """The paper's words, the rule, our value and the verdict."""
    shares = {"the paper": 5, "checked here": 5, "verdict": 2}
    columns = [Column(name, ratio=share) for name, share in shares.items()]
    table = Table(*columns, box=box.SIMPLE_HEAD, pad_edge=False, padding=(0, 1, 1, 0))
    for verdict in verdicts:
        claim = verdict.claim
        found = f"\n[bold]Found:[/] {escape(verdict.measured)}" if verdict.measured else ""
        note = f"\n[dim]Note: {escape(claim.note)}[/]" if claim.note else ""
        table.add_row(
            f"[bold]{escape(claim.where)}[/] [dim]({claim.name})[/]\n{escape(claim.paper)}",
            f"[dim]Rule: {escape(claim.check)}[/]{found}{note}",
            f"[{COLOURS.get(verdict.verdict, 'default')}]{verdict.verdict}[/]",
        )
    return table
