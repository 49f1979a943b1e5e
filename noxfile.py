"""The sessions that check, build and show Ricci; `python3 tools/dev.py nox -l` lists them.

Packages are found by globbing. Sessions run in environments of `tools/environments.py`, which
several share and which are made anew only when what they hold has changed.
"""

import os
import shutil
import subprocess
import sys
from itertools import chain
from pathlib import Path

import nox

ROOT = Path(__file__).resolve().parent
sys.path.insert(0, str(ROOT / "tools"))

from environments import Environment, digest  # noqa: E402
from import_census import libraries  # noqa: E402
from workspace import (  # noqa: E402
    EXAMPLES,
    PACKAGES,
    buildable,
    closure,
    dependency_group,
    distribution,
    modules_beside,
    readme_extras,
    recipe_files,
    requirements_of_tests,
    settings,
    version,
    wheel,
)

nox.needs_version = ">=2025.5.1"
nox.options.default_venv_backend = "none"
nox.options.sessions = ["lint", "layers", "types", "tests-together"]

JAXLIBS = ("0.12.0.1", "0.11.2")
JAXLIB = os.environ.get("RICCI_JAXLIB", JAXLIBS[0])  # the one that sessions take which name none
JAXLIB_OF_PLUGINS = "0.11.2"  # the one that the groups gpu and tpu fit
LIGHT = ("pytree", "ir", "autodiff", "batching", "stablehlo", "lax", "numpy", "reference")
DIST = ROOT / "dist"
ORACLE = Environment("oracle")
CPU_DEVICES = {"XLA_FLAGS": "--xla_force_host_platform_device_count=8"}
# What compares the last places of optimized code, which fuses products and sums.
LAST_PLACES = ("packages/native/tests", "packages/scipy/tests/test_special_accuracy.py")
GOOGLE_PCI_VENDOR = "0x1ae0"


def workspace(
    jaxlib: str = JAXLIB,
    name: str = "workspace",
    groups: tuple[str, ...] = ("build", "lint", "types", "test"),
) -> Environment:
    """Return an environment with every package, editable, and the groups' requirements."""
    tools = [requirement for group in groups for requirement in dependency_group(group)]
    if "test" in groups:
        tools += chain.from_iterable(requirements_of_tests(package)[1] for package in PACKAGES)
    members = [part for package in PACKAGES for part in ("-e", f"packages/{package}")]
    environment = Environment(f"{name}-jaxlib-{jaxlib}")
    recipe = [[*tools, f"jaxlib=={jaxlib}"], ["--no-build-isolation", *members]]
    environment.make(recipe, recipe_files())
    return environment


def oracle_variables() -> dict[str, str]:
    """Return the variable by which tests find the oracle, where its environment is made."""
    python = os.environ.get("RICCI_ORACLE_PYTHON") or ORACLE.python
    return {"RICCI_ORACLE_PYTHON": python} if Path(python).exists() else {}


def run_pytest(
    session: nox.Session, environment: Environment, *arguments: str, **variables: str
) -> None:
    """Run pytest from the root, with the session's own arguments behind the given ones.

    Bytecode is kept, as in an install: many tests start processes, which would compile it anew.
    """
    bytecode = {"PYTHONDONTWRITEBYTECODE": ""}
    session.run(
        *(environment.python, "-P", "-m", "pytest"),
        *arguments,
        *session.posargs,
        env={**CPU_DEVICES, **oracle_variables(), **bytecode, **variables},
        external=True,
    )


@nox.session(allow_parallel=True)
def lint(session: nox.Session) -> None:
    """Check style, docstrings, wording, names of builtins, indices, and the changelog's draft."""
    environment = workspace()
    ruff = environment.program("ruff")
    session.run(ruff, "check", ".", external=True)
    session.run(ruff, "format", "--check", ".", external=True)
    session.run(environment.python, "tools/docstrings.py", external=True)
    session.run(environment.python, "tools/plain_words.py", external=True)
    session.run(environment.python, "tools/builtin_names.py", external=True)
    session.run(environment.python, "tools/name_index.py", external=True)
    draft = ["build", "--draft", "--version", version()]
    session.run(environment.program("towncrier"), *draft, external=True, silent=True)
    session.run(environment.python, "tools/project_forms.py", external=True)


