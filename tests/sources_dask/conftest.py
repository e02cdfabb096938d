"""Dask with pandas 3.1 warns of itself; nothing else is let through."""

import pytest


def pytest_collection_modifyitems(items):
    own = "ignore:The inplace keyword in DataFrame"
    for item in items:
        if "dask_chunks" in item.path.parts:
            item.add_marker(pytest.mark.filterwarnings(own))
