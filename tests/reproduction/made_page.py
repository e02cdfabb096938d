"""A page of the reproduction from measurements that are made up, with real images."""

from dataclasses import replace

import numpy as np
import pytest

from modae.reproduction import figure2, page
from modae.reproduction.figure2 import Sweep
from modae.reproduction.run import DIFFERS, REPRODUCED, Setting, Verdict, claims

GRID = np.linspace(0.0, 1.0, 21).round(2)


def made(name):
    """Least error at 0.55, three runs."""
    ensemble = 0.1 + (GRID - 0.55) ** 2 + np.array([-0.01, 0.0, 0.01])[:, None]
    return Sweep(
        name,
        GRID,
        ensemble=ensemble,
        individual=ensemble + 0.1,
        bagging=np.array([0.14, 0.15, 0.16]),
        faithfulness=np.zeros((2, 21, 2)),
        redundancy=np.zeros((2, 21, 2)),
    )


def made_page(names, n_rows):
    """The page of these data sets, and of the claims of Figure 2, the first said to differ."""
    measured = [made(name) for name in names]
    verdicts = [Verdict(claim, "found", REPRODUCED, REPRODUCED) for claim in claims("figure2")]
    verdicts[0] = replace(verdicts[0], verdict=DIFFERS)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(figure2, "sweeps", lambda setting: measured)
        patch.setattr(page, "MOST_ROWS", n_rows)
        return page.make_page(verdicts, Setting(out=None))
