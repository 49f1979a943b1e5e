"""Memory plans of programs on devices that are here."""

import importlib
import inspect
import io
import os
import subprocess
import sys
import xml.etree.ElementTree as ElementTree
from contextlib import nullcontext

import numpy as np
import pytest

from ricci_autodiff import grad, value_and_grad
from ricci_ir import ShapeDtypeStruct, UnexpectedTracerError, clear_caches, enable_x64, named_scope
from ricci_lax import (
    add,
    checkpoint,
    checkpoint_name,
    checkpoint_policies,
    cond,
    dot,
    full,
    gt,
    io_callback,
    lt,
    mul,
    reduce_sum,
    scan,
    sin,
    sort,
    sub,
    tanh,
    while_loop,
)
from ricci_parallel import device_put
from ricci_parallel.planning import memory_plan, plan
from ricci_parallel.reports import communication
from ricci_pytree import register_pytree_node_class
from ricci_xla import NamedSharding, P, devices, jit, make_mesh

N = 128
SIZE = N * N * 4


def described(*shape, dtype=np.float32, **options):
    return ShapeDtypeStruct(shape, dtype, **options)


X, STACK = described(N, N), described(6, N, N)


def line_of(function, text):
    lines, first = inspect.getsourcelines(function)
    return first + next(i for i, line in enumerate(lines) if text in line)


def total(x):
    return reduce_sum(x, tuple(range(x.ndim)))


def unrolled(w, x):
    for _ in range(5):
        x = tanh(dot(x, w))
    return total(x)


def scanned(stack, x):
    def body(x, w):
        return tanh(dot(x, w)), None

    return total(scan(body, x, stack)[0])


def doubled(x):
    return while_loop(
        lambda state: lt(state[0], 9),
        lambda state: (add(state[0], 1), dot(state[1], state[1])),
        (0, x),
    )[1]


def chosen(x):
    return cond(gt(total(x), 0.0), lambda x: dot(sort(dot(x, x)), x), lambda x: sin(x), x)


PROGRAMS = {
    "forward": (unrolled, (X, X)),
    "gradient": (grad(unrolled), (X, X)),
    "value and gradient": (value_and_grad(unrolled, 1), (X, X)),
    "gradient of a scan": (grad(scanned), (STACK, X)),
    "second derivative": (grad(lambda x: total(grad(lambda x: unrolled(x, x))(x))), (X,)),
    "while": (doubled, (X,)),
    "cond": (chosen, (X,)),
    "jitted twice": (jit(grad(jit(unrolled))), (X, X)),
    "several results": (lambda x: (sort(x), tanh(x), dot(x, x)), (X,)),
}


@pytest.mark.sampled(6)
@pytest.mark.parametrize("name", PROGRAMS)
def test_the_buffers_make_up_the_compilers_peak(name):
    f, args = PROGRAMS[name]
    plan = memory_plan(f, *args)
    stage = f if hasattr(f, "lower") else jit(f)
    stats = stage.lower(*args).compile().memory_analysis()
    taken = stats.argument_size_in_bytes + stats.output_size_in_bytes + stats.temp_size_in_bytes
    assert plan.peak_bytes == taken
    assert 0.9 * taken <= plan.live_bytes <= 1.1 * taken, str(plan)
    assert sum(row.bytes for row in plan.buffers) == plan.live_bytes
    assert max(plan.course.totals) == plan.live_bytes
    assert len(str(plan).splitlines()) <= 25


def test_residuals_are_owned_by_the_lines_that_compute_them():
    plan = memory_plan(grad(unrolled), X, X)
    kept = [row for row in plan.buffers if row.why == "kept for the backward pass"]
    assert {(row.file, row.line) for row in kept} == {(__file__, line_of(unrolled, "tanh"))}
    assert {row.function for row in kept} == {"unrolled"}
    assert {row.type for row in kept} == {f"f32[{N},{N}]"}
    assert "tanh" in {row.operation for row in kept}
    # The last one may be consumed where the peak is.
    assert 4 * SIZE <= plan.kept_bytes <= 5 * SIZE
    assert plan.kept_bytes > memory_plan(unrolled, X, X).kept_bytes == 0
    assert "kept for the backward pass" in str(plan)


