"""e3nn: irreducible representations of rotations, tensor products, harmonics, equivariance."""

import e3nn_jax as e3nn

import jax
import jax.numpy as jnp

KEY = jax.random.key(2)
X = e3nn.normal("2x0e + 1o + 2e", KEY, (3,))
Y = e3nn.normal("0e + 1o", jax.random.fold_in(KEY, 1), (3,))
ROTATION = e3nn.rand_matrix(KEY, ())
POINTS = jax.random.normal(KEY, (5, 3))


def rotated_product():
    turned = e3nn.tensor_product(X.transform_by_matrix(ROTATION), Y.transform_by_matrix(ROTATION))
    return turned.array, e3nn.tensor_product(X, Y).transform_by_matrix(ROTATION).array


def energy(x):
    harmonics = e3nn.spherical_harmonics("0e + 1o + 2e", x, normalize=False)
    return jnp.mean(e3nn.tensor_square(harmonics).array ** 2)


CASES = {
    "irreps": lambda: [str(e3nn.Irreps("2x1o + 0e").simplify()), e3nn.Irreps("1o").dim],
    "normal": lambda: X.array,
    "tensor product": lambda: e3nn.tensor_product(X, Y).array,
    "elementwise product": lambda: e3nn.elementwise_tensor_product(X, X).array,
    "equivariance": rotated_product,
    "spherical harmonics": lambda: (
        e3nn.spherical_harmonics("0e + 1o + 2e + 3o", POINTS, True).array
    ),
    "Clebsch-Gordan": lambda: jnp.asarray(e3nn.clebsch_gordan(1, 1, 2)),
    "Wigner D": lambda: e3nn.Irrep("2e").D_from_matrix(ROTATION),
    "norm": lambda: e3nn.norm(X).array,
    "scalars": lambda: e3nn.scalar_activation(X, [jnp.tanh, None, None]).array,
    "gate": lambda: e3nn.gate(e3nn.normal("3x0e + 1o + 1x2e", KEY, (2,))).array,
    "concatenation": lambda: e3nn.concatenate([X, Y]).regroup().array,
    "sum over axis": lambda: e3nn.sum(X, axis=0).array,
    "energy, jitted": lambda: jax.jit(energy)(POINTS),
    "forces": lambda: jax.grad(energy)(POINTS),
    "Hessian": lambda: jax.hessian(energy)(POINTS[:2]),
    "mapped": lambda: jax.vmap(lambda x: e3nn.tensor_product(x, x).array)(X),
    "radial basis": lambda: e3nn.soft_one_hot_linspace(
        jnp.linspace(0.1, 2.0, 7), start=0.0, end=2.0, number=5, basis="gaussian", cutoff=True
    ),
    "angles": lambda: e3nn.matrix_to_angles(ROTATION),
    "quaternion": lambda: e3nn.matrix_to_quaternion(ROTATION),
    "message passing": lambda: e3nn.scatter_sum(X, dst=jnp.array([0, 1, 0]), output_size=2).array,
}
