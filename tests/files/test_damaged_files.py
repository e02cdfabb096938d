"""A sample of the damaged files of ``benchmarks.damaged_files``: every one is refused, or usable."""

from benchmarks.damaged_files import KINDS, outcomes


def test_damaged_files_are_refused_or_usable():
    found = outcomes(200)
    assert {end for _, end in found} <= {"refused", "usable", "raised"}, found
    assert {kind for kind, end in found if end == "refused"} == set(KINDS)
    raised = sum(count for (_, end), count in found.items() if end == "raised")
    assert raised <= sum(found.values()) / 50, found
