"""Scalars that functions of ``lax`` create or return unchanged while a function is traced."""

import numpy as np
import pytest

import ricci
from ricci import lax


@pytest.mark.parametrize(
    ("make", "shown"),
    [
        (lambda: lax.full((), 2), "2:i32[]"),
        (lambda: lax.full((), 2.0, np.float32), "2.0:f32[]"),
        (lambda: lax.full_like(np.float32(1), 3), "3.0:f32[]"),
        (lambda: lax.squeeze(np.float32(1.5), ()), "1.5:f32[]"),
        (lambda: lax.convert_element_type(2, np.int8), "2:i8[]"),
    ],
)
def test_scalars_that_a_traced_function_makes_are_literals(make, shown):
    def program():
        made = make()
        assert made.shape == ()  # the user gets an array, too
        return made

    expected = f"{{ lambda ; . let  in ({shown},) }}"
    assert str(ricci.make_jaxpr(program)()) == expected


def test_scalar_literals_are_not_executable_arguments():
    text = ricci.jit(lambda x: x + lax.full((), 2.0)).lower(np.float32(1)).as_text()
    assert text.count("%arg") == 2  # the argument, and its use
