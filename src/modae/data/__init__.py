"""From rows to moments to a spectrum, for dense, sparse and device arrays, in memory or lazy.

Estimators validate, sum up and map their data through the functions of :mod:`modae.data.validation`.
This folder imports ``utils`` only: lazy kinds of data live in ``sources``, and are found by their names.
"""
