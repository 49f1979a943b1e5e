"""Errors: their classes, their messages, and the tracebacks they leave with."""

import sys
import traceback
from types import ModuleType

import pytest

from ricci_ir import _errors as errors
from ricci_ir import _source as source
from ricci_ir import _traceback_filtering as boundaries
from ricci_ir import register_exclusion, register_inclusion, register_internal_module
from ricci_ir._config import traceback_filtering

# Base classes as in JAX.
BASES = {
    "ConcretizationTypeError": ("JAXTypeError", TypeError),
    # JAX derives the next and TracerIntegerConversionError from JAXTypeError, and raises
    # ConcretizationTypeError in some of the places where these are raised here.
    "TracerArrayConversionError": ("ConcretizationTypeError", TypeError),
    "TracerBoolConversionError": ("ConcretizationTypeError", TypeError),
    "TracerIntegerConversionError": ("ConcretizationTypeError", TypeError),
    "NonConcreteBooleanIndexError": ("JAXIndexError", IndexError),
    "UnexpectedTracerError": ("JAXTypeError", TypeError),
    "KeyReuseError": ("JAXTypeError", TypeError),
    "JAXTypeError": ("JAXTypeError", TypeError),
    "JAXIndexError": ("JAXIndexError", IndexError),
    "JaxprTypeError": ("JaxprTypeError", TypeError),
    "InconclusiveDimensionOperation": ("InconclusiveDimensionOperation", Exception),
}


class _Aval:
    def str_short(self):
        return "f32[3]"


class _Tracer:
    aval = _Aval()

    def __init__(self, lines=1):
        self.lines = lines

    def _origin_message(self):
        return "\n".join(["from f at model.py:7"] * self.lines)


@pytest.mark.parametrize("name", BASES)
def test_base_classes(name):
    base, builtin = BASES[name]
    cls = getattr(errors, name)
    assert issubclass(cls, getattr(errors, base)) and issubclass(cls, builtin)


@pytest.mark.parametrize(
    ("cls", "advice"),
    [
        (errors.ConcretizationTypeError, "static_argnums"),
        (errors.TracerBoolConversionError, "lax.cond"),
        (errors.TracerArrayConversionError, "jnp"),
        (errors.TracerIntegerConversionError, "lax.fori_loop"),
        (errors.NonConcreteBooleanIndexError, "jnp.where"),
    ],
)
@pytest.mark.parametrize("lines", [0, 1, 40])
def test_messages_say_type_origin_and_advice(cls, advice, lines):
    text = str(cls(_Tracer(lines)))
    assert "f32[3]" in text and advice in text
    assert ("model.py:7" in text) == (lines > 0)
    assert len(text.splitlines()) <= 12


def test_truth_of_a_tracer_is_refused_in_the_words_that_libraries_expect():
    text = str(errors.TracerBoolConversionError(_Tracer()))
    assert text.startswith("Attempted boolean conversion of traced array ")


def test_context_is_part_of_the_message():
    assert "float(x)" in str(errors.ConcretizationTypeError(_Tracer(), "Called by float(x)."))


LIBRARY = """
def outer(fun):
    return middle(fun)
def middle(fun):
    return fun()
def fail(fun):
    raise ValueError("inside")
"""


@pytest.fixture
def library(tmp_path):
    register_internal_module("hidden_library")
    namespace = {"__name__": "hidden_library.code"}
    exec(compile(LIBRARY, str(tmp_path / "code.py"), "exec"), namespace)
    return namespace


def _frames(fun, *args):
    try:
        fun(*args)
    except ValueError as e:
        return [frame.name for frame in traceback.extract_tb(e.__traceback__)][1:]
    raise AssertionError("no error was raised")


def user():
    raise ValueError("mine")


@pytest.mark.parametrize("mode", ["auto", "remove_frames", "quiet_remove_frames"])
def test_only_user_frames_remain(library, mode):
    with traceback_filtering(mode):
        assert _frames(boundaries.api_boundary(library["outer"]), user) == ["user"]


@pytest.mark.parametrize("mode", ["off", "tracebackhide"])
def test_all_frames_remain(library, mode):
    with traceback_filtering(mode):
        frames = _frames(boundaries.api_boundary(library["outer"]), user)
    assert frames == ["boundary", "outer", "middle", "user"]


