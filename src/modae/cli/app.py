"""Commands and their options: what people type."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Optional

import typer

app = typer.Typer(
    name="modae",
    help="Diverse, complementary representations of unlabelled data, and ensembles on them.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
)


@app.command()
def demo(
    out: Annotated[Path, typer.Option(help="Folder for pictures.")] = Path("modae-demo"),
) -> None:
    """A quick tour: a tuned ensemble on digits against Bagging and plain PCA."""
    from modae.demo import main

    try:
        main(out)
    except ImportError as error:
        typer.echo(str(error), err=True)
        raise typer.Exit(3) from None
    except OSError as error:
        typer.echo(f"--out {out}: nothing can be written there ({error.strerror}).", err=True)
        raise typer.Exit(3) from None


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
    """Diverse, complementary representations of unlabelled data, and ensembles on them."""


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
) -> None:
    """Check the paper's tables, figures and theorems, and print what holds and what does not."""
    from modae.cli.reproduce import reproduce_command

    raise typer.Exit(
        reproduce_command(what or [], full=full, out=out, source=source, jobs=jobs, fresh=fresh)
    )
