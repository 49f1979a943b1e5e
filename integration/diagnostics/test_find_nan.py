"""``debug.find_nan`` and ``debug_nans`` through ``jit``, ``vmap``, ``pmap``, ``scan``, ``grad``."""

import importlib
import inspect

import numpy as np
import pytest

ricci = pytest.importorskip("ricci", reason="the light tests run where it is not installed")
jnp = pytest.importorskip("ricci.numpy")
lax = ricci.lax
find_nan = ricci.debug.find_nan


def line_of(fun, text):
    lines, start = inspect.getsourcelines(inspect.unwrap(fun))
    (found,) = [start + i for i, line in enumerate(lines) if i and text in line]
    return found


def masked_log(x):
    return jnp.sum(jnp.where(x > 0, jnp.log(x), 0.0))


def norm(x):
    return 2 * jnp.linalg.norm(x, 3)


def normalized(x):
    return x / jnp.sum(x)


@ricci.jit
def inner(x):
    return jnp.sqrt(x - 2.0)


@ricci.jit
def outer(x):
    y = inner(x)
    return y + 1.0


def running(xs):
    def body(total, x):
        inverse = jnp.where(x == 0, 0.0, 1 / x)
        return total + inverse, None

    return lax.scan(body, 0.0, xs)[0]


def averaged(x):
    mean = lax.pmean(x, "i")
    return mean * x / (x - x)


@ricci.custom_vjp
def identity(x):
    return x


def identity_bwd(x, ct):
    return (ct * (0.0 * x) / x,)


identity.defvjp(lambda x: (x, x), identity_bwd)


def uses_identity(x):
    return identity(x) * 2.0


X = np.array([1, 0, 2], np.float32)
ROWS = np.array([[1, 2], [3, 4], [0, 0]], np.float32)
SERIES = np.array([[3, 2, 1, 1], [3, 2, 1, 1], [3, 2, 1, 0]], np.float32)
jit, vmap, grad = ricci.jit, ricci.vmap, ricci.grad
CASES = [
    # the called function, the owner of the line, its text, arguments, operation, path, examples
    (jit(grad(masked_log)), masked_log, "jnp.log", (X,), "div", ("jit(masked_log)",), ()),
    (grad(jit(masked_log)), masked_log, "jnp.log", (X,), "div", ("jit(masked_log)",), ()),
    (grad(norm), norm, "norm(x, 3)", (np.zeros(3, np.float32),), "mul", (), ()),
    (outer, inner, "jnp.sqrt", (1.0,), "sqrt", ("jit(outer)", "jit(inner)"), ()),
    (jit(vmap(normalized)), normalized, "x /", (ROWS,), "div", ("jit(normalized)",), ((2, 3),)),
    (vmap(jit(normalized)), normalized, "x /", (ROWS,), "div", ("jit(normalized)",), ((2, 3),)),
    (grad(running), running, "1 / x", (SERIES[2],), "mul", ("iteration 3 of scan",), ()),
    (
        vmap(jit(grad(running))),
        running,
        "1 / x",
        (SERIES,),
        "mul",
        ("jit(running)", "iteration 3 of scan"),
        ((2, 3),),
    ),
    (
        jit(grad(jit(uses_identity))),
        identity_bwd,
        "/ x",
        (0.0,),
        "div",
        ("jit(uses_identity)", "jit(uses_identity)"),
        (),
    ),
]


@pytest.mark.parametrize(("fun", "holder", "text", "args", "operation", "path", "examples"), CASES)
def test_operation_line_and_place(fun, holder, text, args, operation, path, examples):
    found = find_nan(fun, *args)
    assert (found.operation, found.line) == (operation, line_of(holder, text))
    assert (found.path, found.examples) == (path, examples)
    assert len(str(found).splitlines()) <= 12


def test_forward_value_inside_of_a_library_function():
    found = find_nan(grad(norm), np.zeros(3, np.float32))
    assert found.forward.operation == "pow"
    assert "jnp.linalg.norm(jnp.where(bad, 1.0, x), 3)" in str(found)


def test_remedy_is_spelled_out():
    text = str(find_nan(jit(grad(masked_log)), X))
    assert "write jnp.log(jnp.where(x > 0, x, 1.0))\n    in place of jnp.log(x)" in text


def test_the_remedy_helps():
    def masked(x):
        return jnp.sum(jnp.where(x > 0, jnp.log(jnp.where(x > 0, x, 1.0)), 0.0))

    assert find_nan(jit(grad(masked)), X) is None


def test_device_of_a_pmap(eight_devices):
    xs = np.array([1, 2, 3, 0, 5, 6, 7, 8], np.float32)
    found = find_nan(ricci.pmap(lambda x: jnp.log(x - 1.0) + lax.psum(x, "i"), "i"), xs)
    assert (found.operation, found.path[1:]) == ("log", ("device 3",))


def test_a_collective_between(eight_devices):
    def fun(x):
        total = lax.psum(jnp.where(x == 5, jnp.inf, x), "i")
        return total - total

    found = find_nan(ricci.pmap(fun, "i"), np.arange(8, dtype=np.float32))
    assert (found.operation, found.line) == ("sub", line_of(fun, "total - total"))


