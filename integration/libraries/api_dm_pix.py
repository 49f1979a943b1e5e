"""PIX: changes of images, their colours and patches, measures of likeness, random changes."""

import dm_pix as pix

import jax
import jax.numpy as jnp

KEY = jax.random.key(5)
IMAGE = jax.random.uniform(KEY, (12, 10, 3))
OTHER = jnp.clip(IMAGE + 0.1 * jnp.sin(jnp.arange(10.0))[:, None], 0, 1)

CHANGES = {
    "brightness": lambda x: pix.adjust_brightness(x, 0.2),
    "contrast": lambda x: pix.adjust_contrast(x, 1.5),
    "gamma": lambda x: pix.adjust_gamma(x, 0.8),
    "hue": lambda x: pix.adjust_hue(x, 0.1),
    "saturation": lambda x: pix.adjust_saturation(x, 0.5),
    "rgb to hsv": pix.rgb_to_hsv,
    "rgb to hsl": pix.rgb_to_hsl,
    "rgb to grayscale": pix.rgb_to_grayscale,
    "flip": pix.flip_left_right,
    "rotation by 90": pix.rot90,
    "rotation": lambda x: pix.rotate(x, 0.3),
    "gaussian blur": lambda x: pix.gaussian_blur(x, 1.5, 5),
    "depth to space": lambda x: pix.depth_to_space(jnp.tile(x, (1, 1, 4)), 2),
    "patches": lambda x: pix.extract_patches(
        x[None], (1, 3, 3, 1), (1, 2, 2, 1), (1, 1, 1, 1), padding="VALID"
    ),
    "solarize": lambda x: pix.solarize(x, 0.5),
    "pad": lambda x: pix.pad_to_size(x, 16, 16),
    "crop": lambda x: pix.center_crop(x, 6, 6),
    "elastic": lambda x: pix.elastic_deformation(KEY, x, 5.0, 2.0),
}
MEASURES = {name: getattr(pix, name) for name in ("mae", "mse", "psnr", "rmse", "ssim")}
RANDOM = {
    "random brightness": lambda: pix.random_brightness(KEY, IMAGE, 0.3),
    "random crop": lambda: pix.random_crop(KEY, IMAGE, (6, 6, 3)),
    "random hue": lambda: pix.random_hue(KEY, IMAGE, 0.3),
    "random flip": lambda: pix.random_flip_left_right(KEY, IMAGE),
    "random gamma": lambda: pix.random_gamma(KEY, IMAGE, 0.5, 1.5),
}
CASES = {
    **{name: lambda f=f: jax.jit(f)(IMAGE) for name, f in CHANGES.items()},
    **{
        f"gradient of {name}": lambda f=f: jax.grad(lambda x: jnp.sum(f(x) ** 2))(IMAGE)
        for name, f in CHANGES.items()
    },
    **{name: lambda f=f: f(IMAGE, OTHER) for name, f in MEASURES.items()},
    **{
        f"gradient of {name}": lambda f=f: jax.grad(lambda x: f(x, OTHER).sum())(IMAGE)
        for name, f in MEASURES.items()
    },
    **RANDOM,
}
