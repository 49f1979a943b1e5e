"""A toy world: primitives with batching rules, and a backend that evaluates them with NumPy."""

from types import SimpleNamespace

import numpy as np
import pytest

import ricci_batching as rb
import ricci_ir as ir


def primitive(name, abstract_eval, batch, axis_names=None, **options):
    """A primitive with the rules of this package alone."""
    p = ir.Primitive(name, abstract_eval, **options)
    rb.batch_rules.define(p, batch)
    if axis_names is not None:
        rb.axis_name_rules.define(p, axis_names)
    return p


def _elementwise_aval(*avals):
    shape = np.broadcast_shapes(*(a.shape for a in avals))
    return ir.ShapedArray(shape, avals[0].dtype, all(a.weak_type for a in avals))


def _sum_batch(axis, args, dims, *, axes):
    (dim,) = dims
    inner = tuple(i + (i >= dim) for i in axes)
    return sum_.bind(args[0], axes=inner), dim - sum(i < dim for i in inner)


def _psum_batch(axis, args, dims, *, name):
    if name != axis.name:
        return psum.bind(*args, name=name), dims[0]
    (x,), (dim,) = args, dims
    if dim is None:
        return mul.bind(x, np.float32(axis.size)), None
    return sum_.bind(x, axes=(dim,)), None


def _pair_batch(axis, args, dims):
    return pair.bind(*args), [dims[1], dims[0]]


sin = primitive("sin", lambda x: x, rb.elementwise)
mul = primitive("mul", _elementwise_aval, rb.elementwise)
sum_ = primitive(
    "sum",
    lambda x, axes: x.update(shape=tuple(n for i, n in enumerate(x.shape) if i not in axes)),
    _sum_batch,
)
matvec = primitive("matvec", lambda a, x: x.update(shape=a.shape[:-1]), rb.leading_dims)
pair = primitive("pair", lambda x, y: [y, x], _pair_batch, multiple_results=True)
psum = primitive("psum", lambda x, name: x, _psum_batch, lambda *, name: (name,))
broadcast = primitive(
    "broadcast_in_dim", lambda x, shape, dims: x.update(shape=shape), ir.unsupported("toy")
)
transpose = primitive(
    "transpose",
    lambda x, order: x.update(shape=tuple(x.shape[i] for i in order)),
    ir.unsupported("toy"),
)


def _broadcast(x, shape, dims):
    full = [1] * len(shape)
    for source, target in enumerate(dims):
        full[target] = x.shape[source]
    return np.broadcast_to(np.reshape(x, full), shape)


_compute = {
    sin: np.sin,
    mul: np.multiply,
    sum_: lambda x, axes: np.sum(x, axis=axes),
    matvec: lambda a, x: np.einsum("...ij,...j->...i", a, x),
    pair: lambda x, y: [y, x],
    broadcast: _broadcast,
    transpose: lambda x, order: np.transpose(x, order),
}


class NumpyBackend:
    name = "toy"

    def evaluate(self, primitive, args, params):
        return _compute[primitive](*(np.asarray(x, ir.get_aval(x).dtype) for x in args), **params)

    def array(self, value, aval):
        return value


@pytest.fixture
def toy(monkeypatch):
    """The toy primitives, with their backend and array operations in place."""
    ops = {
        rb.batch_broadcast: lambda x, shape, dims: broadcast.bind(x, shape=shape, dims=dims),
        rb.batch_transpose: lambda x, order: transpose.bind(x, order=order),
        rb.batch_sum: lambda x, dim: sum_.bind(x, axes=(dim,)),
    }
    for hook, op in ops.items():
        monkeypatch.setattr(hook, "call", op)
    with ir.use_backend(NumpyBackend()):
        yield SimpleNamespace(
            sin=sin.bind,
            mul=mul.bind,
            sum=lambda x, *axes: sum_.bind(x, axes=axes),
            matvec=matvec.bind,
            pair=pair.bind,
            psum=lambda x, name: psum.bind(x, name=name),
            primitive=primitive,
        )
