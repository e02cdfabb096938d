"""A page about a fitted model, for people: ``modae.report.build(model, X, y).save("report.html")``.

It needs ``pip install "modae[report]"``.
"""

from modae.report.api import Report, build

__all__ = ["Report", "build"]
