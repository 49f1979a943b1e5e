"""The search for the fewest lines to widen, on errors that are known."""

from itertools import combinations

import numpy as np
import pytest

from ricci_lax.precision._fewest import Fewest

# By name: sets of lines each of which alone brings the error under the bound.
SUFFICIENT = {
    "one": ["c"],
    "none": [""],
    "all": ["abcdef"],
    "a late one instead of two": ["ab", "f"],
    "two late ones instead of three": ["abc", "ef"],
    "two without the first": ["bd"],
    "one of each pair": ["ac", "ad", "bc", "bd"],
}


def errors_of(sufficient, measured):
    def measure(chosen):
        assert tuple(chosen) not in measured
        measured.append(tuple(chosen))
        return 0.5 if any(set(each) <= set(chosen) for each in sufficient) else 2.0

    return measure


@pytest.mark.parametrize("name", SUFFICIENT)
def test_fewest_lines_are_found(name):
    search = Fewest("abcdef", errors_of(SUFFICIENT[name], []), 1.0)
    assert "".join(search.chosen) in SUFFICIENT[name]
    assert len(search.chosen) == min(map(len, SUFFICIENT[name]))
    assert search.error == 0.5


@pytest.mark.parametrize("seed", range(20))
def test_no_smaller_set_reaches_the_bound(seed):
    weights = np.random.RandomState(seed).rand(9) ** 3

    def measure(chosen):
        return sum(weights) - sum(weights[i] for i in chosen)

    bound = 0.3 * sum(weights)
    chosen = Fewest(range(9), measure, bound).chosen
    assert measure(chosen) <= bound
    assert all(measure(fewer) > bound for fewer in combinations(range(9), len(chosen) - 1))


def test_lines_that_are_left_out_are_tried_again():
    # Without the last line, the first ones are needed: errors of several lines may cancel.
    def measure(chosen):
        if set(chosen) >= set("bcd"):
            return 0.5
        return 0.5 if "d" in chosen and "b" not in chosen and "c" in chosen else 2.0

    assert Fewest("abcd", measure, 1.0).chosen == ["c", "d"]


def test_only_needed_lines_are_tried_where_there_are_many():
    measured = []
    lines = [f"{i}" for i in range(40)]
    search = Fewest(lines, errors_of([("3", "38")], measured), 1.0)
    assert search.chosen == ["3", "38"]
    assert len(measured) < 100


def test_without_reaching_the_bound_the_fewest_lines_with_the_error_of_all_remain():
    search = Fewest("abcd", lambda chosen: 5.0 - 2 * ("c" in chosen), 1.0)
    assert (search.chosen, search.error) == (["c"], 3.0)