@nox.session(allow_parallel=True)
def layers(session: nox.Session) -> None:
    """Check the arrows between the packages with import-linter."""
    session.run(workspace().program("lint-imports"), "--no-cache", external=True)


@nox.session(allow_parallel=True)
def types(session: nox.Session) -> None:
    """Check the types: the tree, the typed programs by two checkers, and how much is typed."""
    environment = workspace()
    session.run(environment.python, "tools/jax_stubs.py", external=True)
    pyright = [environment.program("pyright"), "--pythonpath", environment.python]
    session.run(*pyright, external=True)
    session.run(environment.python, "tools/typed_programs.py", external=True)
    session.run(environment.python, "tools/type_completeness.py", external=True)
    session.run(environment.python, "tools/any_annotations.py", external=True)


@nox.session(allow_parallel=True)
def oracle(session: nox.Session) -> None:
    """Make the environment of the oracle: real JAX, which tests call in another process."""
    ORACLE.make([dependency_group("oracle")])
    session.run(ORACLE.python, "-c", "import jax; print('oracle: JAX', jax.__version__)")


@nox.session
@nox.parametrize("package", PACKAGES)
@nox.parametrize("jaxlib", JAXLIBS)
def tests(session: nox.Session, jaxlib: str, package: str) -> None:
    """Run the tests of one package on one jaxlib; arguments go to pytest."""
    run_pytest(session, workspace(jaxlib), f"packages/{package}/tests")


@nox.session(name="tests-together")
def tests_together(session: nox.Session) -> None:
    """Run the tests of every package at once, on one jaxlib; arguments go to pytest.

    Of what is marked ``sampled``, and of the laws' cases, only a sample: `nox -s tests` runs all,
    and so does a selection by name (`-k`, or a node id).
    """
    options = ["-n", "auto", "--dist", "worksteal"]
    run_pytest(session, workspace(), *LAST_PLACES, *options, RICCI_SAMPLE="1")
    # Without the optimizations of machine code, on which a third of their time would be spent.
    flags = f"{CPU_DEVICES['XLA_FLAGS']} --xla_backend_optimization_level=0"
    others = [f"--ignore={path}" for path in LAST_PLACES]
    run_pytest(session, workspace(), *others, *options, RICCI_SAMPLE="1", XLA_FLAGS=flags)


@nox.session
def doctest(session: nox.Session) -> None:
    """Run the examples in the docstrings of every package and in the documents."""
    options = ["--doctest-modules", "--doctest-glob=*.md", "-n", "auto"]
    # What it shows needs a C++ compiler: integration/compilation/test_ffi_example.py runs it.
    options += ["--ignore=docs/guides/custom-operations.md"]
    run_pytest(session, workspace(), *options, *EXAMPLES)


def run_machines(session: nox.Session, *arguments: str) -> None:
    """Run tools/machines.py, with the session's own arguments behind the given ones."""
    command = [workspace().python, "tools/machines.py", *arguments, *session.posargs]
    session.run(*command, env={**CPU_DEVICES, **oracle_variables()}, external=True)


@nox.session
def machines(session: nox.Session) -> None:
    """Run what rests on arithmetic as other processors would; see tools/machines.py --help."""
    run_machines(session)


@nox.session(name="machines-short")
def machines_short(session: nox.Session) -> None:
    """Run a part of that under the oldest instruction set, and with the last places changed."""
    run_machines(session, "--short")


@nox.session(name="integration-cpu")
def integration_cpu(session: nox.Session) -> None:
    """Run the tests through the public API on eight virtual CPU devices.

    Of what is marked ``sampled`` only a sample: `nox -s integration-full` runs all.
    """
    # Workers begin with a half each, so that few files divide their fixtures and compilations.
    options = ["--ignore=integration/multihost", "-n", "auto", "--dist", "worksteal"]
    options += ["-p", "compiled_once"]  # the plugin in tools/
    variables = {"RICCI_TEST_PLATFORM": "cpu", "RICCI_SAMPLE": "1"}
    variables["PYTHONPATH"] = str(ROOT / "tools")
    run_pytest(session, workspace(), "integration", *options, **variables)


