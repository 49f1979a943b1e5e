"""The compilation cache: equal modules, hits, and entries that are refused."""

import os
import random
import sys
import warnings

import numpy as np
import pytest

import ricci_xla
from ricci_ir import (
    ShapedArray,
    clear_event_listeners,
    config,
    register_event_duration_secs_listener,
    register_event_listener,
)
from ricci_xla import Executable, compile_options, compile_text, device_put, devices
from ricci_xla.cache import (
    ENTRY_KIND,
    CacheFolder,
    main,
    program_key,
    read_entry,
    reset_cache,
    set_cache_dir,
)
from ricci_xla.cache import _key as key_module
from ricci_xla.cache import _persistent as persistent
from ricci_xla.compile import _compiler
from ricci_xla.devices._runtime_types import CompileOptions, LoadedExecutable
from ricci_xla.files import FileError, FileKind, read_file, write_file
from ricci_xla.files import _shared_folders as files_module

F4 = ShapedArray((4,), np.float32)
OPERATION = """\
#loc0 = loc("jit(f)/{scope}")
module @jit_{name} attributes {{mhlo.num_partitions = 1 : i32}} {{
  func.func public @main(%x: tensor<{n}xf32>) -> (tensor<{n}xf32> {{jax.result_info = "{out}"}}) {{
    %0 = stablehlo.{operation} %x, %x : tensor<{n}xf32> loc(#loc0)
    return %0 : tensor<{n}xf32>
  }}
}}
"""


def program(operation="add", scope="add", name="f", out="result", n=4):
    return OPERATION.format(operation=operation, scope=scope, name=name, out=out, n=n)


OPTIONS = {
    "jax_compilation_cache_dir": None,
    "jax_enable_compilation_cache": True,
    "jax_persistent_cache_min_compile_time_secs": 0,
    "jax_persistent_cache_min_entry_size_bytes": 0,
    "jax_compilation_cache_max_size": -1,
    "jax_compilation_cache_include_metadata_in_key": False,
    "jax_raise_persistent_cache_errors": False,
    "jax_explain_cache_misses": False,
}


@pytest.fixture
def folder(tmp_path):
    before = {name: config.read(name) for name in OPTIONS}
    for name, value in OPTIONS.items():
        config.update(name, value)
    set_cache_dir(tmp_path / "cache")
    reset_cache()
    yield CacheFolder(tmp_path / "cache")
    for name, value in before.items():
        config.update(name, value)


@pytest.fixture
def events():
    """The events of the cache, by the last part of their names."""
    problems: list[str] = []
    register_event_listener(lambda event, **_: problems.append(event.rpartition("/")[2]))
    register_event_duration_secs_listener(
        lambda event, seconds, **_: problems.append(event.rpartition("/")[2])
    )
    yield problems
    clear_event_listeners()


HIT = ["compile_requests_use_cache", "cache_hits", "compile_time_saved_sec"]
HIT.append("cache_retrieval_time_sec")
MISS = ["compile_requests_use_cache", "cache_misses"]


def run(text, **options):
    """The results of a program for 2, 3, 4, 5."""
    device = options.pop("device", devices()[0])
    loaded = compile_text(text, [device], **options)
    (result,) = Executable(loaded, [F4], [F4]).execute(
        [device_put(np.float32([2, 3, 4, 5]), device)]
    )
    return result.tolist()


# Keys.


def key(text=None, options=None, device=None, **more):
    device = device or devices()[0]
    result = compile_options([device], options=options)
    return program_key(text or program(), [device], result, **more).digest


SAME = {
    "the names of operations": lambda: key(program(scope="elsewhere/add")),
    "the names of results": lambda: key(program(out="result['mean']")),
    "the device": lambda: key(device=devices()[-1]),
    "the same options": lambda: key(options={}),
}
OTHER = {
    "the operation": lambda: key(program("multiply")),
    "the types": lambda: key(program(n=5)),
    "the function's name": lambda: key(program(name="g")),
    "an option of the compiler": lambda: key(options={"xla_cpu_enable_fast_math": True}),
    "the value of that option": lambda: key(options={"xla_cpu_enable_fast_math": False}),
}


