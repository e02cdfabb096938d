"""scikit-learn estimators over the core: validate, solve, publish."""
