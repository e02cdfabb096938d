"""All layouts of the library itself: this is the list of what a file may hold without being asked."""

from modae.persistence.checkpoints import CHECKPOINT_LAYOUTS
from modae.persistence.ensemble_layouts import ENSEMBLE_LAYOUTS
from modae.persistence.linear_layouts import LINEAR_LAYOUTS

LAYOUTS = (*LINEAR_LAYOUTS, *ENSEMBLE_LAYOUTS, *CHECKPOINT_LAYOUTS)
