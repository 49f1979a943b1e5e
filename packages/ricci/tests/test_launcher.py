"""``python -m ricci.distributed.run``, with real processes of programs that need no arrays."""

import contextlib
import os
import pty
import re
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path

import pytest

from ricci._launcher._output import DelayedLines, Lines

COMMAND = (sys.executable, "-m", "ricci.distributed.run")
HEAD = """\
import os, signal, subprocess, sys, time
rank = int(os.environ["RICCI_PROCESS_ID"])
def note(pid):
    with open(f"{sys.argv[1]}/{pid}.new", "w"): pass
    os.rename(f"{sys.argv[1]}/{pid}.new", f"{sys.argv[1]}/{pid}")
"""


@pytest.fixture
def script(tmp_path):
    """Writes a program, and returns its path."""

    def write(text: str) -> str:
        path = tmp_path / "program.py"
        path.write_text(HEAD + text)
        return str(path)

    return write


@pytest.fixture(autouse=True)
def default_signals():
    """The parent of the tests may ignore signals, as nohup and ``&`` do; children inherit that."""
    hang_up = signal.signal(signal.SIGHUP, signal.SIG_DFL)
    interrupt = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGHUP, hang_up)
    signal.signal(signal.SIGINT, interrupt)


def launch(*arguments: str, **options) -> subprocess.CompletedProcess[str]:
    options = {"capture_output": True, "text": True, "timeout": 60, **options}
    return subprocess.run([*COMMAND, *arguments], **options)


def lines(text: str) -> list[str]:
    return sorted(text.splitlines())


PLACES = """
names = "RICCI_NUM_PROCESSES", "RICCI_LOCAL_DEVICE_IDS", "RICCI_NUM_CPU_DEVICES", "XLA_FLAGS"
print(rank, *map(os.environ.get, names), *sys.argv[1:])
"""


@pytest.mark.parametrize(
    "options",
    [
        ["-n", "2"],
        ["-n2"],
        ["-np", "2"],
        ["--nproc-per-node=2"],
        ["--standalone", "--nnodes=1", "--nproc_per_node", "2"],
    ],
    ids=" ".join,
)
def test_spellings(script, options):
    clean = {k: v for k, v in os.environ.items() if k != "RICCI_NUM_CPU_DEVICES"}
    outer = {**clean, "XLA_FLAGS": "--a", "JAX_PROCESS_ID": "7", "RICCI_LOCAL_DEVICE_IDS": "9"}
    done = launch(*options, script(PLACES), "--steps", "-n", "4", env=outer)
    expected = [f"[{rank}] {rank} 2 None None --a --steps -n 4" for rank in (0, 1)]
    assert (done.returncode, done.stderr, lines(done.stdout)) == (0, "", expected)


def test_devices(script):
    outer = {**os.environ, "XLA_FLAGS": "--a --xla_force_host_platform_device_count=8"}
    given = ("-n", "2", "--devices-per-process", "2", "--virtual-devices=3", script(PLACES))
    done = launch(*given, env=outer)
    assert lines(done.stdout) == ["[0] 0 2 0,1 3 --a", "[1] 1 2 2,3 3 --a"]


def test_a_module(tmp_path):
    (tmp_path / "task").mkdir()
    (tmp_path / "task" / "__main__.py").write_text("import sys; print(__package__, sys.argv[1:])")
    done = launch("--no-prefix", "-n", "2", "-m", "task", "--more", cwd=tmp_path)
    assert (done.returncode, done.stdout) == (0, "task ['--more']\n" * 2)


