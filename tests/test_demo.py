"""The demo prints a table that fits a terminal."""

import re

from modae import demo


def test_the_demo_fits_eighty_columns_and_shows_the_certificate(capsys):
    demo.main()
    printed = capsys.readouterr().out
    assert max(map(len, printed.splitlines())) <= 80
    assert "attained" in printed
    assert "lower bound" in printed


def test_the_table_has_a_row_for_each_diversity(capsys):
    demo.main()
    rows = re.findall(r"^ +(\d\.\d) +[\d.]+ +\S+e[-+]\d\d ", capsys.readouterr().out, re.MULTILINE)
    diversities = [float(row) for row in rows]
    assert diversities == list(demo.DIVERSITIES)
