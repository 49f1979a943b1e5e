"""The examples in the specification's documents run, and print the results shown there.

The documents lie beside a checkout, in `../shared/spec` or where `RICCI_SPEC` says; without them
these tests are skipped, and `test_examples.py` tests the same functions by examples of our own.
"""

from functools import cache
from pathlib import Path

import numpy as np
import pytest
from example_cases import documents
from example_cases.checking import agrees, outcome

import ricci
import ricci.numpy as jnp

pytestmark = pytest.mark.skipif(
    not documents.FOLDER.is_dir(), reason=f"the documents are not at {documents.FOLDER}"
)

# Texts that JAX spells otherwise than the documents, wherever they are printed.
SPELLED = {
    "ShardedDeviceArray": "Array",
    "DeviceArray": "Array",
    "Traced<ShapedArray(int32[3])>with<DynamicJaxprTrace(level=0/1)>": "JitTracer(int32[3])",
}

# The output of the documents' functions that differs in JAX, by the statement's place among those
# of its section that print something.
PRINTED = {
    ("xla_computation", 0): """HloModule xla_computation_f...
ENTRY main... {
  Arg_0... = f32[] parameter(0)
  cos... = f32[] cosine(Arg_0...)
  sin... = f32[] sine(cos...)
  ROOT tuple... = (f32[]) tuple(sin...)
}""",
    ("xla_computation", 1): "HloModule ...all-reduce(...replica_groups={{0,1,2,3}}...subtract(...}",
    ("xla_computation", 2): (
        "HloModule ...replica_groups={{0,2,4,6},{1,3,5,7}}"
        "...replica_groups={{0,1},{2,3},{4,5},{6,7}}...replica_groups={{0,1,2,3,4,5,6,7}}...}"
    ),
    ("make_jaxpr", 1): "{ lambda ; a:f32[]. let b:f32[] = cos a; c:f32[] = sin b in (c,) }",
    ("make_jaxpr", 2): """{ lambda ; a:f32[]. let
    b:f32[] = cos a
    c:f32[] = sin a
    _:f32[] = sin b
    d:f32[] = cos b
    e:f32[] = mul 1.0:f32[] d
    f:f32[] = neg e
    g:f32[] = mul f c
  in (g,) }""",
    ("checkpoint", 0): "Array(-0.25563914, dtype=float32, weak_type=True)",
    ("pmap", 0): "[ 0  1  4  9 16 25 36 49]",
    ("pmap", 3): (
        "(Array([4., 5.], dtype=float32), Array([8., 8.], dtype=float32, weak_type=True))"
    ),
    ("pmap", 9): "[6 7 8 9]",  # on one process; the document has two
}

# The output of the notebook's cells that differs in JAX, by their place.
TRACE = """{ lambda ; a:i32[]. let
    b:i32[] = mul 2:i32[] a
    c:i32[] = mul b a
    d:i32[] = mul 3:i32[] a
    e:i32[] = add c d
    f:i32[] = add e 3:i32[]
  in (f,) }"""