@pytest.mark.parametrize("what", SAME)
def test_locations_and_the_device_do_not_change_the_key(what, eight_devices):
    assert SAME[what]() == key()


@pytest.mark.parametrize("what", OTHER)
def test_inputs_of_the_compiler_change_the_key(what):
    assert OTHER[what]() != key()
    values = [make() for make in OTHER.values()]
    assert len(set(values)) == len(values)


OTHER_SETTINGS = {
    "jax_optimization_level": "O1",
    "jax_memory_fitting_level": "O0",
    "jax_disable_most_optimizations": True,
    "jax_compiler_enable_remat_pass": False,
    "jax_xla_profile_version": 3,
}


@pytest.mark.parametrize("name", OTHER_SETTINGS)
def test_options_that_the_compiler_is_told_are_part_of_the_key(name):
    before, usual = config.read(name), key()
    config.update(name, OTHER_SETTINGS[name])
    try:
        assert key() != usual
    finally:
        config.update(name, before)
    assert key() == usual


def test_the_order_of_options_does_not_matter():
    one, other = ("xla_cpu_enable_fast_math", True), ("xla_embed_ir_in_executable", False)
    assert key(options=dict([one, other])) == key(options=dict([other, one]))


MACHINE = {
    "jaxlib": ("jaxlib_version", "0.11.1"),
    "machine": ("machine_of", lambda client: "another processor"),
}


@pytest.mark.parametrize("part", MACHINE)
def test_versions_and_machines_are_part_of_the_key(part, monkeypatch):
    name, value = MACHINE[part]
    usual = program_key(program(), devices()[:1], compile_options(devices()[:1]))
    monkeypatch.setattr(key_module, name, value)
    key = program_key(program(), devices()[:1], compile_options(devices()[:1]))
    assert key.digest != usual.digest
    assert {p for p in key.parts if key.parts[p] != usual.parts[p]} == {part}


def test_names_of_operations_are_part_of_the_key_where_asked():
    named = key(with_names=True)
    assert named != key()
    assert key(program(scope="elsewhere"), with_names=True) != named


def test_source_lines_are_part_of_the_key_of_a_module_that_has_them():
    def located(line):
        return program().replace('"jit(f)/add"', f'"jit(f)/add"("model.py":{line}:1)')

    assert len({key(), key(located(3)), key(located(4))}) == 3
    assert key(located(3)) == key(located(3))


def test_paths_of_xlas_dumps_do_not_change_the_key():
    options = compile_options(devices()[:1])
    usual = program_key(program(), devices()[:1], options).digest
    debug = options.executable_build_options.debug_options
    debug.xla_dump_to, debug.xla_dump_max_hlo_modules = "/somewhere", 3
    debug.xla_gpu_per_fusion_autotune_cache_dir = "/elsewhere"
    assert program_key(program(), devices()[:1], options).digest == usual
    assert debug.xla_dump_to == "/somewhere"  # they are still asked for
    debug.xla_cpu_enable_fast_math = not debug.xla_cpu_enable_fast_math
    assert program_key(program(), devices()[:1], options).digest != usual


def test_several_devices_are_part_of_the_key(eight_devices):
    def digest(chosen):
        options = compile_options(chosen, num_partitions=len(chosen))
        return program_key(program(), chosen, options).digest

    digests = [digest(eight_devices), digest(eight_devices[::-1]), digest(eight_devices[:4])]
    assert len({*digests, key()}) == 4
    assert digest(eight_devices) == digests[0]


def test_options_are_serialized_alike_each_time():
    flags = {f"xla_cpu_enable_fast_m{c}": True for c in "abc"}
    first, second = (
        compile_options(devices()[:1], options=flags).SerializeAsString() for _ in range(2)
    )
    assert first == second
    assert isinstance(CompileOptions.ParseFromString(first), CompileOptions)


# Finding programs again.


