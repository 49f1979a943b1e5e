"""The laws, on every primitive of ``ricci_lax`` and its cases, with the reference backend."""

import pytest

import ricci_lax  # noqa: F401  (defines the primitives)
from ricci_ir import primitives, use_backend
from ricci_reference import reference_backend
from ricci_testing import LAWS, cases, examples


@pytest.mark.parametrize("name", sorted(examples()))
@pytest.mark.parametrize("law", LAWS)
def test_law(law, name):
    with use_backend(reference_backend):
        for case in cases(name):
            try:
                LAWS[law](primitives[name], case)
            except Exception as error:
                error.add_note(f"the law {law!r} of {name}{case}")
                raise
