"""What every layer may use: array types, parameter checks, threads, text, atomic files, optional
packages, versions.

It imports no other layer of modae.
"""
