"""Programs that once differed from JAX's show what JAX shows, or an accepted difference.

A run takes a sample of `parity_cases`, and with RICCI_ORACLE_CASES=all, as `nox -s oracle-full`
sets it, all.
"""

import os
import random

import pytest

pytest.importorskip("ricci_xla", reason="programs are compiled")

from parity_cases import ACCEPTED, PROGRAMS, outputs

from ricci_testing import find_interpreter

EVERYTHING = os.environ.get("RICCI_ORACLE_CASES") == "all"
TITLES = list(PROGRAMS) if EVERYTHING else random.Random("parity").sample(list(PROGRAMS), 24)


@pytest.mark.skipif(
    find_interpreter() is None, reason="oracle environment missing: run nox -s oracle"
)
def test_programs_show_what_jax_shows_or_an_accepted_difference():
    ours, theirs = outputs(TITLES, str(find_interpreter()))
    wrong = []
    for title in TITLES:
        row = ACCEPTED.get(title)
        agree = ours[title] == theirs[title]
        if agree if row is None else row.covers(ours[title], theirs[title]) and not agree:
            continue
        wrong.append(f"{title}\n  ours:   {ours[title]}\n  theirs: {theirs[title]}")
    assert not wrong, "\n\n".join(wrong)


def test_accepted_rows_are_of_programs_and_hold_both_texts_and_a_reason():
    assert set(ACCEPTED) <= set(PROGRAMS)
    assert all(
        row.reason and row.ours != row.theirs and not {row.ours, row.theirs} & {"", "*"}
        for row in ACCEPTED.values()
    )
