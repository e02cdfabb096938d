"""Models as ONNX files: graphs that run without Python, scikit-learn or modae.

Needs the extra ``onnx``: ``pip install "modae[onnx]"``. The one public name is
:func:`modae.export_onnx`. The files, in the order in which they build on each other:

* ``extras``: a package that is missing, in one sentence;
* ``graph``: nodes, constants and graphs of others, put together;
* ``answers``: what an estimator says of rows, as names of values in the graph;
* ``votes``, ``linear``, ``neighbors``, ``foreign``, ``networks``: one kind of estimator each;
* ``ensembles``: extractor, members and vote, and whatever is wrapped around them;
* ``api``: checks, names, and the file.
"""
