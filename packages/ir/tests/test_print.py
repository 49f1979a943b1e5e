"""Printed jaxprs, in the notation and the layout of JAX."""

import numpy as np
import pytest

import ricci_ir as ir
from ricci_ir.jaxprs._document import Break, Comment, Group, Nest, fill, joined, layout
from ricci_ir.jaxprs._print import variable_name

X = ir.ShapedArray((3,), np.float32)
SCALAR = ir.ShapedArray((), np.float32)


def trace(fun, *avals):
    return ir.trace_to_jaxpr(lambda *args: fun(*args), avals or (X,))


def twice(toy, x):
    return [toy.mul(toy.sin(x), x)]


PROGRAMS = {
    "nothing": (lambda toy: trace(lambda x: [x]), "{ lambda ; a:f32[3]. let  in (a,) }"),
    "no results": (lambda toy: trace(lambda x: []), "{ lambda ; a:f32[3]. let  in () }"),
    "one line": (
        lambda toy: trace(lambda x: twice(toy, x), SCALAR),
        "{ lambda ; a:f32[]. let b:f32[] = sin a; c:f32[] = mul b a in (c,) }",
    ),
    "several lines": (
        lambda toy: trace(lambda x, y: [toy.mul(toy.mul(x, y), x)], X, X),
        "{ lambda ; a:f32[3] b:f32[3]. let\n"
        "    c:f32[3] = mul a b\n"
        "    d:f32[3] = mul c a\n"
        "  in (d,) }",
    ),
    "literals": (
        lambda toy: trace(
            lambda x: [toy.mul(x, 0.1), toy.mul(x, np.float64(0.1)), 2, True, np.complex64(2j)],
            SCALAR,
        ),
        "{ lambda ; a:f32[]. let\n"
        "    b:f32[] = mul a 0.1:f32[]\n"
        "    c:f32[] = mul a 0.10000000149011612:f32[]\n"
        "  in (b, c, 2:i32[], True:bool[], 2j:c64[]) }",
    ),
    "constants": (
        lambda toy: trace(lambda x: [toy.mul(x, np.ones(3, np.float32))]),
        "{ lambda a:f32[3]; b:f32[3]. let c:f32[3] = mul b a in (c,) }",
    ),
    "unused results and no results": (
        lambda toy: trace(lambda x: [toy.split(x, size=1)[1], *toy.show(x)]),
        "{ lambda ; a:f32[3]. let _:f32[1] b:f32[2] = split[size=1] a; show a in (b,) }",
    ),
    "arguments wrap": (
        lambda toy: trace(lambda *xs: [], *[X] * 12),
        "{ lambda ; a:f32[3] b:f32[3] c:f32[3] d:f32[3] e:f32[3] f:f32[3] g:f32[3] h:f32[3]\n"
        "    i:f32[3] j:f32[3] k:f32[3] l:f32[3]. let\n"
        "    \n"
        "  in () }",
    ),
    "results wrap": (
        lambda toy: trace(lambda x: [x] * 40),
        f"{{ lambda ; a:f32[3]. let\n    \n  in ({'a, ' * 24}a,\n    {'a, ' * 14}a) }}",
    ),
    "a call shows the outer names": (
        lambda toy: trace(lambda x: toy.call(trace(lambda y: twice(toy, y)), x)),
        "{ lambda ; a:f32[3]. let\n"
        "    b:f32[3] = jit[\n"
        "      name=f\n"
        "      jaxpr={ lambda ; a:f32[3]. let\n"
        "          c:f32[3] = sin a\n"
        "          b:f32[3] = mul c a\n"
        "        in (b,) }\n"
        "    ] a\n"
        "  in (b,) }",
    ),
    "a call of one operand twice": (
        lambda toy: trace(
            lambda x: toy.call(trace(lambda y, z: [toy.mul(y, z), y], SCALAR, SCALAR), x, x), SCALAR
        ),
        "{ lambda ; a:f32[]. let\n"
        "    b:f32[] d:f32[] = jit[\n"
        "      name=f\n"
        "      jaxpr={ lambda ; a:f32[] c:f32[]. let b:f32[] = mul a c in (b, a) }\n"
        "    ] a a\n"
        "  in (b, d) }",
    ),
}


@pytest.mark.parametrize("case", PROGRAMS)
def test_text(toy, case):
    make, expected = PROGRAMS[case]
    assert str(make(toy)) == repr(make(toy)) == expected


def test_a_program_used_twice_is_written_once(toy):
    inner = trace(lambda x: [toy.sin(x)])
    outer = trace(lambda x: toy.call(inner, *toy.call(inner, x, name="<lambda>"), name="g"))
    assert str(outer) == (
        "let lambda = { lambda ; a:f32[3]. let b:f32[3] = sin a in (b,) } in\n"
        "{ lambda ; c:f32[3]. let\n"
        "    d:f32[3] = jit[name=<lambda> jaxpr=lambda] c\n"
        "    e:f32[3] = jit[name=g jaxpr=lambda] d\n"
        "  in (e,) }"
    )


def test_jaxprs_inside_a_repeated_jaxpr_are_hoisted_after_its_siblings(toy):
    g, k = trace(lambda x: [toy.sin(x)]), trace(lambda x: [toy.mul(x, x)])
    h = trace(lambda x: toy.call(g, x, name="g"))

    def fun(x):
        for program, name in ((h, "h"), (h, "h"), (k, "k"), (k, "k")):
            (x,) = toy.call(program, x, name=name)
        return [x]

    heads = [line.split(" = ")[0] for line in str(trace(fun)).split("\n") if "let " in line[:5]]
    assert heads == ["let h", "let k", "let g"]