def test_stacked_residuals_of_a_scan_are_owned_by_its_body():
    plan = memory_plan(grad(scanned), STACK, X)
    line = line_of(scanned, "tanh")
    stacks = [row for row in plan.buffers if row.shape == (6, N, N) and row.line == line]
    kept = [row for row in stacks if row.why == "kept for the backward pass"]
    assert kept and all(row.bytes == 6 * SIZE for row in kept)
    assert (plan.place.operation, plan.place.file) == ("scan", __file__)


def test_reasons_of_arguments_and_results():
    constant = full((N, N), 2.0, np.float32)
    constant = sin(constant)  # an array, which is not written into the program

    def f(x, y):
        return add(sort(x), constant), dot(x, y)

    plan = memory_plan(jit(f, donate_argnums=0), X, X)
    found = {(row.why, row.operation) for row in plan.buffers}
    assert ("donated argument", "x") in found
    assert ("argument", "y") in found
    assert any(why == "constant" for why, _ in found)
    assert plan.memory.donated == SIZE
    assert 2 * SIZE <= plan.results <= 2 * SIZE + 64  # on a CPU with the pointers to them


def test_the_leaves_of_an_argument_are_one_row_of_the_table():
    parameters = {"w": X, "inner": [X, described(N)]}

    def f(parameters, x):
        w, b = parameters["inner"]
        return add(dot(dot(x, parameters["w"]), w), full((N, N), total(b)))

    plan = memory_plan(f, parameters, x=X)
    assert {row.operation for row in plan.buffers if row.why == "argument"} == {
        "parameters['w']",
        "parameters['inner'][0]",
        "parameters['inner'][1]",
        "x",
    }
    (row,) = [row for row in plan.owners() if row.name == "parameters"]
    assert (row.count, row.bytes) == (3, 2 * SIZE + N * 4)


@pytest.mark.parametrize("wide", [False, True])
def test_values_of_all_kinds_with_both_widths_of_types(wide):
    f = lambda x, n, none: (mul(x, x), add(n, 1))
    with enable_x64(wide):
        for _ in range(2):
            plan = memory_plan(f, np.ones((4, 3)), 2, None)
            size = (8 if wide else 4) * 13
            assert (plan.arguments, plan.results) == (size, size + 16)  # and the pair's pointers
            assert plan.live_bytes == 2 * size
            assert memory_plan(f, np.zeros((0, 3)), 2, None).live_bytes == (16 if wide else 8)
            clear_caches()


def test_each_of_several_devices_has_its_part():
    mesh = make_mesh((8,), ("data",))
    x = described(8 * N, N, sharding=NamedSharding(mesh, P("data")))
    w = described(N, N, sharding=NamedSharding(mesh, P()))
    plan = memory_plan(grad(unrolled), w, x)
    one = memory_plan(grad(unrolled), X, X)
    assert (plan.devices, one.devices) == (8, 1)
    assert plan.arguments == one.arguments == 2 * SIZE
    assert 0.9 <= plan.live_bytes / plan.peak_bytes <= 1.1
    # At the peak the devices add the gradients of all layers at once, when nothing else is kept.
    assert max(plan.course.residuals) >= 3 * SIZE


def remedies(plan, around):
    return {row.policy: row for row in plan.remedies if row.around == around}


def test_remedies_equal_the_measured_checkpoints():
    plan = memory_plan(grad(scanned), STACK, X, remedies=True)
    found = remedies(plan, "the bodies of scans")["nothing_saveable"]

    def body(x, w):
        return tanh(dot(x, w)), None

    def changed(stack, x):
        return total(scan(checkpoint(body, prevent_cse=False), x, stack)[0])

    there = memory_plan(grad(changed), STACK, X)
    assert found.peak_bytes == there.peak_bytes < plan.peak_bytes
    assert found.bytes_saved == plan.peak_bytes - there.peak_bytes
    # A product forward and two backward; with the checkpoint another one forward.
    assert 0.2 < found.again < 0.4
    assert "checkpoint with nothing_saveable  around the bodies of scans" in str(plan)


def test_remedies_around_the_function_with_the_names_of_values():
    def f(w, x):
        for _ in range(2):
            x = sin(checkpoint_name(tanh(sin(dot(x, w))), "tanh"))
        return total(x)

    plan = memory_plan(jit(grad(jit(f))), remedies=True)(X, X)
    found = remedies(plan, "the differentiated function")
    policy = checkpoint_policies.save_only_these_names("tanh")
    there = memory_plan(jit(grad(checkpoint(f, policy=policy))), X, X)
    assert found["save_only_these_names('tanh')"].peak_bytes == there.peak_bytes
    peaks = [row.peak_bytes for row in plan.remedies]
    assert peaks == sorted(peaks)
    assert memory_plan(jit(grad(jit(f))), X, X).peak_bytes == plan.peak_bytes


