"""A table of models that were tried on the same folds, and what it says in words."""

from __future__ import annotations

from typing import Any

import numpy as np

from modae.utils.text import counted, fixed, percent

COLUMNS = (
    "name", "score", "error", "se", "difference", "se_difference", "fit_time", "predict_time", "size",
)  # fmt: skip

#: A difference of so many standard errors is clear; of one, or of half a percent, it is small.
CLEAR, SMALL = 2.0, 0.005

SIZE_NAMES = ("n_modules", "n_components", "diversity", "rotation", "scale", "family")


class Leaderboard(dict[str, np.ndarray]):
    """Models on the same folds, the best first: one array for each column, and a plain text form.

    ``name``; ``score`` and ``error`` (the share of wrong labels, or 1 - R^2) with its standard error
    ``se`` over the folds, NaN for one fold; ``difference`` to the error of the best and
    ``se_difference``, of paired rows; ``fit_time`` and ``predict_time`` in seconds on one fold;
    ``size``, the features that all see. The text shows errors in percent, or R^2.

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

    measure = "error"  # what the text shows; else R2

    @classmethod
    def of(cls, columns: dict[str, Any], *, classify: bool = True) -> Leaderboard:
        """Sorted by the score; of equal ones the first stays first."""
        order = np.argsort(-np.asarray(columns["score"]), kind="stable")
        table = cls({name: np.asarray(column)[order] for name, column in columns.items()})
        table.measure = "error" if classify else "R2"
        return table

    @classmethod
    def of_search(cls, results: dict[str, Any], *, classify: bool) -> Leaderboard:
        """The best candidate of each family on modules, and on X itself."""
        best: dict[str, int] = {}
        for place in np.argsort(results["rank_test_score"], kind="stable"):
            best.setdefault(label(results["params"][place]), int(place))
        places = list(best.values())
        named = {"fit_time": "mean_fit_time", "predict_time": "mean_score_time"}
        named |= {"score": "mean_test_score", "error": "mean_ensemble_error", "se": "se_ensemble_error"}
        taken = {name: results[named.get(name, name)][places] for name in COLUMNS[1:]}
        taken["se"] = np.where(results["n_folds"][places] > 1, taken["se"], np.nan)
        return cls.of({"name": np.array(list(best), dtype=object), **taken}, classify=classify)

    def text(self, column: str, place: int) -> str:
        """An entry as people read it: errors in percent, and R2 instead of 1 - R2."""
        value = self[column][place]
        if self.measure == "error":
            return percent(value)
        return fixed(1.0 - value if column == "error" else value)

    def _gap(self, place: int) -> str:
        """How far one model is behind the best: by as much as the rounded errors differ, unless these
        are of other folds.
        """
        classify, apart = self.measure == "error", self["difference"][place]
        shown = [float(self.text("error", each).removesuffix("%")) for each in (place, 0)]
        rounded = abs(shown[0] - shown[1]) * (0.01 if classify else 1.0)
        rounded = rounded if abs(rounded - apart) < 0.00101 else apart  # both errors have three digits
        text = percent(rounded) if classify else fixed(rounded)
        return f"{text} ± {self.text('se_difference', place)}"

    def __str__(self) -> str:
        rows = [("model", self.measure, "behind it", "fit", "predict")]
        for place, name in enumerate(self["name"]):
            level = self.text("error", place)
            if not np.isnan(self["se"][place]):
                level += f" ± {self.text('se', place)}"
            fit, predict = self["fit_time"][place], self["predict_time"][place]
            apart = self._gap(place) if place else ""
            rows.append((name, level, apart, f"{fit:.1f} s", f"{predict:.2f} s"))
        widths = [max(len(row[column]) for row in rows) for column in range(5)]
        line = "  ".join(f"{{:{'>' if column else '<'}{width}}}" for column, width in enumerate(widths))
        return "\n".join(line.format(*row).rstrip() for row in rows)  # names to the left

    def apart(self, own: str) -> str:
        """How much better or worse the strongest of the others is than the model of this name."""
        place = list(self["name"]).index(own)
        gap = f"{'better' if place else 'worse'} by {self._gap(max(place, 1))}"
        same = self["difference"][max(place, 1)] == self["se_difference"][max(place, 1)] == 0.0
        return "equal" if same else gap

    def behind(self, place: int) -> str:
        """Whether what a model is behind the best is "clear", "small", or neither: "unclear"."""
        difference, error = self["difference"][place], self["se_difference"][place]
        if difference > CLEAR * error:
            return "clear"
        return "small" if difference <= max(error, SMALL) else "unclear"

    def better_than(self, own: str) -> str | None:
        """The best model, if it is better than the one of this name by more than a little."""
        place = list(self["name"]).index(own)
        return None if self.behind(place) == "small" else str(self["name"][0])

    def verdict(self, own: str, *, plain: bool = False) -> str:
        """Whether the model of this name is worth using, beside the strongest of the others.

        It is ``plain`` if it is one learner on all columns, because modules were no better.
        """
        if plain:
            ahead = self["name"][0] == own and self.behind(1) != "small"
            kind = ": this is one learner on all columns"
            what = kind if ahead else ", and plain scikit-learn does as well"
            return f"Modules do not help on these data{what}. {self.verdict(own)}"
        names = [str(name) for name in self["name"]]
        place = names.index(own)
        behind, other = self.behind(max(place, 1)), 0 if place else 1
        both = f"{self.measure} {self.text('error', place)}, {names[other]} {self.text('error', other)}"
        if behind == "small":
            rest = counted(len(names) - 1, "other method")
            return f"About as good as the strongest of {rest}: {both} ({self.apart(own)})."
        gap, unclear = self._gap(max(place, 1)), behind == "unclear"
        doubt = ", but on so few rows the difference is not clear" if unclear else ""
        if place:
            start = "Perhaps not the best choice" if unclear else "Not the best choice"
            return f"{start} for these data: {both} (better by {gap}){doubt}."
        start = "Perhaps" if unclear else "Worth using,"
        return f"{start} the best of {len(names)} methods: {both} (worse by {gap}){doubt}."

    def sentences(self, chosen: dict[str, Any]) -> str:
        """What was chosen, and whether modules are better than the same learner on X itself."""
        names = list(self["name"])
        first = names.index(label(chosen))
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
        what += ", on standardised columns" if chosen.get("scale") else ""
        level = f"{self.text('error', first)} ± {self.text('se', first)}"
        text = f"Chosen: {what}: {self.measure} {level}."
        other = label({name: value for name, value in chosen.items() if name == "family"})
        if "family" not in chosen or other not in names:
            return text
        if "n_modules" not in chosen:
            return f"{text} No ensemble on modules was better: this is one learner on all columns."
        place = names.index(other)
        return f"{text} The same learner on all columns is worse by {self._gap(place)}."


def label(params: dict[str, Any]) -> str:
    """A candidate in a few words: its family, and whether it is on modules."""
    family = params.get("family", "members")
    return f"{family} on modules" if "n_modules" in params else f"{family} on columns"
