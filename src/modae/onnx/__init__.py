"""Models as ONNX files: graphs that run without Python, scikit-learn or modae.

``api`` has the one public function, :func:`modae.export_onnx`. ``conversion`` walks through a fitted
model and writes its vote, ``networks`` has deep modules, ``foreign`` nearest neighbours and the
estimators of others; all add nodes to a ``graph``. It may import linear, ensembles and deep, and needs
``pip install "modae[onnx]"``.
"""
