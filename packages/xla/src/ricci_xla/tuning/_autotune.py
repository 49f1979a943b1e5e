"""``autotune``: a function that calls another with the fastest of several candidates."""

import hashlib
import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial, update_wrapper
from time import perf_counter
from typing import Any, final

import numpy as np

import ricci_ir as ir
from ricci_pytree import tree_flatten, tree_leaves, tree_map, tree_unflatten
from ricci_xla.cache import usable_folder
from ricci_xla.calls import jit
from ricci_xla.devices import local_devices
from ricci_xla.devices._jaxlib import jaxlib_version
from ricci_xla.devices._topologies import is_described
from ricci_xla.files import file_name

from ._choice import Choice, Trial, read_choice, write_choice

__all__ = ["Autotuned", "autotune"]

_cache_folder = ir.config.state("jax_compilation_cache_dir")
_HOPELESS = 3.0  # times the best so far: such a candidate is timed once


def autotune[**P, R](
    fun: Callable[P, R], candidates: Iterable[Mapping[str, Any]], *, repeats: int = 5
) -> "Autotuned[P, R]":
    """Return a function that calls another with the best of several candidates.

    For arguments of new types every candidate is lowered, so that the checks of kernels refuse
    blocks that are misaligned or need too much memory. The others are compiled and timed on the
    device of the arguments. Kernels with ``interpret=True`` are timed as they are interpreted,
    which says little about a TPU or GPU; ``Choice.basis`` says so. Where the device is only
    described (``ricci.experimental.topologies``), candidates are compiled, and the one is taken
    whose kernels move the fewest bytes between memories, in the fewest steps.

    Choices are stored in the folder of the compilation cache, if there is one, by the candidates'
    lowered text, the device and the version of the runtime. A file that cannot be used is a
    warning, and the candidates are tried again.

    Args:
      fun: a function of arrays, and of the candidates' keyword arguments.
      candidates: dicts of keyword arguments, such as the block sizes of a kernel.
      repeats: how often a candidate is timed; the least time counts.

    Returns:
      A function of the arrays. Its method ``choice`` returns the ``Choice`` for some arguments.

    Raises:
      ValueError: if there are no candidates; when it is called, if all of them are refused.

    Example:
      >>> import numpy as np
      >>> import ricci
      >>> from ricci import kernels
      >>> from ricci.experimental import pallas as pl
      >>> def double_kernel(x, out):
      ...     out[...] = x[...] * 2
      >>> def double(x, *, size):
      ...     blocks = pl.BlockSpec((size,), lambda i: (i,))
      ...     return pl.pallas_call(
      ...         double_kernel,
      ...         ricci.ShapeDtypeStruct(x.shape, x.dtype),
      ...         grid=x.size // size,
      ...         in_specs=[blocks],
      ...         out_specs=blocks,
      ...         interpret=True,
      ...     )(x)
      >>> tuned = kernels.autotune(double, [{"size": 512}, {"size": 4096}])
      >>> x = np.ones(4096, np.float32)
      >>> float(tuned(x)[0]), list(tuned.choice(x).options)
      (2.0, ['size'])
    """
    options = [dict(candidate) for candidate in candidates]
    if not options:
        raise ValueError(
            "autotune: candidates is empty; give at least one dict of keyword arguments."
        )
    return Autotuned(fun, options, repeats)


