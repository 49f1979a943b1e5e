"""Reading the texts of compiled programs as the compilers of several platforms write them."""

# ruff: noqa: E501  # compilers write long lines

import numpy as np
import pytest

from ricci_parallel.reports._device_groups import MeshAxes, read_groups, read_pairs
from ricci_parallel.reports._hlo_text import HloModule, Line, arrays_in, shape_bytes, trip_count

# As a TPU's compiler writes it: tiled layouts, memory spaces, comments in tuples, tables of lines.
TPU = """HloModule jit_f, is_scheduled=true, num_partitions=4

FileNames
1 "/home/me/it's \\"mine\\".py"

FunctionNames
1 "jit(f)/dot_general"

FileLocations
1 {file_name_id=1 function_name_id=1 line=12 end_line=12 column=4 end_column=4}

StackFrames
1 {file_location_id=1 parent_frame_id=1}

%async_collective_fusion.17 (param_0.25: bf16[8,8], param_1: u32[]) -> (bf16[16,8], u32[]) {
  %param_0.25 = bf16[8,8]{1,0:T(8,128)(2,1)S(1)} parameter(0)
  %param_1 = u32[]{:S(2)} parameter(1)
  %all-gather.14 = bf16[16,8]{1,0:T(8,128)(2,1)S(1)} all-gather(%param_0.25), channel_id=4, replica_groups=[2,2]<=[4], dimensions={0}, metadata={op_name="params[\\'w\\']"}
  ROOT %tuple = (bf16[16,8]{1,0:T(8,128)(2,1)}, u32[]{:S(2)}) tuple(%all-gather.14, /*index=1*/%param_1)
}

ENTRY %main.0_spmd (param: bf16[8,8]) -> bf16[16,8] {
  %param = bf16[8,8]{1,0:T(8,128)(2,1)} parameter(0), metadata={op_name="params[\\'w\\']"}
  %zero = u32[]{:S(2)} constant(0)
  %fusion = (bf16[16,8]{1,0:T(8,128)(2,1)}, u32[]{:S(2)}) fusion(%param, %zero), kind=kCustom, calls=%async_collective_fusion.17
  ROOT %gte = bf16[16,8]{1,0:T(8,128)(2,1)} get-tuple-element(%fusion), index=0, metadata={op_name="jit(f)/dot_general" stack_frame_id=1}
}
"""
# An older form: the line stands in the metadata itself.
OLDER = """HloModule m

ENTRY main {
  p0 = f32[4]{0} parameter(0)
  ROOT %r = f32[4]{0} all-reduce-start(%p0), replica_groups={}, metadata={op_name="jit(f)/psum" source_file="a.py" source_line=3}
}
"""


def test_computations_and_instructions_of_a_tpu():
    module = HloModule(TPU)
    assert list(module.computations) == ["async_collective_fusion.17", "main.0_spmd"]
    entry = module.entry
    assert (entry.root.name, entry.root.index) == ("gte", 0)
    fusion = entry.instructions["fusion"]
    assert (fusion.opcode, fusion.operands) == ("fusion", ("param", "zero"))
    assert list(fusion.called()) == [("calls", "async_collective_fusion.17")]
    inner = module.computations["async_collective_fusion.17"]
    gathered = inner.instructions["all-gather.14"]
    assert gathered.op_name == "params['w']"
    assert inner.root.operands == ("all-gather.14", "param_1")
    assert inner.parameter(1).name == "param_1"
    assert shape_bytes(inner.instructions["param_0.25"].shape) == 128
    assert [user.name for user in inner.users("all-gather.14")] == ["tuple"]


def test_lines_by_stack_frames_and_in_the_metadata():
    module = HloModule(TPU)
    assert module.line_of(module.entry.root) == Line('/home/me/it\'s "mine".py', 12, 4)
    assert module.line_of(module.entry.instructions["param"]) is None
    older = HloModule(OLDER.replace("ENTRY main {", "ENTRY main (p0: f32[4]) -> f32[4] {"))
    assert older.line_of(older.entry.root) == Line("a.py", 3)


@pytest.mark.parametrize(
    ("shape", "arrays", "size"),
    [
        ("f32[]", [("f32", ())], 4),
        ("pred[3]{0}", [("pred", (3,))], 3),
        ("c64[2,2]{1,0}", [("c64", (2, 2))], 32),
        ("s4[5]{0}", [("s4", (5,))], 3),
        ("(f8e4m3fn[4]{0}, token[])", [("f8e4m3fn", (4,)), ("token", ())], 4),
        ("f32[<=8,2]{1,0}", [("f32", (8, 2))], 64),
        ("f32[0,3]{1,0}", [("f32", (0, 3))], 0),
    ],
)
def test_sizes_of_types(shape, arrays, size):
    assert (arrays_in(shape), shape_bytes(shape)) == (arrays, size)