def test_user_code_between_boundaries_remains(library):
    inner = boundaries.api_boundary(library["fail"])

    def middle_of_user():
        inner(None)

    assert _frames(boundaries.api_boundary(library["outer"]), middle_of_user) == ["middle_of_user"]


def test_boundary_called_by_internal_code_leaves_the_work(library):
    inner = boundaries.api_boundary(library["fail"])
    seen = []
    library["inner"], library["seen"] = inner, seen
    code = (
        "def call(fun):\n"
        "    try:\n        inner(fun)\n"
        "    except ValueError as e:\n        seen.append(e.__traceback__.tb_next)\n        raise\n"
    )
    exec(compile(code, library["outer"].__code__.co_filename, "exec"), library)
    assert _frames(boundaries.api_boundary(library["call"]), None) == []
    assert seen[0] is not None  # the inner boundary's frame was still there


def test_cause_and_notes_are_untouched(library):
    cause = KeyError("cause")

    def fails():
        error = ValueError("mine")
        error.add_note("a note")
        raise error from cause

    with pytest.raises(ValueError, match="mine") as info:
        boundaries.api_boundary(library["outer"])(fails)
    assert info.value.__cause__ is cause and info.value.__notes__[0] == "a note"


def test_boundary_keeps_name_and_result():
    @boundaries.api_boundary
    def double(x: int) -> int:
        """Twice."""
        return 2 * x

    assert (double.__name__, double.__doc__, double(x=2)) == ("double", "Twice.", 4)


def _notes(fun, *args):
    with pytest.raises(ValueError, match="mine") as caught:
        fun(*args)
    return getattr(caught.value, "__notes__", [])


@pytest.mark.parametrize(
    ("mode", "count"),
    [
        ("auto", 1),
        ("remove_frames", 0),
        ("quiet_remove_frames", 1),
        ("tracebackhide", 0),
        ("off", 0),
    ],
)
def test_filtered_tracebacks_carry_a_note(library, mode, count):
    with traceback_filtering(mode):
        notes = _notes(boundaries.api_boundary(library["outer"]), user)
        assert len(notes) == count
        assert all("jax_traceback_filtering" in note for note in notes)
        twice = lambda: boundaries.api_boundary(library["outer"])(user)
        assert len(_notes(boundaries.api_boundary(twice))) == count


def test_remove_frames_chains_the_whole_traceback(library):
    cause = KeyError("first")

    def fails():
        raise ValueError("mine") from cause

    with traceback_filtering("remove_frames"), pytest.raises(ValueError, match="mine") as caught:
        boundaries.api_boundary(library["outer"])(fails)
    unfiltered = caught.value.__cause__
    assert type(unfiltered).__name__ == "UnfilteredStackTrace"
    names = [frame.name for frame in traceback.extract_tb(unfiltered.__traceback__)]
    assert names[-4:] == ["boundary", "outer", "middle", "fails"]
    assert unfiltered.__cause__ is cause


def test_no_note_where_nothing_is_left_out():
    with traceback_filtering("auto"):
        assert _notes(user) == []


def test_only_text_is_a_path_of_frames_to_leave_out():
    with pytest.raises(TypeError, match="is a str, got 3"):
        register_exclusion(3)  # pyright: ignore[reportArgumentType]
    with pytest.raises(ValueError, match="mine"):
        boundaries.api_boundary(lambda: (_ for _ in ()).throw(ValueError("mine")))()
    with pytest.raises(TypeError, match="is a str, got 3"):
        register_inclusion(3)  # pyright: ignore[reportArgumentType]


def test_included_files_of_an_internal_package_are_the_users(library, monkeypatch):
    del library  # it makes the package internal
    monkeypatch.setattr(source, "_included_paths", [])
    for name in ("hidden_library.first", "hidden_library.second"):
        module = ModuleType(name)
        module.__file__ = f"/kernels/{name}.py"
        monkeypatch.setitem(sys.modules, name, module)
        assert source.is_internal_module(name)
    register_inclusion("/kernels/hidden_library.first")
    assert not source.is_internal_module("hidden_library.first")
    assert source.is_internal_module("hidden_library.second")
    source._internal_modules.clear()