def test_gradient_in_a_pmap(eight_devices):
    def fun(x):
        root = jnp.where(x == 3, 0.0, jnp.sqrt(x - 3))
        return root + lax.psum(x, "i")

    found = find_nan(ricci.pmap(grad(fun), "i"), np.arange(3, 11, dtype=np.float32))
    assert found.backward
    assert (found.line, found.forward.operation) == (line_of(fun, "jnp.sqrt"), "sqrt")
    assert found.path[1:] == ("device 0",)


def test_collectives_are_computed(eight_devices):
    xs = np.arange(8, dtype=np.float32)

    def fun(x):
        return lax.pmean(x, "i") * x

    def check_means(x):
        np.testing.assert_allclose(ricci.pmap(fun, "i")(x), xs * xs.mean())
        return jnp.log(-1.0)

    assert find_nan(check_means, xs).operation == "log"  # so it came to its end


@pytest.mark.parametrize("fun", [jit(grad(masked_log)), grad(jit(masked_log))])
def test_debug_nans_raises_with_the_report_of_find_nan(fun):
    with ricci.debug_nans(True), pytest.raises(FloatingPointError) as caught:
        fun(jnp.asarray(X))
    text = str(caught.value)
    assert text.startswith("invalid value (nan) encountered in div\n")
    assert f":{line_of(masked_log, 'jnp.log')} (masked_log)" in text
    assert len(text.splitlines()) <= 12


def test_debug_nans_explains_the_forward_value():
    with ricci.debug_nans(True), pytest.raises(FloatingPointError, match="forward: log of 0"):
        jit(grad(masked_log))(jnp.asarray(X))


def test_debug_nans_of_one_operation():
    with ricci.debug_nans(True), pytest.raises(FloatingPointError, match="log of -1"):
        jnp.log(jnp.float32(-1.0))


@pytest.mark.parametrize("run", [lambda f: f, jit, lambda f: jit(jit(f))])
def test_debug_nans_names_the_users_line_that_calls_a_library(tmp_path, monkeypatch, run):
    folder = tmp_path / "site-packages"
    folder.mkdir()
    text = "import ricci.numpy as jnp\ndef logarithm(x):\n    return jnp.log(x)\n"
    (folder / "logarithms_of_a_library.py").write_text(text)
    monkeypatch.syspath_prepend(str(folder))
    logarithm = importlib.import_module("logarithms_of_a_library").logarithm

    def fun(x):
        return logarithm(x) + 1.0  # the user's line

    for _ in range(2):
        with ricci.debug_nans(True), pytest.raises(FloatingPointError) as caught:
            run(fun)(jnp.float32(-1.0))
        assert f":{line_of(fun, 'logarithm')} (" in str(caught.value)
        assert "logarithms_of_a_library" not in str(caught.value)
        ricci.clear_caches()


def test_ints_that_no_dtype_holds_are_not_arrays():
    class Model:
        number = 0

        def __call__(self, x):
            self.number = 2**70
            return jnp.log(x)

    assert find_nan(Model())(1.0) is None
    assert find_nan(Model())(-1.0).operation == "log"


def test_debug_infs():
    with ricci.debug_infs(True), pytest.raises(FloatingPointError, match="exp of 1000"):
        jit(lambda x: jnp.exp(x) + 1)(1000.0)


def test_find_nan_under_debug_nans():
    with ricci.debug_nans(True):
        assert find_nan(jit(grad(masked_log)), X).operation == "div"


def test_random_keys_and_prints(capfd):
    def fun(key, x):
        ricci.debug.print("x is {}", x)
        return ricci.random.normal(key, (3,)) * x

    assert find_nan(jit(fun), ricci.random.key(0), 2.0) is None
    assert capfd.readouterr().out == "x is 2.0\n"


def test_the_where_of_another_file_is_told_with_its_file():
    there = {"jnp": jnp, "__name__": "other"}
    text = "def choose(c, x):\n    return jnp.where(c, x, 0.0)"
    exec(compile(text, "other.py", "exec"), there)
    found = find_nan(ricci.grad(lambda x: there["choose"](x > 0, jnp.sqrt(x))), 0.0)
    assert "the where at other.py:2 (choose) leaves that value out" in str(found)
    assert f"the where in line {line_of(masked_log, 'where')} " in str(
        find_nan(ricci.grad(masked_log), jnp.zeros(1))
    )


def test_number_that_was_converted_is_followed_in_what_the_function_stored():
    class Model:
        weight = jnp.float32(-1)

        def train(self):
            self.weight = jnp.log(self.weight)  # cause
            return float(self.weight)

    model = Model()
    found = find_nan(model.train)()
    assert found.operation == "log" and found.source.line == line_of(Model.train, "# cause"), str(
        found
    )
    assert model.weight == -1


def test_nan_that_marks_what_is_absent_is_no_finding():
    class Metric:
        best = None

        def update(self, x):
            self.best, self.last = np.full(3, np.nan, np.float32), jnp.sin(x)
            return self.last

    assert find_nan(Metric().update)(1.0) is None
