"""Registration of classes as containers."""

import dataclasses
import functools

import pytest


class _Pair:
    def __init__(self, x, tag):
        self.x, self.tag = x, tag

    def tree_flatten(self):
        return (self.x,), self.tag

    def tree_flatten_with_keys(self):
        return (("x", self.x),), self.tag

    @classmethod
    def tree_unflatten(cls, tag, children):
        assert isinstance(children, tuple)
        return cls(*children, tag)


def _pair():
    return type("Pair", (_Pair,), {})


def _paths(pt, tree):
    return [pt.keystr(path, separator="/") for path, _ in pt.tree_leaves_with_path(tree)]


REGISTRATIONS = {
    "node": (
        lambda pt, c: pt.register_pytree_node(c, c.tree_flatten, c.tree_unflatten),
        ["[<flat index 0>]/[0]"],
    ),
    "node with keys": (
        lambda pt, c: pt.register_pytree_node(
            c, c.tree_flatten, c.tree_unflatten, c.tree_flatten_with_keys
        ),
        ["x/[0]"],
    ),
    "node class": (lambda pt, c: pt.register_pytree_node_class(c), ["[<flat index 0>]/[0]"]),
    "with keys": (
        lambda pt, c: pt.register_pytree_with_keys(c, c.tree_flatten_with_keys, c.tree_unflatten),
        ["x/[0]"],
    ),
    "with keys class": (lambda pt, c: pt.register_pytree_with_keys_class(c), ["x/[0]"]),
}


@pytest.mark.parametrize("register, paths", REGISTRATIONS.values(), ids=REGISTRATIONS)
def test_registered_class(pt, register, paths):
    cls = _pair()
    assert not pt.is_tree_node(cls)
    assert register(pt, cls) in (None, cls)
    assert pt.is_tree_node(cls)
    tree = cls([1], "t")
    assert pt.tree_leaves(tree) == [1]
    assert repr(pt.tree_structure(tree)) == "PyTreeDef(CustomNode(Pair[t], [[*]]))"
    assert pt.tree_structure(tree).node_data() == (cls, "t")
    assert _paths(pt, tree) == paths
    mapped = pt.tree_map(lambda x: x + 1, tree)
    assert (type(mapped), mapped.x, mapped.tag) == (cls, [2], "t")
    assert pt.none_leaf_registry.flatten(cls(None, "t"))[0] == [None]
    with pytest.raises(ValueError, match=r"Pair"):
        register(pt, cls)


def test_subclasses_are_leaves(pt):
    cls = _pair()
    pt.register_pytree_node_class(cls)
    child = type("Child", (cls,), {})(1, "t")
    assert pt.tree_leaves([child]) == [child]


def test_static_data_decides_equality(pt):
    cls = _pair()
    pt.register_pytree_node_class(cls)
    s = pt.tree_structure
    assert s(cls(1, "t")) == s(cls(2, "t"))
    assert s(cls(1, "t")) != s(cls(1, "u"))
    assert s(cls(1, [])) == s(cls(1, []))
    assert hash(s(cls(1, []))) == hash(s(cls(1, [])))
    with pytest.raises(ValueError, match=r"rest\[0\]\[0\] .*static data 'u'"):
        pt.tree_map(lambda *_: 0, [cls(1, "t")], [cls(1, "u")])
    with pytest.raises(ValueError):
        s(cls(1, "t")).flatten_up_to(1)


def test_keyed_class_may_flatten_without_keys(pt):
    cls = _pair()
    cls.tree_flatten = lambda self: ([self.x], "faster")
    pt.register_pytree_with_keys_class(cls)
    assert pt.flatten_one_level(cls(1, "t")) == ([1], "faster")
    assert pt.flatten_one_level_with_keys(cls(1, "t")) == ([("x", 1)], "t")


@pytest.mark.parametrize("function", ["register_pytree_node", "register_pytree_with_keys"])
def test_registering_invalid_classes_and_functions_raises(pt, function):
    with pytest.raises(TypeError, match="registers a class"):
        getattr(pt, function)(3, lambda x: x, lambda _, x: x)
    with pytest.raises(TypeError, match="must be a function"):
        getattr(pt, function)(_pair(), None, lambda _, x: x)


