"""Speed and certification runs. Each prints what it measured; none of them is needed by the package."""