@nox.session(name="integration-full")
def integration_full(session: nox.Session) -> None:
    """Run every case of the tests through the public API; arguments go to pytest.

    Tables that have a session of their own are sampled here, too.
    """
    ORACLE.make([dependency_group("oracle")])
    options = ["--ignore=integration/multihost", "-n", "auto", "--dist", "worksteal"]
    run_pytest(session, workspace(), "integration", *options, RICCI_TEST_PLATFORM="cpu")


@nox.session(name="integration-hosts")
def integration_hosts(session: nox.Session) -> None:
    """Run programs of several processes, on CPU devices, and let their processes fail."""
    # The tests of a file share the processes that they start.
    options = ["integration/multihost", "-n", "auto", "--dist", "loadfile"]
    run_pytest(session, workspace(), *options, RICCI_TEST_PLATFORM="cpu")


@nox.session(name="integration-gpu")
def integration_gpu(session: nox.Session) -> None:
    """Run the tests through the public API on an NVIDIA GPU."""
    probe = shutil.which("nvidia-smi")
    if probe is None or subprocess.run([probe, "-L"], capture_output=True).returncode != 0:
        session.skip("not run: this machine has no NVIDIA GPU that nvidia-smi can list")
    environment = workspace(JAXLIB_OF_PLUGINS, name="gpu", groups=("build", "test", "gpu"))
    run_pytest(session, environment, "integration", RICCI_TEST_PLATFORM="gpu")


@nox.session(name="gpu-described")
def gpu_described(session: nox.Session) -> None:
    """Compile programs for a described H100, beside JAX; no GPU and no driver is needed.

    It is not in CI: the plugin is 143 MB, for each side, and even a sixth of the programs takes
    minutes. `RICCI_GPU_STEP=1` compiles all of them.
    """
    environment = workspace(name="gpu-described", groups=("build", "test", "gpu-described"))
    theirs = Environment("gpu-described-oracle")
    theirs.make([[*dependency_group("oracle"), *dependency_group("gpu-described")]])
    options = ["integration/devices/test_gpu_programs.py", "-rs"]
    variables = {"RICCI_TEST_PLATFORM": "cpu", "RICCI_GPU_ORACLE": theirs.python}
    run_pytest(session, environment, *options, **variables)


@nox.session(name="integration-tpu")
def integration_tpu(session: nox.Session) -> None:
    """Compile programs for TPUs, which need not be here; where one is, run all tests on it."""
    try:
        environment = workspace(JAXLIB_OF_PLUGINS, name="tpu", groups=("build", "test", "tpu"))
    except subprocess.CalledProcessError as error:
        session.error(
            f"libtpu, which compiles for TPUs, could not be installed ({error}): nothing was "
            "compiled. It is a wheel for Linux on x86-64 of some 200 MB; no TPU is needed."
        )
    # Devices are described, so that everything else is on the CPU.
    compiled = [*sorted(map(str, Path("integration/devices").glob("test_tpu_*.py"))), "-rs"]
    run_pytest(session, environment, *compiled, RICCI_TEST_PLATFORM="cpu", RICCI_TEST_LIBTPU="1")
    nodes = [*Path("/dev").glob("accel[0-9]*"), *Path("/dev/vfio").glob("[0-9]*")]
    vendors = {file.read_text().strip() for file in Path("/sys/bus/pci/devices").glob("*/vendor")}
    if nodes and GOOGLE_PCI_VENDOR in vendors:
        run_pytest(session, environment, "integration", RICCI_TEST_PLATFORM="tpu")
    else:
        session.log("no test was run on a TPU, since this machine has none")


@nox.session(name="kernels-gpu")
def kernels_gpu(session: nox.Session) -> None:
    """Compile kernels for an H100, which need not be here, and compare the guide's table."""
    plugin = f"jax-cuda13-pjrt=={JAXLIB}"
    try:
        environment = workspace(JAXLIB, name="kernels-gpu", groups=("build", "test"))
        environment.install(["--no-deps", plugin])
    except subprocess.CalledProcessError as error:
        session.error(
            f"{plugin}, which compiles for NVIDIA GPUs, could not be installed ({error}): nothing "
            "was compiled. It is a wheel for Linux; no GPU, driver or other wheel is needed."
        )
    command = [environment.python, "tools/kernels_gpu.py", *session.posargs]
    session.run(*command, env={"TF_CPP_MIN_LOG_LEVEL": "3"}, external=True)


