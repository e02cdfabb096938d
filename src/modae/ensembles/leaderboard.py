"""A table of models that were tried on the same folds, and what it says in words."""

from __future__ import annotations

from typing import Any

import numpy as np

from modae.utils.text import counted, percent

COLUMNS = (
    "name", "score", "error", "se", "difference", "se_difference", "fit_time", "predict_time", "size",
)  # fmt: skip

SIZE_NAMES = ("n_modules", "n_components", "diversity", "rotation", "scale", "family")


class Leaderboard(dict[str, np.ndarray]):
    """Models on the same folds, the best first: one array for each column, and a plain text form.

    ``name``; ``score`` and ``error`` (the share of wrong labels, or 1 - R^2) with its standard error
    ``se`` over the folds; ``difference`` to the error of the best and ``se_difference``, of paired rows;
    ``fit_time`` and ``predict_time`` in seconds on one fold; ``size``, the features that all see.

    Examples
    --------
    >>> import numpy as np
    >>> from modae.ensembles.leaderboard import Leaderboard
    >>> columns = {"name": ["a", "b"], "error": [0.2, 0.1], "se": [0.01, 0.02], "score": [0.8, 0.9]}
    >>> columns |= {"difference": [0.1, 0.0], "se_difference": [0.02, 0.0], "size": [30, 4]}
    >>> print(Leaderboard.of(columns | {"fit_time": [1.0, 2.0], "predict_time": [0.1, 0.2]}))
    model         error     behind it    fit  predict
    b      10.0% ± 2.0%                2.0 s   0.20 s
    a      20.0% ± 1.0%  10.0% ± 2.0%  1.0 s   0.10 s
    """

    @classmethod
    def of(cls, columns: dict[str, Any]) -> Leaderboard:
        """Sorted by the score; of equal ones the first stays first."""
        order = np.argsort(-np.asarray(columns["score"]), kind="stable")
        return cls({name: np.asarray(column)[order] for name, column in columns.items()})

    @classmethod
    def of_search(cls, results: dict[str, Any]) -> Leaderboard:
        """The best candidate of each family on modules, and on X itself."""
        best: dict[str, int] = {}
        for place in np.argsort(results["rank_test_score"], kind="stable"):
            best.setdefault(label(results["params"][place]), int(place))
        places = list(best.values())
        named = {"fit_time": "mean_fit_time", "predict_time": "mean_score_time"}
        named |= {"score": "mean_test_score", "error": "mean_ensemble_error", "se": "se_ensemble_error"}
        taken = {name: results[named.get(name, name)][places] for name in COLUMNS[1:]}
        return cls.of({"name": np.array(list(best), dtype=object), **taken})

    def __str__(self) -> str:
        rows = [("model", "error", "behind it", "fit", "predict")]
        for place, name in enumerate(self["name"]):
            error, se, behind, se_behind = (
                percent(self[column][place]) for column in ("error", "se", "difference", "se_difference")
            )
            apart = f"{behind} ± {se_behind}" if place else ""
            fit, predict = self["fit_time"][place], self["predict_time"][place]
            rows.append((name, f"{error} ± {se}", apart, f"{fit:.1f} s", f"{predict:.2f} s"))
        widths = [max(len(row[column]) for row in rows) for column in range(5)]
        return "\n".join(
            "  ".join(
                [
                    row[0].ljust(widths[0]),
                    *(text.rjust(w) for text, w in zip(row[1:], widths[1:], strict=True)),
                ]
            ).rstrip()
            for row in rows
        )

    def verdict(self, own: str) -> str:
        """Whether the model of this name is worth using, beside the strongest of the others."""
        names = [str(name) for name in self["name"]]
        place = names.index(own)
        other = 0 if place else 1
        errors = [percent(self["error"][each]) for each in (place, other)]
        both = f"error {errors[0]}, {names[other]} {errors[1]}"
        apart, spread = (self[each][max(place, 1)] for each in ("difference", "se_difference"))
        gap = f"{percent(apart)} ± {percent(spread)}"
        if abs(apart) <= 2.0 * spread:
            rest = counted(len(names) - 1, "other method")
            return f"About as good as the strongest of {rest}: {both} ({gap} apart)."
        if place == 0:
            return f"Worth using: the best of {len(names)} methods by {gap}; {both}."
        return f"Not the best choice for these data: {names[0]} errs less by {gap}; {both}."

    def sentences(self, chosen: dict[str, Any]) -> str:
        """What was chosen, and whether modules are better than the same learner on X itself."""
        first = {name: column[list(self["name"]).index(label(chosen))] for name, column in self.items()}
        own = ", ".join(
            f"{name}={value:.3g}" if isinstance(value, float) and value % 1 else f"{name}={value}"
            for name, value in chosen.items()
            if name not in SIZE_NAMES
        )
        what = label(chosen) + (f" ({own})" if own else "")
        if "n_modules" in chosen:
            what += (
                f", {chosen['n_modules']} modules of {chosen['n_components']} components with diversity "
                f"{chosen['diversity']:g}"
            )
        scaled = ", on standardised columns" if chosen.get("scale") else ""
        text = f"Chosen: {what}{scaled}: error {percent(first['error'])} ± {percent(first['se'])}."
        other = label({name: value for name, value in chosen.items() if name == "family"})
        if "family" not in chosen or other not in self["name"]:
            return text
        if "n_modules" not in chosen:
            return f"{text} No ensemble on modules was better: this is one learner on all columns."
        place = list(self["name"]).index(other)
        gain = percent(self["difference"][place] - first["difference"])
        spread = percent(self["se_difference"][place])
        return f"{text} The same learner on all columns errs by {gain} ± {spread} more."


def label(params: dict[str, Any]) -> str:
    """A candidate in a few words: its family, and whether it is on modules."""
    family = params.get("family", "members")
    return f"{family} on modules" if "n_modules" in params else f"{family} on columns"