def test_class_without_the_methods(pt):
    with pytest.raises(AttributeError, match="tree_unflatten"):
        pt.register_pytree_node_class(type("Bare", (), {}))


BAD_FLATTEN = [lambda x: 1, lambda x: (1, 2, 3), lambda x: (1, 2), lambda x: [[1], 2]]


@pytest.mark.parametrize("flatten", BAD_FLATTEN)
def test_flatten_function_must_return_children_and_data(pt, flatten):
    cls = _pair()
    pt.register_pytree_node(cls, flatten, cls.tree_unflatten)
    with pytest.raises(ValueError, match=r"\(children, aux_data\)"):
        pt.tree_flatten(cls(1, 2))


@pytest.mark.parametrize("flatten", [lambda x: 1, lambda x: ((1,), 2), lambda x: (((1, 2, 3),), 2)])
def test_flatten_with_keys_must_return_pairs(pt, flatten):
    cls = _pair()
    pt.register_pytree_node(cls, cls.tree_flatten, cls.tree_unflatten, flatten)
    with pytest.raises(ValueError):
        pt.tree_flatten_with_path(cls(1, 2))


def test_children_may_be_a_generator(pt):
    cls = _pair()
    pt.register_pytree_node(cls, lambda p: ((i for i in range(3)), None), cls.tree_unflatten)
    assert pt.tree_leaves(cls(1, 2)) == [0, 1, 2]


def test_register_static(pt):
    @pt.register_static
    @dataclasses.dataclass(frozen=True)
    class Mode:
        name: str

    s = pt.tree_structure
    assert pt.tree_flatten([Mode("a"), 2]) == ([2], s([Mode("a"), 1]))
    assert s(Mode("a")) == s(Mode("a"))
    assert s(Mode("a")) != s(Mode("b"))
    assert hash(s(Mode("a"))) == hash(s(Mode("a")))
    assert pt.tree_map(lambda x: x, [Mode("a")]) == [Mode("a")]
    assert s(Mode("a")).node_data() == (Mode, Mode("a"))
    assert pt.flatten_one_level(Mode("a")) == ([], Mode("a"))


def _record():
    @dataclasses.dataclass
    class Record:
        x: object
        y: object = 1
        z: object = dataclasses.field(default=0, metadata={"static": True})

    return Record


# arguments of register_dataclass, then leaves, static data and fields after a round trip
DATACLASSES = [
    ({}, [1, 2], (3,), (1, 2, 3)),
    ({"data_fields": ["x"], "meta_fields": ["y", "z"]}, [1], (2, 3), (1, 2, 3)),
    ({"data_fields": ("z", "y", "x"), "meta_fields": ()}, [3, 2, 1], (), (1, 2, 3)),
    ({"data_fields": ["x"], "meta_fields": ["y"], "drop_fields": ["z"]}, [1], (2,), (1, 2, 0)),
    ({"drop_fields": ["y"]}, [1], (3,), (1, 1, 3)),
    ({"data_fields": "xy", "meta_fields": "z", "drop_fields": "q"}, [1, 2], (3,), (1, 2, 3)),
]


@pytest.mark.parametrize("fields, leaves, data, rebuilt", DATACLASSES)
def test_register_dataclass(pt, fields, leaves, data, rebuilt):
    cls = _record()
    assert functools.partial(pt.register_dataclass, **fields)(cls) is cls
    tree = cls(1, 2, 3)
    assert pt.tree_leaves(tree) == leaves
    assert pt.tree_structure(tree).node_data() == (cls, data)
    assert pt.tree_map(lambda x: x, tree) == cls(*rebuilt)
    assert [leaf for _, leaf in pt.tree_leaves_with_path(tree)] == leaves
    assert all(str(path[0]).startswith(".") for path, _ in pt.tree_leaves_with_path(tree))
    with pytest.raises(ValueError, match="Record"):
        pt.register_dataclass(cls, **fields)


BAD_DATACLASSES = [
    ({"data_fields": ["x"], "meta_fields": ["y"]}, ValueError, r"missing: \['z'\]"),
    ({"data_fields": ["x", "y"], "meta_fields": ["z", "w"]}, ValueError, r"unexpected.*\['w'\]"),
    ({"data_fields": ["x", "y"], "meta_fields": ["y", "z"]}, ValueError, r"both.*\['y'\]"),
    (
        {"data_fields": ["x", "y"], "meta_fields": ["z"], "drop_fields": ["z"]},
        ValueError,
        r"unexpected.*\['z'\]",
    ),
    ({"data_fields": ["x"]}, TypeError, "data_fields is given without meta_fields"),
    ({"meta_fields": ["x"]}, TypeError, "meta_fields is given without data_fields"),
]


