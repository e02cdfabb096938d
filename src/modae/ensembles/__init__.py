"""Ensembles on the features of modules: one member for each module, and a vote or a mean.

``classifier`` and ``regressor`` are the ensembles, on a common ``base`` and on ``members`` (an estimator
per module); ``tuning`` and its ``search`` choose diversity and sizes; ``parts`` takes any fitted model
apart. It imports ``linear`` and what lies below it.
"""
