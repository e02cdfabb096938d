"""Models as ONNX files: graphs that run without Python, scikit-learn or modae.

``api`` has the one public function, :func:`modae.export_onnx`; ``conversion`` walks through a fitted
model, ``votes``, ``neighbors``, ``networks`` and ``foreign`` (estimators of others) write its parts, and
all of them add nodes to a ``graph``. It may import linear, ensembles and deep, and needs
``pip install "modae[onnx]"``.
"""