@nox.session(name="oracle-full")
def oracle_full(session: nox.Session) -> None:
    """Compare every case with the oracle, where tests take a sample; arguments go to pytest."""
    ORACLE.make([dependency_group("oracle")])
    names = (
        "oracle/test_lax_oracle.py",
        "transformations/test_control_flow.py",
        "transformations/test_compositions.py",
        "oracle/test_arrays_oracle.py",
        "oracle/test_dtypes_oracle.py",
        "oracle/test_strict_modes.py",
        "oracle/test_parity.py",
        "oracle/test_weak_types.py",
        "oracle/test_calls_oracle.py",
        "devices/test_places.py",
        "surface/test_example_libraries.py",
        "oracle/test_kernel_programs.py",
        "oracle/test_jax_kernels.py",
        "oracle/test_sparse_oracle.py",
        "effects/test_mutable_references.py",
        "surface/test_library_programs.py",
        "transformations/test_recomputation.py",
    )
    files = [f"integration/{name}" for name in names]
    run_pytest(session, workspace(), *files, "-n", "auto", RICCI_ORACLE_CASES="all")


@nox.session(name="samplers-full")
def samplers_full(session: nox.Session) -> None:
    """Compare every sampler with the oracle, bit for bit, in all of its forms."""
    ORACLE.make([dependency_group("oracle")])
    file = "integration/oracle/test_samplers.py"
    run_pytest(session, workspace(), file, "-n", "auto", RICCI_SAMPLER_CASES="all")


@nox.session(name="devices-full")
def devices_full(session: nox.Session) -> None:
    """Compare every program over eight devices with the oracle; arguments: a pattern of names."""
    ORACLE.make([dependency_group("oracle")])
    with session.chdir("integration"):
        command = [workspace().python, "-m", "device_cases", *session.posargs]
        session.run(*command, env={**CPU_DEVICES, **oracle_variables()}, external=True)


@nox.session(name="edges-full")
def edges_full(session: nox.Session) -> None:
    """Compare every elementwise function at the edges of its domain with the oracle and SciPy."""
    ORACLE.make([dependency_group("oracle")])
    options = ["integration/oracle/test_edge_values.py", "-n", "auto"]
    run_pytest(session, workspace(), *options, RICCI_EDGE_CASES="all")


@nox.session(name="special-edges")
def special_edges(session: nox.Session) -> None:
    """Compare every special function with SciPy on 400 points of its domain, at both widths."""
    options = ["integration/oracle/test_special_points.py", "-n", "auto"]
    run_pytest(session, workspace(), *options, RICCI_SPECIAL_CASES="all")


@nox.session(name="precision-full")
def precision_full(session: nox.Session) -> None:
    """Find the planted line in every program that loses accuracy; arguments go to pytest."""
    files = ("test_precision.py", "test_precision_casts.py")
    files = [f"integration/diagnostics/{name}" for name in files]
    run_pytest(session, workspace(), *files, "-n", "auto")


@nox.session(name="memory-full")
def memory_full(session: nox.Session) -> None:
    """Measure `fit_memory` beside checkpoints written by hand; arguments: names of models."""
    with session.chdir("integration"):
        command = [workspace().python, "-m", "memory_programs", *session.posargs]
        session.run(*command, env=CPU_DEVICES, external=True)


@nox.session(name="symbolic-full")
def symbolic_full(session: nox.Session) -> None:
    """Run every call with symbolic sizes at several of them, and padded; arguments go to pytest."""
    ORACLE.make([dependency_group("oracle")])
    files = [
        "integration/transformations/test_symbolic_shapes.py",
        "integration/transformations/test_bucketed.py",
    ]
    options = [*files, "-n", "auto", "--dist", "worksteal"]
    run_pytest(session, workspace(), *options, RICCI_SYMBOLIC_CASES="all")


