"""Entries of key paths, and how paths are printed."""

import pytest

KEYS = [
    ("DictKey", "a", "['a']", "DictKey(key='a')", "a"),
    ("DictKey", 1, "[1]", "DictKey(key=1)", "1"),
    ("SequenceKey", 3, "[3]", "SequenceKey(idx=3)", "3"),
    ("GetAttrKey", "x", ".x", "GetAttrKey(name='x')", "x"),
    ("FlattenedIndexKey", 2, "[<flat index 2>]", "FlattenedIndexKey(key=2)", "2"),
]
FIELD = {"DictKey": "key", "SequenceKey": "idx", "GetAttrKey": "name", "FlattenedIndexKey": "key"}


@pytest.mark.parametrize("cls, value, text, representation, simple", KEYS)
def test_key(pt, cls, value, text, representation, simple):
    make, field = getattr(pt, cls), FIELD[cls]
    key = make(value)
    assert (str(key), repr(key)) == (text, representation)
    assert pt.keystr((key,), simple=True) == simple
    assert getattr(key, field) == value
    assert make.__match_args__ == (field,)
    assert make(**{field: value}) == key
    assert hash(make(value)) == hash(key)
    with pytest.raises(AttributeError):
        setattr(key, field, value)


def test_keys_of_different_classes_differ(pt):
    assert pt.DictKey(1) != pt.SequenceKey(1)
    assert pt.SequenceKey(1) != pt.FlattenedIndexKey(1)
    assert pt.DictKey(0) != pt.DictKey(1)
    assert pt.DictKey(1) == pt.DictKey(1.0)


def test_unhashable_dict_key(pt):
    with pytest.raises(TypeError):
        hash(pt.DictKey([]))


KEYSTR = [
    ({}, "['a'][0].b[<flat index 4>][5]raw7"),
    ({"simple": True}, "a0b45raw7"),
    ({"simple": True, "separator": "/"}, "a/0/b/4/5/raw/7"),
    ({"separator": "."}, "['a'].[0]..b.[<flat index 4>].[5].raw.7"),
]


@pytest.mark.parametrize("options, text", KEYSTR)
def test_keystr(pt, options, text):
    path = (
        pt.DictKey("a"),
        pt.SequenceKey(0),
        pt.GetAttrKey("b"),
        pt.FlattenedIndexKey(4),
        pt.DictKey(5),
        "raw",
        7,
    )
    assert pt.keystr(path, **options) == text
    assert pt.keystr(list(path), **options) == text
    assert pt.keystr((), **options) == ""


def test_generate_key_paths(pt):
    assert pt.generate_key_paths({"a": [5, None]}) == [((pt.DictKey("a"), pt.SequenceKey(0)), 5)]
