"""Commands and their options: what people type."""

from __future__ import annotations

from importlib import import_module
from pathlib import Path
from types import SimpleNamespace
from typing import Annotated, Any

import typer
from typer import Argument, Context, Option

from modae.cli.errors import guard, set_debug

app = typer.Typer(
    name="modae",
    no_args_is_help=True,
    subcommand_metavar="COMMAND ...",
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
    context_settings={"help_option_names": ["-h", "--help"]},
)

Data = Annotated[
    str, Argument(metavar="DATA", help="Table: .csv .tsv .parquet .arrow .npy .npz, - for stdin.")
]
Model = Annotated[str, Argument(metavar="MODEL", help="A model that fit or tune wrote.")]
SaveAs = Annotated[
    str, Option("--out", "-o", metavar="MODEL", help="Where to save the model: NAME.modae.")
]
WriteTo = Annotated[
    str,
    Option("--out", "-o", metavar="TABLE", help="Where to write: .csv, .parquet, .npy, - for stdout."),
]
Drop = Annotated[
    list[str] | None,
    Option("--drop", metavar="COLUMN", help="Leave a column out, such as an id; can be repeated."),
]
Keep = Annotated[
    list[str] | None,
    Option("--keep", metavar="COLUMN", help="Pass a column through, such as an id; can be repeated."),
]
Target = Annotated[
    str | None,
    Option(metavar="COLUMN", help="Column to predict; an index for .npy, a key for .npz."),
]
Classes = Annotated[str, Option("--target", metavar="COLUMN", help="Column to predict: classes.")]
Modules = Annotated[int, Option(metavar="M", help="How many modules.")]
Components = Annotated[
    str | None,
    Option(metavar="H", help="Components of each; to tune, a list such as 2,4,8."),
]
Member = Annotated[str, Option(help="What predicts: knn, logistic, svm, tree, forest.")]
Task = Annotated[str, Option(help="auto, classify or regress.")]
Scale = Annotated[str, Option(help="auto, standard or none; auto looks at the columns.")]
Encode = Annotated[bool, Option("--encode", help="Make columns of strings into columns of 0 and 1.")]
Impute = Annotated[bool, Option("--impute", help="Fill missing values by the median.")]
NoHeader = Annotated[bool, Option("--no-header", help="The CSV has no line of names.")]
Seed = Annotated[int, Option(help="The same seed gives the same model.")]
Jobs = Annotated[int | None, Option(help="Cores for the members; -1 is all.")]
Quiet = Annotated[bool, Option("--quiet", "-q", help="Say nothing but errors.")]
Json = Annotated[bool, Option("--json", help="One JSON object instead of text.")]
Debug = Annotated[bool, Option("--debug", callback=set_debug, is_eager=True, help="Show tracebacks.")]


def _run(ctx: Context, command: str, **more: Any) -> None:
    """Import a command, written "module.function", and run it with all that was typed, by name."""
    options = SimpleNamespace(command=ctx.info_name, **(ctx.params | more))
    with guard(options.as_json):
        from modae.cli.talk import Talk

        module, function = command.split(".")
        talk = Talk(
            quiet=getattr(options, "quiet", False),
            as_json=options.as_json,
            data_on_stdout=getattr(options, "out", None) == "-",
            command=options.command,
        )
        getattr(import_module(f"modae.cli.{module}"), function)(options, talk)
        talk.show()


def _version(asked: bool) -> None:
    if asked:
        from modae import __version__

        typer.echo(f"modae {__version__}")
        raise typer.Exit


@app.callback()
def modae(
    version: Annotated[
        bool, Option("--version", callback=_version, is_eager=True, help="Show the version.")
    ] = False,
) -> None:
    """Learn diverse features from a table, and predict by a vote on them.

    "modae tune DATA --target COLUMN -o MODEL" does both; "modae fit DATA -o MODEL" learns without
    labels. Each ends with what to type next.
    """


@app.command()
def fit(
    ctx: Context,
    data: Data,
    out: SaveAs,
    target: Target = None,
    modules: Modules = 10,
    components: Components = None,
    diversity: Annotated[
        float | None,
        Option(metavar="D", help="From 0 (all modules equal) to 1; 0.5 if not given."),
    ] = None,
    tune: Annotated[bool, Option("--tune", help="Choose the diversity: see modae tune.")] = False,
    estimator: Member = "knn",
    task: Task = "auto",
    scale: Scale = "auto",
    encode: Encode = False,
    impute: Impute = False,
    drop: Drop = None,
    no_header: NoHeader = False,
    no_check: Annotated[bool, Option("--no-check", help="Do not cross-validate.")] = False,
    seed: Seed = 0,
    jobs: Jobs = None,
    quiet: Quiet = False,
    as_json: Json = False,
    debug: Debug = False,
) -> None:
    """Learn features from a table; with --target, predictions too."""
    _run(ctx, "fitting.fit_command")