def test_functions_that_cannot_be_checkpointed_have_no_remedies():
    left = []

    def f(x):
        left[:] = [sin(x)]
        return total(tanh(x))

    def step(x):
        gradient = grad(f)(x)
        return add(gradient, left[0])  # not a result of what is differentiated

    # The tracer belongs to the trace of the derivative, so that the function itself fails as well.
    with pytest.raises(UnexpectedTracerError):
        memory_plan(step, X)

    def silent(x):
        io_callback(lambda: None, None)
        return total(tanh(x))

    plan = memory_plan(grad(silent), X, remedies=True)
    assert plan.remedies == () and plan.peak_bytes >= 2 * SIZE


def test_no_remedies_without_derivatives_or_unasked():
    assert memory_plan(unrolled, X, X, remedies=True).remedies == ()
    assert memory_plan(grad(unrolled), X, X).remedies == ()


def test_the_picture_shows_the_peak_and_its_owners(tmp_path):
    plan = memory_plan(grad(lambda w, x: unrolled(w, sub(x, 1.0))), X, X)
    plan.save(tmp_path / "plan.svg")
    root = ElementTree.parse(tmp_path / "plan.svg").getroot()
    texts = [node.text for node in root.iter("{http://www.w3.org/2000/svg}text")]
    assert any(text.startswith("<lambda>: ") for text in texts)
    assert any("tanh" in text and "test_memory_plan.py" in text for text in texts)
    areas = list(root.iter("{http://www.w3.org/2000/svg}polygon"))
    assert len(areas) == 4  # arguments, results, what is kept, temporaries
    assert plan.svg() == plan._repr_svg_()


def test_arguments_that_are_not_functions_are_refused():
    with pytest.raises(TypeError, match="memory_plan expects a function, got 3 of type int"):
        memory_plan(3)


def test_an_empty_function():
    plan = memory_plan(lambda: ())()
    assert plan.peak_bytes == plan.live_bytes == 0
    assert plan.svg().startswith("<svg")
    assert "0 B at its peak" in str(plan)


class Compiled:
    """A library's compiled function, whose ``trace`` returns what is not Ricci's."""

    def __init__(self, fun):
        self.fun = jit(fun)

    def __call__(self, *args):
        return self.fun(*args)

    def trace(self, *args):
        return object()


@pytest.mark.parametrize(
    "size",
    [
        lambda f, *args: memory_plan(f, *args).results,
        lambda f, *args: plan(f, *args).memory.results,
        lambda f, *args: len(communication(f)(*args)) or SIZE,
    ],
    ids=["memory_plan", "plan", "communication"],
)
def test_objects_with_lower_and_trace_methods_are_called_as_functions(size):
    assert size(Compiled(tanh), X) == SIZE


def test_arguments_that_are_not_arrays_are_passed_unchanged():
    fun = lambda kind, x, scale=None: mul(x, scale["by"]) if kind == "mul" else x
    assert memory_plan(fun, "mul", X, scale={"by": 2.0, "unit": "m"}).results == SIZE


@pytest.mark.parametrize("fails", [False, True])
def test_the_users_objects_are_as_before(fails):
    calls = []

    def fun(x):
        calls.append(x)
        return log_of_text("x") if fails else tanh(x)

    def log_of_text(text):
        raise ValueError(text)

    for plan_of in (memory_plan, plan, lambda f, x: communication(f)(x)):
        with pytest.raises(ValueError, match="x") if fails else nullcontext():
            plan_of(fun, X)
        assert calls == []


def test_a_copy_of_an_empty_tree_is_planned():
    plan = memory_plan(lambda x: (device_put(()), device_put(mul(x, 2.0), devices()[0]))[1])(X)
    assert plan.results == SIZE


