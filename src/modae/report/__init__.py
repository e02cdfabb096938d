"""A page about a fitted model, for people: ``modae.report.build(model, X, y).save("report.html")``.

What to show is measured here as plain data, and drawn by the scripts in ``assets``. It imports display
and what lies below it.
"""

from modae.report.api import Report, build

__all__ = ["Report", "build"]
