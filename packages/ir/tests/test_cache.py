"""Caches: their bound, which entries go first, clearing, threads; and those of types and jaxprs."""

import gc
import threading
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

import ricci_ir as ir
from ricci_ir import Cache, cache_sizes, clear_caches


def test_a_cache_never_holds_more_than_its_limit():
    cache = Cache("test", 10)
    for n in range(100):
        cache.make(n, str, n)
        assert cache.size.entries <= 10
    assert cache.size.dropped == 100 - cache.size.entries
    assert cache.recall(99) == "99"
    assert cache.recall(0) is None


def test_frequently_used_entries_are_not_evicted():
    made = []
    cache = Cache("test", 10)
    for n in range(100):
        assert cache.make("hot", lambda: made.append(1) or "kept") == "kept"
        cache.make(n, str, n)
    assert made == [1]


def test_recently_used_entries_are_not_evicted():
    cache = Cache("test", 10)
    for n in range(100):
        cache.make(n, str, n)
    assert [cache.recall(n) for n in range(96, 100)] == ["96", "97", "98", "99"]


def test_an_entry_that_is_replaced_is_not_there_twice():
    cache = Cache("test", 10)
    for n in range(6):  # 0 is of the older generation now
        cache.add(n, "old")
    assert cache.entries.get(0) is None
    cache.put(0, "new")
    cache.put(5, "new")
    assert (cache.recall(0), cache.recall(5), cache.size.entries) == ("new", "new", 6)


def test_the_first_value_stays():
    cache = Cache("test", 10)
    assert (cache.add("k", 1), cache.add("k", 2), cache.entries.get("k")) == (1, 1, 1)


def test_a_key_without_a_hash_is_refused():
    with pytest.raises(TypeError):
        Cache("test", 10).make([], list)


def test_live_caches_of_one_name_are_counted_together():
    caches = [Cache("counted together", 4) for _ in range(3)]
    for cache in caches:
        for n in range(5):
            cache.add(n, n)
    assert cache_sizes()["counted together"] == (9, 4, 3, 6)
    del cache, caches
    gc.collect()
    assert "counted together" not in cache_sizes()


def test_all_caches_are_cleared_together():
    cache = Cache("test", 4)
    for n in range(5):
        cache.add(n, n)
    clear_caches()
    assert cache.size.entries == 0
    assert [cache.recall(n) for n in range(5)] == [None] * 5
    assert cache.make(1, str, 1) == "1"


def test_another_kind_of_cache_is_shown_and_cleared_if_it_is_registered():
    class Other:
        name = "other"
        size = ir.CacheSize(3, 7)
        cleared = 0

        def clear(self):
            self.cleared += 1

    other = Other()
    ir.register_cache(other)
    assert cache_sizes()["other"] == (3, 7, 1, None)
    clear_caches()
    assert other.cleared == 1


def _run_threads(count, run):
    with ThreadPoolExecutor(count) as pool:
        list(pool.map(run, range(count)))


def test_threads_that_make_one_entry_get_the_same_value():
    cache = Cache("test", 8)
    barrier = threading.Barrier(4)
    found = []

    def run(i):
        found.append(cache.make("key", lambda: (barrier.wait(), object())[1]))

    _run_threads(4, run)
    assert len(found) == 4 and len(set(map(id, found))) == 1


def test_threads_add_and_clear_at_once():
    cache = Cache("test", 16)

    def run(i):
        for n in range(3000):
            key = (n * 7 + i) % 40
            assert cache.make(key, str, key) == str(key)
            if n % 500 == 0:
                cache.clear()
            assert cache.size.entries <= 16

    _run_threads(4, run)


def test_a_value_is_freed_where_other_threads_can_use_caches():
    cache = Cache("test", 4)
    used = []

    class Value:
        def __del__(self):
            thread = threading.Thread(target=lambda: used.append(cache.make("other", str, 1)))
            thread.start()
            thread.join(10)

    cache.add("first", Value())
    for n in range(4):
        cache.add(n, n)
    assert used == ["1"]
    cache.put("first", Value())
    cache.clear()
    assert used == ["1", "1"]


# Types


def test_a_type_that_is_in_use_stays_one_object_when_it_was_dropped():
    aval = ir.ShapedArray((3, 1237), np.float32)
    weak = ir.ShapedArray((), np.float32, True)
    clear_caches()
    assert ir.ShapedArray((3, 1237), np.float32) is aval
    assert ir.ShapedArray((), np.float32, True) is weak
    assert weak.strip_weak_type() is ir.ShapedArray((), np.float32)


def test_types_that_nothing_refers_to_are_dropped():
    limit = cache_sizes()["array types"].limit
    for n in range(limit + 100):
        ir.ShapedArray((n, 7), np.float32)
    assert cache_sizes()["array types"].entries <= limit


def test_threads_get_the_same_type():
    found = [[], [], [], []]

    def run(i):
        for n in range(500):
            found[i].append(ir.ShapedArray((n, 11, 13), np.float32))
            if n % 50 == i:
                clear_caches()

    _run_threads(4, run)
    assert all(len(set(map(id, same))) == 1 for same in zip(*found, strict=True))


# Values cached on primitives and jaxprs


def test_types_of_results_are_bounded():
    p = ir.Primitive("p", lambda x, **_: x)
    aval = ir.ShapedArray((3,), np.float32)
    memo = p.aval_memo
    for n in range(memo.limit + 10):
        p.result_avals((aval,), {"n": n})
    assert memo.size.entries <= memo.limit


def test_forms_of_a_jaxpr_are_bounded_and_cleared_with_all_caches():
    jaxpr = ir.trace_to_jaxpr(lambda x: [x], [ir.ShapedArray((3,), np.float32)])
    limit = 1024
    for n in range(limit + 10):
        assert jaxpr.derived(n, lambda n=n: str(n)) == str(n)
    made = []
    jaxpr.derived(limit, lambda: made.append(1))
    assert not made
    jaxpr.derived(0, lambda: made.append(1) or "anew")
    assert made == [1]
    clear_caches()
    assert jaxpr.derived(limit, lambda: "anew") == "anew"
