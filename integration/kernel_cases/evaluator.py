"""An evaluator of kernels' Mosaic text with NumPy, which checks what a TPU would compute.

It knows the operations that kernels are lowered to, in generic form with stable names: windows
move over the grid as on a TPU, memory that nothing was written to is NaN, and copies and
semaphores happen in order.
"""

import base64
import json
import math
import re
from itertools import product
from typing import Any

import ml_dtypes
import numpy as np

from .bits import recast

_DTYPES = {
    "f32": np.float32,
    "bf16": ml_dtypes.bfloat16,
    "f8E4M3FN": ml_dtypes.float8_e4m3fn,
    "f8E5M2": ml_dtypes.float8_e5m2,
    "i32": np.int32,
    "i16": np.int16,
    "i8": np.int8,
    "i4": ml_dtypes.int4,
    "i2": ml_dtypes.int2,
    "i1": np.bool_,
    "index": np.int64,
}
_erf = np.vectorize(math.erf)


class Operation:
    """An operation: its name, operands and results by name, attributes, types, regions."""

    def __init__(self, results, name, operands, regions, attributes, signature):
        self.results, self.name, self.operands = results, name, operands
        self.regions, self.attributes = regions, attributes
        left, _, right = signature.rpartition(" -> ")
        self.types = (
            [] if right == "()" else _split(right.strip("()") if right[0] == "(" else right)
        )
        self.operand_types = _split(left.strip()[1:-1])

    def numbers(self, name):
        """The integers of an array attribute."""
        text = _searched(rf"\b{name} = (?:array<\w+: ?)?\[?([-\d, ]*)[\]>:]", self.attributes)
        return [int(n) for n in text.split(",") if n.strip()]

    def number(self, name):
        return int(_searched(rf"\b{name} = (-?\d+)", self.attributes))


def _searched(pattern, text):
    """The group of a pattern that the text has."""
    match = re.search(pattern, text)
    assert match is not None, f"{pattern} is not in {text[:200]!r}"
    return match[1]


def _split(text):
    """The parts of a list that are not inside of brackets."""
    parts, depth, start = [], 0, 0
    for i, c in enumerate(text):
        depth += (c in "<([{") - (c in ">)]}" and text[i - 1] != "-")
        if c == "," and depth == 0:
            parts.append(text[start:i].strip())
            start = i + 1
    return [*parts, text[start:].strip()] if text[start:].strip() else parts


class _Parser:
    def __init__(self, text):
        self.text, self.place = text, 0

    def skip(self, pattern):
        match = re.compile(rf"\s*{pattern}").match(self.text, self.place)
        if match is not None:
            self.place = match.end()
        return match

    def take(self, pattern):
        """The group of a pattern that must come next."""
        match = self.skip(pattern)
        assert match is not None, f"{pattern} is expected at {self.text[self.place :][:60]!r}"
        return match[1]

    def block(self):
        """The arguments and operations of a region, after its brace."""
        head = self.skip(r"\^bb0\(([^\n]*)\):")
        arguments = [part.split(":")[0].strip() for part in _split(head[1])] if head else []
        operations = []
        while not self.skip(r"\}"):
            operations.append(self.operation())
        return arguments, operations

    def operation(self):
        left = self.skip(r"(%[\w, %]+) = ")
        results = [part.strip() for part in left[1].split(",")] if left else []
        name = self.take(r'"stable_mosaic\.([\w.]+)"')
        operands = [part.strip() for part in self.take(r"\(([^)]*)\)").split(",") if part]
        regions = []
        if self.skip(r"\("):
            while self.skip(r"(, )?\{"):
                regions.append(self.block())
            self.skip(r"\)")
        self.skip(r"\{")
        start, depth = self.place, 1
        while depth:
            depth += {"{": 1, "}": -1}.get(self.text[self.place], 0)
            self.place += 1
        attributes = self.text[start : self.place - 1]
        signature = self.take(r": ([^\n]*)")
        return Operation(results, name, operands, regions, attributes, signature)


def _shape_and_dtype(text) -> tuple[Any, Any]:
    """The shape and the dtype of a type; ``None`` for a traced size."""
    match = re.match(r"(?:vector|memref)<((?:(?:\d+|\?)x)*)([^,>]*)", text)
    if match is None:
        return (), _DTYPES[text]
    shape = tuple(None if n == "?" else int(n) for n in match[1].split("x") if n)
    return shape, np.int32 if match[2].startswith("!") else _DTYPES[match[2]]


