"""Types of arrays that are truth values, numbers or indices; warnings at the user's line."""

import warnings

import pytest

from ricci_ir import ShapedArray, check_index, check_item, check_number, check_truth, warn_user

SCALAR = ShapedArray((), "int32")
ONE = ShapedArray((1, 1), "int32")
MANY = ShapedArray((3,), "int32")
EMPTY = ShapedArray((0,), "int32")
FLOAT = ShapedArray((), "float32")


@pytest.mark.parametrize(
    ("check", "accepted", "refused", "error"),
    [
        (check_truth, (SCALAR, ONE, FLOAT), (MANY, EMPTY), ValueError),
        (check_number, (SCALAR, FLOAT), (ONE, MANY, EMPTY), TypeError),
        (check_index, (SCALAR, ShapedArray((), "int4")), (ONE, MANY, FLOAT), TypeError),
        (lambda aval: check_item(aval, ()), (SCALAR, ONE), (MANY, EMPTY), ValueError),
    ],
)
def test_types_that_serve(check, accepted, refused, error):
    for aval in accepted:
        check(aval)
    for aval in refused:
        with pytest.raises(error):
            check(aval)


def test_a_warning_is_shown_once_for_a_line():
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("default")
        for _ in range(2):
            warn_user("narrowed")
        warn_user("narrowed")
    assert [warning.filename for warning in caught] == [__file__, __file__]
