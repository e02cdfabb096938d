"""The paper's tables, figures and theorems, run with the public API: ``modae reproduce``.

A part of the paper is a module with ``run(setting)``, which writes its files and returns one finding for
each claim; ``expected.toml`` has the claims, ``run.py`` goes through the parts and compares.
This folder may import all of modae but :mod:`modae.cli`, which prints what it finds.
"""
