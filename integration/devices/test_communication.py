"""`ricci.parallel.communication`: the collectives of compiled programs, line by line."""

import numpy as np
import pytest

pytest.importorskip("ricci_xla", reason="compiled programs need the runtime")

import ricci
import ricci.numpy as jnp
from ricci import NamedSharding, P, lax
from ricci.parallel import Communication, communication

pytestmark = pytest.mark.usefixtures("eight_devices")


@pytest.fixture
def mesh(eight_devices):
    return ricci.sharding.Mesh(np.array(eight_devices).reshape(4, 2), ("data", "model"))


@pytest.fixture
def described(mesh):
    def make(shape, *spec, dtype=np.float32):
        return ricci.ShapeDtypeStruct(shape, dtype, sharding=NamedSharding(mesh, P(*spec)))

    return make


def rows(report, function):
    """The rows of a report on a function's lines, counted from its `def`."""
    first = function.__code__.co_firstlineno
    return [
        (row.line - first, row.operation, row.kind, row.axes, row.times, row.reason)
        for row in report
        if row.function.endswith(function.__name__)
    ]


def step(w1, w2, x, y):
    def loss(weights):
        first, second = weights
        hidden = jnp.tanh(x @ first)
        return jnp.mean((hidden @ second - y) ** 2)

    return ricci.grad(loss)((w1, w2))