@nox.session(name="numpy-full")
def numpy_full(session: nox.Session) -> None:
    """Compare every call of the NumPy API with the oracle and NumPy; arguments go to pytest."""
    ORACLE.make([dependency_group("oracle")])
    options = ["integration/oracle/test_numpy_oracle.py", "-n", "auto", "--dist", "worksteal"]
    run_pytest(session, workspace(), *options, RICCI_NUMPY_CASES="all")


@nox.session(name="orders-full")
def orders_full(session: nox.Session) -> None:
    """Call every function in all ways, in both orders, at both widths; arguments go to pytest."""
    files = ["integration/oracle/test_orders.py", "integration/oracle/test_equal_numbers.py"]
    options = [*files, "-n", "auto", "--dist", "worksteal"]
    run_pytest(session, workspace(), *options, RICCI_ORDER_CASES="all")


@nox.session(name="indexing-full")
def indexing_full(session: nox.Session) -> None:
    """Compare 10,000 random indices with NumPy and the oracle; arguments go to pytest."""
    ORACLE.make([dependency_group("oracle")])
    run_pytest(
        session,
        workspace(),
        "integration/arrays/test_indexing_properties.py",
        RICCI_INDEX_CASES="10000",
    )


@nox.session
def fuzz(session: nox.Session) -> None:
    """Compare 2,000 random programs with the oracle; arguments: count, seed, --help for more."""
    ORACLE.make([dependency_group("oracle")])
    with session.chdir("integration"):
        command = [workspace().python, "-m", "fuzz", *session.posargs]
        session.run(*command, env={**CPU_DEVICES, **oracle_variables()}, external=True)


@nox.session
def agreement(session: nox.Session) -> None:
    """Print in what Ricci's lax and the oracle agree; arguments: topics."""
    ORACLE.make([dependency_group("oracle")])
    command = [workspace().python, "tools/agreement.py", *session.posargs]
    session.run(*command, env={**CPU_DEVICES, **oracle_variables()}, external=True)


@nox.session
def surface(session: nox.Session) -> None:
    """List JAX's public names that are missing or have other parameters; arguments: namespaces."""
    command = [workspace().python, "tools/surface.py", *session.posargs]
    session.run(*command, env=CPU_DEVICES, external=True)


@nox.session
def laws(session: nox.Session) -> None:
    """Check the laws and print which ran on what, with reasons; arguments: primitives."""
    command = [workspace().python, "tools/laws.py", *session.posargs]
    session.run(*command, env=CPU_DEVICES, external=True)


@nox.session(name="laws-full")
def laws_full(session: nox.Session) -> None:
    """Check the laws on all variants of all examples: every dtype, empty arrays, scalars."""
    command = [workspace().python, "tools/laws.py", "--full", *session.posargs]
    session.run(*command, env=CPU_DEVICES, external=True)


@nox.session(name="roll-growth")
def roll_growth(session: nox.Session) -> None:
    """Compile models of growing depth, unrolled and with `roll`; arguments: see the tool.

    The model `nnx` is measured where it is named, as it needs the environment of the libraries.
    """
    is_library = "nnx" in session.posargs
    python = library_environments()[0].python if is_library else workspace().python
    session.run(python, "tools/roll_growth.py", *session.posargs, external=True)


@nox.session
def bench(session: nox.Session) -> None:
    """Measure Ricci beside the oracle; arguments go to tools/bench.py."""
    ORACLE.make([dependency_group("oracle")])
    python = workspace().python
    command = [python, "tools/bench.py", *session.posargs]
    session.run(*command, env=oracle_variables(), external=True)
    page = Path(session.create_tmp(), "profile.html")
    command = [python, "-m", "ricci.profile", "-o", str(page), "docs/examples/train_perceptron.py"]
    session.run(*command, external=True, silent=True)
    session.log(f"where the time of a training goes: {page}")
    picture = Path(session.create_tmp(), "memory.svg")
    command = [python, "docs/examples/plan_memory.py", "--save", str(picture)]
    session.run(*command, external=True)
    session.log(f"what a training step holds in memory: {picture}")