def test_the_port_is_free(script):
    listen = """
import socket
host, port = os.environ["RICCI_COORDINATOR_ADDRESS"].split(":")
if rank == 0: socket.create_server((host, int(port)))
print(host, int(port) >= 61440)
"""
    done = launch("-n", "2", script(listen))
    assert lines(done.stdout) == ["[0] 127.0.0.1 True", "[1] 127.0.0.1 True"]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["-n", "0", "x.py"], "'0': expected a whole number, at least 1"),
        (["x.py"], "-n/-np/--np"),
        (["-n", "2", "missing.py"], "no such file: 'missing.py'"),
        (["-n", "2", "--port", "70000", "x.py"], "expected a port"),
        (["-n", "2", "--grace", "soon", "x.py"], "'soon': expected seconds"),
        (["-n", "2", "--nnodes", "2", "x.py"], "start the program on each machine"),
    ],
)
def test_wrong_command_lines(arguments, message):
    done = launch(*arguments)
    assert done.returncode == 2
    assert message in done.stderr
    assert "Traceback" not in done.stderr


def test_a_port_that_is_taken(script):
    with socket.create_server(("", 0)) as server:
        port = server.getsockname()[1]
        done = launch("-n", "1", f"--port={port}", script(""))
    assert (done.returncode, done.stdout) == (2, "")
    assert f"--port {port}: another process listens there" in done.stderr


# Exit of processes


@pytest.mark.parametrize(
    ("end", "status", "message"),
    [
        ("sys.exit(3)", 3, "rank 1 failed first: exit code 3."),
        ("os.kill(os.getpid(), signal.SIGKILL)", 137, "rank 1 failed first: killed by SIGKILL."),
        ("os.kill(os.getpid(), signal.SIGSEGV)", 139, "rank 1 failed first: killed by SIGSEGV."),
        ("1 / 0", 1, "rank 1 failed first: exit code 1."),
    ],
)
def test_the_first_failure_is_passed_on(script, end, status, message):
    done = launch("-n", "3", "--grace", "0", script(f"if rank == 1: {end}\ntime.sleep(60)"))
    assert done.returncode == status
    assert done.stderr.splitlines()[-1] == (
        f"ricci.distributed.run: {message} The launcher ended ranks 0, 2."
    )


WAIT = """
def wait(name):
    while not os.path.exists(f"{sys.argv[1]}/{name}"): time.sleep(0.02)
    time.sleep(0.2)
"""


def test_others_have_time_to_report(script, tmp_path):
    report = """
if rank == 1:
    note("failed")
    sys.exit(3)
wait("failed")
sys.exit(f"rank {rank} misses rank 1")
"""
    done = launch("-n", "3", script(WAIT + report), str(tmp_path))
    assert done.returncode == 3
    assert "[0] rank 0 misses rank 1\n" in done.stderr
    others = done.stderr.rpartition("Then ")[2]
    assert "rank 0 (exit code 1)" in others and "rank 2 (exit code 1)" in others


def test_processes_that_end_well_end_nothing(script):
    done = launch("-n", "2", "--grace", "0", script("time.sleep(0.3 * rank); print('done')"))
    assert (done.returncode, lines(done.stdout)) == (0, ["[0] done", "[1] done"])


def test_the_first_traceback_comes_first(script, tmp_path):
    """Rank 1 fails first and is the last to end; its error must come first."""
    program = """
import atexit
if rank == 1:
    atexit.register(time.sleep, 0.8)
    note("failed")
    raise ValueError("the cause")
wait("failed")
print("connection lost", file=sys.stderr)
raise OSError("a consequence")
"""
    done = launch("-n", "3", script(WAIT + program), str(tmp_path))
    assert done.returncode == 1
    order = re.findall(r"^\[(\d)\] (ValueError|OSError)", done.stderr, re.MULTILINE)
    assert order[0] == ("1", "ValueError")
    assert sorted(order[1:]) == [("0", "OSError"), ("2", "OSError")]
    assert "rank 1 failed first: exit code 1." in done.stderr


def test_a_traceback_that_ends_nothing_is_printed_soon(script):
    program = """
import traceback
try: 1 / 0
except ZeroDivisionError: traceback.print_exc()
time.sleep(1.6)
print("next", file=sys.stderr)
time.sleep(60)
"""
    with subprocess.Popen(
        [*COMMAND, "-n", "1", script(program)], stderr=subprocess.PIPE, text=True
    ) as process:
        assert process.stderr is not None
        read = [process.stderr.readline() for _ in range(6)]
        process.send_signal(signal.SIGINT)
        assert read[0] == "[0] Traceback (most recent call last):\n"
        assert read[-1] == "[0] next\n" or "next" in process.stderr.readline()


