"""The command ``modae``: what people type, and what is said in answer.

Tables are read and written by ``sources``, models fitted by the estimators. It may import everything;
heavy imports wait until a command needs them, so that help is quick.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path


def main() -> None:
    """Run the command line; Ctrl-C while packages are loaded is an end like any other."""
    _make_streams_safe()
    try:
        try:
            from modae.cli.app import app
            from modae.cli.console import run
        except ImportError as missing:
            print(f'The command line needs {missing.name}: pip install "modae[cli]"', file=sys.stderr)
            raise SystemExit(3) from None
        raise SystemExit(run(app))
    except KeyboardInterrupt:
        print("modae: Interrupted: nothing was written.", file=sys.stderr)
        raise SystemExit(130) from None


def _make_streams_safe() -> None:
    """Letters that a terminal does not have are escaped; a stream that is closed takes all silently."""
    for name in ("stdout", "stderr"):
        stream = getattr(sys, name)
        if stream is None:
            setattr(sys, name, Path(os.devnull).open("w"))  # noqa: SIM115  (open to the end)
        elif hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="backslashreplace")