@nox.session(name="bench-peers")
def bench_peers(session: nox.Session) -> None:
    """Time work on CPUs beside JAX, PyTorch and NumPy; arguments go to tools/bench_peers.py."""
    ORACLE.make([dependency_group("oracle")])
    peers = Environment("peers")
    peers.make([dependency_group("peers")])
    command = [workspace().python, "tools/bench_peers.py", "--peers", peers.python]
    session.run(*command, *session.posargs, env=oracle_variables(), external=True)


@nox.session(name="bench-native")
def bench_native(session: nox.Session) -> None:
    """Time what compiled kernels serve, with them and without; see tools/bench_native.py."""
    command = [workspace().python, "tools/bench_native.py", *session.posargs]
    session.run(*command, env={"XLA_FLAGS": ""}, external=True)


@nox.session(name="bench-formulas")
def bench_formulas(session: nox.Session) -> None:
    """Compare the formulas for CPUs with XLA's functions; see tools/bench_formulas.py."""
    command = [workspace().python, "tools/bench_formulas.py", *session.posargs]
    session.run(*command, env={"XLA_FLAGS": ""}, external=True)


@nox.session
def growth(session: nox.Session) -> None:
    """Compare the growth of time with sizes with the oracle's; arguments go to tools/growth.py."""
    ORACLE.make([dependency_group("oracle")])
    command = [workspace().python, "tools/growth.py", *session.posargs]
    session.run(*command, env=oracle_variables(), external=True)


@nox.session
def eager(session: nox.Session) -> None:
    """Compare eager calls of public functions with the oracle's; see tools/eager_calls.py."""
    ORACLE.make([dependency_group("oracle")])
    command = [workspace().python, "tools/eager_calls.py", *session.posargs]
    session.run(*command, env=oracle_variables(), external=True)


def library_environments() -> tuple[Environment, list[str]]:
    """Return the drop-in's environment with the libraries, and the options that name both sides.

    Where the drop-in's environment has the workspace, editable, no `jax` is asked of the registry.
    """
    asked = dependency_group("libraries")
    theirs, ours = Environment("libraries-jax"), Environment("libraries-ricci")
    theirs.make([[*dependency_group("oracle"), *asked]])
    members = [part for package in PACKAGES for part in ("-e", f"packages/{package}")]
    tools = [*dependency_group("build"), f"jaxlib=={JAXLIBS[0]}"]
    ours.make([tools, ["--no-build-isolation", *members], asked], recipe_files())
    return ours, ["--jax", theirs.python, "--ricci", ours.python]


@nox.session(name="libraries")
def libraries_session(session: nox.Session) -> None:
    """Run libraries on the drop-in beside JAX; arguments go to tools/libraries.py."""
    ours, sides = library_environments()
    session.run(ours.python, "tools/libraries.py", *sides, *session.posargs, external=True)


@nox.session(name="library-suites")
def library_suites(session: nox.Session) -> None:
    """Run the libraries' own tests on the drop-in; arguments go to tools/library_suites.py."""
    ours, sides = library_environments()
    session.run(ours.python, "tools/library_suites.py", *sides, *session.posargs, external=True)


@nox.session
def demo(session: nox.Session) -> None:
    """Show what Ricci does; arguments go to tools/demo.py."""
    environment = workspace(name="demo", groups=("build", "demo"))
    session.run(environment.python, "tools/demo.py", *session.posargs, external=True)


@nox.session(allow_parallel=True)
def build(session: nox.Session) -> None:
    """Build the sdist and the wheel of every package into dist/."""
    environment = Environment("build")
    environment.make([[*dependency_group("build"), f"jaxlib=={JAXLIBS[-1]}"]])
    session.run(environment.python, "tools/build_packages.py", external=True)


@nox.session
def release(session: nox.Session) -> None:
    """Check the packages as people install them: `-- --check`; or write a version: `-- 0.3.0`."""
    environment = Environment("release")
    jaxlib = f"jaxlib=={JAXLIBS[-1]}"
    environment.make([[*dependency_group("build"), *dependency_group("release"), jaxlib]])
    if "--check" in session.posargs:
        session.run(environment.python, "tools/build_packages.py", external=True, silent=True)
    session.run(environment.python, "tools/release.py", *session.posargs, external=True)


