"""Save and load models: files whose opening executes nothing.

A file is a stored zip with a JSON header, our arrays as safetensors, and members of other libraries as
skops writes them. The classes of modae are known by dotted names only: the ``layouts.py`` of each folder
has a table of rules for each of its classes, which is evaluated here, so this folder imports only
``utils``. Read ``api`` (save, load, describe), ``archive`` (the bytes), ``rules`` (what is checked),
``objects`` (ours, and plain values) and ``foreign`` (those of others).
"""
