"""Where the types of others, which signatures name, are described.

The inventories that intersphinx reads would have to be fetched; builds have no network.
"""

_PYTHON = "https://docs.python.org/3/library/"
_ABSTRACT = (
    "AsyncIterator Awaitable Buffer Callable Collection Container Coroutine Generator Hashable "
    "ItemsView Iterable Iterator KeysView Mapping MutableMapping MutableSequence MutableSet "
    "Reversible Sequence Set Sized ValuesView"
).split()
_TYPING = (
    "Any ClassVar Final Generic IO Literal NamedTuple NoReturn ParamSpec Protocol Self "
    "SupportsFloat SupportsIndex SupportsInt TypeAlias TypeVar Union"
).split()
_BUILT_IN_TYPES = (
    "bool bytearray bytes complex dict float frozenset int list memoryview object range set slice "
    "str tuple type"
).split()
_ERRORS = (
    "ArithmeticError AssertionError AttributeError BaseException BufferError Exception "
    "FileExistsError FileNotFoundError FloatingPointError ImportError IndexError KeyError "
    "KeyboardInterrupt LookupError MemoryError ModuleNotFoundError NameError NotImplementedError "
    "OSError OverflowError PermissionError RecursionError RuntimeError StopIteration SystemExit "
    "TimeoutError TypeError UserWarning ValueError Warning ZeroDivisionError"
).split()

_PLACES = {
    **{name: f"{_PYTHON}collections.abc.html#collections.abc.{name}" for name in _ABSTRACT},
    **{name: f"{_PYTHON}typing.html#typing.{name}" for name in _TYPING},
    **{name: f"{_PYTHON}functions.html#func-{name}" for name in ("bytearray", "dict", "set")},
    **{name: f"{_PYTHON}functions.html#{name}" for name in _BUILT_IN_TYPES},
    **{name: f"{_PYTHON}exceptions.html#{name}" for name in _ERRORS},
    "None": f"{_PYTHON}constants.html#None",
    "False": f"{_PYTHON}constants.html#False",
    "True": f"{_PYTHON}constants.html#True",
    "os.PathLike": f"{_PYTHON}os.html#os.PathLike",
    "np.ndarray": "https://numpy.org/doc/stable/reference/generated/numpy.ndarray.html",
    "np.dtype": "https://numpy.org/doc/stable/reference/generated/numpy.dtype.html",
}


def address(name: str) -> str | None:
    """Return the address of the page that describes a type of Python or NumPy.

    >>> address("Callable")
    'https://docs.python.org/3/library/collections.abc.html#collections.abc.Callable'
    >>> address("Mesh") is None
    True
    """
    return _PLACES.get(name)