CELLS = {
    13: TRACE,
    17: TRACE,
    19: """{ lambda ; a:f32[]. let
    b:f32[] = mul 2.0:f32[] a
    c:f32[] = mul b a
    d:f32[] = mul 3.0:f32[] a
    e:f32[] = add c d
    _:f32[] = add e 3.0:f32[]
    f:f32[] = mul 3.0:f32[] 1.0:f32[]
    g:f32[] = mul b 1.0:f32[]
    h:f32[] = add_any f g
    i:f32[] = mul 1.0:f32[] a
    j:f32[] = mul 2.0:f32[] i
    k:f32[] = add_any h j
  in (k,) }""",
    22: """{ lambda ; a:i32[]. let
    b:i32[] = jit[
      name=f
      jaxpr={ lambda ; a:i32[]. let
          c:i32[] = mul 2:i32[] a
          d:i32[] = mul c a
          e:i32[] = mul 3:i32[] a
          f:i32[] = add d e
          b:i32[] = add f 3:i32[]
        in (b,) }
    ] a
  in (b,) }""",
    36: """{ lambda ; a:i32[2,3]. let
    b:i32[] = reduce_min[axes=(0, 1) out_sharding=None] a
    c:i32[] = reduce_max[axes=(0, 1) out_sharding=None] a
    d:i32[1] = broadcast_in_dim b
    e:i32[1] = broadcast_in_dim c
    f:i32[2] = concatenate[dimension=0] d e
  in (f,) }""",
    37: """{ lambda ; a:i32[4,2,3]. let
    b:i32[4] = reduce_min[axes=(1, 2) out_sharding=None] a
    c:i32[4] = reduce_max[axes=(1, 2) out_sharding=None] a
    d:i32[4,1] = broadcast_in_dim[broadcast_dimensions=(0,)] b
    e:i32[4,1] = broadcast_in_dim[broadcast_dimensions=(0,)] c
    f:i32[4,2] = concatenate[dimension=1] d e
  in (f,) }""",
    39: """{ lambda ; a:i32[4,2,3]. let
    b:i32[4,2] = jit[
      name=f
      jaxpr={ lambda ; a:i32[4,2,3]. let
          c:i32[4] = reduce_min[axes=(1, 2) out_sharding=None] a
          d:i32[4] = reduce_max[axes=(1, 2) out_sharding=None] a
          e:i32[4,1] = broadcast_in_dim[broadcast_dimensions=(0,)] c
          f:i32[4,1] = broadcast_in_dim[broadcast_dimensions=(0,)] d
          b:i32[4,2] = concatenate[dimension=1] e f
        in (b,) }
    ] a
  in (b,) }""",
    46: "...shard_map[...",
}
NOT_RUN = {0: "prints the processor", 1: "sets up the notebook's own TPUs, see below"}
RUN_ONLY = {
    **dict.fromkeys((2, 43), "lists TPUs"),
    **dict.fromkeys((6, 9, 10, 11), "prints the time it took"),
    **dict.fromkeys((26, 28, 29, 44, 45, 47, 48, 50), "random numbers without a seed"),
}


@pytest.fixture
def of_their_time(names, monkeypatch):
    """The examples' names, with the random bits of when the documents were written."""
    functions = ("jvp", "vmap", "pmap", "custom_vjp", "closure_convert", "xla_computation")
    with ricci.threefry_partitionable(False):
        yield {**names, **{name: getattr(ricci, name) for name in functions}}


@cache
def api() -> dict[str, list[documents.Example]]:
    """Return the examples of the documented functions; an empty list without the documents."""
    if not documents.FOLDER.is_dir():
        return {}
    return documents.api_sections(documents.text("public-api.txt"))


def spelled(want: str) -> str:
    """Return the output shown in a document in JAX's spelling."""
    for old, new in SPELLED.items():
        want = want.replace(old, new)
    return want


@pytest.mark.sampled(7)
@pytest.mark.parametrize("function", sorted(name for name, examples in api().items() if examples))
def test_documented_function(function, of_their_time):
    printing = 0
    for source, want in api()[function]:
        want = PRINTED.get((function, printing), spelled(want)) if want else ""
        found = outcome(source, of_their_time)
        assert agrees(want, found), f"{source}\nis to print\n{want}\nand prints\n{found}"
        printing += bool(want)


def test_every_example_of_the_document_is_found():
    text = documents.text("public-api.txt")
    examples = [example for section in api().values() for example in section]
    with_prompt = sum(">>> " + e.source.split("\n")[0] in text for e in examples)
    assert with_prompt == text.count(">>> ") - text.count(">>> >>>")


def test_every_difference_is_of_an_example():
    places = {
        (function, place)
        for function, examples in api().items()
        for place in range(sum(bool(example.want) for example in examples))
    }
    assert set(PRINTED) <= places


def test_our_own_examples_have_every_documented_function():
    ours = (Path(documents.__file__).parent / "functions.txt").read_text()
    assert [name for name in api() if f"\njax.{name}(" not in ours] == []


def test_documented_derivatives(of_their_time):
    for name in ("custom_jvp", "custom_jvp.defjvps", "custom_vjp"):
        for source, _ in api()[name]:
            assert outcome(source, of_their_time) == ("", [])
            slopes = ricci.grad(of_their_time["f"], (0, 1))(2.0, 3.0)
            np.testing.assert_allclose(slopes, [3 * np.cos(2.0), np.sin(2.0)], rtol=1e-6)


