"""A progress bar on the terminal, if asked for."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager

from modae.utils.extras import require


@contextmanager
def progress_bar(text: str, total: int | None, *, shown: bool) -> Iterator[Callable[..., None]]:
    """A function to call after each step, or with a number of steps; it draws a bar if ``shown``.

    The bar is on stderr. Where the total is not known, None, it only moves.
    """
    if not shown:
        yield lambda steps=1: None
        return
    require("rich", extra="cli", purpose="A progress bar")
    from rich.console import Console
    from rich.progress import Progress

    with Progress(console=Console(stderr=True)) as bar:
        task = bar.add_task(text, total=total)
        yield lambda steps=1: bar.advance(task, steps)
