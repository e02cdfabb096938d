"""Long work on data that do not fit into memory: fit and resume, transform into a file.

Reading order: ``checkpoints`` (how far a fit has come, as a file), ``fitting``, ``transforming``.
It imports ``linear``, ``files``, ``sources`` and what lies below them.
"""
