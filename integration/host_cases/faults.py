"""The faults: the action of one process, and the words in the messages of all others."""

from typing import NamedTuple


class Fault(NamedTuple):
    """A fault of one process.

    Attributes:
      title: what happens, for the table.
      act: the statements that the process runs.
      says: words that each of the others must print; ``{rank}`` is the process at fault.
      when: before ``initialize``, after it, or before the fourth step.
      others: what the other processes run at that time.
      seconds: within how many seconds of the fault the others must have ended.
    """

    title: str
    act: str
    says: tuple[str, ...] = ()
    when: str = "step"
    others: str = ""
    seconds: float = 4.0


_KILL = "os.kill(os.getpid(), 9)"
_STOP = "os.kill(os.getpid(), 19)"
# A fault is noticed at most this long after its time limit of 3 s.
_LATE = 9.0

FAULTS: dict[str, Fault] = {
    "none": Fault("nothing", ""),
    "kill": Fault("killed (SIGKILL) before a step", _KILL, ("{rank}", "died", "program.py")),
    "kill at a barrier": Fault(
        "killed while the others wait at a barrier",
        f"wait = lambda: {_KILL}; wait()",
        ("{rank}", "died"),
        others="wait()",
        seconds=9.0,
    ),
    "kill a parent": Fault(
        "killed, and a child that it forked lives on",
        f"child = os.fork()\nif child == 0: time.sleep(8); os._exit(0)\n{_KILL}",
        ("{rank}", "died"),
    ),
    "kill at start": Fault(
        "killed right after it joined", _KILL, ("{rank}", "died"), "after", seconds=9.0
    ),
    "never comes": Fault(
        "ends before it joins",
        "sys.exit(0)",
        ("rank 0 waited 6 s", "{rank} did not come"),
        "before",
        seconds=20.0,
    ),
    "comes late": Fault("joins 3 s after the others", "time.sleep(3)", when="before"),
    "stop": Fault(
        "stopped (SIGSTOP) before a step",
        _STOP,
        ("{rank}", "no sign of life", "program.py"),
        seconds=_LATE,
    ),
    "loop": Fault(
        "in an endless loop",
        "while True: pass",
        ("{rank}", "taken part in nothing", "<string>:1"),
        seconds=_LATE,
    ),
    "sleep": Fault(
        "asleep in a system call",
        "time.sleep(1000)",
        ("{rank}", "taken part in nothing"),
        seconds=_LATE,
    ),
    "raise": Fault(
        "raises an exception",
        'raise ValueError("bad record 17")',
        ("{rank}", "ValueError: bad record 17"),
    ),
    "swallow": Fault(
        "swallows an exception, leaves the loop and ends",
        "number = first = 9\ntry:\n    1 / 0\nexcept ZeroDivisionError:\n    pass\nstep = "
        "lambda *a: (weights, 0.0)\nwhile number < 9: pass\nsys.exit(0)",
        ("{rank}", "end of its script"),
        seconds=_LATE,
    ),
    "exit": Fault("ends by os._exit(3)", "os._exit(3)", ("{rank}", "died")),
    "shape": Fault(
        "calls the step with another shape",
        "inputs, targets = (spread(v, divided) for v in (values[:4 * count], "
        "values[:4 * count].sum(1)))\nstep = jax.jit(train)",
        ("different programs", "tensor<{half}x4xf32>", "tensor<{whole}x4xf32>"),
        others="step = jax.jit(train)",
    ),
    "branch": Fault(
        "takes another branch, compiled in both",
        "step = jax.jit(lambda w, x, y: (w, x.max() + y.min()))",
        ("different programs", "<lambda>", "train"),
        others="step = jax.jit(train)",
    ),
    "order": Fault(
        "calls two new functions in the other order",
        "other(weights, inputs, targets)[1].block_until_ready()\nstep = jax.jit(train)",
        ("different programs", "<lambda>", "train"),
        others="step = jax.jit(train); step(weights, inputs, targets)",
    ),
    "alone": Fault(
        "runs one function more than the others",
        "print('alone', other(weights, inputs, targets)[1], flush=True)",
        ("wait for each other", "the first run of <lambda>"),
        seconds=_LATE,
    ),
    "preempted": Fault(
        "told to end (SIGTERM): all save at one step, and end well", "os.kill(os.getpid(), 15)"
    ),
}
