"""Awkward cells: what stands in a column, and the answer it gets.

A column ``x`` of these cells, repeated to forty rows, is beside a column of numbers and the target
``kind``. It is refused or accepted. If it is refused, ``says`` is in the line, and ``add`` are the
options of the command in it, which is typed then. What is read in the end are the numbers ``read``.
"""

from dataclasses import dataclass

NOTHING = None  # a missing value


@dataclass(frozen=True)
class Cells:
    """A column and its answer."""

    name: str
    cells: list[str]
    read: list[float | None] | None = None  # None: the column is not read as numbers
    add: str = ""
    says: tuple[str, ...] = ()
    typed: str = ""
    notes: tuple[str, ...] = ()

    @property
    def refused(self):
        return bool(self.says)


IMPUTE = " --impute"
AWKWARD = [
    # --- numbers in another notation: refused, and the command that is said reads them right -----------
    Cells("decimal commas", ["49,0", "7,25", "-1,5"], [49, 7.25, -1.5], "--decimal ,", ("'49,0'",)),
    Cells(
        "points between thousands",
        ["3.685,20", "12,5"],
        [3685.2, 12.5],
        "--decimal , --thousands .",
        ("x",),
    ),
    Cells(
        "commas between thousands", ["3,685.20", "7.5"], [3685.2, 7.5], "--thousands ,", ("'3,685.20'",)
    ),
    Cells(
        "one comma, three digits",
        ["1,500", "2,250"],
        [1500, 2250],
        "--thousands ,",
        ("if '1,500' of 'x' is 1.500, use --decimal , and not --thousands ,",),
    ),
    Cells("blanks between thousands", ["1 234", "56"], [1234, 56], "--thousands ' '", ("'1 234'",)),
    Cells("apostrophes", ["1'234.5", "56"], [1234.5, 56], '--thousands "\'"', ("1'234.5",)),
    Cells("dollars", ["$184.26", "-$3", "$7"], [184.26, -3, 7], "--strip '$'", ("'$184.26'",)),
    Cells(
        "dollars and commas",
        ["$3,685.20", "$9"],
        [3685.2, 9],
        "--strip '$' --thousands ,",
        ("'$3,685.20'",),
    ),
    Cells("euros", ["184,26 €", "3,5 €"], [184.26, 3.5], "--strip € --decimal ,", ("€",)),
    Cells(
        "narrow blanks",
        ["1\u00a0234,5", "22,5"],
        [1234.5, 22.5],
        "--decimal , --thousands ' '",
        ("234",),
    ),
    Cells("plain, in many ways", ["1e5", " 3 ", "+4", "-.5"], [1e5, 3, 4, -0.5]),
    Cells("brackets for a minus", ["(12)", "7.5", "3"], [-12, 7.5, 3], "--strip '()'", ("'(12)'",)),
    Cells(
        "brackets, dollars, commas",
        ["($1,234.50)", "$7"],
        [-1234.5, 7],
        "--strip '()' --strip '$' --thousands ,",
        ("'($1,234.50)'",),
    ),
    Cells("a long minus", ["\u221212", "7"], [-12, 7], "--strip \u2212", ("\u221212",)),
    Cells("a currency before", ["USD 12", "USD 7"], [12, 7], "--strip USD", ("'USD 12'",)),
    Cells(
        "two currencies",
        ["$12", "€7"],
        [12, 7],
        "--strip '$' --strip €",
        ("'$12'", "not all numbers of 'x' have the same unit"),
    ),
    Cells(
        "percents and shares",
        ["12%", "0.5"],
        [12, 0.5],
        "--strip %",
        ("'12%'", "not all numbers of 'x' have the same unit"),
    ),
    Cells(
        "below a limit",
        ["<5", "7", "9"],
        [5, 7, 9],
        "--strip '<'",
        ("'<5'", "not all numbers of 'x' have the same unit"),
    ),
    Cells("percents", ["12%", "7.5 %"], [12, 7.5], "--strip %", ("'12%'",)),
    Cells("a unit", ["12 kg", "7kg"], [12, 7], "--strip kg", ("'12 kg'",)),
    # --- nothing, in other words -----------------------------------------------------------------------
    Cells("?", ["1.5", "?", "3"], [1.5, NOTHING, 3], "--missing '?'" + IMPUTE, ("'?'",)),
    Cells(
        "? for most", ["?", "?", "3", "4"], [NOTHING, NOTHING, 3, 4], "--missing '?'" + IMPUTE, ("'?'",)
    ),
    Cells("a dash", ["1", "-", "3"], [1, NOTHING, 3], "--missing -" + IMPUTE, ("'-'",)),
    Cells(
        "? and a dash",
        ["1", "-", "?"],
        [1, NOTHING, NOTHING],
        "--missing - --missing '?'" + IMPUTE,
        ("'-'",),
    ),
    Cells(
        "commas and ?", ["1,5", "?"], [1.5, NOTHING], "--decimal , --missing '?'" + IMPUTE, ("'1,5'",)
    ),
    Cells("Excel's error", ["1", "#DIV/0!"], [1, NOTHING], "--missing '#DIV/0!'" + IMPUTE, ("#DIV/0!",)),
    Cells(
        "NA",
        ["1.5", "NA"],
        [1.5, NOTHING],
        "--impute",
        ("'x' has no value in row 2 (line 3)", "--impute"),
    ),
    Cells("no value at all", [""], add="--drop x", says=("'x' has no value in row 1 (line 2)",)),
    Cells(
        "hardly any value",
        ["5", *[""] * 19],
        [5, *[NOTHING] * 19],
        "--impute",
        ("'x' has no value",),
        notes=("No value in most rows of 'x'", "--drop x"),
    ),
    Cells(
        "true, false and nothing",
        ["TRUE", "", "false"],
        [1, NOTHING, 0],
        "--impute",
        ("'x' has no value in row 2",),
    ),
    Cells("NA, filled", ["1.5", "NA"], [1.5, NOTHING], typed="--impute"),
    Cells("-999 that is said", ["1.5", "-999"], [1.5, NOTHING], typed="--missing -999 --impute"),
    Cells("nothing at all", ["?"], add="--missing '?'" + IMPUTE, says=("'?'",)),
    # --- slips -----------------------------------------------------------------------------------------
    Cells(
        "a word among numbers",
        [*map(str, range(19)), "oops"],
        [*range(19), NOTHING],
        "--missing oops" + IMPUTE,
        ("correct 'oops'",),
    ),
    Cells(
        "a slip among numbers", [*map(str, range(19)), "3o"], says=("nearly all of 'x'", "correct '3o'")
    ),
    Cells(
        "a slip among numbers, encoded",
        [*map(str, range(19)), "3o"],
        typed="--encode",
        says=("correct '3o'",),
    ),
    Cells(
        "numbers in disguise, encoded",
        ["49,0", "7,25"],
        [49, 7.25],
        "--decimal ,",
        ("'49,0'",),
        "--encode",
    ),
    Cells(
        "the wrong mark",
        ["1,5", "22,5"],
        says=("'1,5'", "--decimal"),
        add="--decimal ,",
        typed="--thousands ,",
        read=[1.5, 22.5],
    ),
    Cells("two marks in one column", ["1,5", "2.5"], says=("'1,5'",), add="--encode"),
    Cells("the same number", ["7"], [7], notes=("The same in every row", "'x'")),
    Cells("the same word", ["same"], add="--encode", says=("'same'",)),
    Cells("units of other sizes", ["12k", "3M", "7"], says=("'12k'",), add="--encode"),
    Cells("infinite", ["1", "inf"], says=("'x' is infinite in row 2 (line 3)",)),
    # --- words, dates, ids -----------------------------------------------------------------------------
    Cells("words", ["red", "blue"], add="--encode", says=("'red'", "--encode", "--drop 'x'")),
    Cells(
        "words with NA", ["red", "NA"], typed="--encode", notes=("'NA' in column 'x'", "--missing NA")
    ),
    Cells("other words in each row", [f"n{i}x" for i in range(40)], add="--drop x", says=("'n0x'",)),
    Cells(
        "other words in each row, encoded",
        [f"n{i}x" for i in range(40)],
        typed="--encode",
        notes=("Other strings in most rows of column 'x'",),
    ),
    Cells(
        "words that differ by a capital or a blank",
        ["Red", "red", "RED ", "blue"],
        typed="--encode",
        notes=("'RED ', 'Red', 'red' in column 'x' count as different",),
    ),
    Cells("codes", ["A001", "A002"], add="--encode", says=("'A001'",)),
    Cells("leading zeros", ["00123", "94110"], [123, 94110], notes=("Leading zeros in 'x'", "--drop x")),
    Cells(
        "more digits than a float has",
        [str(2**53 + i) for i in range(4)],
        notes=("more digits than are kept: 'x'", "--drop x"),
    ),
    Cells(
        "an id in numbers",
        [str(1000 + i) for i in range(40)],
        [*range(1000, 1040)],
        notes=("'x'", "--drop x"),
    ),
    Cells("true and false", ["true", "False", "TRUE"], [1, 0, 1]),
    Cells("yes and no", ["yes", "no"], add="--encode", says=("'yes'",)),
    Cells("dates", ["2020-01-31", "2021-02-01"], add="--dates", says=("dates", "'2020-01-31'")),
    Cells(
        "dates, encoded", ["2020-01-31", "2021-02-01"], typed="--encode", add="--dates", says=("dates",)
    ),
    Cells(
        "dates with points", ["31.01.2020", "1.2.2021"], add="--dates", says=("dates", "'31.01.2020'")
    ),
    Cells("dates with ?", ["2020-01-31", "?"], says=("dates",), add="--dates --missing '?'" + IMPUTE),
    Cells("dates with gaps", ["2020-01-31", ""], says=("dates",), add="--dates --impute"),
    Cells(
        "dates and times", ["2020-01-31 12:30:00", "2021-02-01 00:00:00"], add="--dates", says=("dates",)
    ),
    Cells(
        "dates in words", ["5 Jan 2024", "7 February 2024"], says=("dates", "2026-01-31", "--drop 'x'")
    ),
    Cells("months", ["2024-01", "2024-02"], says=("dates", "2026-01-31", "--drop 'x'")),
    Cells("dates, month or day first", ["1/2/2020", "3/4/2021"], says=("2026-01-31", "--drop 'x'")),
    Cells("dates of two digits", ["31.01.20", "01.02.21"], says=("2026-01-31",)),
    Cells("times of a day", ["12:30:00", "08:15:00"], says=("dates or times", "--drop 'x'")),
]
