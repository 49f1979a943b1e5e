"""Programs that specify memories: of arguments, results, loops, checkpoints, exported functions.

Both sides compile them for a described device, and compare the bytes of the host and the device.
"""

from typing import Any

import numpy as np

import jax
import jax.numpy as jnp
from jax import export, lax
from jax.ad_checkpoint import checkpoint_name

HOST, DEVICE = "pinned_host", "device"
SIZE, LAYERS = 256, 4


def _to_host(x):
    return jax.device_put(x, jax.memory.Space.Host)


def _to_device(x):
    return jax.device_put(x, jax.memory.Space.Device)


def _stacked(x):
    def body(carry, _):
        carry = jnp.sin(carry)
        return carry, _to_host(carry)

    return lax.scan(body, x, None, length=LAYERS)[1]


def _layers(weights, x):
    return lax.scan(lambda x, w: (jnp.sin(x + _to_device(w)), None), x, weights)[0]


def _repeated(x):
    return lax.fori_loop(0, 5, lambda _, x: jnp.sin(_to_device(_to_host(x))), x)


def _carried(x):
    def body(carry):
        i, x = carry
        return i + 1, _to_host(_to_device(x) + 1)

    return lax.while_loop(lambda carry: carry[0] < 3, body, (0, _to_host(x)))[1]


def _branches(x):
    return _to_device(
        lax.cond(x[0, 0] > 0, lambda x: _to_host(x + 1), lambda x: _to_host(x * 2), x)
    )


def _overwritten(buffer, x):
    return buffer.at[0].set(_to_host(x))


def _custom(x):
    @jax.custom_vjp
    def square(x):
        return x * x

    square.defvjp(lambda x: (x * x, _to_host(x)), lambda x, ct: (2 * ct * _to_device(x),))
    return jnp.sin(square(x)).sum()


POLICIES = {
    "names": lambda: jax.checkpoint_policies.save_and_offload_only_these_names(
        names_which_can_be_saved=[],
        names_which_can_be_offloaded=["h"],
        offload_src=DEVICE,
        offload_dst=HOST,
    ),
    "names, one saved": lambda: jax.checkpoint_policies.save_and_offload_only_these_names(
        names_which_can_be_saved=["s"],
        names_which_can_be_offloaded=["h"],
        offload_src=DEVICE,
        offload_dst=HOST,
    ),
    "dots": lambda: jax.checkpoint_policies.offload_dot_with_no_batch_dims(DEVICE, HOST),
}


def _offloaded(policy, loop):
    def body(x, _):
        h = checkpoint_name(x @ x, "h")
        return jnp.sin(checkpoint_name(jnp.sin(h), "s") @ x), None

    body = jax.checkpoint(body, policy=POLICIES[policy]())
    if loop:
        return lambda x: lax.scan(body, x, None, length=LAYERS)[0].sum()
    return lambda x: body(body(x, None)[0], None)[0].sum()


def _exported(function, platform, options, *arguments):
    """Return a function that calls the exported one, after writing and reading it."""
    exported = export.export(jax.jit(function, **options), platforms=[platform])(*arguments)
    return export.deserialize(exported.serialize()).call


