"""``python -m modae`` is the command ``modae``."""

from modae.cli import main

if __name__ == "__main__":
    main()
