"""The command line inside this process, and small tables to call it with."""

import shlex
import sys
from dataclasses import dataclass

import numpy as np
import pandas as pd

from modae.cli.app import app
from modae.cli.console import run


@dataclass(frozen=True)
class Answer:
    """What a command said, and its exit code."""

    code: int
    out: str
    err: str

    @property
    def said(self):
        """What is on stderr beside progress, without line breaks."""
        return " ".join(" ".join(self.error_lines).split())

    @property
    def error_lines(self):
        return [line for line in self.err.splitlines() if not line.endswith(" ...")]

    @property
    def proposed(self):
        """The words of the command that an error ends with, without the name of the program, if any."""
        assert self.code != 0
        return shlex.split(self.said.partition(" Type: ")[2])[1:]


def caller(capsys):
    """A function that runs a command, with what it prints."""

    def call(*arguments):
        capsys.readouterr()
        code = run(app, [str(argument) for argument in arguments])
        sys.stdout.flush()
        return Answer(code, *capsys.readouterr())

    return call


def flowers(n_rows=60, seed=0):
    """Three kinds that differ, in columns whose scales differ."""
    rng = np.random.default_rng(seed)
    kind = np.arange(n_rows) % 3
    centres = rng.standard_normal((3, 6)) * 2.0
    rows = (centres[kind] + rng.standard_normal((n_rows, 6))) * [1, 1, 5, 1, 100, 1]
    frame = pd.DataFrame(rows.round(4), columns=["long", "wide", "high", "deep", "far", "old"])
    return frame.assign(kind=np.array(["aster", "bellis", "crocus"])[kind])
