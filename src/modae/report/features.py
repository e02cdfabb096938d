"""Sections on the modules: images and columns they look at, what they keep, how alike they are."""

import zlib
from base64 import b64encode
from math import isqrt
from struct import pack
from typing import Any

import numpy as np
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from modae.display.classes import feature_densities
from modae.display.reconstruction import image_sides
from modae.ensembles.members import module_features
from modae.metrics import distance_correlation_matrix
from modae.report.charts import Section, bars, chart, curves, matrix, module_names, worded
from modae.report.subject import Subject, most_frequent
from modae.utils.arrays import Array
from modae.utils.parallel import run_parallel
from modae.utils.text import bounded_loss, format_number, percent

MOST_ROWS = 2000

MOST_COMPONENTS = 40

MOST_COLUMNS = 24

MOST_CLASSES = 10

#: More are too many to look at.
MOST_MODULES = 10

EXAMPLES = 3

#: Shades of grey: more than one sees in a small picture, and fewer bytes than all 256.
GREYS = 32

#: Rows are taken for images if neighbours correlate by so much more than other columns do.
ALIKE = 0.2

#: Smaller shares of the modules are round-off.
NOBODY = 1e-6

#: Time grows as the square; so many rows give two digits.
LIKENESS_ROWS = 400

DENSITY_ROWS, DENSITY_MODULES, DENSITY_POINTS = 1500, 3, 40


