"""Small matrices: on busy cores, threads of BLAS that wait for each other take far longer than one."""

import pytest
from threadpoolctl import threadpool_limits


@pytest.fixture(autouse=True, scope="module")
def one_thread():
    with threadpool_limits(1):
        yield
