"""A progress bar on the terminal, if asked for."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager


@contextmanager
def progress_bar(text: str, total: int, *, shown: bool) -> Iterator[Callable[[], None]]:
    """A function to call after each of ``total`` steps; it draws a bar on stderr if ``shown``."""
    if not shown:
        yield lambda: None
        return
    try:
        from rich.console import Console
        from rich.progress import Progress
    except ImportError as missing:
        raise ImportError('A progress bar needs rich: pip install "modae[cli]"') from missing
    with Progress(console=Console(stderr=True)) as bar:
        task = bar.add_task(text, total=total)
        yield lambda: bar.advance(task)