def test_notebook(of_their_time):
    cells = documents.cells(documents.text("notebook-first.md"))
    assert len(cells) == 54
    wrong = []
    for place, (source, want) in enumerate(cells):
        if place in NOT_RUN:
            continue
        found = outcome(source, of_their_time)
        if place in RUN_ONLY:
            assert not found[1], (source, found)
        elif not agrees(CELLS.get(place, spelled(want)), found):
            wrong.append((place, source, want, found))
    assert not wrong


def test_the_notebooks_tpus_are_not_here(names, monkeypatch):
    monkeypatch.delenv("COLAB_RELEASE_TAG", raising=False)
    monkeypatch.delenv("COLAB_TPU_ADDR", raising=False)
    source, _ = documents.cells(documents.text("notebook-first.md"))[1]
    assert "setup_tpu()" in source
    with pytest.raises(RuntimeError, match="is for notebooks on Google Colab"):
        exec(source, names)


def test_names_in_the_overview_exist():
    named = documents.names_in_links(documents.text("notes-overview.md"))
    assert {"lax.psum", "local_devices", "pmap", "process_count", "vmap"} <= named
    missing = [name for name in sorted(named) if not _found(name)]
    assert missing == []


def _found(name):
    found = ricci
    for part in name.split("."):
        found = getattr(found, part, None)
    return found is not None


def test_several_devices_of_the_overview(eight_devices):
    """A slice for each local device, and collectives between them, as in the overview."""
    count = len(ricci.local_devices())
    assert set(ricci.local_devices()) <= set(ricci.devices())
    assert (ricci.process_index(), ricci.process_count()) == (0, 1)
    data = np.arange(count * 6, dtype=np.float32).reshape(count, 2, 3)
    f = lambda x: x / ricci.lax.psum(x, "hosts")
    spread = ricci.pmap(ricci.vmap(f), axis_name="hosts")(data + 1)
    np.testing.assert_allclose(spread, (data + 1) / (data + 1).sum(0), rtol=1e-6)
    assert {s.device for s in spread.addressable_shards} == set(ricci.local_devices())
    assert isinstance(np.asarray(spread), np.ndarray)
    with pytest.raises(ValueError, match="replicas"):
        ricci.pmap(f, axis_name="hosts")(np.ones(count + 1))


def test_donation_in_the_overview(names):
    (source,) = documents.fenced(documents.text("notes-overview.md"))
    assert outcome(source, names) == ("", [])
    np.testing.assert_array_equal(names["z"], np.full((2, 3), 2.0))
    assert (names["x"].is_deleted(), names["y"].is_deleted()) == (False, True)


ROWS = documents.table_rows(documents.text("notes-overview.md")) if api() else []


@pytest.mark.parametrize(("ours", "in_place"), ROWS)
def test_index_updates_of_the_overview(ours, in_place):
    given = {"idx": np.array([2, 0]), "y": np.array([3.0, 0.5], np.float32)}
    x = np.array([4.0, 1.0, 2.0], np.float32)
    updated = {**given, "x": jnp.asarray(x), "ufunc": jnp.negative}
    expected = {**given, "x": x, "ufunc": np.negative, "minimum": np.minimum, "maximum": np.maximum}
    exec(ours, updated)
    exec(in_place, expected)
    np.testing.assert_allclose(updated["x"], expected["x"], rtol=1e-6)


def test_transformations_of_the_notes(names):
    branch, double, *derivatives, polynomial, hessian, stacked, mapped = (
        documents.paragraphs_of_code(documents.text("notes-transformations.md"))
    )
    names |= {"x": 3.0, "v": 2.0}
    assert outcome(branch, names) == ("", [])
    assert agrees("Array(6., dtype=float32, weak_type=True)", outcome(double, names))
    names["f"] = lambda x: x**3
    for source in derivatives:
        assert outcome(source, names) == ("", [])
        assert names["y"] == 27
    assert (names["dfdx"], names["jvp"], names["pullback"](2.0), names["f_lin"](2.0)) == (
        (27.0, 54.0, (54.0,), 54.0)
    )
    names |= {"x": jnp.array([2.0, 3.0]), "v": jnp.array([1.0, 0.5])}
    assert outcome(polynomial, names) == ("", [])
    assert agrees("Array([ 2.5, 10. ], dtype=float32)", outcome(hessian, names))
    assert len(derivatives) == 4
    # These two are tested in our own words: the notes misspell `in_axes` and a name.
    assert "wst" in stacked and "in_axis" in mapped