def test_a_second_compilation_hits_the_cache(folder, events):
    assert run(program()) == [4, 6, 8, 10]
    assert events == ["tasks_using_cache", *MISS]
    events.clear()
    assert run(program(scope="elsewhere")) == [4, 6, 8, 10]
    assert events == HIT
    assert len(folder.files()) == 1


def test_a_cached_executable_runs_on_another_device(folder, events, eight_devices):
    run(program("multiply"))
    events.clear()
    assert run(program("multiply"), device=eight_devices[3]) == [4, 9, 16, 25]
    assert events == HIT


def test_a_cached_executable_can_be_inspected(folder):
    compiled, loaded = (
        Executable(compile_text(program(), devices()[:1]), [F4], [F4]) for _ in "12"
    )
    assert loaded.cost_analysis() == compiled.cost_analysis()
    assert str(loaded.memory_analysis()) == str(compiled.memory_analysis())
    assert loaded.as_text() == compiled.as_text()


TOTAL = """
module @total attributes {mhlo.num_partitions = 8 : i32, mhlo.num_replicas = 1 : i32} {
  sdy.mesh @mesh = <["x"=8]>
  func.func public @main(
      %x: tensor<16xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}]>}) -> (
      tensor<f32> {sdy.sharding = #sdy.sharding<@mesh, []>}) {
    %zero = stablehlo.constant dense<0.0> : tensor<f32>
    %sum = stablehlo.reduce(%x init: %zero) applies stablehlo.add across dimensions = [0]
      : (tensor<16xf32>, tensor<f32>) -> tensor<f32>
    return %sum : tensor<f32>
  }
}"""


def test_a_program_over_devices_keeps_its_shardings(folder, events, eight_devices):
    compiled, loaded = (compile_text(TOTAL, eight_devices, num_partitions=8) for _ in "12")
    assert events[-len(HIT) :] == HIT
    assert loaded.local_devices() == compiled.local_devices()
    for ask in (LoadedExecutable.get_parameter_shardings, LoadedExecutable.get_output_shardings):
        assert list(map(str, ask(loaded))) == list(map(str, ask(compiled)))


@pytest.mark.parametrize(
    "name, value",
    [
        ("jax_compilation_cache_dir", None),
        ("jax_enable_compilation_cache", False),
        ("jax_persistent_cache_min_compile_time_secs", 1000.0),
        ("jax_persistent_cache_min_entry_size_bytes", 10**9),
        ("jax_compilation_cache_max_size", 0),
        ("jax_compilation_cache_max_size", 100),
    ],
)
def test_options_disable_caching(name, value, folder):
    config.update(name, value)
    assert run(program()) == [4, 6, 8, 10]
    assert not os.path.exists(folder.path) or not folder.files()


@pytest.mark.parametrize("target", ["CustomSPMDPartitioning", "InspectSharding"])
def test_programs_with_compile_time_callbacks_skip_the_cache(target, folder, events):
    text = program() + f"// @{target}"
    assert run(text) == [4, 6, 8, 10]
    assert events == []


def test_dumped_modules_are_compiled_again(folder, events, tmp_path):
    def dump(options):
        options.executable_build_options.debug_options.xla_dump_to = str(tmp_path / "dump")

    run(program())
    events.clear()
    assert run(program(), configure=dump) == [4, 6, 8, 10]
    assert "cache_hits" not in events
    assert list((tmp_path / "dump").iterdir())


# Keeping few.


def test_least_recently_used_entries_are_evicted(folder):
    names = "abcd"
    for i, name in enumerate(names):
        run(program(name=name))
        newest = folder.files()[-1]
        os.utime(newest.path, (i, i))
    size = newest.size
    run(program(name="a"))  # used again
    config.update("jax_compilation_cache_max_size", int(3.5 * size))
    run(program(name="e"))
    prefixes = [os.path.basename(file.path).split("-")[0] for file in folder.files()]
    assert sorted(prefixes) == ["jit_a", "jit_d", "jit_e"]


