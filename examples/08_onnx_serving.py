"""
Serving with ONNX
=================

Export a pipeline to one file that runs from Python, C++, Java or JavaScript without scikit-learn and
without modae, check it, and answer requests with it. Needs
``pip install "modae[onnx]" onnxruntime``.

Takes about 10 seconds.
"""

import json
from statistics import median
from tempfile import TemporaryDirectory
from timeit import repeat

import matplotlib.pyplot as plt
import numpy as np
from onnxruntime import InferenceSession
from sklearn.datasets import load_digits
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import train_test_split
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import modae
from modae.display.style import BLUE, RED, open_frame

A, B, a, b = train_test_split(*load_digits(return_X_y=True), test_size=0.5, random_state=0)

# %%
# The whole pipeline goes into the file, scaling included, so the service sends raw rows.

extractor = modae.LinearModularAutoencoder(10, 8, diversity=0.5, random_state=0)
vote = modae.ModularClassifier(extractor, LogisticRegression(max_iter=500), voting="soft")
model = make_pipeline(StandardScaler(), vote).fit(A, a)
with TemporaryDirectory() as folder:
    modae.export_onnx(model, f"{folder}/digits.onnx")
    session = InferenceSession(f"{folder}/digits.onnx")  # reads the file once
print(f"accuracy of the vote {model.score(B, b):.3f}")

# %%
# Compare before you deploy
# -------------------------
# The file computes in float32. Compare its answers on your own rows before you use it.

labels, probabilities = session.run(None, {"X": B.astype("f4")})
print(f"labels that agree: {np.mean(labels == model.predict(B)):.2%}")
print(f"largest difference of a probability: {np.abs(probabilities - model.predict_proba(B)).max():.1e}")

# %%
# Answer a request
# ----------------
# A runtime checks nothing, so the service must check the shape and that all numbers are finite. Call
# this function from your web framework.


def answer(request):
    """A label for each row and how sure the vote is, or what is wrong with the request."""
    try:
        rows = np.array(json.loads(request)["rows"], dtype=np.float32)
    except (ValueError, KeyError, TypeError):
        return json.dumps({"error": 'send {"rows": [[...], ...]}'})
    if rows.ndim != 2 or rows.shape[1] != 64 or not np.isfinite(rows).all():
        return json.dumps({"error": f"rows must be 64 finite numbers each, got shape {rows.shape}"})
    labels, shares = session.run(None, {"X": rows})
    return json.dumps({"labels": labels.tolist(), "percent": np.rint(100 * shares.max(1)).tolist()})


print(answer(json.dumps({"rows": B[:3].tolist()})))
print(answer(json.dumps({"rows": [[1, 2, 3]]})))

# %%
# What to look at: how long a request takes. For one row most of ``predict`` is Python that checks its
# input, which the runtime does not do. (The times are those of the run that built this page.)


def milliseconds(call):
    """Median of 15 calls."""
    return 1000 * median(repeat(call, number=1, repeat=15))


sizes = (1, 8, 64, 512)
python = [milliseconds(lambda n=n: model.predict(B[:n])) for n in sizes]
onnx = [milliseconds(lambda n=n: session.run(None, {"X": B[:n].astype("f4")})) for n in sizes]
figure, ax = plt.subplots(figsize=(6, 4), layout="constrained")
ax.loglog(sizes, python, "s--", color=RED, label="predict, in Python")
ax.loglog(sizes, onnx, "o-", color=BLUE, label="ONNX Runtime")
ax.set(xlabel="rows in a request", ylabel="milliseconds for a request")
ax.legend(frameon=False)
open_frame(ax)
