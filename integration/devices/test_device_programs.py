"""Programs over eight devices do what JAX's do: values, types, layouts, communication, errors.

A run takes a sample of `device_cases`; `nox -s devices-full` takes all of them.
"""

import random

import pytest

pytest.importorskip("ricci_xla", reason="devices need the runtime")

from device_cases import cases, read
from device_cases.accepted import ACCEPTED
from device_cases.agreement import differences
from device_cases.running import verdicts

from ricci_testing import Oracle

CASES = cases()
SAMPLE = random.Random("devices").sample(CASES, 28)


@pytest.mark.skipif(not Oracle.available(), reason="oracle environment missing: run nox -s oracle")
def test_device_programs_agree_with_jax(eight_devices):
    wrong = [
        f"{verdict.case.name}\n  {aspect}: {text}"
        for verdict in verdicts(SAMPLE)
        for aspect, text in verdict.unexplained.items()
    ]
    assert not wrong, "\n\n".join(wrong)


def test_every_program_is_named_once():
    assert len({case.name for case in CASES}) == len(CASES)
    assert len({(case.source, case.mesh, case.is_set) for case in CASES}) == len(CASES)


def test_accepted_differences_are_of_programs_and_hold_both_texts():
    assert {row.name for row in ACCEPTED} <= {case.name for case in CASES}
    assert all(row.reason and not {row.ours, row.theirs} & {"", "*"} for row in ACCEPTED)


def test_headings_set_the_mesh_and_the_probes():
    text = "About.\n\n## one [grid, unset, eager]\na = 1\na + X\n\n## two [, each]\nX\nY ;; X\n"
    one, *two = read("file", text)
    assert (one.name, one.source, one.mesh) == ("file: one", "a = 1\na + X", "grid")
    assert (one.is_set, one.probes) == (False, ("eager",))
    assert [case.source for case in two] == ["X", "Y\nX"]
    assert (two[0].mesh, two[0].is_set, two[0].name) == ("", False, "file: two: X")


@pytest.mark.parametrize(
    ("ours", "theirs", "aspects"),
    [
        ({"['eager']['value'][0]": 1.0}, {"['eager']['value'][0]": 1.0}, []),
        ({"['eager']['value'][0]": 1.0}, {"['eager']['value'][0]": 1.1}, ["value"]),
        ({"['eager']['type'][0]": "f[8@x]"}, {"['eager']['type'][0]": "f[8]"}, ["type"]),
        ({"['types'][0]": "f32[8]"}, {"['types'][0]": "f32[4]"}, []),
        ({"['types'][0]": "f32[8]{V:x}"}, {"['types'][0]": "f32[8]"}, ["types"]),
        ({"['compiled']['collectives']['all-gather']": 1}, {}, ["collectives"]),
        ({}, {"['compiled']['collectives']['all-gather']": 1}, []),
        ({"['eager']['error']": "KeyError LookupError"}, {"['eager']['error']": "KeyError"}, []),
        ({"['eager']['error']": "TypeError"}, {"['eager']['error']": "AssertionError"}, []),
        ({"['eager']['error']": "TypeError"}, {"['eager']['error']": "ValueError"}, ["error"]),
        ({"['eager']['error']": "AttributeError"}, {"['eager']['value'][0]": 1.0}, ["error"]),
    ],
)
def test_differences_are_reported_by_aspect(ours, theirs, aspects):
    for observed in (ours, theirs):
        observed.update({k.replace("error", "message"): "m" for k in observed if "error" in k})
    assert list(differences(ours, theirs)) == aspects