def test_unfinished_files_are_removed_after_an_hour(folder):
    run(program())
    for name, used in (("old.unfinished", 0), ("new.unfinished", None)):
        path = os.path.join(folder.path, name)
        open(path, "w").close()
        if used is not None:
            os.utime(path, (used, used))
    assert folder.shrink(10**9) == []
    assert {n for n in os.listdir(folder.path) if n.endswith("unfinished")} == {"new.unfinished"}


def test_shrink_ignores_files_that_another_process_removed(folder, monkeypatch):
    run(program())
    files = folder.files()
    os.remove(files[0].path)
    monkeypatch.setattr(CacheFolder, "files", lambda self: files)
    assert folder.shrink(0) == files


# Bad circumstances: a warning, and the program runs.


def altered(data, where, to):
    return data[:where] + bytes([to]) + data[where + 1 :]


def future(data):
    kind = FileKind(ENTRY_KIND.name, ENTRY_KIND.version + 1, ENTRY_KIND.record, ENTRY_KIND.title)
    return write_file(kind, read_file(ENTRY_KIND, data, "here"))


def foreign(data):
    return write_file(FileKind("note", 1, ENTRY_KIND.record, ""), read_entry(data, "here"))


def meaningless(data):
    entry = read_entry(data, "here")
    fields = {name: getattr(entry, name) for name in entry.__struct_fields__}
    changed = type(entry)(**{**fields, "data": b"no program", "compressed": False, "size": 10})
    return write_file(ENTRY_KIND, changed)


def badly_compressed(data):
    entry = read_entry(data, "here")
    fields = {name: getattr(entry, name) for name in entry.__struct_fields__}
    return write_file(ENTRY_KIND, type(entry)(**{**fields, "data": b"no zlib"}))


DAMAGE = {
    "empty": (lambda data: b"", "is empty"),
    "truncated": (lambda data: data[:-100], "was truncated"),
    "a head alone": (lambda data: data[:50], "not a file of Ricci's"),
    "altered": (lambda data: altered(data, 900, data[900] ^ 1), "was altered"),
    "a file of another program": (lambda data: b"PK" + data, "not a file of Ricci's"),
    "of the future": (future, "of version 2, written by newer Ricci"),
    "of another kind": (foreign, "of kind 'note'"),
    "another program's": (None, "which differs in: program"),
    "no program in it": (meaningless, "cannot be read"),
    "badly compressed": (badly_compressed, "cannot be decompressed"),
}


@pytest.mark.parametrize("what", DAMAGE)
def test_a_damaged_entry_is_a_warning_and_a_compilation(what, folder, events):
    damage, message = DAMAGE[what]
    assert run(program()) == [4, 6, 8, 10]
    (file,) = folder.files()
    with open(file.path, "rb") as opened:
        data = opened.read()
    if damage is None:
        run(program("multiply"))
        other = next(f.path for f in folder.files() if f.path != file.path)
        os.replace(other, file.path)
    else:
        with open(file.path, "wb") as opened:
            opened.write(damage(data))
    events.clear()
    with pytest.warns(UserWarning, match=message) as caught:
        assert run(program()) == [4, 6, 8, 10]
    assert file.path in str(caught[0].message)
    assert events == MISS
    events.clear()
    assert run(program()) == [4, 6, 8, 10]  # the entry was written anew
    assert events == HIT


def test_a_damaged_entry_is_an_error_where_asked(folder):
    run(program())
    (file,) = folder.files()
    with open(file.path, "wb") as opened:
        opened.write(b"rubbish")
    config.update("jax_raise_persistent_cache_errors", True)
    with pytest.raises(FileError, match="not a file of Ricci's"):
        run(program())
    config.update("jax_raise_persistent_cache_errors", False)
    with pytest.warns(UserWarning, match="not a file of Ricci's"):
        assert run(program()) == [4, 6, 8, 10]


def fail(error):
    def failing(*args, **kwargs):
        raise error

    return failing


WRITE_ERRORS = {
    "a full disk": (os, "replace", OSError(28, "No space left on device")),
    "a folder that can only be read": (os, "makedirs", PermissionError(13, "Permission denied")),
    "a broken disk": (files_module, "open", OSError(5, "Input/output error")),
}


