"""Tables as people have them: the command that is proposed works as it stands, and nothing is missed."""

import json
import shlex

import numpy as np
import pandas as pd
import pytest

import modae
from cli.calling import flowers

RNG = np.random.default_rng(0)
KIND = np.where(RNG.random(60) < 0.5, "yes", "no")


def proposed(answer):
    """The words of the command at the end of an error, without the name of the program."""
    assert answer.code != 0
    return shlex.split(answer.err.partition("Type: ")[2])[1:]


def test_wavelengths_are_names_if_the_target_is_one(desk, call):
    names = [f"{900 + i / 2:.1f}" for i in range(8)]
    table = pd.DataFrame(RNG.standard_normal((60, 8)).round(3), columns=names)
    table.assign(kind=KIND).to_csv("spectra.csv", index=False)
    answer = call("fit", "spectra.csv", "--target", "kind", "-o", "m.modae", "--no-check", "--json")
    assert answer.code == 0, answer.err
    assert json.loads(answer.out)["columns"] == 8
    table.to_csv("new.csv", index=False)  # the target is not in it: the model knows the names
    assert call("predict", "m.modae", "new.csv", "-o", "out.csv").code == 0


def test_two_notations_in_one_file_are_both_read(desk, call):
    fees, bills = RNG.uniform(1000, 9000, 60).round(2), RNG.uniform(10, 999, 60).round(2)
    european = [f"{fee:,.2f}".translate(str.maketrans(",.", ".,")) for fee in fees]
    table = pd.DataFrame({"fee": european, "bill": [f"${bill:.2f}" for bill in bills], "kind": KIND})
    table.to_csv("t.csv", sep=";", index=False)
    command = proposed(call("fit", "t.csv", "--target", "kind", "-o", "m.modae", "--no-check"))
    assert "--drop" not in command
    assert call(*command, "--scale", "standard").code == 0
    means = modae.load("m.modae")[0].mean_
    assert means == pytest.approx([fees.mean(), bills.mean()])


def test_the_command_has_all_that_would_be_said_next(desk, call):
    texts = [f"it is {word} ({i})" for i, word in enumerate(RNG.choice(["good", "bad"], 60))]
    table = flowers(60).assign(respondent=np.arange(100, 160), comment=texts, town="Ulm")
    table.loc[3, "wide"] = np.nan
    table.to_csv("t.csv", index=False)
    command = proposed(call("fit", "t.csv", "--target", "kind", "-o", "m.modae", "--no-check"))
    assert {"--encode", "--impute", "comment", "respondent"} <= set(command)
    answer = call(*command, "--json")
    assert answer.code == 0, answer.err
    assert any("'town'" in note and "same" in note for note in json.loads(answer.out)["notes"])


def test_a_column_without_values_is_to_be_left_out(desk, call):
    flowers(40).assign(empty=np.nan).to_csv("t.csv", index=False)
    answer = call("fit", "t.csv", "--target", "kind", "-o", "m.modae", "--no-check")
    assert "--impute" not in answer.err
    assert call(*proposed(answer)).code == 0


def test_labels_in_another_file_are_answered_with_the_way_to_join_them(desk, call):
    np.save("X.npy", RNG.standard_normal((20, 3)))
    np.save("y.npy", np.arange(20) % 2)
    answer = call("fit", "X.npy", "--target", "y.npy", "-o", "m.modae")
    assert "numpy.savez" in answer.err
    np.savez("t.npz", X=np.load("X.npy"), y=np.load("y.npy"))
    assert call("fit", "t.npz", "--target", "y", "-o", "m.modae", "--no-check").code == 0
