"""Models as ONNX files: graphs that run without Python, scikit-learn or modae.

``api`` has the one public function, :func:`modae.export_onnx`; ``conversion`` walks through a fitted
model, ``linear``, ``neighbors``, ``foreign`` and ``networks`` write one kind of estimator each, and all
of them add nodes to a ``graph``. It may import the estimators, linear, deep and ensembles; it needs
``pip install "modae[onnx]"``.
"""