@pytest.mark.parametrize("fields, error, message", BAD_DATACLASSES)
def test_register_dataclass_checks_fields(pt, fields, error, message):
    cls = _record()
    with pytest.raises(error, match=message):
        pt.register_dataclass(cls, **fields)
    assert not pt.is_tree_node(cls)


def test_register_dataclass_with_a_field_that_init_does_not_take(pt):
    def make():
        @dataclasses.dataclass
        class Counted:
            x: object
            n: int = dataclasses.field(init=False, default=5)

        return Counted

    cls = pt.register_dataclass(make(), ["x"], [])
    assert pt.tree_map(lambda x: x + 1, cls(1)) == cls(2)
    with pytest.raises(ValueError, match=r"unexpected.*\['n'\]"):
        pt.register_dataclass(make())


@pytest.mark.parametrize("frozen", [False, True])
def test_dataclasses_whose_init_takes_other_arguments_are_rebuilt_from_their_fields(pt, frozen):
    @functools.partial(pt.register_dataclass, data_fields=["x"], meta_fields=["n"])
    @dataclasses.dataclass(frozen=frozen)
    class Scaled:
        x: object
        n: int
        label: str = dataclasses.field(init=False, default="none")

        def __init__(self, unscaled):
            object.__setattr__(self, "x", unscaled * 2)
            object.__setattr__(self, "n", 3)

    mapped = pt.tree_map(lambda x: x + 1, Scaled(5))
    assert (type(mapped), mapped.x, mapped.n, mapped.label) == (Scaled, 11, 3, "none")
    ((path, leaf),) = pt.tree_flatten_with_path(Scaled(5))[0]
    assert (pt.keystr(path), leaf) == (".x", 10)
    assert pt.tree_structure(Scaled(1)) == pt.tree_structure(Scaled(2))


def test_an_init_that_takes_the_fields_is_called(pt):
    @pt.register_dataclass
    @dataclasses.dataclass
    class Doubled:
        x: object

        def __init__(self, x=0):
            self.x = x
            self.double = 2 * x

    assert pt.tree_map(lambda x: x + 1, Doubled(1)).double == 4


def test_register_dataclass_with_keyword_only_fields(pt):
    @functools.partial(pt.register_dataclass, data_fields=["b", "a"], meta_fields=[])
    @dataclasses.dataclass
    class Keyed:
        a: int
        b: int = dataclasses.field(kw_only=True)

    assert _paths(pt, Keyed(1, b=2)) == [".b", ".a"]
    assert pt.tree_map(lambda x: x, Keyed(1, b=2)) == Keyed(1, b=2)


def test_register_dataclass_takes_other_classes_with_explicit_fields(pt):
    class Plain:
        def __init__(self, x, y):
            self.x, self.y = x, y

    with pytest.raises(TypeError, match="not a dataclass"):
        pt.register_dataclass(Plain)
    pt.register_dataclass(Plain, ["x"], ["y"])
    assert vars(pt.tree_map(lambda x: -x, Plain(1, 2))) == {"x": -1, "y": 2}


def test_dataclasses_differ_by_static_data(pt):
    cls = pt.register_dataclass(_record())
    s = pt.tree_structure
    assert s(cls(1, 2, "m")) == s(cls(3, 4, "m"))
    assert s(cls(1, 2, "m")) != s(cls(1, 2, "n"))
    with pytest.raises(ValueError, match="static data"):
        pt.tree_map(lambda *_: 0, cls(1, 2, "m"), cls(1, 2, "n"))


STATIC = [
    ({}, {"static": True}),
    ({"metadata": {"a": 1}}, {"static": True, "a": 1}),
    ({"metadata": {"static": False}}, {"static": False}),
]


@pytest.mark.parametrize("kwargs, metadata", STATIC)
def test_static_field(pt, kwargs, metadata):
    field = pt.tree.static(default=3, **kwargs)
    assert dict(field.metadata) == metadata
    assert field.default == 3
