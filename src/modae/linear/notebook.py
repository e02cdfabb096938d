"""Key figures of a fitted estimator, below scikit-learn's diagram of it in a notebook."""

from collections.abc import Callable
from html import escape
from typing import Any

from modae.utils.text import closeness, counted

# Colours are those of the page around, so that the table is right on light and on dark ones, and lines
# are a faint shade of them. The table's name in front of each rule outweighs the rules of notebooks.
STYLE = """
table.modae-figures {border-collapse: collapse; margin: 0.5em 0; font-size: 0.9em; color: inherit}
table.modae-figures caption {text-align: left; font-weight: bold; padding: 0.2em 0;
  white-space: nowrap; color: inherit}
table.modae-figures tr {background: none; border-top: 1px solid rgba(128, 128, 128, 0.4)}
table.modae-figures th, table.modae-figures td {text-align: left; vertical-align: top;
  padding: 0.25em 1.5em 0.25em 0; color: inherit}
table.modae-figures th {font-weight: normal; opacity: 0.75; white-space: nowrap}
"""


class KeyFigures:
    """What a notebook shows of an estimator: scikit-learn's diagram, then its key figures if fitted.

    The two methods below are those that notebooks ask for; what scikit-learn does behind them differs
    between its versions, and does not matter here.

    Mixin: a subclass says what its figures are. It comes before ``BaseEstimator``.
    """

    def _key_figures(self) -> dict[str, str]:
        """Label -> value, in the order to be read; of a fitted estimator, and without much work."""
        return {}

    def _repr_mimebundle_(self, **kwargs: Any) -> dict[str, Any]:
        bundle: dict[str, Any] = super()._repr_mimebundle_(**kwargs)  # type: ignore[misc]
        if "text/html" in bundle:
            bundle["text/html"] += figures_html(self)
        return bundle

    @property
    def _repr_html_(self) -> Callable[[], str]:
        diagram = super()._repr_html_  # type: ignore[misc]  # does not exist where text is asked for
        return lambda: diagram() + figures_html(self)


def modules_text(shape: tuple[int, ...]) -> str:
    """How many modules of what size, from the shape (M, H, ...) of their encoders."""
    return f"{shape[0]} of {counted(shape[1], 'component')}"


def optimality(model: Any) -> str:
    """How close to its bound a model is, and what is known of the rest."""
    known = {
        "attained": "the bound is attained",
        "undecided": "whether the bound can be reached is not known",
    }
    return f"{closeness(model)}: {known[model.attainment_]}"


def figures_html(estimator: KeyFigures) -> str:
    """The table of an estimator's key figures; nothing if it is not fitted, or not in order."""
    try:
        fitted = estimator.__sklearn_is_fitted__()  # type: ignore[attr-defined]
        figures = estimator._key_figures() if fitted else {}
    except Exception:  # a model taken apart by hand is shown without figures, and not as a traceback
        return ""
    if not figures:
        return ""
    rows = "".join(
        f'<tr><th scope="row">{escape(label)}</th><td>{escape(value)}</td></tr>'
        for label, value in figures.items()
    )
    name = escape(type(estimator).__name__)
    caption = f"<caption>Key figures of this {name}</caption>"
    return f'<style>{STYLE}</style><table class="modae-figures">{caption}<tbody>{rows}</tbody></table>'
