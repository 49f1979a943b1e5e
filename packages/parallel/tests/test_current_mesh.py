"""The mesh in force: set, entered, or abstract; what runs under it, and in which thread."""

import threading

import numpy as np
import pytest

from ricci_autodiff import grad, vjp
from ricci_batching import vmap
from ricci_ir import current_mesh, make_jaxpr, trace_key
from ricci_lax import mul, reduce_sum, sin
from ricci_parallel import (
    device_put,
    get_abstract_mesh,
    get_mesh,
    set_mesh,
    use_abstract_mesh,
    with_sharding_constraint,
)
from ricci_xla import AbstractDevice, AbstractMesh, AxisType, Mesh, NamedSharding, P, devices, jit

ONES = np.ones(8, np.float32)


def mesh_of(grid, names="x"):
    return Mesh(np.array(grid), names)


@pytest.fixture
def line(eight_devices):
    return mesh_of(devices()[:8])


@pytest.fixture
def back(eight_devices):
    return mesh_of(devices()[7::-1])


@pytest.fixture
def four(eight_devices):
    return mesh_of(devices()[4:8])


@pytest.fixture(autouse=True)
def nothing_is_left():
    before = trace_key()
    yield
    assert trace_key() is before and get_mesh().empty and get_abstract_mesh().empty


def ids(x):
    return [d.id for d in x.sharding._device_assignment]


def test_as_a_context_it_ends_with_the_block(line, four):
    with set_mesh(line) as entered:
        assert entered is None
        assert get_mesh() is line and get_abstract_mesh() == line.abstract_mesh
        with set_mesh(four):
            assert get_mesh() is four
        assert get_mesh() is line
        with set_mesh(None):
            assert get_mesh().empty and get_abstract_mesh().empty
        assert get_mesh() is line


def test_as_a_statement_it_holds_until_the_next(line, four):
    set_mesh(line)
    set_mesh(four)
    assert get_mesh() is four
    with set_mesh(line):
        assert get_mesh() is line
    assert get_mesh() is four
    set_mesh(None)


def test_set_mesh_is_local_to_its_thread(line):
    found = []
    with set_mesh(line):
        thread = threading.Thread(target=lambda: found.append((get_mesh(), current_mesh.value)))
        thread.start()
        thread.join()
    assert found[0][0].empty and found[0][1] is None


def test_an_error_in_the_block_ends_it(line):
    with pytest.raises(KeyError), set_mesh(line):
        raise KeyError
    assert get_mesh().empty


def test_programs_run_on_the_mesh(line, back, four):
    double = jit(lambda x: mul(x, x))
    for mesh in (line, back, four, line):
        with set_mesh(mesh):
            for y in (double(ONES), mul(ONES, ONES)):
                assert y.sharding == NamedSharding(mesh, P()) and y.committed
                assert ids(y) == [d.id for d in mesh.devices.flat]
    assert len(double(ONES).sharding.device_set) == 1


def test_a_program_is_traced_once_for_meshes_with_the_same_axes(line, back, four):
    traced = []
    double = jit(lambda x: (traced.append(1), mul(x, x))[1])
    for mesh in (line, back, four, line, None):
        with set_mesh(mesh):
            double(ONES)
    assert len(traced) == 3


def test_specs_refer_to_the_mesh(line, back):
    spread = jit(lambda x: with_sharding_constraint(mul(x, x), P("x")))
    given = jit(lambda x: mul(x, x), in_shardings=P("x"), out_shardings=P("x"))
    for mesh in (line, back):
        with set_mesh(mesh):
            results = spread(ONES), given(ONES), device_put(ONES, P("x"))
            again = with_sharding_constraint(device_put(ONES, P()), P("x"))
        for y in (*results, again):
            assert y.sharding == NamedSharding(mesh, P("x"))


def test_a_sharding_without_devices_takes_those_that_are_set(line):
    open_ = NamedSharding(line.abstract_mesh, P("x"))
    with set_mesh(line):
        results = (
            device_put(ONES, open_),
            jit(lambda x: x, out_shardings=open_)(ONES),
            jit(lambda x: jit(lambda y: mul(y, y), out_shardings=open_)(x))(ONES),
        )
    for x in results:
        assert x.sharding == NamedSharding(line, P("x"))
    with pytest.raises(ValueError, match="jit out_shardings: .* no mesh with as many is set"):
        jit(lambda x: x, out_shardings=open_)(ONES)


def test_the_mesh_that_is_set_goes_before_the_one_that_is_entered(line, four):
    with set_mesh(line), four:
        assert device_put(ONES, P("x")).sharding.mesh is line
    with four:
        assert get_mesh().empty
        assert device_put(ONES, P("x")).sharding.mesh is four


def test_a_program_is_traced_for_each_mesh_that_is_entered(line, four):
    spread = jit(lambda x: with_sharding_constraint(mul(x, x), P("x")))
    for mesh in (line, four, line):
        with mesh:
            assert spread(ONES).sharding == NamedSharding(mesh, P("x"))


def test_a_mesh_decorates(line):
    @line
    def spread(x):
        """Spread it."""
        return device_put(x, P("x"))

    assert spread(ONES).sharding == NamedSharding(line, P("x"))
    assert spread.__doc__ == "Spread it."


def test_a_constraint_inside_of_a_program_names_no_devices(line):
    with set_mesh(line):
        (eqn,) = make_jaxpr(lambda x: with_sharding_constraint(x, P("x")))(ONES).eqns
    assert eqn.params["sharding"] == NamedSharding(line.abstract_mesh, P("x"))
    assert eqn.params["context_mesh"] == line.abstract_mesh


