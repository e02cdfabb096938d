"""Commands and their options: what people type.

A function here only lists the options of a command, as typer reads them; the work is done elsewhere.
"""
# ruff: noqa: B008  (typer reads an option from the default of a parameter)

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from inspect import Parameter, signature
from math import inf
from pathlib import Path
from types import SimpleNamespace
from typing import Annotated, Any

import typer
from typer import Argument, Option

from modae.cli.console import Talk, guard, refuse_if

app = typer.Typer(
    name="modae",
    no_args_is_help=True,
    subcommand_metavar="COMMAND ...",
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
    context_settings={"help_option_names": ["-h", "--help"]},
)

TABLES = "Table: .csv .txt .xlsx .jsonl .parquet .arrow .npy, - for stdin."
Data = Annotated[str, Argument(metavar="DATA", help=TABLES)]
Model = Annotated[str, Argument(metavar="MODEL", help="A model that fit or tune wrote.")]
Target = Annotated[str | None, Option(metavar="COLUMN", help="Column to predict; of .npy an index.")]
KINDS = "knn, logistic, svm, tree or forest"
COMPLETED: Any = {"autocompletion": lambda: KINDS.replace(" or ", ", ").split(", ")}
NoHeader = Annotated[bool, Option("--no-header", help="The CSV has no line of names.")]
Seed = Annotated[int, Option(help="The same seed gives the same model.")]
Jobs = Annotated[int | None, Option(help="Cores to use; -1 is all.")]
#: Options of nearly every command, by the names of their parameters.
SHARED: dict[str, tuple[Any, Any]] = {
    "quiet": (bool, Option(False, "--quiet", "-q", help="Say nothing but errors.")),
    "as_json": (bool, Option(False, "--json", help="One JSON object instead of text.")),
    "debug": (bool, Option(False, "--debug", help="Show tracebacks.")),
}

#: How a table is written: options of every command that reads one.
READING: dict[str, tuple[Any, Any]] = {
    "format": (str | None, Option(None, metavar="KIND", help="What the table is, such as csv or xlsx.")),
    "sheet": (
        str | None,
        Option(None, metavar="NAME", help="Of an Excel file; else as in the fit, or the first."),
    ),
    "decimal": (str | None, Option(None, metavar="MARK", help="Before decimals: , in 49,0.")),
    "thousands": (str | None, Option(None, metavar="MARK", help="Between thousands: , in 3,685.20.")),
    "strip": (list[str], Option([], metavar="TEXT", help="Taken off numbers, as $; can be repeated.")),
    "missing": (list[str], Option([], metavar="TEXT", help="Means no value, as ?; can be repeated.")),
    "dates": (bool, Option(False, "--dates", help="Dates become year, month, weekday, days and hour.")),
}

#: What a value must be, for all commands that take it: a test, and the same in words.
RULES: dict[str, tuple[Callable[[Any], bool], str]] = {
    "modules": (lambda modules: modules >= 1, "at least 1 (30 is a good start)"),
    "diversity": (lambda diversity: 0.0 <= diversity <= 1.0, "between 0 and 1"),
    "seed": (lambda seed: 0 <= seed < 2**32, "between 0 and 4294967295"),
    "jobs": (lambda jobs: jobs != 0, "a number of cores, or -1 for all"),
    "rows": (lambda rows: rows >= 10, "at least ten"),
    "calibrate": (lambda share: 0.0 < share < 1.0, "a share of the rows, such as 0.25"),
    "coverage": (lambda share: 0.0 < share < 1.0, "a share of the rows, such as 0.9"),
    "task": (("auto", "classify", "regress").__contains__, "auto, classify or regress"),
    "scale": (("auto", "standard", "none").__contains__, "auto, standard or none"),
    "time_budget": (lambda seconds: 0.0 < seconds < inf, "a number of seconds above 0, such as 600"),
}


def _command(
    work: str,
    command: str = "",
    text: str | None = None,
    shared: tuple[str, ...] = tuple(SHARED),
    needed: str = "",
    **fixed: Any,
) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """A command with the parameters of a function as its options, and those that commands share.

    ``work``, "module.function", is imported when it is needed and called with all that was typed, by
    name; what it returns is the exit code. ``fixed`` are parameters that cannot be typed, and have
    these values; one that is ``needed`` must be typed.
    """

    def register(listed: Callable[..., None]) -> Callable[..., None]:
        name = command or listed.__name__

        def run(**typed: Any) -> int | None:
            options = SimpleNamespace(command=name, **(typed | fixed))
            options.reading = {each: typed[each] for each in READING if each in typed}
            said = {flag: typed.get(flag, False) for flag in ("quiet", "as_json")}
            with guard(typed):
                for option, (holds, rule) in RULES.items():
                    value = typed.get(option)
                    wrong = value is not None and not holds(value)
                    refuse_if(wrong, f"--{option.replace('_', '-')} {value}: it must be {rule}.")
                talk = Talk(**said, data_on_stdout=typed.get("out") == "-", command=name)
                module, function = work.split(".")
                code: int | None = getattr(import_module(f"modae.cli.{module}"), function)(options, talk)
                talk.show()
                return code

        given = signature(listed, eval_str=True).parameters
        parameters = {each: given[each] for each in given if each not in fixed}
        more = (READING if "data" in parameters else {}) | {each: SHARED[each] for each in shared}
        for each, (kind, option) in more.items():
            parameters[each] = Parameter(each, Parameter.KEYWORD_ONLY, default=option, annotation=kind)
        if needed:
            parameters[needed] = parameters[needed].replace(default=...)
        as_typed = signature(run).replace(parameters=list(parameters.values()))
        run.__signature__ = as_typed  # type: ignore[attr-defined]
        app.command(name, help=text or listed.__doc__)(run)
        return listed

    return register


