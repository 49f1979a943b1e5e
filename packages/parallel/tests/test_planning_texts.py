"""Reading sizes, live ranges and work from the texts of compiled programs, as compilers write them."""

# ruff: noqa: E501  # compilers write long lines

import pytest

from ricci_parallel.planning._buffers import leaves, read_shape
from ricci_parallel.planning._live_ranges import entry_memory
from ricci_parallel.planning._work import flops_of, work_of
from ricci_parallel.reports._hlo_text import HloModule

# A loop of four steps that stacks what it computes, between two operations on 400 bytes.
LOOP = """HloModule jit_f, is_scheduled=true, input_output_alias={ {1}: (1, {}, may-alias) }, entry_computation_layout={(f32[100]{0}, f32[4,100]{1,0})->(f32[100]{0}, f32[4,100]{1,0})}

%update (p.0: f32[4,100], p.1: f32[100], p.2: s32[]) -> f32[4,100] {
  %p.0 = f32[4,100]{1,0} parameter(0)
  %p.1 = f32[100]{0} parameter(1)
  %row = f32[1,100]{1,0} bitcast(%p.1)
  %p.2 = s32[] parameter(2)
  %zero = s32[] constant(0)
  ROOT %updated = f32[4,100]{1,0} dynamic-update-slice(%p.0, %row, %p.2, %zero)
}

%body (s: (s32[], f32[100], f32[4,100])) -> (s32[], f32[100], f32[4,100]) {
  %s = (s32[], f32[100]{0}, f32[4,100]{1,0}) parameter(0)
  %i = s32[] get-tuple-element(%s), index=0
  %x = f32[100]{0} get-tuple-element(%s), index=1
  %stack = f32[4,100]{1,0} get-tuple-element(%s), index=2
  %square = f32[10,100]{1,0} dot(%x, %x), lhs_contracting_dims={}, rhs_contracting_dims={}
  %next = f32[100]{0} reduce(%square, %x), dimensions={0}
  %stacked = f32[4,100]{1,0} fusion(%stack, %next, %i), kind=kLoop, calls=%update
  ROOT %state = (s32[], f32[100]{0}, f32[4,100]{1,0}) tuple(%i, %next, %stacked)
}

%condition (s.1: (s32[], f32[100], f32[4,100])) -> pred[] {
  %s.1 = (s32[], f32[100]{0}, f32[4,100]{1,0}) parameter(0)
  ROOT %less = pred[] constant(true)
}

ENTRY %main (a: f32[100], b: f32[4,100]) -> (f32[100], f32[4,100]) {
  %a = f32[100]{0} parameter(0), metadata={op_name="a"}
  %b = f32[4,100]{1,0} parameter(1), metadata={op_name="b"}
  %start = s32[] constant(0)
  %sine = f32[100]{0} sine(%a)
  %given = (s32[], f32[100]{0}, f32[4,100]{1,0}) tuple(%start, %sine, %b)
  %loop = (s32[], f32[100]{0}, f32[4,100]{1,0}) while(%given), condition=%condition, body=%body, backend_config={"known_trip_count":{"n":"4"}}
  %x.1 = f32[100]{0} get-tuple-element(%loop), index=1
  %stack.1 = f32[4,100]{1,0} get-tuple-element(%loop), index=2
  %out = f32[100]{0} cosine(%x.1)
  ROOT %both = (f32[100]{0}, f32[4,100]{1,0}) tuple(%out, %stack.1)
}
"""


@pytest.mark.parametrize(
    ("shape", "sizes", "spaces"),
    [
        ("f32[3,5]{1,0}", [60], [0]),
        ("bf16[5,100]{1,0:T(8,128)(2,1)}", [2048], [0]),
        ("bf16[5,100]{0,1:T(8,128)(2,1)S(1)}", [104 * 128 * 2], [1]),
        ("f32[10]{0:T(1024)}", [4096], [0]),
        ("f32[]{:T(128)}", [512], [0]),
        ("s4[16]{0:E(4)}", [8], [0]),
        ("((f32[2]{0}), token[], /*index=2*/pred[3]{0:S(5)})", [8, 0, 3], [0, 0, 5]),
    ],
)
def test_sizes_with_the_padding_of_tiles(shape, sizes, spaces):
    found = leaves(read_shape(shape))
    assert [leaf.bytes for leaf in found] == sizes
    assert [leaf.space for leaf in found] == spaces


