"""Options: values, overrides by thread, the environment, the key of traces."""

import subprocess
import sys
import threading

import pytest

from ricci_ir import _config, define_context
from ricci_ir._config import (
    config,
    debug_nans,
    default_device,
    default_matmul_precision,
    disable_jit,
    enable_x64,
    from_environment,
    log_compiles,
    numpy_dtype_promotion,
    numpy_rank_promotion,
    transfer_guard,
)
from ricci_ir._option_kinds import BOOL, INT, NumpyDtypePromotion
from ricci_ir._options import OPTIONS
from ricci_ir._settings import UNSET, SettingsSwitch, State, trace_key


def _in_thread(fun):
    results = []
    thread = threading.Thread(target=lambda: results.append(fun()))
    thread.start()
    thread.join()
    return results[0]


@pytest.fixture
def option():
    """A new option for each test, so that none leaves anything behind."""
    return State("an_option", INT, 0)


@pytest.mark.parametrize("name", OPTIONS)
def test_every_option_accepts_its_default(name):
    option = OPTIONS[name]
    assert option.kind.parse(name, option.default) == option.default
    assert name in config.values and name in config.meta and name in dir(config)


def test_traced_options_are_hashable():
    assert isinstance(hash(trace_key()), int)


def test_override_ends_with_its_block(option):
    with option(1):
        with option(2):
            assert option.value == 2
        assert option.value == 1
    assert option.value == 0


def test_override_ends_with_an_exception(option):
    with pytest.raises(ZeroDivisionError), option(1):
        raise ZeroDivisionError
    assert option.value == 0 and option.get_local() is UNSET


def test_override_is_reentrant(option):
    one = option(1)
    with one, option(2), one:
        assert option.value == 1
    assert option.value == 0


def test_override_decorates(option):
    @option(3)
    def read():
        return option.value

    assert (read(), option.value, read()) == (3, 0, 3)


def test_override_is_of_its_thread(option):
    with option(1):
        assert _in_thread(lambda: option.value) == 0


def _enter(override):
    override.__enter__()


def _leave(override):
    override.__exit__(None, None, None)


def test_an_override_that_is_left_in_another_thread_stays_where_it_was_entered(option):
    override = option(1)
    _enter(override)
    assert _in_thread(lambda: (_leave(override), option.value)) == (None, 0)
    assert option.value == 1
    _leave(override)
    assert option.value == 0
    _leave(override)
    assert option.value == 0


def test_exit_in_another_thread_does_not_end_this_threads_override(option):
    override = option(1)
    _enter(override)

    def other():
        with option(2):
            _leave(override)
            inside = option.value
        return inside, option.value

    assert _in_thread(other) == (2, 0)
    _leave(override)
    assert option.value == 0


def test_an_outer_override_ends_those_inside_that_were_left_elsewhere(option):
    outer, inner = option(1), option(2)
    _enter(outer)
    _enter(inner)
    _in_thread(lambda: _leave(inner))
    assert option.value == 2
    _leave(outer)
    assert option.value == 0
    with option(3):
        assert option.value == 3
    assert option.value == 0


def test_an_override_can_be_entered_again_and_in_several_threads(option):
    override = option(1)
    with override, override:
        assert _in_thread(lambda: (_enter(override), option.value, _leave(override)))[1] == 1
        assert option.value == 1
    assert option.value == 0


def test_the_key_of_traces_is_right_after_an_override_was_left_elsewhere():
    def entered_here_left_elsewhere():
        before = trace_key()
        override = numpy_dtype_promotion("strict")
        _enter(override)
        inside = trace_key()
        _in_thread(lambda: _leave(override))
        assert trace_key() is inside is not before
        _leave(override)
        return trace_key() is before

    assert _in_thread(entered_here_left_elsewhere)


def test_a_value_that_is_swapped_in_holds_until_it_is_swapped_again(option):
    before = option.swap(1)
    assert option.value == 1
    assert _in_thread(lambda: option.value) == 0
    assert option.swap(2) == 1 and option.value == 2
    option.swap(before)
    assert option.value == 0 and not option.is_overridden