def install_wheels(name: str, packages: tuple[str, ...], *, readmes: bool = True) -> Environment:
    """Return an environment of the packages' built wheels and what these declare.

    What their tests need is in it as well, and the extras that their READMEs say to install. What
    comes from elsewhere is installed once for all packages that need the same.
    """
    siblings, others = zip(*map(requirements_of_tests, packages), strict=True)
    extras = {package: readme_extras(package) for package in packages} if readmes else {}
    wheels, elsewhere = closure([*packages, *chain.from_iterable(siblings)], DIST, extras)
    needed = {*elsewhere, *chain.from_iterable(others), *dependency_group("test")}
    recipe = [sorted(needed)]
    base = Environment(f"requirements-{digest(recipe, ())[:8]}")
    base.make(recipe)
    environment = Environment(f"isolated-{name}")
    environment.make([], on=base)
    environment.refresh(wheels)
    return environment


@nox.session(requires=["build"])
def docs(session: nox.Session) -> None:
    """Build the site from the built wheels; `-- --external` follows links to other hosts, too.

    The tutorials are executed where their code has changed, and `jax` is the drop-in there.
    """
    ours = [
        "--find-links",
        "dist",
        f"jax=={settings('jax')['project']['version']}",
        f"jaxlib=={JAXLIBS[0]}",
    ]
    environment = Environment("docs")
    environment.make([[*ours, *dependency_group("docs")]], recipe_files())
    environment.refresh([wheel(package, DIST) for package in buildable()])
    command = [environment.python, "tools/build_site.py", *session.posargs]
    session.run(*command, env={**CPU_DEVICES, "PYTHONPATH": ""}, external=True)


@nox.session(requires=["build"], allow_parallel=True)
@nox.parametrize("package", PACKAGES, ids=PACKAGES)
def isolated(session: nox.Session, package: str) -> None:
    """Run a package's README and a sample of its tests with only its dependencies installed."""
    if package not in buildable():
        session.skip("not run: the package is compiled, and there is no C++ compiler")
    environment = install_wheels(package, (package,))
    session.run(environment.python, "-m", "pip", "check", external=True)
    readme = ["tools/readme_examples.py", f"packages/{package}/README.md"]
    without = modules_beside([package], DIST, {package: readme_extras(package)})
    session.run(environment.python, *readme, "--without", *without, external=True)
    siblings, others = requirements_of_tests(package)
    tools = [*others, *dependency_group("test")]
    without = modules_beside([package, *siblings], DIST, {}, *tools)
    few = {"RICCI_CASES_PER_TEST": "1", "RICCI_TESTS_PER_FILE": "3"}
    variables = {**few, "RICCI_WITHOUT": " ".join(without)}
    run_pytest(session, environment, f"packages/{package}/tests", **variables)


@nox.session(name="import-census", requires=["build"])
def import_census(session: nox.Session) -> None:
    """Import libraries that are written for JAX on the drop-in; arguments: libraries."""
    groups: dict[str, list[str]] = {"": []}
    for library in libraries(session.posargs):
        groups.setdefault(library.environment, []).append(library.distribution)
    ours = [
        "--find-links",
        "dist",
        f"jax=={settings('jax')['project']['version']}",
        f"jaxlib=={JAXLIBS[0]}",
    ]
    pythons = []
    for name, distributions in groups.items():
        environment = Environment(f"import-census-{name}".rstrip("-"))
        environment.make([[*ours, *distributions]], DIST.glob("*.whl"))
        pythons.append(environment.python)
    command = [pythons[0], "tools/import_census.py", ",".join(pythons), *session.posargs]
    session.run(*command, external=True)


@nox.session(name="isolated-light", requires=["build"], allow_parallel=True)
def isolated_light(session: nox.Session) -> None:
    """Check the light install, the packages that need no jaxlib, and run its tests."""
    environment = install_wheels("light", LIGHT, readmes=False)
    names = map(distribution, LIGHT)
    session.run(environment.python, "tools/check_light.py", *names, external=True)
    run_pytest(session, environment, "integration/light")