@pytest.mark.parametrize("what", WRITE_ERRORS)
def test_unwritable_files_give_one_warning(what, folder, monkeypatch):
    module, name, error = WRITE_ERRORS[what]
    with monkeypatch.context() as patch:
        patch.setattr(module, name, fail(error), raising=False)
        with pytest.warns(UserWarning, match=error.strerror) as caught:
            assert run(program()) == [4, 6, 8, 10]
            assert run(program("multiply")) == [4, 9, 16, 25]
        assert len([w for w in caught if folder.path in str(w.message)]) >= 1
        config.update("jax_raise_persistent_cache_errors", True)
        with pytest.raises(OSError, match=error.strerror):
            run(program("maximum"))
        config.update("jax_raise_persistent_cache_errors", False)
    if os.path.exists(folder.path):
        assert os.listdir(folder.path) == []  # nothing is left behind
    assert run(program("maximum")) == [2, 3, 4, 5]
    assert len(folder.files()) == 1


def test_a_full_disk_gives_one_warning(folder, monkeypatch):
    monkeypatch.setattr(os, "replace", fail(OSError(28, "No space left on device")))
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        run(program())
        run(program("multiply"))
    assert len(caught) == 1
    reset_cache()
    with pytest.warns(UserWarning, match="No space"):
        run(program())


def test_a_folder_that_vanishes_is_made_again(folder, events):
    run(program())
    for file in folder.files():
        os.remove(file.path)
    os.rmdir(folder.path)
    events.clear()
    assert run(program()) == [4, 6, 8, 10]
    assert events == MISS
    assert len(folder.files()) == 1


def test_a_file_in_the_place_of_the_folder_is_a_warning(folder):
    open(folder.path, "w").close()
    with pytest.warns(UserWarning, match="cannot be stored"):
        assert run(program()) == [4, 6, 8, 10]


def test_a_read_only_folder_is_read(folder, events, monkeypatch):
    run(program())
    monkeypatch.setattr(os, "utime", fail(PermissionError(13, "Permission denied")))
    events.clear()
    assert run(program()) == [4, 6, 8, 10]
    assert events == HIT


def test_an_unserializable_executable_is_a_warning(folder, monkeypatch):
    monkeypatch.setattr(
        persistent, "_serialized", fail(NotImplementedError("a program of this kind"))
    )
    with pytest.warns(UserWarning, match="the runtime does not serialize it"):
        assert run(program()) == [4, 6, 8, 10]


def test_addresses_are_refused_with_advice(folder):
    set_cache_dir("gs://bucket/cache")
    with pytest.warns(UserWarning, match="Mount the storage"):
        assert run(program()) == [4, 6, 8, 10]
    config.update("jax_raise_persistent_cache_errors", True)
    with pytest.raises(ValueError, match="'gs://bucket/cache' is an address"):
        run(program())


def test_a_miss_is_explained(folder, caplog):
    config.update("jax_explain_cache_misses", True)
    with caplog.at_level("WARNING", "ricci.compilation_cache"):
        run(program())
        assert "the folder cannot be read" in caplog.text
        caplog.clear()
        run(program(n=4).replace("add", "subtract"))
        assert "another program: the types are the same" in caplog.text
        caplog.clear()
        run(program(), compiler_options={"xla_cpu_enable_fast_math": True})
        assert "other options of the compiler: compiler_options []" not in caplog.text
        assert "compiler_options [('xla_cpu_enable_fast_math', True)" in caplog.text
        caplog.clear()
        run(program())
        assert caplog.text == ""


# However a file is altered, the program that runs is the right one.

ALTERATIONS = int(os.environ.get("RICCI_CACHE_ALTERATIONS", "200"))


def damaged(data, rng):
    """A file with a random alteration."""
    kind = rng.randrange(5)
    position = rng.randrange(len(data))
    if kind == 0:
        return altered(data, position, rng.randrange(256))
    if kind == 1:
        return data[:position]
    if kind == 2:
        return data[:position] + rng.randbytes(rng.randrange(1, 40)) + data[position:]
    if kind == 3:
        return data[:position] + data[position + rng.randrange(1, 40) :]
    other = rng.randrange(len(data))
    low, high = sorted((position, other))
    return data[:low] + data[low:high][::-1] + data[high:]


