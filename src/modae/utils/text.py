"""Numbers and sentences about fitted models, the same in a notebook, in a report and on the terminal.

Numbers are rounded by one rule: halves go away from zero, in decimal, after the noise of binary
arithmetic beyond the tenth digit is gone. The page of a report does the same (``assets/numbers.js``).
"""

from collections.abc import Iterable
from decimal import ROUND_HALF_UP, Context, Decimal
from difflib import get_close_matches
from typing import Any

#: In place of a number that is not known.
MISSING = "\N{EN DASH}"

_TEN_DIGITS = Context(prec=10, rounding=ROUND_HALF_UP)


def counted(number: int, word: str) -> str:
    """A number and its noun.

    Examples
    --------
    >>> from modae.utils.text import counted
    >>> counted(1, "class"), counted(1200, "row")
    ('1 class', '1,200 rows')
    """
    plural = {"class": "classes"}.get(word, f"{word}s")
    return f"{number:,} {word if number == 1 else plural}"


def format_number(value: float | None, unit: str = "", digits: int = 4) -> str:
    """A number with so many digits at most, without zeros at the end; a fraction as percent if asked.

    Examples
    --------
    >>> from modae.utils.text import format_number
    >>> format_number(1234.56), format_number(0.0625, "%", digits=2), format_number(-1e-9)
    ('1235', '6.3%', '−1e−9')
    """
    if value is None:
        return MISSING
    number = _scaled(value, unit)
    if not number.is_finite():
        return f"{value}"
    rounded = float(_rounded(number, digits - 1 - number.adjusted())) + 0.0  # no minus before zero
    # JavaScript, too, writes all places of numbers that are neither tiny nor huge.
    style = "f" if rounded == 0.0 or 1e-6 <= abs(rounded) < 1e21 else "e"
    text = format(Decimal(repr(rounded)).normalize(), style)
    return text.replace("-", "\N{MINUS SIGN}") + unit


def percent(value: float) -> str:
    """A fraction in percent, always with one decimal place.

    Examples
    --------
    >>> from modae.utils.text import percent
    >>> percent(0.1234), percent(0.05)
    ('12.3%', '5.0%')
    """
    return fixed(value, 1, "%")


def fixed(value: float, places: int = 3, unit: str = "") -> str:
    """A number with so many decimal places, whatever it is.

    Examples
    --------
    >>> from modae.utils.text import fixed
    >>> fixed(0.0625), fixed(-0.0001)
    ('0.063', '0.000')
    """
    return f"{float(_rounded(_scaled(value, unit), places)) + 0.0:.{places}f}{unit}"


def _scaled(value: float, unit: str) -> Decimal:
    """The value on the scale of its unit, with ten digits."""
    return _TEN_DIGITS.create_decimal_from_float(100.0 * float(value) if unit == "%" else float(value))


def _rounded(number: Decimal, places: int) -> Decimal:
    """So many decimal places; a number of ten digits has none beyond the tenth."""
    if not number.is_finite() or number.adjusted() + places >= 9:
        return number
    return number.quantize(Decimal(1).scaleb(-places), ROUND_HALF_UP)


def r2_text(score: float | None) -> str:
    """R2 behind another number, if there is one."""
    return "" if score is None else f", R2 {fixed(score)}"


def listed(names: Iterable[object], most: int = 5) -> str:
    """The first few names, and how many more there are.

    Examples
    --------
    >>> from modae.utils.text import listed
    >>> listed("abcdefg", most=2)
    "'a', 'b' and 5 more"
    """
    quoted = [repr(str(name)) for name in names]
    rest = len(quoted) - most
    return ", ".join(quoted[:most]) + (f" and {rest:,} more" if rest > 0 else "")


def shortened(text: str, most: int = 40) -> str:
    """A text of so many characters at most: without its middle, if it is longer.

    Examples
    --------
    >>> from modae.utils.text import shortened
    >>> shortened("the first and the last words", most=11)
    'the f…words'
    """
    half = most // 2
    return text if len(text) <= most else f"{text[: most - half - 1]}…{text[-half:]}"


def bounded_loss(model: Any) -> tuple[str, str]:
    """What a certified model minimised, and what no modules of its size reach less than."""
    smallest = 1e-12 * float(model.total_variance_)  # below it digits are round-off
    reached = getattr(model, "objective_", model.loss_)  # with a penalty the bound is for both together
    loss, bound = (0.0 if value < smallest else value for value in (reached, model.lower_bound_))
    same = model.attainment_ == "attained" and f"{loss:.6g}" != f"{bound:.6g}"
    return f"{loss:.6g}", f"{bound:.6g}{' (equal within round-off)' if same else ''}"


def closeness(model: Any) -> str:
    """How far the loss of a certified model is from its bound."""
    if model.attainment_ == "attained":
        return "the optimum"
    return f"gap {max(float(model.optimality_gap_), 0.0):.1e} of the variance"


def nearest(name: str, names: Iterable[str]) -> str | None:
    """The name that was meant, perhaps: capital letters and blanks at the ends do not matter.

    >>> nearest("price", ["size", "Price"])
    'Price'
    """
    known = {each.strip().casefold(): each for each in names}
    near = get_close_matches(name.strip().casefold(), known, n=1)
    return known[near[0]] if near else None