def test_data_parallel_gradients_are_summed_where_the_layers_stand(described):
    report = communication(step)(
        described((16, 32)),
        described((32, 8)),
        described((64, 16), "data"),
        described((64, 8), "data"),
    )
    first = step.__code__.co_firstlineno
    found = [(r.line - first, r.kind, r.axes, r.shape, r.bytes, r.reason) for r in report]
    assert found == [
        (3, "all-reduce", ("data",), "f32[32,16]", 2 * 3 * 32 * 16 * 4 // 4, "computed"),
        (4, "all-reduce", ("data",), "f32[8,32]", 2 * 3 * 32 * 8 * 4 // 4, "computed"),
    ]
    assert {r.function.rpartition(".")[2] for r in report} == {"loss"}
    assert report.bytes == sum(r.bytes for r in report)
    assert report.kinds["all-reduce"] in (1, 2)  # the compiler may merge the two
    assert report.involuntary == ()


def test_a_weight_that_is_gathered_is_named_with_the_line_that_needs_it(described):
    def forward(params, x):
        hidden = x * 2
        return hidden @ params["w"]

    report = communication(forward)({"w": described((64, 32), "data")}, described((8, 64), "data"))
    assert rows(report, forward) == [(2, "dot_general", "all-gather", ("data",), 1, "involuntary")]
    (row,) = report.involuntary
    assert (row.value, row.replicates) == ("params['w']", True)
    assert row.bytes == 3 * 16 * 32 * 4
    assert "params['w'] is needed whole" in str(report)


def test_a_gather_by_a_constraint_is_requested(described, mesh):
    def forward(w, x):
        whole = lax.with_sharding_constraint(w, NamedSharding(mesh, P()))
        return x @ whole

    report = communication(forward)(described((64, 32), "data"), described((8, 64), "data"))
    assert rows(report, forward) == [(2, "dot_general", "all-gather", ("data",), 1, "requested")]
    assert report.involuntary == ()


def test_a_request_that_an_array_stays_divided_asks_for_no_gather(described, mesh):
    def forward(w, x):
        return x @ w, w * 2

    divided = NamedSharding(mesh, P("data"))
    jitted = ricci.jit(forward, out_shardings=(None, divided))
    report = communication(jitted)(described((64, 32), "data"), described((8, 64), "data"))
    assert [row.reason for row in report if row.kind == "all-gather"] == ["involuntary"]


def test_out_shardings_request_the_gather_of_a_result(described, mesh):
    def double(x):
        return x + 1

    jitted = ricci.jit(double, out_shardings=NamedSharding(mesh, P()))
    report = communication(jitted)(described((64, 4), "data"))
    assert rows(report, double) == [(1, "add", "all-gather", ("data",), 1, "requested")]


@pytest.mark.parametrize("x64", [False, True])
def test_iterations_count(described, x64):
    def layers(weights, x):
        def layer(hidden, w):
            return jnp.tanh(hidden @ w), None

        return lax.scan(layer, x, weights)[0]

    dtype = np.float64 if x64 else np.float32
    with ricci.enable_x64(x64):
        report = communication(layers)(
            described((5, 16, 16), None, "model", dtype=dtype),
            described((8, 16), None, "model", dtype=dtype),
        )
    reduced = [row for row in report if row.kind == "all-reduce"]
    assert [(row.times, row.axes) for row in reduced] == [(5, ("model",))]
    assert reduced[0].bytes == 5 * 2 * 8 * 8 * np.dtype(dtype).itemsize // 2


def test_a_loop_of_unknown_length(described):
    def halve(w, x):
        return lax.while_loop(lambda x: jnp.max(x) > 1, lambda x: x @ w / 2, x)

    report = communication(halve)(described((16, 16), "model"), described((8, 16), None, "model"))
    assert {row.times for row in report if row.operation == "dot_general"} == {None}
    assert " ?  " in str(report)


def test_collectives_of_the_users_are_written(eight_devices):
    def share(x):
        return x - lax.pmean(x, "i")

    report = communication(ricci.pmap(share, axis_name="i"))(jnp.ones((8, 4)))
    assert rows(report, share) == [(1, "psum", "all-reduce", ("i",), 1, "written")]
    assert report[0].bytes == 2 * 7 * 4 * 4 // 8


def test_axes_are_those_of_a_mesh_in_another_order(eight_devices):
    order = np.array(eight_devices)[[5, 1, 7, 3, 0, 4, 2, 6]].reshape(2, 2, 2)
    mesh = ricci.sharding.Mesh(order, ("a", "b", "c"))
    for spec, axes in ((P("c"), ("c",)), (P(("c", "a")), ("a", "c"))):
        x = ricci.ShapeDtypeStruct((8, 8), np.float32, sharding=NamedSharding(mesh, spec))
        assert [row.axes for row in communication(lambda x: x.sum(0))(x)] == [axes]


def test_a_function_of_the_librarys_has_its_name_and_the_users_line(described):
    def invert(x):
        shifted = x + 1
        return jnp.linalg.inv(shifted)

    report = communication(invert)(described((64, 64), "data"))
    gathers = [row for row in rows(report, invert) if row[2] == "all-gather"]
    assert gathers[0] == (2, "inv", "all-gather", ("data",), 1, "involuntary")


def test_arrays_and_their_descriptions_give_equal_reports(mesh):
    x = ricci.device_put(np.ones((16, 4), np.float32), NamedSharding(mesh, P("data")))
    report = communication(lambda x: jnp.sum(x))
    reports = [report(x), report(x)]
    ricci.clear_caches()
    reports.append(report(x))
    assert reports[0].rows == reports[1].rows == reports[2].rows
    assert reports[0].kinds == {"all-reduce": 1}
    assert repr(reports[0]) == "Communication(all-reduce: 1)"


def test_one_device_has_no_collectives():
    report = communication(lambda x, y: x @ y)(np.ones((3, 3)), np.ones((3, 3)))
    assert (len(report), str(report), report.bytes) == (0, "no collectives", 0)
    assert isinstance(report, Communication)


def test_communication_of_a_non_function_raises_type_error():
    with pytest.raises(TypeError, match="communication expects a function, got 3 of type int"):
        communication(3)


def forward(params, x):
    hidden = x * 2
    return hidden @ params["w"]


@pytest.mark.parametrize("wrap", [lambda f: f, ricci.jit], ids=["plain", "jitted"])
def test_check_reports_implicit_gathers(described, wrap):
    given = {"w": described((64, 32), "data")}, described((8, 64), "data")
    report = ricci.check(wrap(forward))(*given)
    (found,) = report
    assert (found.code, found.line) == ("RC802", forward.__code__.co_firstlineno + 2)
    assert found.message == (
        "dot_general needs params['w'] whole on every device, gathered over data: each device "
        "sends 6.1 kB a step"
    )
    assert not ricci.check(wrap(forward), ignore="involuntary-replication")(*given)


def test_check_finds_nothing_where_the_gather_is_asked_for(described, mesh):
    def constrained(params, x):
        whole = lax.with_sharding_constraint(params["w"], NamedSharding(mesh, P()))
        return x @ whole

    given = {"w": described((64, 32), "data")}, described((8, 64), "data")
    assert not ricci.check(constrained)(*given)


def test_check_names_a_gather_of_a_part(described):
    def product(x, w):
        return x @ w

    given = described((8, 64), "data"), described((64, 32), "data", "model")
    (found,) = ricci.check(product, select="RC8")(*given)
    assert (found.code, "needs w gathered over data" in found.message) == ("RC801", True)


def test_check_compiles_nothing_for_one_device(monkeypatch):
    def compiled(*args, **options):
        raise AssertionError("compiled")

    monkeypatch.setattr("ricci_parallel.reports.communication_of", compiled)
    assert not ricci.check(forward)({"w": np.ones((4, 4), np.float32)}, np.ones((2, 4), np.float32))


def test_explicit_shardings(eight_devices):
    explicit = (ricci.sharding.AxisType.Explicit,) * 2
    mesh = ricci.make_mesh((4, 2), ("data", "model"), axis_types=explicit)
    w = ricci.ShapeDtypeStruct((64, 32), np.float32, sharding=NamedSharding(mesh, P("data")))
    x = w.update(shape=(8, 64))

    def product(w, x):
        return x @ ricci.reshard(w, P())

    def exchanged(x):
        return ricci.reshard(x, P(None, "data"))

    with ricci.set_mesh(mesh):
        report = communication(product)(w, x)
        assert [(r.kind, r.value, r.reason) for r in report] == [("all-gather", "w", "requested")]
        assert [(r.kind, r.reason) for r in communication(exchanged)(x)] == [
            ("all-to-all", "requested")
        ]


def test_programs_on_shards_and_their_gradients(mesh):
    def shard(w, x):
        whole = lax.all_gather(w, "data", tiled=True)
        return lax.ppermute(x @ whole, "data", [(i, (i + 1) % 4) for i in range(4)])

    def loss(w, x):
        mapped = ricci.shard_map(
            shard, mesh=mesh, in_specs=(P("data"), P("data")), out_specs=P("data")
        )
        return jnp.sum(mapped(w, x) ** 2)

    sharding = NamedSharding(mesh, P("data"))
    w = ricci.ShapeDtypeStruct((64, 32), np.float32, sharding=sharding)
    report = communication(ricci.grad(loss))(w, w.update(shape=(8, 64)))
    found = sorted((line, kind) for line, _, kind, *_ in rows(report, shard))
    assert found == [
        (1, "all-gather"),
        (1, "reduce-scatter"),
        (2, "collective-permute"),
        (2, "collective-permute"),
    ]
    assert {row.reason for row in report if row.function.endswith("shard")} == {"written"}
