"""What every layer may use: array types, parameter checks, threads, text, atomic files, versions.

It imports no other layer of modae.
"""
