"""Save and load models: files whose opening executes nothing.

A file is a stored zip with a JSON header, our arrays as safetensors, and members of other libraries as
skops writes them. The classes of modae are known by dotted names only, and the ``layouts.py`` of each
folder says attribute by attribute what a file may hold, so this folder imports only ``utils``. Read
``api``, ``archive`` (the bytes), ``rules``, ``registry``, ``writing`` and ``reading`` (our objects),
``foreign`` and ``trees`` (those of others).
"""
