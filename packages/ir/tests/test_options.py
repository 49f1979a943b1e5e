"""The table of options: every row has a status, and unsupported ones warn once."""

import os
import subprocess
import sys
import warnings

import pytest

from ricci_ir import OPTIONS, UNSET, Status, config
from ricci_ir._config import from_environment, warn_unsupported
from ricci_ir._option_kinds import Bool, Device, Member, Of, OneOf, Text
from ricci_ir._settings import State

UNSUPPORTED = [name for name, option in OPTIONS.items() if option.status is Status.UNSUPPORTED]


def another_value(name):
    """A value that an option takes and that is not its default."""
    option = OPTIONS[name]
    match option.kind:
        case Bool():
            return not option.default
        case Of(cls=cls):
            return cls(7)
        case OneOf(values=values):
            return next(value for value in values if value != option.default)
        case Member(cls=cls):
            return next(member for member in cls if member is not option.default)
        case Device() | Text():
            return "cpu"


def fresh_state(name):
    """The state of an option as in a process that has not set it."""
    option = OPTIONS[name]
    state = State(name, option.kind, option.default)
    warn_unsupported(state, option.note)
    return state


@pytest.mark.parametrize("name", OPTIONS)
def test_every_option_has_a_status_and_a_note(name):
    option = OPTIONS[name]
    assert isinstance(option.status, Status)
    assert option.note.strip() == option.note != ""
    assert not option.note.endswith(".") and "|" not in option.note
    assert option.kind.described()


@pytest.mark.parametrize("name", OPTIONS)
def test_only_honoured_options_are_part_of_the_trace_key(name):
    option = OPTIONS[name]
    assert config.state(name).traced == option.traced
    assert not option.traced or option.status is Status.HONOURED


@pytest.mark.parametrize("name", UNSUPPORTED)
def test_unsupported_options_warn_once(name):
    state = fresh_state(name)
    with pytest.warns(UserWarning, match=f"{name}=.* not supported: .") as caught:
        state.set_global(another_value(name))
        state.set_global(state.default)
        state.set_global(another_value(name))
        with state(another_value(name)):
            pass
    assert len(caught) == 1
    assert OPTIONS[name].note in str(caught[0].message)
    assert caught[0].filename == __file__


@pytest.mark.parametrize("name", UNSUPPORTED)
def test_an_override_warns_as_well(name):
    state = fresh_state(name)
    with pytest.warns(UserWarning, match=name), state(another_value(name)):
        pass


@pytest.mark.parametrize("name", UNSUPPORTED)
def test_setting_the_default_does_not_warn(name):
    state = fresh_state(name)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        state.set_global(state.default)
        with state(state.default):
            pass


def test_the_options_of_config_warn():
    values = [(name, another_value(name)) for name in UNSUPPORTED]
    values = [(name, v if isinstance(v, bool | int | float) else str(v)) for name, v in values]
    code = (
        "import warnings\n"
        "from ricci_ir import config\n"
        "with warnings.catch_warnings(record=True) as caught:\n"
        "    warnings.simplefilter('always')\n"
        f"    for name, value in {values!r}:\n"
        "        config.update(name, value)\n"
        "        print(name, len(caught), str(config.read(name)) == str(value))\n"
    )
    env = {**os.environ, "PYTHONPATH": ":".join(sys.path)}
    done = subprocess.run([sys.executable, "-c", code], env=env, capture_output=True, text=True)
    expected = [f"{name} {i} True" for i, name in enumerate(UNSUPPORTED, 1)]
    assert done.stdout.splitlines() == expected, done.stderr


def test_the_environment_warns_at_import():
    code = "import ricci_ir"
    env = {**os.environ, "JAX_BACKEND_TARGET": "elsewhere", "PYTHONPATH": ":".join(sys.path)}
    done = subprocess.run([sys.executable, "-c", code], env=env, capture_output=True, text=True)
    assert done.stderr.count("jax_backend_target='elsewhere' is not supported") == 1


@pytest.mark.parametrize(
    ("name", "environ", "expected"),
    [
        ("check_vma", {"CHECK_VMA": "1"}, True),
        ("check_vma", {"RICCI_CHECK_VMA": "1"}, True),
        ("check_vma", {"JAX_CHECK_VMA": "1"}, UNSET),
        (
            "jax2tf_default_native_serialization",
            {"JAX2TF_DEFAULT_NATIVE_SERIALIZATION": "0"},
            False,
        ),
        ("jax_platforms", {"JAX_PLATFORMS": "cpu"}, "cpu"),
    ],
)
def test_variables_of_the_environment(name, environ, expected):
    assert from_environment(name, OPTIONS[name].kind, environ) == expected


@pytest.mark.parametrize("name", OPTIONS)
@pytest.mark.parametrize("wrong", ["zz", 3, None, [1], 2.5], ids=repr)
def test_a_value_that_is_refused_is_named_with_its_option(name, wrong):
    kind = OPTIONS[name].kind
    try:
        kind.parse(name, wrong)
    except (TypeError, ValueError) as error:
        message = str(error)
        assert name in message and repr(wrong) in message
        if isinstance(kind, OneOf):
            assert all(value in message for value in kind.values)
