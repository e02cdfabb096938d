"""Pictures of modular features and of the ensembles on them. They need ``pip install "modae[plot]"``.

Each display computes once and draws as often as wanted, as those of scikit-learn do:
``from_estimator`` computes and draws, ``plot`` draws again, and the constructor takes results that are
already there. They import ensembles, metrics and what lies below, and matplotlib inside functions.
"""

from modae.display.classes import DecisionRegionDisplay, ModuleDensityDisplay
from modae.display.diversity import AllocationDisplay, DiversityPathDisplay
from modae.display.reconstruction import ReconstructionDisplay
from modae.display.risk import RiskCoverageDisplay

__all__ = [
    "AllocationDisplay", "DecisionRegionDisplay", "DiversityPathDisplay", "ModuleDensityDisplay",
    "ReconstructionDisplay", "RiskCoverageDisplay",
]  # fmt: skip
