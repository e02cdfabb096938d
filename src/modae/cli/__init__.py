"""The command ``modae``. Heavy imports wait until a command needs them, so that help is quick."""

from __future__ import annotations

import sys


def main() -> None:
    """Run the command line; without the packages for it, say how to install them."""
    try:
        import rich  # noqa: F401  (typer would do without it until it prints)

        from modae.cli.app import app
        from modae.cli.guard import run
    except ImportError as missing:
        print(f'The command line needs {missing.name}: pip install "modae[cli]"', file=sys.stderr)
        raise SystemExit(3) from None
    raise SystemExit(run(app))
