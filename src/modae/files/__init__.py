"""Files that are safe to open: a JSON header, arrays as safetensors, other libraries' members by skops.

Reading order: ``errors``, ``container`` (the bytes), ``rules`` (what is checked), ``registry`` (who is
known), ``writing`` and ``reading`` (objects and trees), ``linear_layouts`` and ``ensemble_layouts`` (the
rules of each class), ``foreign`` (members of other libraries), ``api`` (save and load).
"""
