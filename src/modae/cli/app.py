"""Commands and their options: what people type."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Optional

import typer

from modae.cli.guard import guard, set_debug

app = typer.Typer(
    name="modae",
    no_args_is_help=True,
    subcommand_metavar="COMMAND ...",
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
    context_settings={"help_option_names": ["-h", "--help"]},
)

Data = Annotated[
    str, typer.Argument(metavar="DATA", help="Table: .csv .tsv .parquet .arrow .npy .npz, - for stdin.")
]
ModelFile = Annotated[str, typer.Argument(metavar="MODEL", help="A model that fit or tune wrote.")]
SaveAs = Annotated[
    str, typer.Option("--out", "-o", metavar="MODEL", help="Where to save the model: NAME.modae.")
]
WriteTo = Annotated[
    str,
    typer.Option(
        "--out", "-o", metavar="TABLE", help="Where to write: .csv, .parquet, .npy, - for stdout."
    ),
]
Names = Annotated[
    Optional[list[str]],  # noqa: UP045  (typer reads this)
    typer.Option("--drop", metavar="COLUMN", help="Leave a column out, such as an id; can be repeated."),
]
Keep = Annotated[
    Optional[list[str]],  # noqa: UP045
    typer.Option(
        "--keep", metavar="COLUMN", help="Pass a column through, such as an id; can be repeated."
    ),
]
Target = Annotated[
    Optional[str],  # noqa: UP045
    typer.Option(metavar="COLUMN", help="Column to predict; an index for .npy, a key for .npz."),
]
Needed = Annotated[str, typer.Option("--target", metavar="COLUMN", help="Column to predict: classes.")]
Modules = Annotated[int, typer.Option(metavar="M", help="How many modules.")]
Components = Annotated[
    Optional[str],  # noqa: UP045
    typer.Option(metavar="H", help="Components of each; to tune, a list such as 2,4,8."),
]
Member = Annotated[str, typer.Option(help="What predicts: knn, logistic, svm, tree, forest.")]
Task = Annotated[str, typer.Option(help="auto, classify or regress.")]
Scale = Annotated[str, typer.Option(help="auto, standard or none; auto looks at the columns.")]
Encode = Annotated[bool, typer.Option("--encode", help="Make columns of words into columns of 0 and 1.")]
Impute = Annotated[bool, typer.Option("--impute", help="Fill missing values by the median.")]
Header = Annotated[bool, typer.Option("--no-header", help="The CSV has no line of names.")]
Seed = Annotated[int, typer.Option(help="The same seed gives the same model.")]
Jobs = Annotated[Optional[int], typer.Option(help="Cores for the members; -1 is all.")]  # noqa: UP045
Quiet = Annotated[bool, typer.Option("--quiet", "-q", help="Say nothing but errors.")]
Json = Annotated[bool, typer.Option("--json", help="One JSON object instead of words.")]
Debug = Annotated[
    bool, typer.Option("--debug", callback=set_debug, is_eager=True, help="Show tracebacks.")
]


def _version(asked: bool) -> None:
    if asked:
        from modae import __version__

        typer.echo(f"modae {__version__}")
        raise typer.Exit


@app.callback()
def modae(
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Show the version.")
    ] = False,
) -> None:
    """Learn diverse features from a table, and predict by a vote on them.

    "modae tune DATA --target COLUMN -o MODEL" does both; "modae fit DATA -o MODEL" learns without
    labels. Each ends with what to type next.
    """


@app.command()
def fit(
    data: Data,
    out: SaveAs,
    target: Target = None,
    modules: Modules = 10,
    components: Components = None,
    diversity: Annotated[
        Optional[float],  # noqa: UP045
        typer.Option(metavar="D", help="From 0 (all modules equal) to 1; 0.5 if not given."),
    ] = None,
    tune: Annotated[bool, typer.Option("--tune", help="Choose the diversity: see modae tune.")] = False,
    estimator: Member = "knn",
    task: Task = "auto",
    scale: Scale = "auto",
    encode: Encode = False,
    impute: Impute = False,
    drop: Names = None,
    no_header: Header = False,
    no_check: Annotated[bool, typer.Option("--no-check", help="Do not cross-validate.")] = False,
    seed: Seed = 0,
    jobs: Jobs = None,
    quiet: Quiet = False,
    as_json: Json = False,
    debug: Debug = False,
) -> None:
    """Learn features from a table; with --target, predictions too."""
    with guard(as_json):
        from modae.cli.fitting import fit_command
        from modae.cli.options import FitOptions
        from modae.cli.talk import Talk

        talk = Talk(quiet=quiet, as_json=as_json)
        # fmt: off
        options = FitOptions(
            data=data, out=out, target=target, modules=modules, components=components,
            diversity=diversity, tune=tune, estimator=estimator, task=task, scale=scale, encode=encode,
            impute=impute, drop=tuple(drop or ()), header=not no_header, seed=seed, jobs=jobs,
            check=not no_check,
        )
        # fmt: on
        talk.show(fit_command(options, talk))


@app.command()
def tune(
    data: Data,
    target: Needed,
    out: SaveAs,
    modules: Modules = 10,
    components: Components = None,
    estimator: Member = "knn",
    task: Task = "auto",
    scale: Scale = "auto",
    encode: Encode = False,
    impute: Impute = False,
    drop: Names = None,
    no_header: Header = False,
    seed: Seed = 0,
    jobs: Jobs = None,
    quiet: Quiet = False,
    as_json: Json = False,
    debug: Debug = False,
) -> None:
    """Fit with the diversity and size that predict best."""
    # fmt: off
    fit(
        data, out, target, modules, components, None, True, estimator, task, scale, encode, impute,
        drop, no_header, False, seed, jobs, quiet, as_json, debug,
    )
    # fmt: on


@app.command()
def transform(
    model: ModelFile,
    data: Data,
    out: WriteTo,
    keep: Keep = None,
    no_header: Header = False,
    quiet: Quiet = False,
    as_json: Json = False,
    debug: Debug = False,
) -> None:
    """Write the features of a table."""
    _apply("transform", model, data, out, keep, no_header, quiet, as_json)


@app.command()
def predict(
    model: ModelFile,
    data: Data,
    out: WriteTo,
    keep: Keep = None,
    no_header: Header = False,
    quiet: Quiet = False,
    as_json: Json = False,
    debug: Debug = False,
) -> None:
    """Write predictions for a table, and how sure they are."""
    _apply("predict", model, data, out, keep, no_header, quiet, as_json)


def _apply(
    command: str,
    model: str,
    data: str,
    out: str,
    keep: list[str] | None,
    no_header: bool,
    quiet: bool,
    as_json: bool,
) -> None:
    with guard(as_json):
        from modae.cli.applying import COMMANDS, ApplyOptions
        from modae.cli.errors import Mistake
        from modae.cli.talk import Talk

        if out == "-" and as_json:
            raise Mistake("-o - and --json both want standard output: write to a file.")
        talk = Talk(quiet=quiet, as_json=as_json, data_on_stdout=out == "-")
        options = ApplyOptions(model, data, out, tuple(dict.fromkeys(keep or ())), not no_header)
        talk.show(COMMANDS[command](options, talk))


@app.command()
def info(model: ModelFile, as_json: Json = False, debug: Debug = False) -> None:
    """Say what is in a model file."""
    with guard(as_json):
        from modae.cli.info import info_command
        from modae.cli.talk import Talk

        Talk(as_json=as_json).show(info_command(model))


@app.command()
def export(
    model: ModelFile,
    out: Annotated[str, typer.Argument(metavar="FILE", help="Where to write: NAME.onnx.")],
    quiet: Quiet = False,
    as_json: Json = False,
    debug: Debug = False,
) -> None:
    """Write a model as ONNX, which runs without Python."""
    with guard(as_json):
        from modae.cli.exporting import export_command
        from modae.cli.talk import Talk

        Talk(quiet=quiet, as_json=as_json).show(export_command(model, out))


@app.command()
def report(
    model: ModelFile,
    data: Data,
    out: Annotated[
        str, typer.Option("--out", "-o", metavar="PAGE", help="Where to write: NAME.html.")
    ] = "report.html",
    target: Target = None,
    title: Annotated[Optional[str], typer.Option(help="Heading of the page.")] = None,  # noqa: UP045
    image: Annotated[
        str, typer.Option(metavar="HxW", help="Size of the image that a row is; auto or none.")
    ] = "auto",
    rows: Annotated[int, typer.Option(metavar="N", help="Most rows to look at.")] = 3000,
    no_header: Header = False,
    seed: Seed = 0,
    jobs: Jobs = None,
    quiet: Quiet = False,
    as_json: Json = False,
    debug: Debug = False,
) -> None:
    """Write a page about a model and a table, for people."""
    with guard(as_json):
        from modae.cli.reporting import ReportOptions, report_command
        from modae.cli.talk import Talk

        talk = Talk(quiet=quiet, as_json=as_json)
        options = ReportOptions(model, data, out, target, title, image, rows, not no_header, seed, jobs)
        talk.show(report_command(options, talk))


@app.command()
def demo(
    out: Annotated[Path, typer.Option(help="Folder for pictures.")] = Path("modae-demo"),
) -> None:
    """A quick tour on handwritten digits, with pictures."""
    from modae.cli.demo import main

    try:
        main(out)
    except ImportError as error:
        typer.echo(str(error), err=True)
        raise typer.Exit(3) from None
    except OSError as error:
        typer.echo(f"--out {out}: nothing can be written there ({error.strerror}).", err=True)
        raise typer.Exit(3) from None


@app.command()
def reproduce(
    what: Annotated[
        Optional[list[str]],  # noqa: UP045  (typer reads this)
        typer.Argument(
            help="theorems, figure1, table1, figure2, section51, section52, transfer; or all."
        ),
    ] = None,
    full: Annotated[bool, typer.Option("--full", help="The paper's scale: up to 45 minutes.")] = False,
    out: Annotated[Path, typer.Option(help="Folder for pictures and numbers.")] = Path(
        "modae-reproduction"
    ),
    source: Annotated[
        str, typer.Option(help='Digits: "embedded", "openml" or a folder of MNIST files.')
    ] = "embedded",
    jobs: Annotated[int, typer.Option(help="Cores to use; -1 is all.")] = -1,
    fresh: Annotated[
        bool, typer.Option("--fresh", help="Measure again what an earlier run in --out did.")
    ] = False,
    report: Annotated[
        Optional[str],  # noqa: UP045
        typer.Option(metavar="PAGE", help="Write a page about it too: NAME.html."),
    ] = None,
) -> None:
    """Check the paper's tables, figures and theorems."""
    from modae.cli.reproduce import reproduce_command

    raise typer.Exit(
        reproduce_command(
            what or [], full=full, out=out, source=source, jobs=jobs, fresh=fresh, page=report
        )
    )
