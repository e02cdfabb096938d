"""Set before scipy is imported: scikit-learn's checks of array-API input run only then."""

import os

os.environ.setdefault("SCIPY_ARRAY_API", "1")
