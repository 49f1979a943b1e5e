"""The program of docs/devices/scaling.md, with small sizes on described CPU devices."""

from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path

import pytest

pytest.importorskip("ricci_xla", reason="compiled programs need the runtime")

EXAMPLE = Path(__file__).parents[2] / "docs" / "examples" / "plan_decoder.py"


@pytest.fixture(scope="module")
def example():
    spec = spec_from_file_location("plan_decoder", EXAMPLE)
    module = module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture(scope="module")
def found(example):
    shape = example.Shape(layers=2, width=64, heads=4, hidden=96, words=128, length=32)
    return shape, example.planned("cpu:8", 4, 2, shape)


def parameters(shape):
    layer = 4 * shape.width**2 + 3 * shape.width * shape.hidden + 2 * shape.width
    return shape.layers * layer + 2 * shape.words * shape.width + shape.width


def test_each_device_holds_its_part_of_weights_and_moments(found):
    shape, plan = found
    whole = shape.width * (2 * shape.layers + 1)  # scales of normalizations are not divided
    divided = parameters(shape) - whole
    tokens = 2 * (shape.length + 1) * 4
    assert plan.memory.arguments == 10 * divided // 8 + 10 * whole + tokens
    assert plan.memory.donated == plan.memory.arguments - tokens


def test_operations_are_those_of_the_products(found):
    shape, plan = found
    words = shape.length  # of each device
    products = 4 * shape.width**2 + 3 * shape.width * shape.hidden
    scores = 2 * shape.length * shape.width
    # Forward, again, and twice backward; the last product of a layer is not needed again.
    layer = 8 * (products + scores) - 2 * shape.width * shape.hidden
    expected = words * (shape.layers * layer + 6 * shape.width * shape.words)
    assert expected <= plan.flops < 1.5 * expected
    assert plan.compiler_flops < plan.flops
    assert plan.unknown_loops == 0


def test_sharded_products_need_no_all_to_all(found):
    _, plan = found
    kinds = {(row.kind, row.axes) for row in plan.traffic}
    assert ("all-gather", ("fsdp",)) in kinds
    assert ("all-gather", ("tensor",)) in kinds
    assert not any(kind == "all-to-all" for kind, _ in kinds), str(plan.communication)


def test_the_row_of_a_table(example, found):
    _, plan = found
    assert plan.time is None  # a CPU is not in the table of chips
    assert example.row("cpu:8", 4, 2, plan).startswith("| cpu:8 | 4 x 2 | 0.00 | ")
    assert str(plan).startswith("step on 8 x cpu")
