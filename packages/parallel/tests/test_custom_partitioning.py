"""Sharding rules as text, and functions that are partitioned by a function of the user's."""

import gc
import weakref

import numpy as np
import pytest

from ricci_autodiff import grad
from ricci_batching import vmap
from ricci_ir import UnexpectedTracerError, clear_caches, enable_x64
from ricci_lax import add, mul, reduce_sum, sin
from ricci_parallel import device_put, psum
from ricci_parallel.partitioning import (
    BATCHING,
    ArrayMapping,
    CompoundFactor,
    SdyShardingRule,
    custom_partitioning,
)
from ricci_parallel.partitioning._rule import parse_rule, rule_text
from ricci_xla import JaxRuntimeError, Mesh, NamedSharding, P, devices, jit

SHAPES = [(8, 4), (4, 6)], [(8, 6)]


@pytest.fixture
def mesh(eight_devices):
    return Mesh(np.array(devices()[:8]).reshape(4, 2), ("x", "y"))


@pytest.mark.parametrize(
    ("text", "operands", "results", "expected"),
    [
        ("i j, j k -> i k", *SHAPES, "([i, j], [j, k])->([i, k]) {i=8, j=4, k=6}"),
        ("batch dim, dim out->batch out", *SHAPES, "([i, j], [j, k])->([i, k]) {i=8, j=4, k=6}"),
        ("i j, z k -> i k", *SHAPES, "([i, j], [k, l])->([i, l]) {i=8, j=4, k=4, l=6}"),
        (
            "...b j, j k -> ...b k",
            [(2, 3, 4), (4, 6)],
            [(2, 3, 6)],
            "([i, j, k], [k, l])->([i, j, l]) {i=2, j=3, k=4, l=6}",
        ),
        ("(a b) j -> a b j", [(8, 4)], [(2, 4, 4)], "([ij, k])->([i, j, k]) {i=2, j=4, k=4}"),
        ("i j, -> i j", [(8, 4), ()], [(8, 4)], "([i, j], [])->([i, j]) {i=8, j=4}"),
        ("i j -> ", [(8, 4)], [()], "([i, j])->([]) {i=8, j=4}"),
        ("i j -> j i", [(8, 4)], [(4, 6)], "([i, j])->([j, i]) {i=6, j=4}"),
    ],
)
def test_rules_as_text(text, operands, results, expected):
    found = rule_text(parse_rule(text), operands, results)
    assert found == f"#sdy.op_sharding_rule<{expected}, custom>"


def test_kinds_of_factors_follow_the_sizes():
    rule = parse_rule("i j, j k -> i k", reduction_factors=("j",), permutation_factors=("k", "i"))
    assert rule_text(rule, *SHAPES).endswith(
        "{i=8, j=4, k=6} reduction={j} permutation={i, k}, custom>"
    )


def test_a_rule_of_mappings_is_the_same_as_its_text():
    rule = SdyShardingRule(
        (ArrayMapping(BATCHING, CompoundFactor("h", "d")),),
        (ArrayMapping(BATCHING, "h", "d"),),
        need_replication_factors=("d",),
    )
    same = parse_rule("... (h d) -> ... h d", need_replication_factors=("d",))
    shapes = [(5, 12)], [(5, 4, 3)]
    assert rule_text(rule, *shapes) == rule_text(same, *shapes)
    assert repr(rule) == (
        "SdyShardingRule((('…', ('h', 'd')),), (('…', 'h', 'd'),), {} "
        "need_replication_factors=('d',))"
    )


def test_there_are_names_for_many_factors():
    shape = (1,) * 20
    assert "y, z, z_1, z_2]" in rule_text(parse_rule("... -> ..."), [shape], [shape])


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("i j", "expected one '->'"),
        ("i j -> i -> j", "expected one '->'"),
        ("1 -> 1", "begins with a letter"),
        ("(i j -> i", "without its '\\)'"),
        ("i) j -> i", "without its '\\('"),
        ("(i) j -> i", "at least two factors"),
        ("((a b) c) -> a", "cannot be nested"),
        ("i ... j -> i", "can only be first"),
        ("i; j -> i", "';' has no meaning"),
        ("(a b) -> (a b)", "'a' occurs in compound factors alone"),
    ],
)
def test_invalid_texts_of_rules_are_refused(text, message):
    with pytest.raises(ValueError, match=message):
        parse_rule(text)


