"""The examples of the distributions' functions, which are made, and so in no module's text."""

import doctest
from types import ModuleType

import pytest

from ricci.scipy import stats

DISTRIBUTIONS = {
    n: m
    for n, m in vars(stats).items()
    if isinstance(m, ModuleType) and {"logpdf", "logpmf"} & set(dir(m))
}


def test_the_distributions_are_found():
    assert {"norm", "poisson", "truncnorm"} <= set(DISTRIBUTIONS)


@pytest.mark.sampled(2)
@pytest.mark.parametrize("name", DISTRIBUTIONS)
def test_examples_of_a_distribution_run(name):
    distribution = DISTRIBUTIONS[name]
    finder = doctest.DocTestFinder(exclude_empty=False)
    for function in dir(distribution):
        found = getattr(distribution, function)
        if function.startswith("_") or not callable(found):
            continue
        (test,) = finder.find(found, function, globs={})
        assert test.examples, function
        assert doctest.DocTestRunner(verbose=False).run(test).failed == 0
