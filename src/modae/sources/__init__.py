"""Tables and other rows that need not fit into memory: readers, batches, writers, and Dask collections.

Reading order: ``frames`` (tables in memory), ``source`` (the records of one stream), ``arrow_files``
(Parquet, Arrow and CSV), ``opening`` (which of them it is), ``batches``, ``writers`` and ``dask_rows``.
It imports ``utils`` and ``data``; the command line reads and writes its tables here too.
"""