@pytest.mark.parametrize(
    ("text", "options", "message"),
    [
        ("i j -> i k", {}, "1 operands, but the operation has 2"),
        ("i j, j k -> i k, k", {}, "2 results, but the operation has 1"),
        ("i j k, j k -> i k", {}, "operand 0 has 3 dimensions in it, but is of rank 2"),
        ("... i j k, j k -> i k", {}, "operand 0 has 3 dimensions in it, but is of rank 2"),
        ("i j, j k -> i", {}, "result 0 has 1 dimensions in it, but is of rank 2"),
        ("i i, i k -> i k", {}, "'i' occurs twice in operand 0"),
        ("... j, ... -> i k", {}, "'…0' are 1 in operand 0 and 2 in operand 1"),
        ("(a b) j, j k -> (a b) k", {"a": 3, "b": 4}, "sizes \\(3, 4\\).* of size 8"),
    ],
)
def test_rules_that_do_not_fit(text, options, message):
    with pytest.raises(ValueError, match=message):
        rule_text(parse_rule(text, **options), *SHAPES)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"k": 2}, "k=2 is of an unknown factor"),
        ({"i": 2}, "leave out i=2"),
        ({"reduction_factors": ("z",)}, "'z' in reduction_factors"),
        ({"reduction_factors": "i"}, "is a tuple of names"),
        (
            {"reduction_factors": ("i",), "permutation_factors": ("i",)},
            "is in reduction_factors and in permutation_factors",
        ),
    ],
)
def test_factors_that_do_not_fit(options, message):
    with pytest.raises(ValueError, match=message):
        SdyShardingRule((ArrayMapping("i"),), (ArrayMapping("i"),), **options)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: ArrayMapping(1), "got 1 of type int"),
        (lambda: ArrayMapping("i", BATCHING), "can only be first"),
        (lambda: ArrayMapping(f"{BATCHING}_"), "begins with a letter or a digit"),
        (lambda: CompoundFactor("i"), "at least two"),
        (lambda: CompoundFactor("i", BATCHING), "begins with a letter"),
    ],
)
def test_invalid_mappings_are_refused(make, message):
    with pytest.raises(ValueError, match=message):
        make()


def divided(fun, part=None, rule="i j -> i j", seen=None, **options):
    """A function that is partitioned as the compiler proposes."""
    found = custom_partitioning(fun, options.pop("static_argnums", ()))

    @found.def_partition
    def partition(*given):
        *static, mesh, args, result = given
        if seen is not None:
            seen.append((mesh, args, result))
        return mesh, part or fun, result.sharding, tuple(x.sharding for x in args)

    found.def_partition(partition, sharding_rule=rule, **options)
    return found


@pytest.mark.parametrize("x64", [False, True])
def test_each_device_computes_its_part(mesh, x64):
    seen = []
    with enable_x64(x64):
        x = np.arange(32, dtype=np.float64 if x64 else np.float32).reshape(8, 4)
        f = divided(lambda x: sin(x), seen=seen)
        placed = device_put(x, NamedSharding(mesh, P("x")))
        for _ in range(2):
            result = jit(lambda x: f(x))(placed)
            np.testing.assert_allclose(result, np.sin(x), rtol=1e-6)
            assert result.sharding == NamedSharding(mesh, P("x"))
            clear_caches()
        np.testing.assert_allclose(f(x), np.sin(x), rtol=1e-6)
    assert len(seen) == 2
    used, (argument,), whole = seen[0]
    assert used == mesh
    assert (argument.shape, argument.dtype, argument.sharding.spec) == (
        (8, 4),
        x.dtype,
        P("x", None),
    )
    assert whole.sharding.spec == P("x", None)


def test_a_part_may_use_collectives(mesh):
    def part(x):
        return add(x, psum(x, ("x", "y")))

    f = custom_partitioning(lambda x: add(x, x))
    sharding = NamedSharding(mesh, P(("x", "y")))
    f.def_partition(lambda mesh, a, r: (mesh, part, sharding, (sharding,)), sharding_rule="i -> i")
    x = np.arange(8, dtype=np.float32)
    np.testing.assert_array_equal(jit(f)(device_put(x, sharding)), x + 28)


def test_on_one_device_the_function_runs_unchanged():
    f = divided(lambda x: mul(x, x), lambda x: 1 / 0)
    x = np.arange(6, dtype=np.float32).reshape(2, 3)
    np.testing.assert_array_equal(f(x), x * x)
    np.testing.assert_array_equal(jit(f)(x), x * x)
    np.testing.assert_array_equal(f(np.zeros((0, 3), np.float32)), np.zeros((0, 3)))


