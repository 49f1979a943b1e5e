"""The modules of the drop-in that are not those of Ricci, and those of Ricci that JAX lacks."""

import os
from functools import cache

UNSUPPORTED = "jax._unsupported"
ADAPTERS = "jax._adapters"
KERNELS = "jax._kernels"
OPS = "jax._kernel_adapters"

# Modules of Ricci without a twin under ``jax``.
NOT_IN_JAX = frozenset(("cache", "distributed.run", "parallel", "profile", "testing"))

# Names that libraries use although JAX does not list them, by module, with the object behind each.
# Comments name the users. Those of ``jax._src`` are in PRIVATE_NAMES.
TABLE: dict[str, dict[str, str]] = {
    "lib": {"__version__": "jaxlib:__version__"},
    "experimental.colocated_python": {  # orbax
        name: f"{UNSUPPORTED}:{name}"
        for name in ("colocated_cpu_devices", "colocated_python", "colocated_python_class")
    },
    "experimental.colocated_python.func": {},
    "experimental.key_reuse": {},  # the option jax_debug_key_reuse turns it on
    "experimental.colocated_python.serialization": {"DeviceList": "ricci_xla:DeviceList"},
    "experimental.jax2tf": {"convert": f"{UNSUPPORTED}:convert"},  # equinox, neural-tangents
    **{  # aqt, jax_md, tokamax
        f"experimental.{name}": {"*": f"{KERNELS}:*"}
        for name in ("mosaic", "mosaic.gpu", "pallas.fuser", "pallas.mosaic_gpu", "pallas.tpu_sc")
    },
    # axlearn, maxtext and others, by the names of JAX's kernels
    "experimental.pallas.ops.gpu": {},
    **{
        f"experimental.pallas.ops.{name}": {n: f"{OPS}:{n}" for n in names.split()}
        for name, names in {
            "gpu.attention": "BlockSizes DEFAULT_MASK_VALUE mha",
            "gpu.layer_norm": "layer_norm",
            "gpu.rms_norm": "rms_norm",
            "gpu.softmax": "softmax",
            "tpu.matmul": "matmul",
            "tpu.megablox": "gmm",
            "tpu.megablox.ops": "gmm",
            "tpu.paged_attention": "paged_attention",
        }.items()
    },
    "experimental.pallas.ops.tpu.flash_attention": {
        "BlockSizes": f"{OPS}:BlockSizesOfTPU",
        **{n: f"{OPS}:{n}" for n in ("DEFAULT_MASK_VALUE", "SegmentIds", "flash_attention")},
    },
    # keras, where an option asks for it on a TPU
    "experimental.pallas.ops.tpu": {},
    "experimental.pallas.ops.tpu.splash_attention": {},
    "experimental.pallas.ops.tpu.splash_attention.splash_attention_kernel": dict.fromkeys(
        ("SegmentIds", "make_splash_mha"), f"{UNSUPPORTED}:splash_attention"
    ),
    "experimental.pallas.ops.tpu.splash_attention.splash_attention_mask": dict.fromkeys(
        ("CausalMask", "MultiHeadMask", "NumpyMask"), f"{UNSUPPORTED}:splash_attention"
    ),
    "extend.ifrt_programs": {"ifrt_programs": f"{UNSUPPORTED}:ifrt_programs"},  # orbax
}


# A row for each module of ``jax._src`` and source: the module without ``jax._src.``, the module
# that holds the objects, their names, and the libraries that use them. A name may be written
# ``name=name there``; a name that is itself a module ends with a slash; ``*`` stands for all others
# of the source. A library that imports another name gets an ``ImportError`` that names it.
PRIVATE_NAMES = "private_names.tsv"
_PRIVATE = "_src"


@cache
def private_rows() -> dict[str, list[tuple[str, str]]]:
    """Return the rows of PRIVATE_NAMES, source and names, by module; read at the first use."""
    rows: dict[str, list[tuple[str, str]]] = {_PRIVATE: []}
    text: bytes = __loader__.get_data(os.path.join(os.path.dirname(__file__), PRIVATE_NAMES))
    for line in text.decode().splitlines():
        module, source, names, _ = line.split("\t")
        path = f"{_PRIVATE}.{module}"
        rows.setdefault(path, []).append((source, names))
        while path != _PRIVATE:
            path = path.rpartition(".")[0]
            rows.setdefault(path, [])
    return rows


def in_table(inside: str) -> bool:
    """Whether the table has a module."""
    if inside.partition(".")[0] == _PRIVATE:
        return inside in private_rows()
    return inside in TABLE


def table_names(inside: str) -> dict[str, str]:
    """Return the source of each name that the table has in a module."""
    if inside.partition(".")[0] != _PRIVATE:
        return TABLE.get(inside, {})
    names: dict[str, str] = {}
    for source, listed in private_rows().get(inside, ()):
        for entry in listed.split():
            name, _, target = entry.rstrip("/").partition("=")
            separator = "." if entry.endswith("/") else ":"
            names[name] = f"{source}{separator}{target or name}"
    return names


def table_modules(package: str) -> list[str]:
    """Return the names of the table's modules directly inside one."""
    paths = private_rows() if package.partition(".")[0] == _PRIVATE else TABLE
    names = (path.removeprefix(f"{package}.") for path in paths if path.startswith(f"{package}."))
    return [name for name in names if "." not in name]


def alias(inside: str) -> str | None:
    """Return the module that the table has under a name; ``None`` for another object."""
    parent, _, name = inside.rpartition(".")
    source = table_names(parent).get(name)
    return None if source is None or ":" in source else source