def test_live_ranges_around_and_inside_a_loop():
    found = entry_memory(HloModule(LOOP), on_chip=False)
    assert [buffer.bytes for buffer in found.arguments] == [400, 1600]
    # The stack is updated where the donated argument is, so that it is no result of its own. The
    # other result lies where the state of the loop was.
    assert sum(buffer.bytes for buffer in found.results) == 400
    # The body's product is beside the loop's state.
    alive = {x.buffer.instruction.name: x.bytes for x in found.peak.buffers}
    assert alive == {"out": 400, "square": 4000}


def test_work_in_a_loop():
    work = work_of(HloModule(LOOP), lambda loop: 4, on_chip=False)
    assert work.extra_flops == 3 * 2 * 1000
    square, reduced, update = 400 + 400 + 4000, 4000 + 400 + 400, 400 + 4 + 400
    assert work.bytes == 2 * 800 + 4 * (square + reduced + update)
    once = work_of(HloModule(LOOP), lambda loop: None, on_chip=False)
    assert (once.extra_flops, once.unknown_loops) == (0, 1)


ASYNCHRONOUS = """HloModule jit_g, is_scheduled=true

ENTRY %main (a: f32[100]) -> f32[100] {
  %a = f32[100]{0} parameter(0)
  %sine = f32[100]{0} sine(%a)
  %copy-start = (f32[100]{0:S(1)}, f32[100]{0}, u32[]{:S(2)}) copy-start(%sine)
  %copy-done = f32[100]{0:S(1)} copy-done(%copy-start)
  %gather-start = (f32[100]{0}, f32[400]{0}) all-gather-start(%sine), replica_groups={{0,1,2,3}}, dimensions={0}
  %gather-done = f32[400]{0} all-gather-done(%gather-start)
  %slice-start = ((f32[400]{0}), f32[100]{0:S(1)}, s32[]{:S(2)}) slice-start(%gather-done), slice={[0:100]}
  %slice-done = f32[100]{0:S(1)} slice-done(%slice-start)
  ROOT %out = f32[100]{0} custom-call(%slice-done, %copy-done), custom_call_target="mine"
}
"""


def test_memory_on_the_chip_and_asynchronous_operations():
    found = entry_memory(HloModule(ASYNCHRONOUS), on_chip=True)
    alive = {x.buffer.instruction.name: x.bytes for x in found.peak.buffers}
    # The sine lies where the result comes later.
    assert alive == {"sine": 400, "gather-start": 1600}
    assert sum(buffer.bytes for buffer in found.results) == 400
    everywhere = entry_memory(HloModule(ASYNCHRONOUS), on_chip=False)
    assert everywhere.peak.bytes > found.peak.bytes
    work = work_of(HloModule(ASYNCHRONOUS), lambda loop: None, on_chip=True)
    assert work.bytes == (400 + 400) + 400 + (400 + 1600) + 400 + 400


CONVOLUTIONS = """HloModule c

ENTRY %main (a: bf16[16,8], b: bf16[8,32], q: bf16[32,64,16], k: bf16[32,64,16], x: f32[2,9,9,3], w: f32[3,3,3,7]) -> f32[2,9,9,7] {
  %a = bf16[16,8]{1,0} parameter(0)
  %b = bf16[8,32]{1,0} parameter(1)
  %q = bf16[32,64,16]{2,1,0} parameter(2)
  %k = bf16[32,64,16]{2,1,0} parameter(3)
  %x = f32[2,9,9,3]{3,2,1,0} parameter(4)
  %w = f32[3,3,3,7]{3,2,1,0} parameter(5)
  %product = bf16[16,32]{1,0} convolution(%a, %b), dim_labels=bf_io->bf
  %scores = bf16[32,64,64]{2,1,0} convolution(%q, %k), window={size=32 stride=31 lhs_dilate=32}, dim_labels=0bf_0oi->0bf
  %dots = bf16[32,64,64]{2,1,0} dot(%q, %k), lhs_batch_dims={0}, lhs_contracting_dims={2}, rhs_batch_dims={0}, rhs_contracting_dims={2}
  ROOT %image = f32[2,9,9,7]{3,2,1,0} convolution(%x, %w), window={size=3x3 pad=1_1x1_1}, dim_labels=b01f_01io->b01f
}
"""


def test_operations_of_convolutions_without_padding():
    entry = HloModule(CONVOLUTIONS).entry
    found = {name: flops_of(entry, x) for name, x in entry.instructions.items()}
    assert found["product"] == 2 * 16 * 8 * 32
    # A TPU's batch of 32 products is a convolution, most of whose window is padding.
    assert found["scores"] == found["dots"] == 2 * 32 * 64 * 64 * 16
    # Of 3 positions along an edge of 9 elements, 2 + 7 * 3 + 2 are inside.
    assert found["image"] == 2 * (2 * 7) * 3 * 25 * 25
    assert found["a"] == 0