@pytest.mark.parametrize(
    ("text", "groups"),
    [
        ("{{0,1},{2,3}}", [[0, 1], [2, 3]]),
        ("{}", [[0, 1, 2, 3, 4, 5, 6, 7]]),
        ("[4,2]<=[8]", [[0, 1], [2, 3], [4, 5], [6, 7]]),
        ("[2,4]<=[4,2]T(1,0)", [[0, 2, 4, 6], [1, 3, 5, 7]]),
        ("[4,2]<=[2,2,2]T(2,1,0)", [[0, 4], [1, 5], [2, 6], [3, 7]]),
        ("mesh['axis_0'=4,'axis_1'=2] {'axis_0'}", [[0, 2, 4, 6], [1, 3, 5, 7]]),
        ("mesh['a'=4,'b'=2] {'a':(2)2,'b'}", [[0, 1, 2, 3], [4, 5, 6, 7]]),
        ("mesh['a'=4,'b'=2] {'a':(1)2}", [[0, 4], [1, 5], [2, 6], [3, 7]]),
    ],
)
def test_groups_of_devices(text, groups):
    found = read_groups(f"channel_id=1, replica_groups={text}, dimensions={{0}}", 8)
    assert sorted(map(sorted, found)) == groups


def test_pairs_of_a_permutation():
    assert read_pairs("source_target_pairs={{0,2},{2,0},{1,1}}") == [(0, 2), (2, 0), (1, 1)]
    assert read_pairs("source_target_pairs={}") == []


# A loop as a TPU's compiler writes it, without the number of its iterations.
LOOP = """HloModule l

%body (s: (f32[8], u32[])) -> (f32[8], u32[]) {
  %s = (f32[8]{0}, u32[]) parameter(0)
  %x = f32[8]{0} get-tuple-element(%s), index=0
  %count = u32[] get-tuple-element(%s), index=1
  %copied = u32[]{:S(6)} copy(%count)
  %step = u32[] constant(STEP)
  %next = u32[] OPERATION(%copied, %step)
  ROOT %state = (f32[8]{0}, u32[]) tuple(%x, %next)
}

%condition (s.1: (f32[8], u32[])) -> pred[] {
  %limit = u32[]{:T(128)} constant(7)
  %s.1 = (f32[8]{0}, u32[]) parameter(0)
  %count.1 = u32[] get-tuple-element(%s.1), index=1
  ROOT %less = pred[] compare(%count.1, %limit), direction=DIRECTION
}

ENTRY %main (p: f32[8]) -> f32[8] {
  %p = f32[8]{0} parameter(0)
  %zero = u32[] constant(START)
  %begin = u32[] copy(%zero)
  %given = (f32[8]{0}, u32[]) tuple(%p, %begin)
  %loop = (f32[8]{0}, u32[]) while(%given), condition=%condition, body=%body
  ROOT %out = f32[8]{0} get-tuple-element(%loop), index=0
}
"""


@pytest.mark.parametrize(
    ("start", "step", "operation", "direction", "trips"),
    [
        (0, 1, "add", "LT", 7),
        (0, 2, "add", "LT", 4),
        (3, 2, "add", "LT", 2),
        (9, 2, "add", "LT", 0),
        (0, 0, "add", "LT", None),
        (1, 2, "multiply", "LT", None),
        (0, 1, "add", "NE", None),
    ],
)
def test_iterations_of_a_loop_that_counts(start, step, operation, direction, trips):
    text = LOOP.replace("START", str(start)).replace("STEP", str(step))
    module = HloModule(text.replace("OPERATION", operation).replace("DIRECTION", direction))
    assert trip_count(module, module.entry, module.entry.instructions["loop"]) == trips


class Grid:
    """The attributes of a mesh that `MeshAxes` reads; devices are numbers."""

    def __init__(self, devices, *axis_names):
        self.devices, self.axis_names = np.array(devices), axis_names


def test_axes_of_groups_are_those_of_the_users_mesh():
    axes = MeshAxes([Grid([[3, 1], [0, 2]], "x", "y")], [0, 1, 2, 3])
    assert axes.of_groups(frozenset([frozenset([3, 1]), frozenset([0, 2])])) == ("y",)
    assert axes.of_groups(frozenset([frozenset([3, 0]), frozenset([1, 2])])) == ("x",)
    assert axes.of_groups(frozenset([frozenset(range(4))])) == ("x", "y")
    assert axes.of_groups(frozenset([frozenset([0, 1]), frozenset([2, 3])])) is None
    assert axes.of_pairs([(3, 1), (1, 3), (0, 2), (2, 0)]) == ("y",)
    assert axes.of_pairs([(3, 0), (1, 0)]) == ("x", "y")


def test_axes_of_a_mesh_of_other_devices_are_not_taken():
    axes = MeshAxes([Grid([5, 6], "x"), Grid([1, 0], "y")], [0, 1])
    assert axes.of_groups(frozenset([frozenset([0, 1])])) == ("y",)
    assert MeshAxes([], [0, 1]).of_pairs([(0, 1)]) is None
