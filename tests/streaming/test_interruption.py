"""A streamed fit that is killed at any moment goes on from its checkpoint to the same bits."""

import os
import random
import signal
import subprocess
import sys

import numpy as np
import pytest

import modae
from modae.utils.atomic import LITTER_PREFIX

FITTER = """
import os, sys, time, modae
modae.fit_stream, modae.LinearModularAutoencoder, modae.save  # loaded once, before the children

def fit(checkpoint, result):
    batches = modae.open_batches(sys.argv[1], batch_size=500)
    model = modae.LinearModularAutoencoder(4, 3, random_state=0)
    modae.fit_stream(model, batches, checkpoint=checkpoint, every=0.0)
    modae.save(model, result)

for line in sys.stdin:
    seconds, how, checkpoint, result = line.split("|")
    ready, begun = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            os.write(begun, b"x")
            fit(checkpoint, result.strip())
        except KeyboardInterrupt:
            os._exit(130)
        os._exit(0)
    os.read(ready, 1)
    start = time.monotonic()
    if float(seconds) >= 0.0:
        time.sleep(float(seconds))
        os.kill(child, int(how))
    ending = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    print(ending, time.monotonic() - start, flush=True)
"""
"""For each line that it reads, a child that fits from where the last one ended, and is killed."""


@pytest.fixture(scope="module")
def rows(tmp_path_factory):
    path = tmp_path_factory.mktemp("rows") / "rows.npy"
    rng = np.random.default_rng(0)
    np.save(path, rng.standard_normal((15_000, 60)) * np.linspace(3.0, 1.0, 60) + 1.0)
    return path


@pytest.fixture(scope="module")
def program(rows):
    command = [sys.executable, "-c", FITTER, str(rows)]
    one_thread = {**os.environ, "OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}
    pipe = subprocess.PIPE
    with subprocess.Popen(command, stdin=pipe, stdout=pipe, text=True, env=one_thread) as program:
        yield program


@pytest.fixture(scope="module")
def uninterrupted(program, tmp_path_factory):
    """The bytes of the model, and the seconds that it took."""
    folder = tmp_path_factory.mktemp("whole")
    runs = [run(program, folder) for _ in range(2)]  # the first is slower
    assert [ending for ending, _ in runs] == [0, 0]
    assert [path.name for path in folder.iterdir()] == ["model.modae"]
    return (folder / "model.modae").read_bytes(), runs[1][1]


def run(program, folder, seconds=-1.0, how=signal.SIGKILL):
    """Run a child, killed after a while unless that is negative: how it ended, and after how long."""
    program.stdin.write(f"{seconds}|{int(how)}|{folder / 'fit.modae'}|{folder / 'model.modae'}\n")
    program.stdin.flush()
    ending, duration = program.stdout.readline().split()
    return int(ending), float(duration)


def kill_and_resume(program, folder, kills, how, uninterrupted):
    """Kill again and again; a checkpoint that is there can always be read. At last, let it finish."""
    expected, whole_time = uninterrupted
    moments = random.Random(0)
    checkpoint, result = folder / "fit.modae", folder / "model.modae"
    endings, positions = [], []
    while len(endings) < kills:
        endings.append(run(program, folder, moments.uniform(0.0, whole_time), how)[0])
        if checkpoint.exists():
            positions.append(modae.load(checkpoint).n_rows)
        if result.exists():
            assert result.read_bytes() == expected
            result.unlink()
    assert run(program, folder)[0] == 0
    assert result.read_bytes() == expected
    assert not checkpoint.exists()
    return endings, positions


def test_killed_at_random_moments(program, uninterrupted, tmp_path):
    endings, positions = kill_and_resume(program, tmp_path, 12, signal.SIGKILL, uninterrupted)
    assert -signal.SIGKILL in endings
    assert positions, "no kill came between two checkpoints"


def test_stopped_by_the_keyboard_at_random_moments(program, uninterrupted, tmp_path):
    endings, _ = kill_and_resume(program, tmp_path, 6, signal.SIGINT, uninterrupted)
    assert set(endings) <= {0, 130, -signal.SIGINT}
    litter = [path for path in tmp_path.iterdir() if path.name.startswith(LITTER_PREFIX)]
    assert litter == []  # unlike a kill, an interrupt lets the program clear up


@pytest.mark.slow
def test_killed_at_fifty_random_moments(program, uninterrupted, tmp_path):
    endings, positions = kill_and_resume(program, tmp_path, 50, signal.SIGKILL, uninterrupted)
    assert endings.count(-signal.SIGKILL) >= 10
    assert positions
