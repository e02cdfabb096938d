"""Members at the same time: in order, without more threads than cores, and without leftovers."""

import subprocess
import sys
from threading import Barrier

import numpy as np
import pytest
from joblib import cpu_count
from sklearn.base import BaseEstimator, ClassifierMixin
from threadpoolctl import threadpool_info, threadpool_limits

from ensembles.parts import ColumnModules
from modae import ModularClassifier
from modae.utils.parallel import run_parallel

SEEN = []


def pools():
    return [pool["num_threads"] for pool in threadpool_info()]


class PoolSpy(ClassifierMixin, BaseEstimator):
    """Looks at the thread pools while it is trained."""

    def fit(self, X, y):
        SEEN.append(pools())
        self.classes_ = np.unique(y)
        return self

    def predict(self, X):
        SEEN.append(pools())
        return np.full(len(X), self.classes_[0])


@pytest.fixture
def four_threads():
    """Pools that are larger than the share of a member, so that a limit can be seen."""
    assert threadpool_info()
    with threadpool_limits(4):
        SEEN.clear()
        yield pools()


def test_pools_are_limited_in_members_and_restored_after(four_threads):
    model = ModularClassifier(ColumnModules(), PoolSpy(), n_jobs=2)
    model.fit(np.zeros((6, 4)), [0, 1, 0, 1, 0, 1])
    assert pools() == four_threads
    share = max(1, cpu_count() // 2)
    assert len(SEEN) == 4
    assert all(threads <= share for seen in SEEN for threads in seen)
    model.predict(np.zeros((6, 4)))
    assert len(SEEN) == 8
    assert all(threads <= share for seen in SEEN for threads in seen)
    assert pools() == four_threads


def test_one_job_keeps_the_pools_of_the_caller(four_threads):
    ModularClassifier(ColumnModules(), PoolSpy()).fit(np.zeros((6, 4)), [0, 1] * 3)
    assert [four_threads] * 4 == SEEN


def test_pools_are_restored_after_a_failure(four_threads):
    def fail(_):
        raise ZeroDivisionError("no")

    with pytest.raises(ZeroDivisionError):
        run_parallel(fail, [(k,) for k in range(4)], 2)
    assert pools() == four_threads


def test_a_limit_of_the_caller_is_not_raised(monkeypatch):
    """Who allows one thread (OMP_NUM_THREADS=1) does not get more because the machine has more cores."""
    monkeypatch.setattr("modae.utils.parallel.cpu_count", lambda: 8)
    with threadpool_limits(1):
        seen = run_parallel(lambda _: pools(), [(k,) for k in range(4)], 2)
    assert all(threads == 1 for each in seen for threads in each)


@pytest.mark.parametrize("n_jobs", [None, 1, 2, 3, -1])
def test_results_come_in_order(n_jobs):
    tasks = [(k, 10) for k in range(25)]
    assert run_parallel(lambda a, b: a * b, tasks, n_jobs) == [10 * k for k in range(25)]
    assert run_parallel(lambda: 1, [], n_jobs) == []


def test_jobs_do_run_at_the_same_time():
    meeting = Barrier(2, timeout=30)
    assert sorted(run_parallel(lambda _: meeting.wait(), [(0,), (1,)], 2)) == [0, 1]


IN_A_CHILD = """
import multiprocessing, warnings
import numpy as np
from scipy.sparse import random_array
from modae import LinearModularAutoencoder, ModularClassifier

def work():
    warnings.simplefilter("error")
    X, y = np.random.default_rng(0).standard_normal((60, 8)), np.arange(60) % 3
    ModularClassifier(n_modules=3, n_components=2, n_jobs=2, random_state=0).fit(X, y).predict(X)
    wide = random_array((300, 400), density=0.05, rng=0, format="csr")
    LinearModularAutoencoder(2, 2, spectrum="krylov", random_state=0).fit(wide)
    return True

if __name__ == "__main__":
    with multiprocessing.get_context("spawn").Pool(1) as pool:
        assert pool.apply(work)
"""


def test_a_child_that_may_start_no_processes_uses_threads_without_a_warning(tmp_path):
    program = tmp_path / "program.py"
    program.write_text(IN_A_CHILD)
    subprocess.run([sys.executable, program], check=True, timeout=120)
