"""Nobody pays for what he does not use."""

import subprocess
import sys

PROGRAM = """
import sys, numpy as np
from modae import LinearModularAutoencoder
model, X = LinearModularAutoencoder(2, 2), np.eye(5)
model.fit(X).transform(X)
print("dask" in sys.modules)
import dask.array as da
model.fit(da.from_array(X)).transform(da.from_array(X))
print("dask" in sys.modules, "dask.dataframe" in sys.modules)
"""


def test_only_what_is_needed_is_imported():
    """Rows in memory load no dask, and arrays load no dataframes."""
    command = [sys.executable, "-c", PROGRAM]
    result = subprocess.run(command, capture_output=True, text=True, check=True)
    assert result.stdout.split() == ["False", "True", "False"]
