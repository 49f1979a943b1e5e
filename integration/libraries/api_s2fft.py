"""S2fft: spherical harmonic and Wigner transforms with derivatives, on several samplings."""

import numpy as np
import s2fft
from s2fft.precompute_transforms import construct, spherical

import jax
import jax.numpy as jnp

jax.config.update("jax_enable_x64", True)

L = 6
RANDOM = np.random.default_rng(0)
COEFFICIENTS = s2fft.utils.signal_generator.generate_flm(RANDOM, L)


def inverse(flm, **options):
    return s2fft.inverse(jnp.asarray(flm), L, method="jax", **options)


def both(**options):
    pixels = inverse(COEFFICIENTS, **options)
    return pixels, s2fft.forward(pixels, L, method="jax", **options)


def gradient(**options):
    loss = lambda flm: jnp.sum(jnp.abs(inverse(flm, **options)) ** 4)
    return jax.jit(jax.grad(loss))(jnp.asarray(COEFFICIENTS))


def healpix():
    pixels = inverse(COEFFICIENTS, sampling="healpix", nside=2)
    return pixels, s2fft.forward(pixels, L, method="jax", sampling="healpix", nside=2)


def precomputed():
    kernel = construct.spin_spherical_kernel_jax(L, forward=False)
    return spherical.inverse(jnp.asarray(COEFFICIENTS), L, kernel=kernel, method="jax")


CASES = (
    {f"round trip {s}": lambda s=s: both(sampling=s) for s in ("mw", "mwss", "dh", "gl")}
    | {f"gradient {s}": lambda s=s: gradient(sampling=s) for s in ("mw", "dh")}
    | {
        "healpix": healpix,
        "precomputed": precomputed,
        "reality": lambda: both(reality=True),
        "rotation": lambda: s2fft.utils.rotation.rotate_flms(
            jnp.asarray(COEFFICIENTS), L, (0.1, 0.2, 0.3)
        ),
    }
)