def programs(on, platform: str) -> dict[str, tuple[Any, dict, list]]:
    """Return the function, the options of ``jit`` and the arguments of each program, by name.

    Args:
      on: a function that returns a sharding of the described device in a memory.
      platform: the platform to export for.
    """
    whole = lambda memory: jax.ShapeDtypeStruct((SIZE, SIZE), np.float32, sharding=on(memory))
    stack = lambda memory: jax.ShapeDtypeStruct(
        (LAYERS, SIZE, SIZE), np.float32, sharding=on(memory)
    )
    host, device = whole(HOST), whole(DEVICE)
    bare = jax.ShapeDtypeStruct((SIZE, SIZE), np.float32)
    to_host = {"out_shardings": on(HOST)}
    double = lambda x: x * 2
    rows: dict[str, tuple[Any, dict, list]] = {
        "argument": (lambda x: _to_device(x) * 2, {}, [host]),
        "argument to a sharding": (lambda x: jax.device_put(x, on(DEVICE)) * 2, {}, [host]),
        "in_shardings": (lambda x: _to_device(x) * 2, {"in_shardings": on(HOST)}, [bare]),
        "returned": (lambda x: x, {}, [host]),
        "two arguments": (lambda x, y: _to_device(x) + y, {}, [host, device]),
        "out_shardings": (double, to_host, [device]),
        "result": (lambda x: _to_host(x * 2), {}, [device]),
        "result and out_shardings": (lambda x: _to_host(x * 2), to_host, [device]),
        "back by out_shardings": (
            lambda x: _to_host(x * 2),
            {"out_shardings": on(DEVICE)},
            [device],
        ),
        "there and back": (lambda x: _to_device(_to_host(x * 2)) + 1, {}, [device]),
        "inner jit": (lambda x: jax.jit(_to_device)(x) * 2, {}, [host]),
        "result of an inner jit": (lambda x: jax.jit(_to_host)(x * 2), {}, [device]),
        "options of an inner jit": (
            lambda x: jax.jit(double, out_shardings=on(HOST))(x),
            {},
            [device],
        ),
        "batch": (jax.vmap(lambda x: _to_device(x) * 2), {}, [host]),
        "scan's results": (_stacked, {}, [device]),
        "scan's operands": (_layers, {}, [stack(HOST), device]),
        "gradient of scan's operands": (
            jax.grad(lambda w, x: _layers(w, x).sum(), 1),
            {},
            [stack(HOST), device],
        ),
        "fori_loop": (_repeated, {}, [device]),
        "while_loop": (_carried, {}, [device]),
        "branches": (_branches, {}, [device]),
        "donated": (
            lambda x: _to_host(_to_device(x) * 2),
            {"donate_argnums": 0, **to_host},
            [host],
        ),
        "written in place": (_overwritten, {"donate_argnums": 0, **to_host}, [stack(HOST), device]),
        "derivative": (
            jax.grad(lambda w, x: jnp.sin(_to_device(w) * x).sum(), 1),
            {},
            [host, device],
        ),
        "custom_vjp": (jax.grad(_custom), {}, [device]),
    }
    for policy in POLICIES:
        for loop in (False, True):
            function = jax.grad(_offloaded(policy, loop))
            rows[f"checkpoint, {policy}{', scan' if loop else ''}"] = function, {}, [device]
    exports = {
        "argument": (lambda x: _to_device(x) * 2, {}, [host]),
        "result": (lambda x: _to_host(x * 2), {}, [device]),
        "out_shardings": (double, to_host, [device]),
        "inside": (lambda x: _to_device(_to_host(x * 2)) + 1, {}, [device]),
    }
    for name, (function, options, arguments) in exports.items():
        call = lambda *xs, f=function, o=options, a=arguments: _exported(f, platform, o, *a)(*xs)
        rows[f"exported, {name}"] = call, {}, arguments
    return rows


def cells(sizes: dict[str, Any] | None) -> list[str]:
    """Return a program's row of the table in `docs/devices/memory-kinds.md`.

    Args:
      sizes: what ``sizes`` returned; None if the program is refused.

    Returns:
      For the device and for the host, the KiB of arguments, results and temporaries.
    """
    if sizes is None:
        return ["refused", ""]
    kinds = ("argument", "output", "temp")
    return [
        " / ".join(str(round(sizes[f"{side}{kind}"] / 1024)) for kind in kinds)
        for side in ("", "host_")
    ]


def rows_of_page(page: str, chip: str) -> dict[str, list[str]]:
    """Return the cells of a chip by program, from the text of the page."""
    table = [line.strip("|").split("|") for line in page.splitlines() if line.startswith("|")]
    header, _, *rows = [[cell.strip() for cell in line] for line in table]
    first = header.index(f"{chip}: device")
    return {row[0]: row[first : first + 2] for row in rows}


def sizes(compiled) -> dict[str, int]:
    """Return the bytes that a program takes of the device and of the host."""
    memory = compiled.memory_analysis()
    names = ("argument", "output", "temp", "alias")
    names = [f"{side}{name}" for side in ("", "host_") for name in names]
    return {name: getattr(memory, f"{name}_size_in_bytes") for name in names}
