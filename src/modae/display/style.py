"""What all displays share: how they look, and where they draw."""

from typing import Any

import numpy as np

from modae.utils.arrays import Array
from modae.utils.extras import require
from modae.utils.parameters import check_count

#: Petroff's ten colours, found so that deficient colour vision still tells them apart.
PALETTE = (
    "#3f90da", "#ffa90e", "#bd1f01", "#94a4a2", "#832db6",
    "#a96b59", "#e76300", "#b9ac70", "#717581", "#92dadd",
)  # fmt: skip

BLUE, RED, GREY = PALETTE[0], PALETTE[2], "#555555"

#: Of areas behind lines and points.
BAND_OPACITY = 0.2


def pyplot() -> Any:
    """``matplotlib.pyplot``, imported when something is to be drawn."""
    return require("matplotlib.pyplot", extra="plot", purpose="Displays")


def single_axes(ax: Any, size: tuple[float, float] | None = None) -> Any:
    """The axes that were given, or those of a new figure of this size in inches."""
    plt = pyplot()
    if ax is None:
        return plt.subplots(figsize=size, layout="constrained")[1]
    if not isinstance(ax, plt.Axes):
        raise ValueError(f"ax must be one matplotlib Axes or None, got {type(ax).__name__}.")
    return ax


def axes_grid(ax: Any, shape: tuple[int, int], size: tuple[float, float], **options: Any) -> np.ndarray:
    """Axes in rows and columns: those that were given, or new ones in a figure that was given or is new.

    Parameters
    ----------
    ax : Figure, SubFigure, Axes, sequence of Axes, or None
    shape : (int, int)
        Rows and columns.
    size : (float, float)
        Width and height of a new figure, in inches.
    **options : dict
        For ``Figure.subplots``, where axes are made.
    """
    plt = pyplot()
    if ax is None:
        ax = plt.figure(figsize=size, layout="constrained")
    if hasattr(ax, "subplots"):
        return ax.subplots(*shape, squeeze=False, **options)
    given = np.ravel(ax)
    if len(given) != np.prod(shape) or not all(isinstance(each, plt.Axes) for each in given):
        kinds = ", ".join(type(each).__name__ for each in given)
        raise ValueError(
            f"ax must be {np.prod(shape)} matplotlib Axes in a sequence, a Figure to put them in, or "
            f"None, got {len(given)}: {kinds}."
        )
    return given.reshape(shape)


def chosen_indices(name: str, chosen: Any, n_available: int) -> list[int]:
    """Numbers of modules or components, one or several, which must be there."""
    indices: list[int] = np.ravel(chosen).tolist()
    if not indices:
        raise ValueError(f"{name} must not be empty.")
    for index in indices:
        check_count(name, index, minimum=0)
        if index >= n_available:
            raise ValueError(f"{name} must be at most {n_available - 1}, got {index}.")
    return indices


def shaped(name: str, values: Any, shape: tuple[int, ...], rule: str = "shape") -> Array:
    """Numbers as an array, which must have this shape; messages name it, and the rule."""
    array = np.asarray(values, dtype=float)
    if array.shape != shape:
        raise ValueError(f"{name} must have {rule} {shape}, got {array.shape}.")
    return array


def class_colours(n_classes: int) -> list[Any]:
    """A colour for each class: from the palette, or along a colour map where that is too short."""
    if n_classes <= len(PALETTE):
        return list(PALETTE[:n_classes])
    return list(pyplot().get_cmap("viridis")(np.linspace(0.0, 1.0, n_classes)))


def class_legend(ax: Any) -> Any:
    """Names of the classes to the right of the axes, where they hide no data; six in a column."""
    n_columns = -(-len(ax.get_legend_handles_labels()[1]) // 6)
    place = {"loc": "upper left", "bbox_to_anchor": (1.0, 1.0), "ncols": n_columns}
    return ax.legend(title="class", frameon=False, fontsize="small", **place)


def open_frame(ax: Any) -> None:
    """Only the two sides that carry a scale."""
    ax.spines[["top", "right"]].set_visible(False)
