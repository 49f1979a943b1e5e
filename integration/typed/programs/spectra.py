"""Fourier transforms and matrix decompositions, by the namespaces of the NumPy API."""

from typing import assert_type

import ricci
import ricci.numpy as jnp
from ricci import Array
from ricci.numpy import fft, linalg


@ricci.jit
def low_pass(signal: Array, kept: int) -> Array:
    spectrum = fft.rfft(signal)
    frequencies = fft.rfftfreq(signal.size, d=1 / signal.size)
    return fft.irfft(jnp.where(frequencies < kept, spectrum, 0), n=signal.size)


def principal_directions(data: Array, count: int) -> tuple[Array, Array]:
    centred = data - data.mean(axis=0)
    _, values, directions = linalg.svd(centred, full_matrices=False)
    return values[:count], directions[:count]


def covariance_root(data: Array) -> Array:
    values, vectors = jnp.linalg.eigh(jnp.cov(data.T))
    return jnp.einsum("ik,k,jk->ij", vectors, jnp.sqrt(values), vectors)


def main() -> None:
    time = jnp.linspace(0.0, 1.0, 32, endpoint=False)
    signal = jnp.sin(2 * jnp.pi * time) + jnp.sin(2 * jnp.pi * 9 * time)
    smooth = low_pass(signal, 4)
    assert_type(smooth, Array)
    assert float(abs(smooth - jnp.sin(2 * jnp.pi * time)).max()) < 1e-4
    data = jnp.stack([time, 2 * time + 1], axis=1)
    values, directions = principal_directions(data, 1)
    assert values.shape == (1,) and directions.shape == (1, 2)
    assert jnp.allclose(jnp.linalg.norm(directions), 1.0)
    assert covariance_root(data + jnp.eye(32, 2)).shape == (2, 2)
    sign, logarithm = linalg.slogdet(jnp.diag(jnp.array([1.0, 2.0])))
    assert float(sign) == 1.0 and float(logarithm) > 0
    assert fft.fftshift(jnp.arange(4)).tolist() == [2, 3, 0, 1]