def test_a_value_swapped_in_within_a_block_ends_with_the_block(option):
    option.swap(1)
    with option(2):
        former = option.swap(3)
        assert option.value == 3
        option.swap(former)
        assert option.value == 2
        option.swap(4)
    assert option.value == 1
    option.swap(0)  # the global value needs no override
    assert option.value == 0 and not option.is_overridden


def test_the_global_value_can_be_swapped_in_over_that_of_a_block(option):
    with option(1):
        former = option.swap(0)
        assert option.value == 0
        option.swap(former)
        assert option.value == 1


def test_new_thread_sees_global_value(option):
    option.set_global(5)
    assert _in_thread(lambda: option.value) == 5


def test_override_wins_over_later_global_value(option):
    with option(1):
        option.set_global(5)
        assert option.value == 1
    assert option.value == 5


def test_two_threads_override_at_once(option):
    barrier = threading.Barrier(2)
    seen = {}

    def run(value):
        with option(value):
            barrier.wait()
            seen[value] = option.value
            barrier.wait()

    threads = [threading.Thread(target=run, args=(v,)) for v in (1, 2)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert seen == {1: 1, 2: 2} and option.value == 0


def test_hooks_hear_of_all_changes(option):
    heard = []
    option.on_change(lambda value, local: heard.append((value, local)))
    option.set_global(1)
    with option(2), option(3):
        pass
    assert heard == [(0, False), (1, False), (2, True), (3, True), (2, True), (UNSET, True)]


def test_hook_can_refuse_a_value(option):
    def refuse(value, local):
        if value == 13:
            raise ValueError("not thirteen")

    option.on_change(refuse)
    with pytest.raises(ValueError, match="thirteen"):
        option.set_global(13)
    with pytest.raises(ValueError, match="thirteen"), option(13):
        pass
    assert option.value == 0 and option.get_local() is UNSET


def test_switches_take_no_argument_for_true():
    with log_compiles(), debug_nans(), disable_jit():
        assert config.jax_log_compiles and config.jax_debug_nans and config.jax_disable_jit


def test_other_options_need_a_value():
    with pytest.raises(TypeError, match="jax_default_matmul_precision"):
        default_matmul_precision()


def test_enumerations_are_given_by_name():
    with numpy_dtype_promotion("strict"):
        assert config.jax_numpy_dtype_promotion is NumpyDtypePromotion.STRICT
        assert config.jax_numpy_dtype_promotion == "strict"


@pytest.mark.parametrize(
    ("name", "value", "error", "words"),
    [
        ("jax_numpy_rank_promotion", "zz", ValueError, "allow, warn, raise"),
        ("jax_numpy_dtype_promotion", "zz", ValueError, "standard, strict"),
        ("jax_numpy_dtype_promotion", 3, TypeError, "standard, strict"),
        ("jax_default_matmul_precision", "zz", ValueError, "None, default, high, highest"),
        ("jax_default_prng_impl", None, ValueError, "threefry2x32"),
        ("jax_random_seed_offset", "zz", ValueError, "int"),
        ("jax_compilation_cache_dir", 3, ValueError, "str"),
        ("jax_enable_x64", "zz", ValueError, "true"),
        ("jax_default_device", 3, ValueError, "device"),
    ],
)
def test_bad_values_are_refused(name, value, error, words):
    before = config.read(name)
    with pytest.raises(error, match=words):
        config.update(name, value)
    assert config.read(name) == before


@pytest.mark.parametrize("use", ["update", "read", "attribute"])
def test_unknown_names_get_suggestions(use):
    with pytest.raises(AttributeError, match="did you mean jax_enable_x64"):
        if use == "update":
            config.update("jax_enable_x6", True)
        elif use == "read":
            config.read("enable_x64")
        else:
            config.jax_enable_x46  # noqa: B018


def test_options_are_not_assigned():
    with pytest.raises(AttributeError, match=r"config.update\('jax_enable_x64', True\)"):
        config.jax_enable_x64 = True


def test_state_has_no_truth():
    with pytest.raises(TypeError, match="value"):
        bool(enable_x64)


def test_device_option_takes_names_and_devices():
    class Device:
        platform = "cpu"

    device = Device()
    with default_device(device):
        assert default_device.value is device
    with default_device("cpu"):
        assert default_device.value == "cpu"


def test_transfer_guard_sets_all_directions():
    names = [name for name in OPTIONS if name.startswith("jax_transfer_guard")]
    assert len(names) == 4
    with transfer_guard("log"):
        assert {config.read(name) for name in names} == {"log"}
    assert {config.read(name) for name in names} == {None}


@pytest.mark.parametrize(
    ("environ", "expected"),
    [
        ({}, UNSET),
        ({"JAX_ENABLE_X64": "1"}, True),
        ({"RICCI_ENABLE_X64": "off"}, False),
        ({"RICCI_ENABLE_X64": "no", "JAX_ENABLE_X64": "yes"}, False),
    ],
)
def test_environment(environ, expected):
    assert from_environment("jax_enable_x64", BOOL, environ) is expected


def test_bad_environment_names_the_variable():
    with pytest.raises(ValueError, match=r"RICCI_RANDOM_SEED_OFFSET.*'abc'"):
        from_environment("jax_random_seed_offset", INT, {"RICCI_RANDOM_SEED_OFFSET": "abc"})


def test_environment_is_read_at_import():
    code = "from ricci_ir._config import config; print(config.jax_enable_x64)"
    env = {"JAX_ENABLE_X64": "true", "PYTHONPATH": ":".join(sys.path)}
    done = subprocess.run([sys.executable, "-c", code], env=env, capture_output=True, text=True)
    assert done.stdout.strip() == "True", done.stderr


def test_trace_key_follows_overrides():
    before = trace_key()
    with enable_x64(True):
        inside = trace_key()
        assert inside is not before
        with numpy_rank_promotion("raise"):
            assert trace_key() not in (before, inside)
        assert trace_key() is inside
    assert trace_key() is before


def test_trace_key_ignores_settings_that_do_not_affect_tracing():
    before = trace_key()
    with log_compiles(True):
        assert trace_key() is before


def test_trace_key_follows_global_values():
    before = trace_key()
    with numpy_rank_promotion("allow"):  # takes the way of threads with overrides
        config.update("jax_softmax_custom_jvp", True)
        try:
            assert trace_key() is not before
        finally:
            config.update("jax_softmax_custom_jvp", False)
        assert trace_key() is before
    assert trace_key() is before


@pytest.mark.parametrize("per_equation", [False, True])
def test_keys_from_before_a_setting_stand_for_its_default(per_equation):
    before = trace_key()
    with enable_x64(True):
        wide = trace_key()
    late = define_context("late", "usual", per_equation=per_equation)
    assert trace_key() is before
    with enable_x64(True):
        assert trace_key() is wide
    with late("other"):
        other = trace_key()
        assert other is not before
        assert before.differences(other) == [("late", "usual", "other")]
        assert (before.equation_settings() is other) == per_equation
        with SettingsSwitch(before):
            assert late.value == ("usual" if per_equation else "other")
    assert trace_key() is before


def test_trace_key_is_of_its_thread():
    before = trace_key()
    with enable_x64(True):
        assert _in_thread(trace_key) is before


def test_trace_key_follows_contexts():
    mesh = define_context("test_mesh")
    before = trace_key()
    with mesh(("x", 4)):
        inside = trace_key()
        assert mesh.value == ("x", 4) and inside is not before
        with mesh(None):
            assert trace_key() is before
    assert trace_key() is before


def test_absl_must_be_imported_first():
    assert "absl.app" not in sys.modules
    with pytest.raises(RuntimeError, match="absl"):
        _config.Config().config_with_absl()
