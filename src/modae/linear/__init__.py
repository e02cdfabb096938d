"""Linear estimators in scikit-learn's style: they join the data and the core.

``autoencoder``, ``bagging`` and ``regressor`` are the estimators, ``model`` is their fitted state,
``modules`` what they share: answers for rows, the certificate, the diversity path. A fit validates the
rows, sums them up (``data``), solves (``core``) and publishes attributes. It imports ``utils``,
``core``, ``data`` and, for the layouts of its files, ``files``.
"""