def test_errors_of_partition_name_the_function(mesh):
    x = device_put(np.ones((8, 4), np.float32), NamedSharding(mesh, P("x")))

    def halved(x):
        return mul(x, 0.5)

    f = divided(halved, lambda x: reduce_sum(x, (0,)))
    message = "halved could not be partitioned over 8 devices"
    with pytest.raises(JaxRuntimeError, match=message) as info:
        jit(f)(x)
    assert "gives float32[4] as result 0, but a device's part of that is float32[2,4]" in str(
        info.value
    )
    assert isinstance(info.value.__cause__, ValueError)
    np.testing.assert_array_equal(jit(divided(halved))(x), np.full((8, 4), 0.5))


@pytest.mark.parametrize(
    ("answer", "message"),
    [
        (None, "must return a mesh, a function"),
        (lambda m, a, r: (m, sin, r.sharding, a[0].sharding), "must have their structure"),
        (lambda m, a, r: (m, sin, r.sharding, (P("x"),)), "expected a sharding for each"),
    ],
)
def test_invalid_results_of_partition_are_refused(mesh, answer, message):
    f = custom_partitioning(lambda x: sin(x))
    f.def_partition(answer or (lambda *given: None), sharding_rule="i -> i")
    with pytest.raises(JaxRuntimeError, match=message):
        jit(f)(device_put(np.ones(8, np.float32), NamedSharding(mesh, P("x"))))


def test_invalid_calls_are_refused():
    f = divided(lambda s, x: mul(x, s), static_argnums=0)
    one = np.ones((2, 2), np.float32)
    with pytest.raises(UnexpectedTracerError, match="argument 0 is static, but is a traced array"):
        jit(f)(1.0, one)
    with pytest.raises(ValueError, match="argument 0 is static and must be hashable"):
        f(one, one)
    with pytest.raises(IndexError, match="names position 3"):
        divided(lambda x: x, static_argnums=3)(one)
    with pytest.raises(UnexpectedTracerError, match="closes over a traced array"):
        jit(lambda y: divided(lambda x: mul(x, y))(one))(2.0)
    with pytest.raises(TypeError, match="the arguments s have no position"):
        divided(lambda x, *, s: x)(one, s=1)
    with pytest.raises(TypeError, match="has no partition yet"):
        custom_partitioning(sin)(one)
    with pytest.raises(NotImplementedError, match="custom_vmap"):
        vmap(divided(lambda x: x, rule="i -> i"))(one)
    with pytest.raises(NotImplementedError, match="custom_jvp"):
        grad(lambda x: reduce_sum(divided(lambda x: x)(x), (0, 1)))(one)


@pytest.mark.parametrize(
    ("options", "error", "message"),
    [
        ({"sharding_rule": 3}, TypeError, "got 3 of type int"),
        ({"reduction_factors": ("i",)}, ValueError, "for a rule that is text only"),
        (
            {"sharding_rule": parse_rule("i -> i"), "i": 3},
            ValueError,
            "Give them to SdyShardingRule",
        ),
    ],
)
def test_invalid_arguments_of_def_partition_are_refused(options, error, message):
    with pytest.raises(error, match=message):
        custom_partitioning(sin).def_partition(lambda *given: None, **options)
    with pytest.raises(TypeError, match="partition must be a function"):
        custom_partitioning(sin).def_partition(None)


def test_rules_made_by_a_function(mesh):
    seen = []

    def rule(scale, mesh, operands, results):
        seen.append((scale, mesh, [a.shape for a in operands], [a.shape for a in results]))
        return "i j -> i j"

    f = custom_partitioning(lambda s, x: mul(x, s), static_argnums=(0,))
    f.def_partition(
        lambda s, mesh, a, r: (mesh, lambda x: mul(x, s), r.sharding, (a[0].sharding,)),
        sharding_rule=rule,
    )
    x = device_put(np.ones((8, 4), np.float32), NamedSharding(mesh, P(None, "y")))
    np.testing.assert_array_equal(jit(lambda x: f(3.0, x))(x), np.full((8, 4), 3))
    assert seen == [(3.0, mesh, [(8, 4)], [(8, 4)])]


def test_a_deleted_function_is_garbage_collected(mesh):
    def make():
        f = divided(lambda x: sin(x))
        jit(f)(device_put(np.ones((8, 4), np.float32), NamedSharding(mesh, P("x"))))
        return weakref.ref(f)

    found = make()
    clear_caches()
    gc.collect()
    assert found() is None
