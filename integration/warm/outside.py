"""A module whose content ``reads.py`` reads in many ways, and changes."""

import enum

VALUE = 1.0
TABLE = {"value": 1.0, "list": [1.0]}


class Holder:
    value = 1.0

    def __init__(self):
        self.inner = 1.0


class Meta(type):
    def __getattr__(cls, name):
        return VALUE


class ByMeta(metaclass=Meta):
    pass


class Kind(enum.Enum):
    ONE = 1


class Number(float):
    pass


HOLDER = Holder()
NUMBER = Number(1.0)


def function(x):
    return x


function.value = 1.0


def defaulted(x, by=1.0):
    return x * by


def __getattr__(name):
    if name == "lazy":
        return VALUE
    raise AttributeError(name)
