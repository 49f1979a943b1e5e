"""Random programs give what JAX gives, as they stand and transformed.

A run takes a sample; `nox -s fuzz` runs 2,000 programs of any seed, and makes those that disagree
smaller.
"""

import ast
import random
from itertools import batched

import numpy as np
import pytest

pytest.importorskip("ricci_xla", reason="values need the compiler")
from fuzz import Disagreement, disagreements, program, reduced
from fuzz.agreement import _is_exchanged, question
from fuzz.expected import EXPECTED, reason
from fuzz.grammar import FORMS
from fuzz.operations import ROWS
from fuzz.reducing import smaller
from fuzz.rows import MAXIMAL_SIZE, Type, table
from fuzz.threads import races

from ricci_testing import Oracle

COUNT = 10
SHORT = (3, 8)  # operations, so that the sample takes ten seconds
TOGETHER = 5
SEEDS = list(batched((f"ci.{number}" for number in range(COUNT)), TOGETHER))
MANY = [program(f"many.{number}") for number in range(300)]


@pytest.mark.skipif(not Oracle.available(), reason="oracle environment missing: run nox -s oracle")
@pytest.mark.parametrize("seeds", SEEDS, ids=lambda seeds: seeds[0])
def test_random_programs_agree_with_jax(seeds):
    found = disagreements([program(seed, operations=SHORT) for seed in seeds])
    wrong = [str(reduced(x)) for x in found if x is not None and reason(x) is None]
    assert not wrong, f"{len(wrong)} programs differ\n\n" + "\n\n".join(wrong)


def test_a_program_gives_in_two_threads_what_it_gives_in_one():
    wrong = list(races([program("threads.0", False, (2, 3))]))
    assert not wrong, "\n\n".join(map(str, wrong))


def test_a_seed_makes_one_program():
    assert str(program("a seed")) == str(program("a seed")) != str(program("another"))


def test_programs_are_of_the_length_wanted_and_of_all_kinds():
    sizes = sorted(each.size() for each in MANY)
    assert 10 <= sizes[len(sizes) // 2] <= 35
    names = {form.name for each in MANY for form in each.forms}
    assert names == set(FORMS)
    assert {(each.wide, each.eager_first) for each in MANY} == {
        (wide, first) for wide in (False, True) for first in (False, True)
    }
    assert {len(each.forms) for each in MANY} == {0, 1, 2, 3}


def test_every_family_is_drawn_from():
    drawn = {id(statement.template) for each in MANY for statement in each.function.statements}
    for family, rows in ROWS.items():
        assert drawn & {id(row.text) for row in rows}, family


def test_programs_are_python():
    for theirs in (False, True):
        ast.parse(question(MANY[0], theirs).source)
    for each in MANY:
        ast.parse(f"{each.text()}\n{each.form}")


def test_accepted_disagreements_have_reasons():
    assert all(row.reason and row.mentions for row in EXPECTED)


def test_weak_types_of_tangents_alone_are_accepted():
    pushed = next(each for each in MANY if each.forms and each.forms[0].name == "jvp")
    text = "ours:   array float32[]\ntheirs: array float32[], weak type"
    for place, accepted in (("(1)(0)", True), ("(0)(0)", False)):
        for part in ("transformed", "eager"):
            found = Disagreement(pushed, part, "weak_type", f"at result{place}\n{text}")
            assert (reason(found) is not None) == (accepted and part == "transformed")


def test_signatures_bind_sizes_axes_and_kinds():
    (row,) = table("", "N[S,n] b[~S] -> N[n+1,S] : f({0}, {1})")
    first, second = row.signature.operands
    binding = first.match(Type("i", (2, 3)), {})
    assert binding == {"N": "i", "S": (2,), "n": 3}
    assert second.match(Type("b", ()), binding) and second.match(Type("b", (1,)), binding)
    assert second.match(Type("b", (3,)), binding) is None
    assert second.match(Type("f", ()), binding) is None
    assert first.match(Type("f", (0,)), {}) is None
    assert row.signature.results[0].type(binding) == Type("i", (4, 2))
    assert row.signature.results[0].type({**binding, "n": MAXIMAL_SIZE}) is None


def test_alternatives_are_rows_and_tags_stand_behind():
    rows = table("", "f[] -> f[] : jnp.<sin|cos>({0}<|, 1>)  ! forward")
    assert [row.text for row in rows] == [
        "jnp.sin({0})", "jnp.sin({0}, 1)", "jnp.cos({0})", "jnp.cos({0}, 1)"]  # fmt: skip
    assert rows[0].tags == {"forward"}


def test_a_program_that_disagrees_is_made_small():
    """Sorting replaces a wrong operation: only it and its form are left."""

    def judged(programs):
        return [
            Disagreement(each, "eager", "values", "") if is_wrong(each) else None
            for each in programs
        ]

    def is_wrong(each):
        return "jnp.sort(" in each.text() and any(form.name == "vmap" for form in each.forms)

    wrong = next(each for each in MANY if is_wrong(each) and each.size() > 15)
    small = reduced(Disagreement(wrong, "eager", "values", ""), limit=10_000, judge=judged).program
    assert is_wrong(small)
    assert small.size() <= 3
    assert [form.name for form in small.forms] == ["vmap"]
    for each in smaller(small):
        ast.parse(f"{each.text()}\n{each.form}")


def test_reduced_programs_are_valid_python():
    """Those of few floats, too, one of which must stay, since something is differentiated by."""
    for each in MANY:
        kinds = [parameter.type.kind for parameter in each.function.parameters]
        if len(kinds) < 3 or kinds.count("f") > 2:
            continue
        chosen = random.Random(0)
        while found := list(smaller(each)):
            each = chosen.choice(found)
            compile(f"{each.text()}\n{each.form}", "<smaller>", "exec")


def test_permuted_values_are_distinguished_from_shifted_ones():
    values = np.array([-0.87, -1.83, -1.38])
    assert _is_exchanged(values, values[[1, 0, 2]] + 1e-6, 1e-4)
    assert not _is_exchanged(values, values + 1e-6, 1e-4)
    assert not _is_exchanged(values, np.array([-0.87, -1.83, 1.38]), 1e-4)