@final
class Autotuned[**P, R]:
    """A function that calls another with the best of several candidates; see ``autotune``.

    Attributes:
      fun: the function.
      candidates: the candidates.
      repeats: how often a candidate is timed.
    """

    def __init__(self, fun: Callable[P, R], candidates: list[dict[str, Any]], repeats: int):
        self.fun: Callable[P, R] = fun
        self.candidates: list[dict[str, Any]] = candidates
        self.repeats: int = max(repeats, 1)
        self._choices: ir.Cache[Any, Choice] = ir.Cache("autotuned choices", 256)
        update_wrapper(self, fun, updated=())

    @property
    def _name(self) -> str:
        return getattr(self.fun, "__name__", type(self.fun).__name__)

    def __call__(self, *args: P.args, **kwargs: P.kwargs) -> R:
        """Call the function with the best candidate for arguments of these types."""
        return self.fun(*args, **{**kwargs, **self.choice(*args, **kwargs).options})

    def choice(self, *args: P.args, **kwargs: P.kwargs) -> Choice:
        """Return the choice for some arguments; make it, if it is not stored.

        Args:
          args, kwargs: arrays, or ``ShapeDtypeStruct``, whose devices may be described.

        Raises:
          ValueError: if all candidates are refused; it lists the reasons.
        """
        leaves, tree = tree_flatten((args, kwargs))
        avals = tuple(map(ir.argument_aval, leaves))
        places = tuple([getattr(x, "sharding", None) for x in leaves])
        key = (tree, avals, places, ir.trace_context())
        choice = self._choices.recall(key)
        if choice is None:
            # An outer function that is being traced must not record the trials: they run at once,
            # on arrays of the types of its tracers.
            with ir.set_trace(ir.eval_trace):
                described = tree_unflatten(tree, [_described(x) for x in leaves])
                choice = self._choose(*described)
            self._choices.put(key, choice)
        return choice

    def _choose(self, args: Sequence[Any], kwargs: Mapping[str, Any]) -> Choice:
        lowered = [self._lowered(options, args, kwargs) for options in self.candidates]
        place = _Place(args, kwargs, lowered)
        path = self._path(lowered, place.kind)
        stored = None if path is None else read_choice(path, self.candidates)
        if stored is not None:
            return stored
        trials: list[Trial] = []
        best = float("inf")
        for candidate in lowered:
            trials.append(self._tried(candidate, place, best))
            best = min(best, trials[-1].seconds or best)
        usable = [pair for pair in zip(trials, lowered, strict=True) if pair[0].refusal is None]
        if not usable:
            reasons = "\n".join(f"  {trial}" for trial in trials)
            raise ValueError(f"autotune: all candidates for {self._name} are refused.\n{reasons}")
        chosen, _ = min(usable, key=_rank)
        choice = Choice(chosen.options, place.basis, tuple(trials))
        if path is not None:
            write_choice(path, choice)
        return choice

    def _lowered(
        self, options: dict[str, Any], args: Sequence[Any], kwargs: Mapping[str, Any]
    ) -> "_Candidate":
        try:
            traced = jit(partial(self.fun, **options)).trace(*args, **kwargs)
            return _Candidate(options, traced.lower(), ir.kernel_use.call(traced.jaxpr.jaxpr), None)
        except (ValueError, NotImplementedError) as error:  # the checks of kernels
            return _Candidate(options, None, None, f"{type(error).__name__}: {error}")

    def _tried(self, candidate: "_Candidate", place: "_Place", best: float) -> Trial:
        """Compile a candidate, and time it if its device is there."""
        options = candidate.options
        if candidate.lowered is None:
            return Trial(options, refusal=candidate.refusal)
        try:
            compiled = candidate.lowered.compile()
        except RuntimeError as error:  # the compiler refuses it
            return Trial(options, refusal=f"{type(error).__name__}: {error}")
        if place.is_described:
            return Trial(options, transfers=candidate.use.transfers if candidate.use else 0)
        args, kwargs = place.arrays()
        # The least of several times: whatever else the machine does makes a run longer, never
        # shorter.
        least = float("inf")
        for turn in range(self.repeats + 1):
            start = perf_counter()
            for leaf in tree_leaves(compiled(*args, **kwargs)):
                leaf.block_until_ready()
            if turn:  # the first call warms up
                least = min(least, perf_counter() - start)
                if least > _HOPELESS * best:
                    break
        return Trial(options, seconds=least)

    def _path(self, candidates: Sequence["_Candidate"], kind: str) -> str | None:
        """The file of a choice in the compilation cache; ``None`` without one."""
        folder = usable_folder() if _cache_folder.value else None
        if folder is None:
            return None
        digest = hashlib.sha256(f"{kind}\n{jaxlib_version}\n".encode())
        for candidate in candidates:
            text = candidate.refusal or candidate.lowered.as_text()
            # The lowered module is the function with this candidate: after a change of either it is
            # timed again.
            digest.update(f"{sorted(candidate.options.items())}\n{text}\n".encode())
        name = f"{file_name(self._name)}-{digest.hexdigest()[:32]}.tuning"
        return os.path.join(folder.path, name)


def _rank(tried: "tuple[Trial, _Candidate]") -> tuple[float, int, int]:
    """The sort key of candidates, the least of which is chosen."""
    trial, candidate = tried
    # Trials of a device that is there have times, others transfers; the missing one is 0 for all.
    # Of equal transfers, those in fewer and larger blocks cost less.
    steps = 0 if candidate.use is None else candidate.use.steps
    return trial.seconds or 0.0, trial.transfers or 0, steps


class _Candidate(ir.TupleRecord):
    """A candidate as it is lowered, or the reason why it is refused.

    Attributes:
      options: its keyword arguments.
      lowered: the function with them.
      use: of the kernels that it calls.
      refusal: the reason.
    """

    options: dict[str, Any]
    lowered: Any
    use: ir.KernelUse | None
    refusal: str | None


class _Place:
    """The device that candidates are chosen for, with arguments for it.

    Attributes:
      kind: the kind of the device.
      is_described: whether it is not here.
      basis: what the choice is based on.
    """

    def __init__(
        self, args: Sequence[Any], kwargs: Mapping[str, Any], candidates: Sequence[_Candidate]
    ):
        self._arguments = args, kwargs
        shardings = [getattr(x, "sharding", None) for x in tree_leaves(self._arguments)]
        devices = [d for s in shardings if s is not None for d in s.device_set]
        device: Any = devices[0] if devices else local_devices()[0]
        self.kind: str = device.device_kind
        self.is_described: bool = is_described(device)
        is_interpreted = any(c.use is not None and c.use.is_interpreted for c in candidates)
        if self.is_described:
            reason = "the fewest bytes moved, in the fewest steps"
            basis = f"compiled for {self.kind}, which is not here: {reason}"
        elif is_interpreted:
            basis = f"timed as interpreted on {self.kind}, not as compiled for a TPU or GPU"
        else:
            basis = f"timed on {self.kind}"
        self.basis: str = basis

    def arrays(self) -> tuple[Sequence[Any], Mapping[str, Any]]:
        """The arguments, with arrays in place of types: random floats, zeros of other dtypes."""
        return tree_map(_array, self._arguments)


def _array(x: object) -> object:
    if not isinstance(x, ir.ShapeDtypeStruct):
        return x
    # Zeros are valid where integers are positions; random floats, since some units are faster on
    # zeros.
    if not ir.issubdtype(x.dtype, np.floating):
        return np.zeros(x.shape, x.dtype)
    return np.random.default_rng(0).standard_normal(x.shape, np.float32).astype(x.dtype)


def _described(x: object) -> object:
    """The type of a traced array, and other arguments unchanged."""
    return ir.ShapeDtypeStruct(x.shape, x.dtype) if isinstance(x, ir.Tracer) else x
