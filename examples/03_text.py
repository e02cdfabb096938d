"""
Text, with sparse rows
======================

TF-IDF rows are nearly all zeros, and they stay sparse from end to end. The texts are docstrings of four
installed libraries, and the task is to tell which library each one comes from.

Takes about 10 seconds.
"""

import ast
import random
from importlib.util import find_spec
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
from sklearn.decomposition import TruncatedSVD
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GroupShuffleSplit
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline

from modae import LinearModularAutoencoder, ModularClassifier

LIBRARIES = ("matplotlib", "numpy", "scipy", "sklearn")


def docstrings(library, enough=400):
    """Long docstrings from files drawn at random: (text, file, library). Code is read, not run."""
    files = sorted(Path(find_spec(library).origin).parent.rglob("*.py"))
    files = [file for file in files if "tests" not in file.parts]
    found = []
    for file in random.Random(0).sample(files, len(files)):
        nodes = ast.walk(ast.parse(file.read_bytes()))
        documented = [node for node in nodes if isinstance(node, ast.FunctionDef | ast.ClassDef)]
        texts = [ast.get_docstring(node) or "" for node in documented]
        found += [(text, str(file), library) for text in texts if len(text) > 300]
        if len(found) >= enough:
            break
    return found


found = [entry for library in LIBRARIES for entry in docstrings(library)]
texts, files, y = (np.array(column, dtype=object) for column in zip(*found, strict=True))

# %%
# Avoid two kinds of leakage
# --------------------------
# Docstrings of one file share whole paragraphs, so files are split, not docstrings. The names of the
# libraries are removed, because they would give the answer away. Look for both in your own texts.

train, test = next(GroupShuffleSplit(1, test_size=0.3, random_state=0).split(texts, y, files))
words = {"token_pattern": "[a-z]{3,}", "stop_words": list(LIBRARIES)}
vectors = TfidfVectorizer(min_df=3, sublinear_tf=True, **words)
A, B, a, b = vectors.fit_transform(texts[train]), vectors.transform(texts[test]), y[train], y[test]
print(f"{A.shape[0]} x {A.shape[1]}, {A.format} matrix, {A.nnz / np.prod(A.shape):.1%} not zero")

# %%
# ``spectrum="krylov"`` finds the leading axes by products with the sparse rows only. Use it for
# vocabularies of more than a thousand words or so.

extractor = LinearModularAutoencoder(10, 10, diversity=0.5, spectrum="krylov", random_state=0)
vote = ModularClassifier(extractor, KNeighborsClassifier(5), random_state=0).fit(A, a)
print(f"{'members alone, on average':35s}{vote.member_scores(B, b).mean():.3f}")
print(f"{'their vote':35s}{vote.score(B, b):.3f}")
for size in (10, 100):
    rival = make_pipeline(TruncatedSVD(size, random_state=0), KNeighborsClassifier(5)).fit(A, a)
    print(f"{f'neighbours on SVD with {size}':35s}{rival.score(B, b):.3f}")
linear = LogisticRegression(C=10, max_iter=200).fit(A, a)
print(f"{'logistic regression on all words':35s}{linear.score(B, b):.3f}")

# %%
# What to look at: members are good at different libraries, and the vote evens that out. But logistic
# regression on all words is better. For text, use modules where you need few dense features, such as for
# nearest neighbours or a search index, and not for accuracy alone.

answers = [*vote.predict_members(B), vote.predict(B)]
recall = np.array([[np.mean(row[b == name] == name) for name in LIBRARIES] for row in answers])
figure, ax = plt.subplots(figsize=(5.8, 4.4), layout="constrained")
image = ax.imshow(recall, cmap="cividis", vmin=recall.min(), vmax=recall.max(), aspect="auto")
ax.set_xticks(range(len(LIBRARIES)), LIBRARIES)
ax.set_yticks(range(len(answers)), [*(f"member {i}" for i in range(10)), "vote"])
ax.axhline(len(answers) - 1.5, color="white", linewidth=4)
figure.colorbar(image, label="share of the docstrings that are recognised")