def test_a_time_limit(script):
    done = launch("-n", "2", "--timeout", "0.5", script("if rank == 1: time.sleep(60)"))
    assert done.returncode == 124
    assert "1 did not end within 0.5 s (--timeout)." in done.stderr


# Output of processes


def test_lines_are_whole_and_streams_apart(script):
    program = """
for i in range(200):
    for part in ("ab", f"{i:03}", "yz", chr(10)):
        os.write(1, part.encode()); os.write(2, part.upper().encode())
os.write(1, b"no end")
"""
    done = launch("-n", "3", script(program))
    for rank in range(3):
        own = [line for line in done.stdout.splitlines() if line.startswith(f"[{rank}] ")]
        assert own == [f"[{rank}] ab{i:03}yz" for i in range(200)] + [f"[{rank}] no end"]
        own = [line for line in done.stderr.splitlines() if line.startswith(f"[{rank}] ")]
        assert own == [f"[{rank}] AB{i:03}YZ" for i in range(200)]
    assert len(done.stdout.splitlines()) == 603


def test_lines_come_at_once(script):
    program = script("print('ready'); time.sleep(60)")
    with subprocess.Popen([*COMMAND, "-n", "1", program], stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == b"[0] ready\n"
        process.send_signal(signal.SIGTERM)


def test_ranks_are_aligned(script):
    done = launch("-n", "11", script("print('x')"))
    assert lines(done.stdout) == lines("".join(f"[{rank:2}] x\n" for rank in range(11)))


def test_cutting_into_lines():
    cut = Lines()
    assert list(cut.add(b"a\r\nb 1%\rb 2%\nc")) == [b"a", b"b 2%"]
    assert list(cut.add(b"d" * 100_000)) == [b"c" + b"d" * 100_000]
    assert list(cut.end()) == []


def test_delayed_lines_are_limited():
    held = DelayedLines()
    for number in range(10_003):
        held.add(b"%d" % number)
    taken = held.take()
    assert taken[:2] == [b"... (3 earlier lines are left out)", b"3"]
    assert (len(taken), held.take()) == (10_001, [])


@pytest.mark.parametrize("wanted", [True, False])
def test_terminals_have_colours(script, wanted):
    terminal, end = pty.openpty()
    variables = {k: v for k, v in os.environ.items() if k not in ("NO_COLOR", "TERM")}
    if not wanted:
        variables["NO_COLOR"] = "1"
    subprocess.run(
        [*COMMAND, "-n", "1", script("print('x')")], stdout=end, env=variables, check=True
    )
    os.close(end)
    expected = b"\x1b[36m[0] \x1b[0mx\r\n" if wanted else b"[0] x\r\n"
    assert os.read(terminal, 1000) == expected
    os.close(terminal)


def test_rank_0_reads_the_input(script):
    done = launch("-n", "2", script("print(sys.stdin.read())"), input="words")
    assert lines(done.stdout) == ["[0] words", "[1] "]


# Nothing is left behind

WORK = """
child = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(60)"])
note(child.pid)
note(os.getpid())
"""


@pytest.fixture
def started(script, tmp_path):
    """Starts the launcher with a program; its processes have noted their ids when it returns."""
    launchers = []

    def start(
        text: str, *options: str, pids: int = 4, **streams
    ) -> tuple[subprocess.Popen, list[int]]:
        notes = tmp_path / "pids"
        notes.mkdir()
        command = [*COMMAND, "-n", "2", *options, script(text), str(notes)]
        launcher = subprocess.Popen(command, **{"stderr": subprocess.PIPE, **streams})
        launchers.append(launcher)
        wait_for(lambda: len([f for f in os.listdir(notes) if f.isdecimal()]) == pids)
        return launcher, [int(name) for name in os.listdir(notes)]

    yield start
    for launcher in launchers:
        launcher.kill()
        launcher.communicate()


def wait_for(condition, seconds: float = 20.0):
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end
        time.sleep(0.02)


def is_running(pid: int) -> bool:
    with contextlib.suppress(OSError):
        # Where nobody waits for orphans, one that has ended stays as a zombie.
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    return False


def test_nothing_outlives_a_killed_launcher(started):
    launcher, pids = started(WORK + "time.sleep(60)")
    assert all(map(is_running, pids))
    launcher.kill()
    launcher.wait()
    wait_for(lambda: not any(map(is_running, pids)))


@pytest.mark.parametrize("end", ["sys.exit(4 * rank)", "sys.exit(0)"])
def test_nothing_outlives_the_program(started, end):
    launcher, pids = started(WORK + "time.sleep(0.5)\n" + end, "--grace", "0")
    assert launcher.wait(20) in (0, 4)
    wait_for(lambda: not any(map(is_running, pids)))


@pytest.mark.parametrize(
    ("number", "status"), [(signal.SIGINT, 130), (signal.SIGTERM, 143), (signal.SIGHUP, 129)]
)
def test_signals_end_all(started, number, status):
    launcher, pids = started(WORK + "time.sleep(60)")
    launcher.send_signal(number)
    assert launcher.wait(20) == status
    assert not any(map(is_running, pids))


def test_launcher_waits_for_processes_that_save_on_exit(started):
    saving = """
def save(*_):
    time.sleep(0.3)
    print("saved")
    sys.exit(0)
signal.signal(signal.SIGTERM, save)
note(os.getpid())
time.sleep(60)
"""
    launcher, _ = started(saving, pids=2, stdout=subprocess.PIPE)
    launcher.send_signal(signal.SIGTERM)
    out, err = launcher.communicate(timeout=20)
    assert (launcher.returncode, sorted(out.split(b"\n")), err) == (
        0,
        [b"", b"[0] saved", b"[1] saved"],
        b"",
    )


STUBBORN = """
for number in (signal.SIGINT, signal.SIGTERM): signal.signal(number, signal.SIG_IGN)
note(os.getpid())
time.sleep(60)
"""


def test_stubborn_processes_are_killed(started):
    launcher, pids = started(STUBBORN, "--stop-timeout", "0.3", pids=2)
    launcher.send_signal(signal.SIGTERM)
    assert launcher.wait(20) == 143
    assert not any(map(is_running, pids))


def test_a_second_interruption_kills(started):
    launcher, pids = started(STUBBORN, pids=2)
    launcher.send_signal(signal.SIGINT)
    time.sleep(0.3)
    assert all(map(is_running, pids))
    launcher.send_signal(signal.SIGINT)
    assert launcher.wait(20) == 130
    assert not any(map(is_running, pids))


def test_a_closed_output_ends_the_launcher(started):
    program = "note(os.getpid())\nwhile True: print('x'); time.sleep(0.01)"
    launcher, pids = started(program, pids=2, stdout=subprocess.PIPE)
    launcher.stdout.close()
    assert launcher.wait(20) == 141
    assert not any(map(is_running, pids))


def test_the_launcher_is_light():
    done = subprocess.run(
        [sys.executable, "-X", "importtime", "-m", "ricci.distributed.run", "--help"],
        capture_output=True,
        text=True,
    )
    loaded = {line.rpartition("|")[2].strip() for line in done.stderr.splitlines()}
    assert "ricci._launcher" in loaded
    assert not {n for n in loaded if re.match(r"(numpy|jaxlib|ricci_\w+)(\.|$)", n)}
    assert "--virtual-devices" in done.stdout


def test_the_module_can_be_imported():
    program = "import sys, ricci.distributed.run as run; sys.exit(run.main(['--help']))"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert (done.returncode, "usage: python -m ricci.distributed.run" in done.stdout) == (0, True)
