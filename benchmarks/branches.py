"""Branches that the tests run, folder by folder: ``make coverage`` measures them and prints this table.

(``benchmarks.coverage`` is about prediction intervals.) Fails if a folder is below its limit, and lists
what is left in the folders with the higher one.
"""

from __future__ import annotations

import json
import sys
from collections import defaultdict
from pathlib import Path

LIMITS = {"core": 98.0, "data": 98.0}
OTHERS = 92.0


def folder_of(file: str) -> str:
    """The folder of the package; files of the package itself are one more."""
    inside = Path(file).parts[Path(file).parts.index("modae") + 1 :]
    return inside[0] if len(inside) > 1 else "modae"


def main(measured: str) -> int:
    files = json.loads(Path(measured).read_text("utf-8"))["files"]
    counts: defaultdict[str, list[int]] = defaultdict(lambda: [0, 0])
    left = []
    for name, file in sorted(files.items()):
        folder, summary = folder_of(name), file["summary"]
        counts[folder][0] += summary["covered_branches"]
        counts[folder][1] += summary["num_branches"]
        if folder in LIMITS:
            left += [f"{name}:{start} -> {end}" for start, end in file["missing_branches"]]
    failed = False
    for folder, (covered, total) in sorted(counts.items()):
        share, limit = 100.0 * covered / total if total else 100.0, LIMITS.get(folder, OTHERS)
        failed |= share < limit
        below = "  BELOW" if share < limit else ""
        of = f"{covered:>6} of {total:>5} branches"
        print(f"{folder:<14}{of}  {share:5.1f} %  (limit {limit:.0f}){below}")
    print(*left, sep="\n")
    return int(failed)


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1]))