def resolved_shape(asked: Any, subject: Subject) -> tuple[int, int] | None:
    """Height and width of the image that a row is: as asked, or found; None if it is none.

    With "auto" it is a square if rows are likely to be images: neighbouring pixels are more alike.
    """
    if asked is None:
        return None
    if not isinstance(asked, str) or asked != "auto":
        return image_sides(asked, len(subject.names))
    _, rows = subject.take(subject.first(MOST_ROWS))
    width, side = rows.shape[1], isqrt(rows.shape[1])
    scale = rows.std(axis=0)
    varied = scale > 0.05 * scale.max()  # the border of an image may hardly vary
    if side * side != width or side < 8 or len(rows) < 20 or varied.sum() < width / 4:
        return None
    scaled = np.where(varied, (rows - rows.mean(axis=0)) / np.where(varied, scale, 1.0), 0.0)
    images, used = scaled.reshape(-1, side, side), varied.reshape(side, side)
    across = np.mean(images[:, :, 1:] * images[:, :, :-1], axis=0)[used[:, 1:] & used[:, :-1]]
    down = np.mean(images[:, 1:] * images[:, :-1], axis=0)[used[1:] & used[:-1]]
    # The usual size of a correlation, whatever the places of the two columns.
    some = scaled[:, varied][:, :: -(-int(varied.sum()) // 200)]
    others = np.abs(some.T @ some)[np.triu_indices(some.shape[1], k=1)] / len(some)
    neighbours = min(float(np.median(each)) if each.size else 0.0 for each in (across, down))
    return (side, side) if neighbours > np.median(others) + ALIKE else None


def reconstruction_section(subject: Subject, shape: tuple[int, int] | None) -> Section | None:
    """A few images, and what single modules and their mean make of them."""
    if shape is None or not hasattr(subject.parts.extractor, "reconstruct_modules"):
        return None
    # A few rows, of different classes where there are classes, and what to call them.
    chosen = list(range(min(EXAMPLES, subject.n_shown)))
    captions = [f"row {place + 1}" for place in chosen]
    if subject.classes is not None:
        spread = np.linspace(0, len(subject.classes) - 1, min(EXAMPLES, len(subject.classes)))
        classes = subject.classes[np.unique(spread.astype(int))]
        chosen = [int(np.argmax(subject.labels == name)) for name in classes]
        captions = [str(name) for name in classes]
    rows, dense = subject.take(chosen)
    front: Any = make_pipeline("passthrough", *subject.parts.steps)
    undone = subject.raw.shape[1] == dense.shape[1] and hasattr(front, "inverse_transform")

    def images(values: Array) -> Array:
        """In the units in which rows were given, if the steps can be undone."""
        return np.asarray(front.inverse_transform(values) if undone else values).reshape(-1, *shape)

    originals = images(dense)
    low, high = float(originals.min()), float(originals.max())
    pictures, summary = [], []
    for model in subject.models:
        every = np.asarray(model.reconstruct_modules(rows))
        mean = images(every.mean(axis=0))
        columns = [originals, mean, *(images(each) for each in every[:MOST_MODULES])]
        pictures.append([[encoded(each, low, high) for each in row] for row in np.stack(columns, 1)])
        missed = float(np.mean((mean - originals) ** 2) / (np.var(originals) or 1.0))
        share = format_number(missed, "%", digits=2)
        summary.append(f"The mean of all modules misses {share} of their variation.")
    names = ["original", "mean of all", *module_names(min(subject.n_modules, MOST_MODULES))]
    content = {"columns": names, "rows": captions, "images": pictures, "summary": summary}
    invert = is_bright_on_dark(originals)
    table = chart("images", "Images and their reconstructions", invert=invert, **content)
    return worded("reconstructions", [table])


def is_bright_on_dark(images: Array) -> bool:
    """Whether most pixels are nearly black: bright strokes, which are drawn as ink on paper."""
    low, high = images.min(), images.max()
    return bool(np.median(images) <= low + 0.25 * (high - low))


def encoded(image: np.ndarray, low: float, high: float) -> str:
    """An image (height, width) as base64 of a PNG, black at ``low`` and white at ``high``.

    Examples
    --------
    >>> import numpy as np
    >>> encoded(np.eye(2), 0.0, 1.0)[:11]
    'iVBORw0KGgo'
    """
    scaled = np.clip((np.asarray(image, dtype=float) - low) / (high - low or 1.0), 0.0, 1.0)
    grey = np.round(np.round((GREYS - 1) * scaled) * (255 / (GREYS - 1))).astype(np.uint8)
    height, width = grey.shape
    # Eight bits of grey; each line begins with the filter that it was written with: none.
    header = pack(">IIBBBBB", width, height, 8, 0, 0, 0, 0)
    lines = np.hstack([np.zeros((height, 1), dtype=np.uint8), grey]).tobytes()
    png = b"\x89PNG\r\n\x1a\n"
    for name, data in ((b"IHDR", header), (b"IDAT", zlib.compress(lines, 9)), (b"IEND", b"")):
        png += pack(">I", len(data)) + name + data + pack(">I", zlib.crc32(name + data))
    return b64encode(png).decode()


def allocation_section(subject: Subject) -> Section | None:
    """Share of the modules on each principal component, against diversity and at one diversity."""
    if not hasattr(subject.parts.extractor, "allocation_"):
        return None
    shares = np.array([model.allocation_ for model in subject.models])
    used = 1 + int(np.flatnonzero(shares.max(axis=0) > NOBODY).max(initial=0))
    table = shares[:, : min(max(used, 2), MOST_COMPONENTS)]
    if np.ptp(table) < NOBODY:
        return None
    names = [str(number) for number in range(1, table.shape[1] + 1)]
    summary = [
        f"{np.sum(each > NOBODY)} principal components are used by some module, "
        f"{np.sum(each > 1 - NOBODY)} of them by all modules."
        for each in shares
    ]
    look: dict[str, Any] = {"unit": "%", "range": [0.0, 1.0], "summary": summary}
    axes = {"x_label": "principal component", "y_label": "modules that use it"}
    every = chart("map", "At every diversity", rows=names, values=table.T, reverse=True, **look)
    every["y_label"] = axes["x_label"]
    return worded("allocation", [every, bars("At this diversity", names, table, **axes, **look)])


def loss_section(subject: Subject) -> Section | None:
    """What one module and the mean of all keep of the variance; how much they differ."""
    if not hasattr(subject.parts.extractor, "explained_variance_ratio_of_mean_"):
        return None
    alone = [1.0 - float(np.mean(model.explained_variance_ratio_)) for model in subject.models]
    mean = [1.0 - float(model.explained_variance_ratio_of_mean_) for model in subject.models]
    top = max(1.0, *(value for value in alone if value < 2.0), 0.0)
    summary = [
        f"At diversity {diversity:g} the mean of all modules loses {percent(both)} of the variance, one "
        f"module on average {percent(single)}."
        for diversity, both, single in zip(subject.diversities, mean, alone, strict=True)
    ]
    lines = {"the mean of all modules": (mean, None), "one module, on average": (alone, None)}
    axis: dict[str, Any] = {"y_label": "share of the variance lost", "y_range": [0.0, 1.05 * top]}
    lost = curves("Variance that is lost", lines, unit="%", mark=subject.start, summary=summary, **axis)
    extractor: Any = subject.parts.extractor
    if not hasattr(extractor, "attainment_"):
        return worded("loss", [lost])
    loss, bound = bounded_loss(extractor)
    return worded("loss", [lost], [extractor.attainment_], loss=loss, bound=bound)


def explained_columns(subject: Subject) -> Array:
    """Share of the variance of each column that each module's features explain, (n, M, D).

    It is the squared multiple correlation of the column with the features: 1 if a linear reading of the
    features gives the column, 0 if they say nothing about it. Scales do not matter.
    """
    rows, dense = subject.take(subject.first(MOST_ROWS))
    centred = dense - dense.mean(axis=0)
    variance = np.sum(centred**2, axis=0)

    def explained(features: Any) -> Array:
        basis, sizes, _ = np.linalg.svd(features - np.mean(features, axis=0), full_matrices=False)
        basis = basis[:, sizes > 1e-9 * sizes.max(initial=1e-300)]
        kept = np.sum((basis.T @ centred) ** 2, axis=0)
        return np.clip(kept / np.where(variance > 0, variance, 1.0), 0.0, 1.0)

    return np.array([[explained(each) for each in module_features(m, rows)] for m in subject.models])


def explained_section(subject: Subject, shape: tuple[int, int] | None) -> Section | None:
    """What each module looks at: columns by name, or an image of the pixels; None if all see all."""
    every = explained_columns(subject)
    if np.ptp(every) < NOBODY:
        return None
    shares = every[:, :MOST_MODULES]
    columns, names = module_names(shares.shape[1]), subject.names
    also = ["modules"] * (every.shape[1] > MOST_MODULES)
    words = {"first": MOST_MODULES, "every": every.shape[1]}

    def strongest(module: int, explained: Array) -> str:
        best = np.argsort(-explained, kind="stable")[:3]
        known = [f"{names[place]} ({format_number(explained[place], '%', digits=2)})" for place in best]
        return f"module {module}: {', '.join(known)}"

    summary = [
        f"Best explained columns. {'; '.join(strongest(*each) for each in enumerate(at))}."
        for at in shares
    ]
    if shape is not None:
        images = [[[encoded(each.reshape(shape), 0.0, 1.0) for each in at]] for at in shares]
        content = {"columns": columns, "rows": ["share"], "images": images, "summary": summary}
        pixels = chart("images", "Share of the variance of each pixel", invert=False, **content)
        return worded("pixels", [pixels], also, **words)
    # All columns, or those in which modules or diversities differ most; best explained first.
    own = shares[subject.start]
    chosen = np.argsort(-shares.std(axis=(0, 1)) - own.std(axis=0), kind="stable")[:MOST_COLUMNS]
    chosen = chosen[np.argsort(-own[:, chosen].mean(axis=0), kind="stable")]
    also += ["some"] * (len(chosen) < len(names))
    values = shares[:, :, chosen].transpose(0, 2, 1)
    rows, look = [names[place] for place in chosen], {"unit": "%", "show_values": True}
    title = "Share of the variance of each column"
    table = matrix(title, rows, columns, values, summary=summary, **look)
    return worded("columns", [table], also, shown=len(chosen), all=f"{len(names):,}", **words)


def likeness_section(subject: Subject, n_jobs: int | None) -> Section | None:
    """Mean distance correlations against diversity."""
    rows, dense = subject.take(subject.first(LIKENESS_ROWS))
    if len(dense) < 3 or subject.n_modules == 1 or len(subject.models) == 1:
        return None

    def correlations(model: object) -> Array:
        return distance_correlation_matrix([dense, *module_features(model, rows)])

    every = np.array(run_parallel(correlations, [(model,) for model in subject.models], n_jobs))
    two_modules = every[:, 1:, 1:][:, *np.triu_indices(subject.n_modules, k=1)]
    means = [each.mean(axis=1) for each in (two_modules, every[:, 0, 1:])]
    summary = [
        f"At diversity {diversity:g}: {format_number(two, digits=2)} between two modules, "
        f"{format_number(one, digits=2)} between a module and the data."
        for diversity, two, one in zip(subject.diversities, *means, strict=True)
    ]
    lines = {"two modules": (means[0], None), "one module and the data": (means[1], None)}
    axis: dict[str, Any] = {"y_label": "distance correlation", "y_range": [0.0, 1.02]}
    alike = curves("Mean distance correlation", lines, mark=subject.start, summary=summary, **axis)
    return worded("likeness", [alike], rows=len(dense))


def density_section(subject: Subject) -> Section | None:
    """Densities of the classes along one feature of three modules, at each diversity."""
    if subject.classes is None or subject.labels is None or len(subject.classes) < 2:
        return None
    places = subject.first(DENSITY_ROWS)
    (rows, _), labels = subject.take(places), subject.labels[places]
    classes = most_frequent(labels, MOST_CLASSES)
    stacks = [
        [np.asarray(each, dtype=float) for each in module_features(model, rows)[:DENSITY_MODULES]]
        for model in subject.models
    ]
    shown = _separating_feature(stacks[subject.start], labels)
    names = [f"{name}, feature {shown}" for name in module_names(len(stacks[0]))]
    axis = "value of the feature"
    if subject.is_one_learner:
        names = [subject.names[shown]]
        column, axis = subject.in_units(stacks[0][0][:, shown], shown, places)
        stacks, shown = [[column[:, None]]], 0
    panels: list[dict[str, Any]] = [{"title": name, "grid": [], "curves": []} for name in names]
    summary = []
    for diversity, stack in zip(subject.diversities, stacks, strict=True):
        pairs = []
        for panel, features in zip(panels, stack, strict=True):
            grid, heights = feature_densities(features[:, shown], labels, classes, DENSITY_POINTS)
            panel["grid"].append(grid)
            # Relative to the highest point: only the shape matters.
            panel["curves"].append(np.round(heights / (heights.max() or 1.0), 3))
            # The two classes whose densities overlap least.
            overlap = np.minimum(heights[:, None], heights).sum(axis=-1)
            np.fill_diagonal(overlap, np.inf)
            one, other = np.unravel_index(int(np.argmin(overlap)), overlap.shape)
            pairs.append(f"{panel['title']}: {classes[one]} and {classes[other]}")
        at = f" at diversity {diversity:g}" if len(stacks) > 1 else ""
        summary.append(f"Best separated{at}: {'; '.join(pairs)}")
    content = {"x_label": axis, "panels": panels, "summary": summary}
    content["classes"] = [str(label) for label in classes]
    densities = chart("densities", "Density of each class", **content)
    also = ["some"] * (len(classes) < len(subject.classes))
    name = "densities_of_one" if subject.is_one_learner else "densities"
    return worded(name, [densities], also, shown=len(classes), all=len(subject.classes))


def _separating_feature(features: list[Array], labels: np.ndarray) -> int:
    """Which feature to show: one that separates the classes, and is not the same in every module."""
    width = min(each.shape[1] for each in features)
    stack = np.stack([StandardScaler().fit_transform(each[:, :width]) for each in features])
    alike = np.abs(np.einsum("inh,jnh->ijh", stack, stack) / stack.shape[1])
    between = sum(
        np.mean(labels == k) * stack[:, labels == k].mean(axis=1) ** 2 for k in np.unique(labels)
    )
    differ = 1.0 - (alike.sum(axis=(0, 1)) - len(stack)) / max(len(stack) * (len(stack) - 1), 1)
    return int(np.argmax(np.mean(between, axis=0) * differ))
