"""Long work on data that do not fit into memory: fit and resume, transform into a file.

Reading order: ``journal`` (how far a fit has come, as a file), ``fitting``, ``writers`` (files that
grow), ``transforming``.
"""
