"""Runs one job from the first import on, and prints its losses, quality and times as JSON.

`python run_job.py NAME DATA`: NAME as in `job_NAME.py`, DATA a file that `make_data.py` wrote. A
job's `train(data)` is a generator: it yields the loss of each step, and returns its qualities.
"""

import time

START = time.perf_counter()

import importlib  # noqa: E402
import json  # noqa: E402
import statistics  # noqa: E402
import sys  # noqa: E402

import numpy as np  # noqa: E402


def run(name: str, file: str) -> dict:
    """Return the losses, the qualities, and the seconds of the first step and of the others."""
    with np.load(file) as archive:
        data = {key: archive[key] for key in archive.files}
    job = importlib.import_module(f"job_{name}")
    steps = job.train(data)
    losses, seconds, processor = [], [], []
    previous = START
    while True:
        try:
            loss = float(next(steps))
        except StopIteration as stop:
            quality = {key: float(value) for key, value in stop.value.items()}
            break
        now = time.perf_counter()
        losses.append(loss)
        seconds.append(now - previous)
        processor.append(time.process_time())
        previous = now
    # The second step may still compile: what the first returned has other types than it was given.
    warm = len(seconds) // 4
    return {
        "losses": losses,
        "quality": quality,
        "required": job.QUALITY,
        "first_step": seconds[0],
        "steady_step": statistics.median(seconds[warm:]),
        # Seconds of the processor, which other programs on the machine change less.
        "first_step_processor": processor[0],
        "steady_step_processor": (processor[-1] - processor[warm]) / (len(processor) - warm - 1),
        "total": previous - START,
    }


if __name__ == "__main__":
    print(json.dumps(run(*sys.argv[1:])))
