"""``find_nan`` on programs with a planted cause: the line, the operation and the remedy."""

import pytest

pytest.importorskip("ricci", reason="the light tests run where it is not installed")

from nan_programs import NOT_FOLLOWED, PROGRAMS
from planted import line_of_cause

import ricci.numpy as jnp
from ricci.debug import find_nan


def root(found):
    """The operation that the report names in the end, and its place."""
    made = found.forward or found.cause or found
    return made.operation, made.source


def follow(program):
    found = find_nan(program.call, *map(jnp.asarray, program.args))
    assert found is not None
    return found


@pytest.mark.sampled(20)
@pytest.mark.parametrize(
    "program",
    [p for p in PROGRAMS if p.name not in NOT_FOLLOWED],
    ids=lambda p: p.name.replace(" ", "-"),
)
def test_line_operation_and_remedy_of_a_planted_cause(eight_devices, program):
    found = follow(program)
    text = str(found)
    operation, source = root(found)
    assert source.line == line_of_cause(program.source), text
    assert operation in program.operation.split(), text
    assert program.remedy in " ".join(text.split()), text
    assert found.doubt == "", text
    assert len(text.splitlines()) <= 14


@pytest.mark.parametrize("name", sorted(NOT_FOLLOWED))
def test_report_says_where_values_were_not_followed(name):
    (program,) = [p for p in PROGRAMS if p.name == name]
    found = follow(program)
    assert found.doubt
    assert f"not certain: {found.doubt}" in str(found)


def test_nearly_all_programs_are_followed():
    assert len(PROGRAMS) >= 60
    assert len(NOT_FOLLOWED) <= 0.05 * len(PROGRAMS)
