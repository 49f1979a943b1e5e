"""The user's variable name of a tracer, found in the stack's frames."""

from ricci_ir._tracer_names import called_in_frames


class Traced:
    """Stands for a tracer whose trace keeps no record of where values come from."""

    def _origin_message(self):
        return ""


def test_an_argument():
    def loss(weight):
        return called_in_frames(weight)

    assert loss(Traced()) == "It is the argument weight of loss."


def test_arguments_of_all_kinds():
    def positional(first, /, *rest):
        return called_in_frames(rest[1])

    def keyword(*, scale, **others):
        return called_in_frames(scale), called_in_frames(others["shift"])

    assert positional(0, 1, Traced()) == "It is the argument rest[1] of positional."
    scale, shift = keyword(scale=Traced(), shift=Traced())
    assert scale == "It is the argument scale of keyword."
    assert shift == "It is the argument others['shift'] of keyword."


def test_a_place_in_an_argument():
    def layer(params):
        return called_in_frames(params["dense"][1])

    text = layer({"dense": [0, Traced()]})
    assert text == "It is the argument params['dense'][1] of layer."


def test_the_outermost_function_is_the_one_that_is_transformed():
    def helper(v):
        return called_in_frames(v)

    def loss(weight):
        return helper(weight)

    assert loss(Traced()) == "It is the argument weight of loss."


def test_a_variable():
    def loss():
        total = Traced()
        return called_in_frames(total)

    assert loss() == "It is the variable total of loss."


def test_failing_calls_do_not_name_their_arguments():
    def check(x, y, z):
        return called_in_frames(object()) if (x, y) else z

    text = check(Traced(), Traced(), Traced())
    assert text == ""  # the failing expression is the call, which names none of them

    def compare(x, unused):
        return called_in_frames([x] and Traced())

    text = compare(Traced(), Traced())
    assert text.startswith("It was made of the argument x of compare, at ")
    assert text.endswith("(test_failing_calls_do_not_name_their_arguments.<locals>.compare).")
    assert __file__ in text


def test_a_lambda_is_named_by_its_line():
    text = (lambda x: called_in_frames(x))(Traced())
    assert text.startswith("It is the argument x of the lambda at test_tracer_names.py:")


def test_large_containers_are_not_searched():
    def loss(table):
        return called_in_frames(table[-1])

    assert "loss" in loss([0] * 900 + [Traced()])
    assert "argument table[" not in loss([0] * 2000 + [Traced()])


def test_unnamed_tracers_give_an_empty_name():
    def fails(x):
        return called_in_frames(Traced())

    assert fails(1) == ""