def _uninitialized(shape, dtype):
    is_float = np.dtype(dtype).kind == "f" or np.dtype(dtype) == ml_dtypes.bfloat16
    return np.full(shape, np.nan if is_float else 77, dtype)


_WIDE = {
    "arith.addf": np.add,
    "arith.subf": np.subtract,
    "arith.mulf": np.multiply,
    "arith.divf": np.divide,
    "arith.maximumf": np.maximum,
    "arith.minimumf": np.minimum,
    "arith.addi": np.add,
    "arith.subi": np.subtract,
    "arith.muli": np.multiply,
    "arith.andi": np.bitwise_and,
    "arith.ori": np.bitwise_or,
    "arith.xori": np.bitwise_xor,
    "arith.maxsi": np.maximum,
    "arith.minsi": np.minimum,
    "arith.divsi": lambda x, y: (np.sign(x) * np.sign(y) * (abs(x) // abs(y))).astype(x.dtype),
    "arith.remf": np.fmod,
    "arith.remsi": lambda x, y: np.fmod(x, y),
    "arith.shli": np.left_shift,
    "arith.shrsi": np.right_shift,
    "math.absf": np.abs,
    "math.absi": np.abs,
    "math.atan2": np.arctan2,
    "math.ceil": np.ceil,
    "math.cos": np.cos,
    "math.ctlz": np.vectorize(lambda x: 32 - int(np.uint32(x)).bit_length()),
    "math.ctpop": np.bitwise_count,
    "math.erf": _erf,
    "math.exp": np.exp,
    "math.exp2": np.exp2,
    "math.floor": np.floor,
    "math.log": np.log,
    "math.log1p": np.log1p,
    "math.powf": np.power,
    "math.round": lambda x: np.copysign(np.floor(np.abs(x) + np.float32(0.5)), x),
    "math.roundeven": np.rint,
    "math.rsqrt": lambda x: 1 / np.sqrt(x),
    "math.sin": np.sin,
    "math.sqrt": np.sqrt,
    "math.tan": np.tan,
    "math.tanh": np.tanh,
    "tpu.logistic": lambda x: 1 / (1 + np.exp(-x)),
}
_UNSIGNED = {
    "arith.divui": np.floor_divide,
    "arith.remui": np.remainder,
    "arith.maxui": np.maximum,
    "arith.minui": np.minimum,
    "arith.shrui": np.right_shift,
}
_CONVERSIONS = frozenset("extf truncf sitofp fptosi extsi trunci index_cast".split())
_PREDICATES = [np.equal, np.not_equal, np.less, np.less_equal, np.greater, np.greater_equal]
_KINDS = {
    "add": np.add,
    "maximumf": np.maximum,
    "minimumf": np.minimum,
    "maxsi": np.maximum,
    "minsi": np.minimum,
}


class Kernel:
    """A kernel's module, which can be run on arrays."""

    def __init__(self, text):
        parser = _Parser(text[text.index("{", text.index("= 15")) :])
        parser.skip(r"\{")
        _, functions = parser.block()
        self.functions = {}
        for op in functions:
            symbol = _searched(r'sym_name = "(\w+)"', op.attributes)
            self.functions[symbol] = op
        self.main = functions[0]

    def run(self, operands, outs, aliases):
        """The results for some operands: sizes of the grid, scalars, inputs.

        ``outs`` has the shape and dtype of each result, ``aliases`` the operand of some.
        """
        attributes = self.main.attributes
        scalar_count = self.main.number("scalar_prefetch")
        scratch_count = self.main.number("scratch_operands")
        arguments, body = self.main.regions[0]
        has_grid = "iteration_bounds" in attributes
        bounds = self.main.numbers("iteration_bounds") if has_grid else []
        dynamic = [i for i, n in enumerate(bounds) if n < 0]
        for i, size in zip(dynamic, operands, strict=False):
            bounds[i] = int(size)
        self.bounds = bounds
        operands = [np.array(x) for x in operands[len(dynamic) :]]
        scalars, arrays = operands[:scalar_count], operands[scalar_count:]
        for i, (shape, dtype) in enumerate(outs):
            alias = aliases.get(i)
            start = _uninitialized(shape, dtype)
            arrays.append(start if alias is None else operands[alias - len(dynamic)].copy())
        types = _types_of(attributes)
        first = len(bounds)
        names = arguments[first:]
        scratch = [
            np.zeros(s, d) if "semaphore" in t else _uninitialized(s, d)
            for t in types[len(types) - scratch_count :]
            for s, d in [_shape_and_dtype(t)]
        ]
        windows = self.windows() if has_grid else [None] * len(arrays)
        buffers: dict = {}
        for position in product(*map(range, bounds)):
            step = [np.int32(i) for i in position]
            blocks, regions = [], []
            for i, (array, window) in enumerate(zip(arrays, windows, strict=True)):
                if window is None:
                    blocks.append(array)
                    regions.append(None)
                    continue
                region, block = self.block(array, window, [*step, *scalars], buffers.get(i))
                buffers[i] = (region, block)
                blocks.append(block)
                regions.append(region)
            env: dict[str, object] = dict(zip(arguments, step, strict=False))
            env.update(zip(names, [*scalars, *blocks, *scratch], strict=True))
            self.operations(body, env)
            for i in range(len(arrays) - len(outs), len(arrays)):
                if regions[i] is not None:
                    _write_back(arrays[i], regions[i], blocks[i])
        return arrays[len(arrays) - len(outs) :]

    def windows(self):
        """The function and the sizes of each window, and whether its index counts elements."""
        text = self.main.attributes
        text = text[text.index("window_params = [") + len("window_params = [") :]
        result = []
        for part in _split(text[: text.rindex("]")]):
            symbol = re.search(r"transform_indices = @(\w+)", part)
            if symbol is None:
                result.append(None)
                continue
            sizes = _searched(r"window_bounds = array<i64: ([^>]*)>", part)
            by_element = "element_window" in part
            result.append((symbol[1], [int(n) for n in sizes.split(",")], by_element))
        return result

    def block(self, array, window, arguments, previous):
        symbol, sizes, by_element = window
        names, body = self.functions[symbol].regions[0]
        index = self.operations(body, dict(zip(names, arguments, strict=True)))
        starts = [int(i) * (1 if by_element else n) for i, n in zip(index, sizes, strict=True)]
        region = tuple(starts)
        if previous is not None and previous[0] == region:
            return previous
        block = _uninitialized(sizes, array.dtype)
        inside = tuple(
            slice(0, max(min(n, size - s), 0))
            for s, n, size in zip(starts, sizes, array.shape, strict=True)
        )
        assert all(0 <= s < size for s, size in zip(starts, array.shape, strict=True))
        source = tuple(slice(s, s + part.stop) for s, part in zip(starts, inside, strict=True))
        block[inside] = array[source]
        return region, block

    def operations(self, operations, env):
        """Run operations; the operands of the last one are the results."""
        for op in operations:
            values = [env[name] for name in op.operands]
            if op.name in ("func.return", "scf.yield", "tpu.yield", "scf.condition"):
                return values
            results = self.apply(op, values, env)
            env.update(zip(op.results, results, strict=True))
        raise AssertionError("a block without an end")

    def apply(self, op, values, env):
        name, short = op.name, op.name.split(".")[1]
        shape, dtype = (
            _shape_and_dtype(op.types[0]) if op.types and "!" not in op.types[0] else ((), None)
        )
        with np.errstate(all="ignore"):
            if name in _WIDE:
                return [np.asarray(_WIDE[name](*values)).astype(dtype)]
            if name in _UNSIGNED:
                unsigned = [np.asarray(x).view(f"u{x.dtype.itemsize}") for x in values]
                return [_UNSIGNED[name](*unsigned).view(dtype)]
            if name.startswith("arith.") and short in _CONVERSIONS:
                return [np.asarray(values[0]).astype(dtype)]
        method = getattr(self, name.replace(".", "_"), None)
        if method is not None:
            return method(op, values, env, shape, dtype)
        raise NotImplementedError(name)

    # Arithmetic

    def arith_constant(self, op, values, env, shape, dtype):
        text = _searched(r"value = (?:dense<)?([^ >]*)", op.attributes)
        if text in ("true", "false"):
            value = text == "true"
        elif text.startswith("0x"):
            width = np.dtype(dtype).itemsize
            value = np.frombuffer(int(text, 16).to_bytes(width, "little"), dtype)[0]
        else:
            value = float(text) if "." in text or "e" in text else int(text)
        return [np.full(shape, value, dtype)]

    def arith_extui(self, op, values, env, shape, dtype):
        x = values[0]
        return [(x if x.dtype == bool else x.view(f"u{x.dtype.itemsize}")).astype(dtype)]

    def arith_uitofp(self, op, values, env, shape, dtype):
        return self.arith_extui(op, values, env, shape, dtype)

    def arith_fptoui(self, op, values, env, shape, dtype):
        return [np.asarray(values[0]).astype(np.int64).astype(np.uint32).view(np.int32)]

    def arith_cmpf(self, op, values, env, shape, dtype):
        chosen = {1: 0, 2: 4, 3: 5, 4: 2, 5: 3}[op.number("predicate")]
        return [np.asarray(_PREDICATES[chosen](*values))]

    def arith_cmpi(self, op, values, env, shape, dtype):
        number = op.number("predicate")
        if number > 5:
            values = [np.asarray(x).view(f"u{x.dtype.itemsize}") for x in values]
        return [np.asarray(_PREDICATES[number if number < 6 else number - 4](*values))]

    def arith_select(self, op, values, env, shape, dtype):
        return [np.where(*values)]

    def arith_bitcast(self, op, values, env, shape, dtype):
        return [np.asarray(values[0]).view(dtype)]

    def tpu_bitcast(self, op, values, env, shape, dtype):
        if len(shape) < 2:
            return [np.asarray(values[0]).view(dtype)]
        return [recast(values[0], dtype).reshape(shape)]

    def tpu_memref_bitcast(self, op, values, env, shape, dtype):
        view = recast(values[0], dtype).reshape(shape)
        view.flags.writeable = False  # a write would not reach the buffer
        return [view]

    def cf_assert(self, op, values, env, shape, dtype):
        assert values[0], op.attributes
        return []

    def tpu_pack_elementwise(self, op, values, env, shape, dtype):
        target = _DTYPES[op.attributes.split("target_type = ")[1]]
        parts = [x.astype(target) for x in values]
        return [np.stack(parts, -1).view(dtype).reshape(shape)]

    def tpu_unpack_elementwise(self, op, values, env, shape, dtype):
        source = _DTYPES[op.attributes.split("source_type = ")[1]]
        parts = np.ascontiguousarray(values[0])[..., None].view(source)
        return [parts[..., op.number("index")].astype(dtype)]

    def tpu_stochastic_convert(self, op, values, env, shape, dtype):
        x, random = values
        down = (x.view(np.uint32) & np.uint32(0xFFFF0000)).view(np.float32)
        up = ((x.view(np.uint32) & np.uint32(0xFFFF0000)) + np.uint32(0x10000)).view(np.float32)
        is_up = (x - down) / (up - down) + (random & 0xFFFF) / 65536 >= 1
        return [np.where(is_up, up, down).astype(dtype)]

    def tpu_trace_value(self, op, values, env, shape, dtype):
        return []

    def tpu_log(self, op, values, env, shape, dtype):
        return []

    def tpu_reduce_precision(self, op, values, env, shape, dtype):
        drop = 23 - op.number("mantissa_bits")
        bits = values[0].view(np.int32)
        half = (1 << (drop - 1)) - 1 + ((bits >> drop) & 1)
        return [((bits + half) & ~((1 << drop) - 1)).view(np.float32)]

    # Vectors

    def vector_broadcast(self, op, values, env, shape, dtype):
        return [np.broadcast_to(values[0], shape).copy()]

    def vector_shape_cast(self, op, values, env, shape, dtype):
        return [values[0].reshape(shape)]

    def vector_extract(self, op, values, env, shape, dtype):
        return [values[0][tuple(op.numbers("static_position"))]]

    def vector_extract_strided_slice(self, op, values, env, shape, dtype):
        starts = op.numbers("offsets")
        return [values[0][tuple(slice(s, s + n) for s, n in zip(starts, shape, strict=True))]]

    def vector_multi_reduction(self, op, values, env, shape, dtype):
        kind = _searched(r"#vector.kind<(\w+)>", op.attributes)
        axes = tuple(op.numbers("reduction_dims"))
        total = _KINDS[kind].reduce(values[0], axis=axes)
        return [_KINDS[kind](total, values[1]).astype(dtype)]

    def tpu_concatenate(self, op, values, env, shape, dtype):
        return [np.concatenate(values, op.number("dimension"))]

    def tpu_transpose(self, op, values, env, shape, dtype):
        return [values[0].transpose(op.numbers("permutation"))]

    def tpu_iota(self, op, values, env, shape, dtype):
        (axis,) = op.numbers("dimensions")
        return [np.indices(shape)[axis].astype(dtype)]

    def tpu_dynamic_rotate(self, op, values, env, shape, dtype):
        assert int(values[1]) >= 0
        axis, amount = op.number("dimension"), int(values[1])
        if "stride_dimension" not in op.attributes:
            return [np.roll(values[0], amount, axis)]
        along, stride = op.number("stride_dimension"), op.number("stride")
        parts = np.split(values[0], values[0].shape[along], along)
        rolled = [np.roll(part, amount + i * stride, axis) for i, part in enumerate(parts)]
        return [np.concatenate(rolled, along)]

    def tpu_dynamic_gather(self, op, values, env, shape, dtype):
        (axis,) = op.numbers("dimensions")
        return [np.take_along_axis(values[0], values[1], axis)]

    def tpu_reduce_index(self, op, values, env, shape, dtype):
        find = np.argmax if "arg_max" in op.attributes else np.argmin
        return [find(values[0], op.number("axis")).astype(dtype)]

    def tpu_matmul(self, op, values, env, shape, dtype):
        text = _searched(r"dot_dimension_numbers<(.*?)>", op.attributes)
        lists = [[int(n) for n in part[1:-1].split(",") if n] for part in _split(text)]
        (xc,), (yc,), xf, yf, _, xb, yb = lists
        letters = [["?"] * values[0].ndim, ["?"] * values[1].ndim]
        for side, dims, text in ((0, xb, "a"), (1, yb, "a"), (0, [xc], "k"), (1, [yc], "k")):
            for d in dims:
                letters[side][d] = text
        letters[0][xf[0]], letters[1][yf[0]] = "m", "n"
        out = ("a" if xb else "") + "mn"
        wide = np.float64 if np.dtype(dtype).kind == "f" else np.int64
        x, y = (v.astype(wide) for v in values[:2])
        product = np.einsum(f"{''.join(letters[0])},{''.join(letters[1])}->{out}", x, y)
        return [(product + values[2]).astype(dtype)]

    def tpu_conv(self, op, values, env, shape, dtype):
        x, kernel, start = values
        assert "<0, 3, [1, 2], 2, 3, [0, 1], 0, 3, [1, 2]>" in op.attributes
        pads = op.numbers("padding")
        padded = np.pad(x, [(0, 0), tuple(pads[:2]), tuple(pads[2:]), (0, 0)])
        windows = np.lib.stride_tricks.sliding_window_view(padded, kernel.shape[:2], (1, 2))
        return [(np.einsum("bhwcij,ijcf->bhwf", windows, kernel) + start).astype(dtype)]

    # Memory

    def vector_load(self, op, values, env, shape, dtype):
        ref, *starts = values
        part = ref[tuple(slice(int(s), int(s) + n) for s, n in zip(starts, shape, strict=True))]
        assert part.shape == shape, "a read out of bounds"
        return [part.copy()]

    def tpu_strided_load(self, op, values, env, shape, dtype):
        ref, *starts = values
        parts = zip(starts, shape, op.numbers("strides"), strict=True)
        return [ref[np.ix_(*[int(s) + np.arange(n) * step for s, n, step in parts])]]

    def tpu_vector_store(self, op, values, env, shape, dtype):
        value, ref, *starts = values
        mask = True
        if len(starts) > ref.ndim:
            *starts, mask = starts
        sizes = zip(starts, value.shape, strict=True)
        part = ref[tuple(slice(int(s), int(s) + n) for s, n in sizes)]
        assert part.shape == value.shape, "a write out of bounds"
        np.copyto(part, value, where=mask)
        return []

    def tpu_strided_store(self, op, values, env, shape, dtype):
        value, ref, *starts = values
        parts = zip(starts, value.shape, op.numbers("strides"), strict=True)
        ref[tuple(slice(int(s), int(s) + n * step, step) for s, n, step in parts)] = value
        return []

    def memref_load(self, op, values, env, shape, dtype):
        ref, *starts = values
        return [ref[tuple(map(int, starts))]]

    def memref_store(self, op, values, env, shape, dtype):
        value, ref, *starts = values
        ref[tuple(map(int, starts))] = value
        return []

    def memref_alloca(self, op, values, env, shape, dtype):
        return [_uninitialized(shape, dtype)]

    def tpu_sem_alloc(self, op, values, env, shape, dtype):
        return [np.zeros(_shape_and_dtype(op.types[0])[0], np.int32)]

    def tpu_memref_slice(self, op, values, env, shape, dtype):
        ref, *starts = values
        shape, _ = _shape_and_dtype(op.types[0])
        sizes = iter(starts[ref.ndim :])
        starts = starts[: ref.ndim]
        shape = tuple(int(next(sizes)) if n is None else n for n in shape)
        part = ref[tuple(slice(int(s), int(s) + n) for s, n in zip(starts, shape, strict=True))]
        assert part.shape == shape, "a part out of bounds"
        return [part]

    def tpu_memref_reshape(self, op, values, env, shape, dtype):
        return [values[0].reshape(_shape_and_dtype(op.types[0])[0])]

    def tpu_memref_squeeze(self, op, values, env, shape, dtype):
        return [values[0].reshape(_shape_and_dtype(op.types[0])[0])]

    def tpu_enqueue_dma(self, op, values, env, shape, dtype):
        source, target, semaphore = values
        target[...] = source
        semaphore += 1
        return []

    def tpu_wait_dma(self, op, values, env, shape, dtype):
        semaphore = values[2]
        assert semaphore > 0, "waits for a copy that was not started"
        semaphore -= 1
        return []

    def tpu_sem_signal(self, op, values, env, shape, dtype):
        values[0][...] += values[1]
        return []

    def tpu_sem_wait(self, op, values, env, shape, dtype):
        assert values[0] >= values[1], "waits for ever"
        values[0][...] -= values[1]
        return []

    def tpu_sem_read(self, op, values, env, shape, dtype):
        return [values[0][()]]

    def tpu_iteration_bound(self, op, values, env, shape, dtype):
        return [np.int32(self.bounds[op.number("dim")])]

    # Control flow

    def tpu_region(self, op, values, env, shape, dtype):
        return self.operations(op.regions[0][1], dict(env))

    def scf_if(self, op, values, env, shape, dtype):
        return self.operations(op.regions[0 if values[0] else 1][1], dict(env))

    def scf_for(self, op, values, env, shape, dtype):
        start, end, step, *carry = values
        names, body = op.regions[0]
        for i in range(int(start), int(end), int(step)):
            inner = env | dict(zip(names, [np.int32(i), *carry], strict=True))
            carry = self.operations(body, inner)
        return carry

    def scf_while(self, op, values, env, shape, dtype):
        (names, test), (body_names, body) = op.regions
        while True:
            flag, *values = self.operations(test, env | dict(zip(names, values, strict=True)))
            if not flag:
                return values
            values = self.operations(body, env | dict(zip(body_names, values, strict=True)))


def _types_of(attributes):
    text = attributes[attributes.index("function_type = (") + len("function_type = (") :]
    return _split(text[: text.index(") -> ()")])


def _write_back(array, starts, block):
    part = array[tuple(slice(s, s + n) for s, n in zip(starts, block.shape, strict=True))]
    part[...] = block[tuple(slice(0, n) for n in part.shape)]


def kernel_texts(module):
    """The Mosaic module of each kernel in the text of a lowered program."""
    configs = re.findall(r'backend_config = "((?:[^"\\]|\\.)*)"', module)
    bodies = [json.loads(c.replace("\\22", '"'))["custom_call_config"]["body"] for c in configs]
    return [base64.b64decode(body).decode() for body in bodies]