def _version(asked: bool) -> None:
    if asked:
        from modae import __version__

        typer.echo(f"modae {__version__}")
        raise typer.Exit


@app.callback()
def modae(
    version: bool = Option(
        False, "--version", "-V", callback=_version, is_eager=True, help="Show the version."
    ),
) -> None:
    """Learn diverse features from a table, and predict by a vote on them.

    "modae tune DATA --target COLUMN -o MODEL" does both; "modae fit DATA -o MODEL" learns without
    labels. Each ends with what to type next.
    """


@_command(
    "fitting.fit_command",
    "tune",
    "Fit what predicts best of many candidates.",
    needed="target",
    tune=True,
    diversity=None,
    no_check=False,
)
@_command("fitting.fit_command", tune=False, time_budget=None)
def fit(
    data: Data,
    out: str = Option(..., "--out", "-o", metavar="NAME.modae", help="Where to save the model."),
    target: Target = None,
    modules: int | None = Option(None, metavar="M", help="How many modules; 30 if not given."),
    components: str | None = Option(None, metavar="H", help="Components of each; to tune, as 2,4,8."),
    diversity: float | None = Option(None, metavar="D", help="From 0 (all are equal) to 1; else 0.8."),
    tune: bool = False,
    estimator: str | None = Option(None, help=f"{KINDS}; else knn; tune tries several.", **COMPLETED),
    task: str = Option("auto", help="auto, classify or regress."),
    scale: str = Option("auto", help="auto, standard or none; auto looks at the columns."),
    encode: bool = Option(False, "--encode", help="Make columns of strings into columns of 0 and 1."),
    order: list[str] = Option([], metavar="LIST", help="Strings in order: low,high; can be repeated."),
    impute: bool = Option(False, "--impute", help="Fill missing values by the median."),
    drop: list[str] = Option([], metavar="COLUMN", help="Leave a column out; can be repeated."),
    calibrate: float | None = Option(None, metavar="SHARE", help="Hold rows out, for --coverage."),
    time_budget: float | None = Option(None, metavar="SECONDS", help="When to stop trying candidates."),
    no_header: NoHeader = False,
    no_check: bool = Option(False, "--no-check", help="Do not cross-validate."),
    no_fingerprint: bool = Option(False, "--no-fingerprint", help="Forget which rows it was fitted to."),
    seed: Seed = 0,
    jobs: Jobs = None,
) -> None:
    """Learn features from a table; with --target, predictions too."""


@_command("predicting.apply_command", "predict", "Write predictions for a table, and how sure they are.")
@_command(
    "predicting.apply_command",
    "transform",
    "Write the features of a table.",
    coverage=None,
    uncertainty=False,
    novelty=None,
)
def apply(
    model: Model,
    data: Data,
    out: str = Option(
        ..., "--out", "-o", metavar="NAME.csv", help="Where to write; also .parquet, .npy, - for stdout."
    ),
    keep: list[str] = Option([], metavar="COLUMN", help="Pass a column through; can be repeated."),
    coverage: float | None = Option(None, metavar="SHARE", help="Sets, or intervals, right this often."),
    uncertainty: bool = Option(False, "--uncertainty", help="Of the vote: total, aleatoric, epistemic."),
    novelty: str | None = Option(None, metavar="TABLE", help="How unlike its rows each is: a p-value."),
    no_header: NoHeader = False,
) -> None:
    """Run a model over a table."""


@_command("models.info_command", shared=("as_json", "debug"))
def info(model: Model) -> None:
    """Say what is in a model file."""


@_command("models.export_command")
def export(
    model: Model,
    out: str = Option(..., "--out", "-o", metavar="NAME.onnx", help="Where to write."),
) -> None:
    """Write a model as ONNX, which runs without Python."""


@_command("models.report_command")
def report(
    model: Model,
    data: Data,
    out: str = Option("report.html", "--out", "-o", metavar="NAME.html", help="Where to write."),
    target: Target = None,
    title: str | None = Option(None, help="Heading of the page."),
    image: str = Option("auto", metavar="HxW", help="Size of the image that a row is; auto or none."),
    rows: int = Option(3000, metavar="N", help="Most rows to look at."),
    no_header: NoHeader = False,
    seed: Seed = 0,
    jobs: Jobs = None,
) -> None:
    """Write a page about a model and a table, for people."""


@_command("demonstrations.demo_command")
def demo(out: Path = Option(Path("modae-demo"), "--out", "-o", help="Folder for pictures.")) -> None:
    """A quick tour on handwritten digits, with pictures."""


@_command("demonstrations.reproduce_command", shared=("debug",))
def reproduce(
    what: list[str] = Argument(
        None, help="theorems, figure1, table1, figure2, section51, section52, transfer; or all."
    ),
    full: bool = Option(False, "--full", help="The paper's scale: up to 45 minutes."),
    out: Path = Option(Path("modae-reproduction"), "--out", "-o", help="Folder for what it makes."),
    source: str = Option("embedded", help='Digits: "embedded", "openml" or a folder of MNIST files.'),
    jobs: Jobs = -1,
    fresh: bool = Option(False, "--fresh", help="Measure again what an earlier run in --out did."),
    report: str | None = Option(None, metavar="PAGE", help="Write a page about it too: NAME.html."),
) -> None:
    """Check the paper's tables, figures and theorems."""