def test_no_alteration_is_taken_for_an_entry(folder):
    run(program())
    (file,) = folder.files()
    with open(file.path, "rb") as opened:
        data = opened.read()
    key = program_key(program(), devices()[:1], compile_options(devices()[:1]))
    rng = random.Random(0)
    refused = 0
    for _ in range(ALTERATIONS):
        changed = damaged(data, rng)
        try:
            entry = read_entry(changed, file.path, key)
        except FileError as error:
            assert file.path in str(error)
            refused += 1
        else:
            assert changed == data and entry.program(file.path)
    assert refused > 0.9 * ALTERATIONS


def test_altered_files_run_the_right_program(folder):
    run(program())
    (file,) = folder.files()
    with open(file.path, "rb") as opened:
        data = opened.read()
    rng = random.Random(1)
    for _ in range(max(ALTERATIONS // 20, 1)):
        with open(file.path, "wb") as opened:
            opened.write(damaged(data, rng))
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            assert run(program()) == [4, 6, 8, 10]


# The command.


def test_the_command_lists_explains_and_prunes(folder, capsys):
    run(program())
    run(program("multiply", name="g"))
    run(program("multiply", name="h"), compiler_options={"xla_cpu_enable_fast_math": True})
    assert main(["list", folder.path, "--long"]) == 0
    out = capsys.readouterr().out
    assert "jit_g" in out and "3 programs" in out and "(%x: tensor<4xf32>)" in out
    assert main(["explain", folder.path, "jit_g", "jit_h"]) == 0
    out = capsys.readouterr().out
    assert "other options of the compiler" in out and "the same: devices, platform" in out
    assert main(["check", folder.path]) == 0
    path = folder.files()[0].path
    with open(path, "r+b") as opened:
        opened.truncate(70)
    assert main(["check", folder.path]) == 1
    assert path in capsys.readouterr().out
    assert main(["list", folder.path]) == 0
    assert main(["check", folder.path, "--remove"]) == 0
    assert len(folder.files()) == 2
    assert main(["prune", folder.path, "--max-size", "0"]) == 0
    assert "removed 2 programs" in capsys.readouterr().out
    assert folder.files() == []


@pytest.mark.parametrize(
    "arguments, message",
    [
        (["list", "/nowhere"], "No such file or directory: '/nowhere'"),
        (["explain", ".", "a", "b"], "has no entry whose name begins with 'a'"),
    ],
)
def test_the_command_reports_errors(arguments, message, capsys):
    assert main(arguments) == 2
    assert message in capsys.readouterr().err


@pytest.mark.parametrize(
    "text, size", [("0", 0), ("500M", 500_000_000), ("1.5 GB", 1_500_000_000), ("20kb", 20_000)]
)
def test_sizes_have_units(text, size, folder, monkeypatch):
    asked = []
    os.makedirs(folder.path)
    monkeypatch.setattr(CacheFolder, "shrink", lambda self, limit: asked.append(limit) or [])
    assert main(["prune", folder.path, "--max-size", text]) == 0
    assert asked == [size]


def test_an_invalid_size_is_an_error(folder, capsys):
    with pytest.raises(SystemExit):
        main(["prune", folder.path, "--max-size", "much"])
    assert "expected bytes" in capsys.readouterr().err


def test_without_msgspec_programs_are_compiled_and_the_cache_is_off(folder, tmp_path, monkeypatch):
    for name in [n for n in sys.modules if f"{n}.".startswith("ricci_xla.cache.")]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.delattr(ricci_xla, "cache")
    monkeypatch.setitem(sys.modules, "msgspec", None)  # importing it is an error
    _compiler._persistent_cache.cache_clear()
    with pytest.warns(UserWarning, match="pip install msgspec"):
        compile_text(program(), devices()[:1])
    _compiler._persistent_cache.cache_clear()
    assert not list(tmp_path.rglob("*.*"))
