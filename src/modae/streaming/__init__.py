"""Long work on data that do not fit into memory: fit and resume, transform into a file.

Reading order: ``fitting`` (with the checkpoint that it resumes from), ``transforming``.
It imports ``linear``, ``files``, ``sources`` and what lies below them.
"""
