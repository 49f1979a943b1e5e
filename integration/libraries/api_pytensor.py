"""PyTensor: graphs compiled by its JAX backend: arithmetic, linear algebra, loops, gradients."""

import numpy as np
import pytensor
import pytensor.tensor as pt

X = np.linspace(0.1, 1.2, 12).reshape(3, 4)
M = X[:, :3] @ X[:, :3].T + np.eye(3)


def run(build, *values):
    inputs = [pt.as_tensor(value).type() for value in values]
    results = build(*inputs)
    return pytensor.function(inputs, results, mode="JAX")(*values)


def with_gradient(build, *values):
    def both(*inputs):
        loss = build(*inputs).sum()
        return [loss, *pytensor.grad(loss, list(inputs))]

    return run(both, *values)


def looped(x):
    sums, _ = pytensor.scan(lambda row, total: pt.tanh(total + row), [x], [pt.zeros(4)])
    return sums


def cumulated(x):
    return pt.cumsum(x, axis=1) + pt.sort(x, axis=1)[:, ::-1]


CASES = {
    "elementwise": lambda: with_gradient(lambda x: pt.exp(-x) * pt.log1p(x) + pt.erf(x), X),
    "gamma functions": lambda: with_gradient(lambda x: pt.gammaln(x) + pt.psi(x), X),
    "softmax": lambda: with_gradient(lambda x: pt.special.softmax(x, axis=-1) ** 2, X),
    "indexing": lambda: with_gradient(lambda x: x[1:, [0, 2, 2]] * 2, X),
    "set": lambda: run(lambda x: pt.set_subtensor(x[:, 1], 0.0), X),
    "product": lambda: with_gradient(lambda x, m: pt.dot(m, x), X, M),
    "solve": lambda: with_gradient(lambda x, m: pt.linalg.solve(m, x), X, M),
    "cholesky": lambda: with_gradient(pt.linalg.cholesky, M),
    "eigenvalues": lambda: run(lambda m: pt.linalg.eigh(m)[0], M),
    "reductions": lambda: run(lambda x: [x.max(0), x.argmax(1), x.mean(), x.var(axis=0)], X),
    "cumulated": lambda: run(cumulated, X),
    "switch": lambda: with_gradient(lambda x: pt.switch(x > 0.5, x**2, -x), X),
    "loop": lambda: run(looped, X),
    "gradient of a loop": lambda: with_gradient(looped, X),
}
