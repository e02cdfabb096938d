"""Ensembles on the features of modules: one member for each module, and a vote or a mean."""