@app.command()
def tune(
    ctx: Context,
    data: Data,
    target: Classes,
    out: SaveAs,
    modules: Modules = 10,
    components: Components = None,
    estimator: Member = "knn",
    task: Task = "auto",
    scale: Scale = "auto",
    encode: Encode = False,
    impute: Impute = False,
    drop: Drop = None,
    no_header: NoHeader = False,
    seed: Seed = 0,
    jobs: Jobs = None,
    quiet: Quiet = False,
    as_json: Json = False,
    debug: Debug = False,
) -> None:
    """Fit with the diversity and size that predict best."""
    _run(ctx, "fitting.fit_command", tune=True, diversity=None, no_check=False)


@app.command("predict", help="Write predictions for a table, and how sure they are.")
@app.command("transform", help="Write the features of a table.")
def apply(
    ctx: Context,
    model: Model,
    data: Data,
    out: WriteTo,
    keep: Keep = None,
    no_header: NoHeader = False,
    quiet: Quiet = False,
    as_json: Json = False,
    debug: Debug = False,
) -> None:
    """Run a model over a table."""
    _run(ctx, "applying.apply_command")


@app.command()
def info(ctx: Context, model: Model, as_json: Json = False, debug: Debug = False) -> None:
    """Say what is in a model file."""
    _run(ctx, "models.info_command")


@app.command()
def export(
    ctx: Context,
    model: Model,
    out: Annotated[str, Argument(metavar="FILE", help="Where to write: NAME.onnx.")],
    quiet: Quiet = False,
    as_json: Json = False,
    debug: Debug = False,
) -> None:
    """Write a model as ONNX, which runs without Python."""
    _run(ctx, "models.export_command")


@app.command()
def report(
    ctx: Context,
    model: Model,
    data: Data,
    out: Annotated[
        str, Option("--out", "-o", metavar="PAGE", help="Where to write: NAME.html.")
    ] = "report.html",
    target: Target = None,
    title: Annotated[str | None, Option(help="Heading of the page.")] = None,
    image: Annotated[
        str, Option(metavar="HxW", help="Size of the image that a row is; auto or none.")
    ] = "auto",
    rows: Annotated[int, Option(metavar="N", help="Most rows to look at.")] = 3000,
    no_header: NoHeader = False,
    seed: Seed = 0,
    jobs: Jobs = None,
    quiet: Quiet = False,
    as_json: Json = False,
    debug: Debug = False,
) -> None:
    """Write a page about a model and a table, for people."""
    _run(ctx, "applying.report_command")


@app.command()
def demo(
    out: Annotated[Path, Option(help="Folder for pictures.")] = Path("modae-demo"),
) -> None:
    """A quick tour on handwritten digits, with pictures."""
    with guard():
        from modae.cli.demo import main

        main(out)


@app.command()
def reproduce(
    what: Annotated[
        list[str] | None,
        Argument(help="theorems, figure1, table1, figure2, section51, section52, transfer; or all."),
    ] = None,
    full: Annotated[bool, Option("--full", help="The paper's scale: up to 45 minutes.")] = False,
    out: Annotated[Path, Option(help="Folder for pictures and numbers.")] = Path("modae-reproduction"),
    source: Annotated[
        str, Option(help='Digits: "embedded", "openml" or a folder of MNIST files.')
    ] = "embedded",
    jobs: Annotated[int, Option(help="Cores to use; -1 is all.")] = -1,
    fresh: Annotated[
        bool, Option("--fresh", help="Measure again what an earlier run in --out did.")
    ] = False,
    report: Annotated[
        str | None,
        Option(metavar="PAGE", help="Write a page about it too: NAME.html."),
    ] = None,
    debug: Debug = False,
) -> None:
    """Check the paper's tables, figures and theorems."""
    with guard():
        from modae.cli.reproduce import reproduce_command

        code = reproduce_command(
            what or [], full=full, out=out, source=source, jobs=jobs, fresh=fresh, page=report
        )
        raise typer.Exit(code)