def test_hoisted_names_are_unique_and_no_variable_has_one(toy):
    one, two = trace(lambda x: [toy.sin(x)]), trace(lambda x: [toy.mul(x, x)])

    def fun(x):
        for program in (one, one, two, two):
            (x,) = toy.call(program, x, name="a")
        return [x]

    first, second, main, *_ = str(trace(fun)).split("\n")
    assert first.startswith("let a = { lambda ; b:f32[3].")
    assert second.startswith("let a1 = { lambda ; d:f32[3].")
    assert main == "{ lambda ; f:f32[3]. let"


def test_programs_in_a_tuple(toy):
    one, two = trace(lambda x: [toy.sin(x)]), trace(lambda x: [toy.mul(x, x)])
    jaxpr = trace(lambda x: [toy.both(toy.both(x, one, two), one, one)])
    assert jaxpr.pretty_print(width=72) == (
        "let jaxpr = { lambda ; a:f32[3]. let b:f32[3] = sin a in (b,) } in\n"
        "{ lambda ; c:f32[3]. let\n"
        "    d:f32[3] = both[\n"
        "      branches=(\n"
        "        jaxpr\n"
        "        { lambda ; e:f32[3]. let f:f32[3] = mul e e in (f,) }\n"
        "      )\n"
        "    ] c\n"
        "    g:f32[3] = both[branches=(jaxpr jaxpr)] d\n"
        "  in (g,) }"
    )


def test_an_equation_alone(toy):
    assert str(trace(lambda x: twice(toy, x)).eqns[1]) == "a:f32[3] = mul b c"


def test_shown_rule_decides_on_parameters(toy, monkeypatch):
    monkeypatch.setitem(ir.shown_rules, toy.primitives.split, ir.hides(size=1))
    jaxpr = trace(lambda x: toy.split(x, size=1))
    assert " = split a in" in str(jaxpr)
    assert " = split[size=1] a in" in jaxpr.pretty_print(custom_pp_eqn_rules=False)
    assert " = split[size=2] a in" in str(trace(lambda x: toy.split(x, size=2)))


def test_a_program_that_no_equation_shows_is_not_hoisted(toy, monkeypatch):
    inner = trace(lambda x: [toy.sin(x)])
    outer = trace(lambda x: [toy.both(toy.both(x, inner, inner), inner, inner)])
    monkeypatch.setitem(ir.shown_rules, outer.eqns[0].primitive, lambda **params: {})
    assert "let jaxpr" not in str(outer)
    assert "let jaxpr" in outer.pretty_print(custom_pp_eqn_rules=False)


def test_addresses_are_masked(toy):
    class Thing:
        pass

    jaxpr = trace(lambda x: [x])
    thing = ir.JaxprEqn([], [], toy.primitives.show, {"x": Thing()})
    assert str(jaxpr.replace(eqns=[thing])).count("0xXXXXXXXXXXXX") == 1


OPTIONS = {
    "print_shapes": "{ lambda ; a. let b = sin a; show b in (b,) }",
    "print_effects": "{ lambda ; a:f32[]. let b:f32[] = sin a; show b in (b,) : { Print } }",
    "name_stack": "{ lambda ; a:f32[]. let b:f32[] = sin a; show b in (b,) } # [outer/inner]\n"
    f"{' ' * 57} # []",
    "width": "{ lambda ; a:f32[]. let\n    b:f32[] = sin a\n    show b\n  in (b,) }",
    "use_color": "{ \x1b[34;1mlambda \x1b[39;22m; a\x1b[35m:f32[]\x1b[39m. \x1b[34;1mlet\x1b[39;22m"
    " b\x1b[35m:f32[]\x1b[39m = sin a; show b \x1b[34;1min \x1b[39;22m(b,) }",
}


@pytest.mark.parametrize("option", OPTIONS)
def test_options(toy, option):
    def fun(x):
        with ir.named_scope("outer"), ir.named_scope("inner"):
            y = toy.sin(x)
        toy.show(y)
        return [y]

    value = {"print_shapes": False, "width": 40}.get(option, True)
    assert trace(fun, SCALAR).pretty_print(**{option: value}) == OPTIONS[option]


def test_source_info_points_into_this_file(toy):
    text = trace(lambda x: twice(toy, x)).pretty_print(source_info=True, width=40)
    assert [line.count(f"# {__file__}:") for line in text.split("\n")] == [0, 1, 1, 0]


@pytest.mark.parametrize(
    ("number", "name"), [(0, "a"), (25, "z"), (26, "ba"), (52, "ca"), (675, "zz"), (676, "baa")]
)
def test_variable_names(number, name):
    assert variable_name(number) == name


def test_fitting_a_group_ignores_the_text_after_it():
    group = Group(["[", Nest(2, [Break(""), "x" * 6]), Break(""), "]"])
    assert layout([group, "tail"], width=8) == "[xxxxxx]tail"
    assert layout([group, "tail"], width=7) == "[\n  xxxxxx\n]tail"


def test_fill_breaks_where_the_blank_is_past_the_margin():
    assert layout(fill(["aaa", "bbb", "ccc"]), width=4) == "aaa bbb\nccc"


def test_comments_stand_right_of_the_longest_line():
    lines = Group(joined([[Comment("one"), "a"], "b" * 9]))
    assert layout(lines, width=5) == "a         # one\nbbbbbbbbb"