def test_operations_hold_the_axes_they_were_applied_under(line):
    with set_mesh(line):
        square, back = vjp(lambda x: with_sharding_constraint(sin(x), P("x")), ONES)
    assert square.sharding == NamedSharding(line, P("x"))
    (ct,) = back(square)
    np.testing.assert_allclose(ct, np.sin(1) * np.cos(1) * ONES, rtol=1e-5)


def test_the_axes_alone_can_be_replaced(line):
    grid = AbstractMesh((4, 2), ("a", "b"), (AxisType.Auto,) * 2)
    with set_mesh(line), use_abstract_mesh(grid) as entered:
        assert entered is None
        assert get_abstract_mesh() == grid and get_mesh() is line
        y = jit(lambda x: with_sharding_constraint(mul(x, x), P("b")))(ONES)
        assert y.addressable_shards[0].data.shape == (4,)
        with use_abstract_mesh(AbstractMesh((), ())):
            assert get_abstract_mesh().empty
        assert get_abstract_mesh() == grid
    inside = []
    jit(lambda x: [inside.append(_axes_under(grid)), x][1])(ONES)
    assert inside == [("a", "b")]


def _axes_under(mesh):
    with use_abstract_mesh(mesh):
        return get_abstract_mesh().axis_names


def test_under_axes_alone_a_constraint_follows_the_array(line):
    x = device_put(ONES, NamedSharding(line, P("x")))
    with use_abstract_mesh(line.abstract_mesh):
        assert with_sharding_constraint(x, P()).sharding == NamedSharding(line, P())
        assert jit(lambda x: with_sharding_constraint(x, P()))(x).sharding.is_fully_replicated
        with pytest.raises(TypeError, match="has no devices"):
            with_sharding_constraint(ONES, P("x"))
        one = jit(lambda x: with_sharding_constraint(x, P("x")))(ONES)
    assert len(one.sharding.device_set) == 1


@pytest.mark.parametrize("transform", [jit, grad, vmap], ids=["jit", "grad", "vmap"])
@pytest.mark.parametrize(
    ("name", "call"), [("set_mesh", lambda: set_mesh(None)), ("get_mesh", get_mesh)]
)
def test_get_mesh_and_set_mesh_are_refused_while_tracing(transform, name, call):
    def traced(x):
        call()
        return x if transform is vmap else reduce_sum(x, (0,))

    with pytest.raises(ValueError, match=f"{name} .*while|{name} was called inside"):
        transform(traced)(ONES)


@pytest.mark.parametrize(
    ("error", "message", "call"),
    [
        (ValueError, "takes a Mesh or None, got 3 of type int", lambda: set_mesh(3)),
        (ValueError, "use_abstract_mesh", lambda: set_mesh(AbstractMesh((2,), ("x",)))),
        (
            ValueError,
            "axes of type Manual, .'x',., which are for functions that shard_map runs",
            lambda: set_mesh(Mesh(devices()[:1], "x", AxisType.Manual)),
        ),
        (ValueError, "takes an AbstractMesh, got None", lambda: use_abstract_mesh(None)),
        (RuntimeError, "no mesh is set", lambda: jit(lambda x: x, in_shardings=P("x"))(ONES)),
        (ValueError, "device_put: .* no mesh is set", lambda: device_put(ONES, P())),
        (
            ValueError,
            "device_put: .* no mesh is set",
            lambda: jit(lambda x: device_put(x, P()))(ONES),
        ),
        (
            ValueError,
            "has no devices, and no mesh",
            lambda: device_put(ONES, NamedSharding(AbstractMesh((2,), ("x",)), P())),
        ),
    ],
)
def test_misuse(error, message, call):
    with pytest.raises(error, match=message):
        call()


def test_another_number_of_devices(line):
    with set_mesh(line):
        with pytest.raises(ValueError, match="size 8, but .* has size 2"):
            use_abstract_mesh(AbstractMesh((2,), ("z",))).__enter__()
        assert get_mesh() is line


@pytest.mark.parametrize("where", [0, 1], ids=["on the mesh", "elsewhere"])
def test_arguments_that_are_committed_to_other_devices(line, where):
    x = device_put(ONES, devices()[where])
    with set_mesh(line):
        with pytest.raises(
            ValueError, match=r"(?s)argument x to device ids .* the mesh that is set"
        ):
            jit(lambda x: mul(x, x))(x)
        with pytest.raises(ValueError, match="device=.* is set"):
            jit(lambda x: x, device=devices()[1])(ONES)
        assert ids(mul(ONES, ONES)) == list(range(8))


def test_a_mesh_of_one_device(eight_devices):
    one = mesh_of(devices()[3:4])
    with set_mesh(one):
        y = mul(ONES, ONES)
        assert y.sharding == NamedSharding(one, P()) and y.committed
        assert device_put(ONES, P("x")).sharding == NamedSharding(one, P("x"))


def test_a_mesh_without_axes_describes_a_device():
    device = AbstractDevice("TPU v5e", 1, "tpu")
    with use_abstract_mesh(AbstractMesh((), (), abstract_device=device)):
        assert get_abstract_mesh().abstract_device == device
        for run in (sin, jit(sin), jit(vmap(sin)), grad(lambda x: reduce_sum(sin(x), (0,)))):
            assert run(ONES).shape == (8,)
        with use_abstract_mesh(AbstractMesh((4,), ("x",))):
            assert get_abstract_mesh().size == 4
        with use_abstract_mesh(AbstractMesh((), ())):
            assert get_abstract_mesh().empty