def test_the_users_line_and_the_scope_stand_for_a_librarys_line(tmp_path, monkeypatch):
    folder = tmp_path / "site-packages"
    folder.mkdir()
    (folder / "layers_of_a_library.py").write_text("def layer(f, x, w):\n    return f(x, w)\n")
    monkeypatch.syspath_prepend(str(folder))
    layer = importlib.import_module("layers_of_a_library").layer

    def loss(w, x):
        with named_scope("block"):
            y = layer(lambda x, w: tanh(dot(x, w)), x, w)  # the user's line
        return total(y)

    for fun in (loss, jit(loss)):
        plan = memory_plan(grad(fun))(X, X)
        own = [row for row in plan.rows if row["scope"] == "block"]
        assert own and all(row["file"] == __file__ for row in own)
        assert "block" in str(plan)
    lonely = memory_plan(lambda x: layer(dot, x, x))(X)
    assert {row["file"] for row in lonely.rows if row["line"]} == {__file__}


def test_a_librarys_own_line_is_named_where_no_user_calls_it(tmp_path):
    folder = tmp_path / "site-packages"
    folder.mkdir()
    (folder / "run_alone.py").write_text(
        "from ricci_lax import tanh\n"
        "from ricci_parallel.planning import memory_plan\n"
        "def layer(x):\n"
        "    return tanh(x)\n"
        "print([row['line'] for row in memory_plan(layer)(1.0).rows if row['line']])\n"
    )
    command = [sys.executable, "-m", "run_alone"]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([str(folder), *sys.path])}
    printed = subprocess.run(command, env=environment, capture_output=True, text=True, check=True)
    assert printed.stdout == "[4]\n"


def test_a_terminal_shows_what_is_compiled(monkeypatch):
    terminal = io.StringIO()
    terminal.isatty = lambda: True
    monkeypatch.setattr("sys.stderr", terminal)
    memory_plan(grad(unrolled), remedies=True)(X, X)
    assert "memory_plan compiles 1 of 3: nothing_saveable around" in terminal.getvalue()


def test_a_row_has_the_path_of_the_module_whose_parameters_it_reads():
    def layer(p, x):
        return add(x, dot(tanh(add(dot(x, p["in"]), p["bias"])), p["out"]))

    def loss(model, x):
        for p in model["layers"]:
            x = layer(p["attn"], x)
        return reduce_sum(mul(x, x), (0, 1))

    matrix, bias = np.ones((16, 16), np.float32), np.ones((512, 16), np.float32)
    model = {"layers": [{"attn": {"in": matrix, "bias": bias, "out": matrix}} for _ in range(3)]}
    plan = memory_plan(grad(loss))(model, bias)
    paths = {row.scope for row in plan.buffers if row.operation == "tanh"}
    assert paths == {f"model['layers'][{i}]['attn']" for i in range(3)}
    # Not of arguments, nor of what reads the parameters of no module.
    assert not any(row.scope for row in plan.buffers if row.why == "argument")
    lists = memory_plan(grad(lambda ws, x: reduce_sum(tanh(dot(x, ws[0])), (0, 1))))([matrix], bias)
    assert not any(row.scope for row in lists.buffers)


@register_pytree_node_class
class Weights:
    """A model whose ``jit``, a library's own, writes the new values into it."""

    def __init__(self, w):
        self.w = w

    def tree_flatten(self):
        return (self.w,), None

    @classmethod
    def tree_unflatten(cls, _, parts):
        return cls(*parts)


def updated(model, x):
    def loss(layers):
        y = x
        for w in layers:
            y = tanh(dot(y, w))
        return total(y)

    gradients = grad(loss)(model.w)
    model.w = [sub(w, g) for w, g in zip(model.w, gradients, strict=True)]
    return loss(model.w)


@pytest.mark.parametrize("place", ["an argument", "in a list", "twice", "a closure"])
def test_arrays_that_a_function_writes_into_objects_are_results(place):
    weights, x = [np.ones((64, 64), np.float32)] * 4, np.ones((8, 64), np.float32)
    model = Weights(weights)
    step, args = {
        "an argument": (updated, (model, x)),
        "in a list": (lambda models, x: updated(models[0], x), ([model], x)),
        "twice": (lambda a, b, x: updated(a, x), (model, model, x)),
        "a closure": (lambda x: updated(model, x), (x,)),
    }[place]
    for _ in range(2):
        table = 8 * 5  # the pointers of a tuple of five
        assert memory_plan(step)(*args).results == 4 * 64 * 64 * 4 + 4 + table
    assert model.w is weights


def test_changes_of_plain_containers_are_lost_as_in_jit():
    def step(table, x):
        table["y"] = sin(x)
        return total(x)

    x = np.ones(1000, np.float32)
    assert memory_plan(step)({"y": x}, x).results == 4
