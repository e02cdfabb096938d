"""What every layer may use: parameter checks, parallel tasks, text, atomic files, optional packages.

It holds the types of arrays and the table of versions too, and imports no other layer of modae.
"""
