"""Data that do not fit in memory: batches of files, Dask collections, and the writers of results.

It imports ``utils`` and ``data``.
"""
