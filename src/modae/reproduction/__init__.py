"""The paper's tables, figures and theorems, run with the public API: ``modae reproduce``."""
