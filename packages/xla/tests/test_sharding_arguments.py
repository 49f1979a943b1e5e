"""The arguments ``in_shardings`` and ``out_shardings`` of ``jit``, and the errors they raise."""

import numpy as np
import pytest

from ricci_xla import Mesh, NamedSharding, P, devices, jit, pjit

X = np.arange(8, dtype=np.float32)


@pytest.fixture
def mesh(eight_devices):
    return Mesh(np.array(devices()[:8]).reshape(4, 2), ("a", "b"))


def over(mesh, *parts):
    return NamedSharding(mesh, P(*parts))


def test_in_shardings_are_for_positional_arguments(mesh):
    f = jit(lambda a, b: a, in_shardings=over(mesh, "a"))
    with pytest.raises(ValueError, match="keyword arguments b"):
        f(X, b=X)
    assert f(X, X).sharding.spec == P("a")


@pytest.mark.parametrize("name", ["in_shardings", "out_shardings"])
def test_jit_refuses_invalid_shardings(mesh, name):
    with pytest.raises(TypeError, match=rf"jit: {name}\['u'\] is 3 of type int"):
        jit(lambda x: x, **{name: {"u": 3}})
    with pytest.raises(ValueError, match=rf"{name}\[1\] is .* leaves a dimension open"):
        jit(lambda x, y: (x, y), **{name: (None, P(P.UNCONSTRAINED))})
    with pytest.raises(ValueError, match=f"takes {name}, or a device"):
        jit(lambda x: x, device=devices()[0], **{name: over(mesh, "a")})


def test_in_shardings_may_be_a_list(mesh):
    f = jit(lambda a, b: (a, b), in_shardings=[over(mesh, "a"), None])
    assert f(X, X)[0].sharding.spec == P("a")


def test_a_backend_is_looked_up_by_the_first_call():
    f = jit(lambda x: x, backend="nowhere")
    with pytest.raises(RuntimeError, match="nowhere"):
        f(X)


def test_a_compiled_function_refuses_other_shardings(mesh):
    over_a = jit(lambda t: t["k"], out_shardings=over(mesh, "a"))({"k": X})
    compiled = jit(lambda t: t["k"]).lower({"k": over_a}).compile()
    over_b = jit(lambda x: x, out_shardings=over(mesh, "b"))(X)
    with pytest.raises(ValueError, match=r"committed to other(.|\n)*argument t\['k'\]") as caught:
        compiled({"k": over_b})
    assert len(str(caught.value).splitlines()) < 8
    assert compiled({"k": over_a}).sharding.spec == P("a")
    assert compiled({"k": X}).sharding.spec == P("a")  # uncommitted arrays are moved


def test_pjit_takes_its_options_by_position(mesh):
    f = pjit(lambda x, n: (x,) * n, (over(mesh, "a"),), over(mesh), 1)
    assert [y.sharding.spec for y in f(X, 2)] == [P(), P()]
