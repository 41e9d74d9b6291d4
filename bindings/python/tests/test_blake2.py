"""BLAKE2 beside hashlib: the same digests, objects and errors."""

from __future__ import annotations

import array
import collections.abc
import ctypes
import hashlib
import io
import json
import threading

import numpy
import pyarrow
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import saltern

PAIRS = {"blake2b": (saltern.blake2b, hashlib.blake2b), "blake2s": (saltern.blake2s, hashlib.blake2s)}
both = pytest.mark.parametrize("name", PAIRS)
ALL = [
    saltern.blake2b,
    saltern.blake2s,
    saltern.blake2bp,
    saltern.blake2sp,
    saltern.blake2xb,
    saltern.blake2xs,
]


@st.composite
def parameters(draw: st.DrawFn, large: bool) -> dict[str, object]:
    size, salt = (64, 16) if large else (32, 8)
    byte = st.integers(0, 255)
    fields = {
        "digest_size": st.integers(1, size),
        "key": st.binary(max_size=size),
        "salt": st.binary(max_size=salt),
        "person": st.binary(max_size=salt),
        "fanout": byte,
        "depth": st.integers(1, 255),
        "leaf_size": st.integers(0, 2**32 - 1),
        "node_offset": st.integers(0, 2 ** (64 if large else 48) - 1),
        "node_depth": byte,
        "inner_size": st.integers(0, size),
        "last_node": st.booleans(),
        "usedforsecurity": st.booleans(),
    }
    return draw(st.fixed_dictionaries({}, optional=fields))


@settings(max_examples=300, deadline=None)
@given(st.data(), st.sampled_from(sorted(PAIRS)), st.lists(st.binary(max_size=3000), max_size=4))
def test_digests_are_those_of_hashlib(data, name, pieces):
    ours, theirs = PAIRS[name]
    given_ = data.draw(parameters(name == "blake2b"))
    mine, other = ours(**given_), theirs(**given_)
    for piece in pieces:
        mine.update(piece)
        other.update(piece)
        assert mine.digest() == other.digest()
    assert mine.hexdigest() == other.hexdigest()
    assert mine.copy().digest() == other.digest()
    message = b"".join(pieces)
    assert ours(message, **given_).digest() == other.digest()
    assert list(ours.hash_many([message, b"", message], **given_))[::2] == [other.digest()] * 2


WRONG = [
    {"digest_size": 0}, {"digest_size": -1}, {"digest_size": 65}, {"digest_size": 2**40},
    {"digest_size": "1"}, {"digest_size": 1.5}, {"digest_size": None}, {"key": bytes(65)},
    {"key": "key"}, {"key": None}, {"salt": bytes(17)}, {"salt": "salt"}, {"person": bytes(17)},
    {"person": 7}, {"fanout": 256}, {"fanout": -1}, {"fanout": 2**70}, {"depth": 0},
    {"depth": 256}, {"leaf_size": -1}, {"leaf_size": 2**32}, {"leaf_size": 2**64},
    {"leaf_size": "0"}, {"node_offset": -1}, {"node_offset": 2**64}, {"node_depth": 256},
    {"node_depth": -1}, {"inner_size": 65}, {"inner_size": -1}, {"data": b""}, {"string": b""},
    {"spam": 1}, {"": 1},
]  # fmt: skip


@both
@pytest.mark.parametrize("wrong", WRONG, ids=str)
def test_errors_are_those_of_hashlib(name, wrong):
    raised = []
    for constructor in PAIRS[name]:
        with pytest.raises((TypeError, ValueError, OverflowError)) as caught:
            constructor(**wrong)
        raised.append(caught.type)
    assert raised[0] is raised[1]


@both
@pytest.mark.parametrize("wrong", ["text", "", 7, None, [], object()])
def test_what_is_no_message(name, wrong):
    for constructor in PAIRS[name]:
        for call in constructor, constructor().update:
            with pytest.raises(TypeError):
                call(wrong)
        with pytest.raises(TypeError):
            constructor(b"", b"")
        with pytest.raises(TypeError):
            constructor().update()
    with pytest.raises(TypeError, match="Strings must be encoded before hashing"):
        PAIRS[name][0]("text")


@both
def test_messages_are_whatever_lends_memory(name):
    ours, theirs = PAIRS[name]
    numbers = numpy.arange(1000, dtype=numpy.int64)
    for message in (
        b"bytes", bytearray(b"bytearray"), memoryview(b"view"), memoryview(b"view")[1:3],
        array.array("i", range(100)), numbers, io.BytesIO(b"file").getbuffer(), bytes(5000),
    ):  # fmt: skip
        assert ours(message).digest() == theirs(message).digest()
    assert ours(numbers.reshape(10, 100)).digest() == theirs(numbers.reshape(10, 100)).digest()
    for constructor in ours, theirs:
        with pytest.raises(ValueError):
            constructor(numbers[::2])
        with pytest.raises(BufferError):
            constructor(memoryview(bytes(100))[::2])


@both
def test_attributes(name):
    ours, theirs = PAIRS[name]
    for attribute in "SALT_SIZE", "PERSON_SIZE", "MAX_KEY_SIZE", "MAX_DIGEST_SIZE":
        assert getattr(ours, attribute) == getattr(theirs, attribute)
    for constructor in ours, theirs:
        made = constructor(digest_size=17)
        assert (made.name, made.digest_size, made.block_size) == (name, 17, theirs().block_size)
        with pytest.raises(AttributeError):
            made.digest_size = 3
        with pytest.raises(AttributeError):
            made.spam = 3


@pytest.mark.parametrize("constructor", ALL, ids=lambda one: one.__name__)
def test_objects_of_all_functions(constructor):
    length = (40,) if constructor().digest_size == 0 else ()
    made = constructor(b"abc")
    other = made.copy()
    other.update(b"def")
    assert made.digest(*length) == constructor(b"abc").digest(*length)
    assert other.digest(*length) == constructor(b"abcdef").digest(*length)
    assert made.digest(*length).hex() == made.hexdigest(*length)
    assert made.name == constructor.__name__ and made.block_size in (64, 128)
    assert constructor(b"abc", key=b"key").digest(*length) != made.digest(*length)
    message = bytes(range(256)) * 5000
    read = hashlib.file_digest(io.BytesIO(message), constructor)
    assert read.digest(*length) == constructor(message).digest(*length)
    with pytest.raises(TypeError, match="'spam' is an invalid keyword argument"):
        constructor(spam=1)


def test_known_answers(repository):
    count = 0
    for file in "blake2_kat.jsonl", "blake2_xof.jsonl":
        for line in (repository / "lab/vectors" / file).read_text().splitlines()[1:]:
            case = json.loads(line)
            expected = bytes.fromhex(case["out"])
            made = getattr(saltern, case["kind"])(
                bytes.fromhex(case["in"]), key=bytes.fromhex(case["key"]), digest_size=len(expected)
            )
            assert made.digest() == expected, case["id"]
            count += 1
    assert count == 2048 + 512


def test_digests_of_any_size():
    whole = saltern.blake2xb(b"seed").digest(1000)
    assert saltern.blake2xb(b"seed").digest(10) == whole[:10]
    sized = saltern.blake2xb(b"seed", digest_size=1000)
    assert sized.digest() == sized.digest(1000) != whole
    assert saltern.blake2xs(b"seed", digest_size=65534).digest_size == 65534
    for wrong in (lambda: saltern.blake2xb().digest(), lambda: sized.digest(10),
                  lambda: saltern.blake2xb().digest(2**40), lambda: saltern.blake2xb().digest(-1),
                  lambda: saltern.blake2xs(digest_size=65535),
                  lambda: saltern.blake2xb(digest_size=0)):  # fmt: skip
        with pytest.raises(ValueError):
            wrong()


@pytest.mark.parametrize("constructor", [saltern.blake2bp, saltern.blake2sp])
def test_threads_for_one_message_change_nothing(constructor):
    message = numpy.random.default_rng(1).bytes(9 << 20)
    expected = constructor(message, threads=1).digest()
    for threads in 8, 16, None:
        made = constructor(threads=threads)
        made.update(message[:1000])
        made.update(message[1000:])
        assert made.digest() == expected
    with pytest.raises(ValueError, match="threads = 0"):
        constructor(threads=0)


def test_several_threads_update_one_object():
    made = saltern.blake2b()
    piece = bytes(100_000)

    def update() -> None:
        for _ in range(20):
            made.update(piece)
            made.copy().hexdigest()

    threads = [threading.Thread(target=update) for _ in range(5)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert made.digest() == hashlib.blake2b(bytes(10_000_000)).digest()


ROWS = [bytes([n % 256]) * (n * 7 % 300) for n in range(5000)]


def expected(rows: list[bytes], **given_: object) -> list[bytes]:
    return [hashlib.blake2b(row, **given_).digest() for row in rows]


@pytest.mark.parametrize("threads", [None, 1, 3])
@pytest.mark.parametrize("given_", [{}, {"digest_size": 20}, {"key": b"key", "person": b"me"}])
def test_many_messages(threads, given_):
    digests = saltern.blake2b.hash_many(ROWS, threads=threads, **given_)
    assert list(digests) == expected(ROWS, **given_)
    assert len(digests) == len(ROWS) and digests[-1] == digests[len(ROWS) - 1]
    assert bytes(digests) == b"".join(expected(ROWS, **given_))
    with pytest.raises(IndexError):
        digests[len(ROWS)]
    array_ = pyarrow.array(digests)
    assert array_.type == pyarrow.binary(given_.get("digest_size", 64))
    assert array_.to_pylist() == expected(ROWS, **given_)
    del digests
    array_.validate(full=True)


def test_columns_of_all_kinds():
    rows = [b"a", b"", b"abc", bytes(range(1, 200))]
    text = ["a", "", "abc", "ä"]
    for kind in pyarrow.binary(), pyarrow.large_binary(), pyarrow.binary_view():
        assert list(saltern.blake2b.hash_many(pyarrow.array(rows, kind))) == expected(rows)
    for kind in pyarrow.string(), pyarrow.large_string(), pyarrow.string_view():
        column = pyarrow.array(text, kind)
        assert list(saltern.blake2b.hash_many(column)) == expected([one.encode() for one in text])
    nulls = saltern.blake2b.hash_many(pyarrow.array([b"a", None, b"b"]))
    assert list(nulls) == [*expected([b"a"]), None, *expected([b"b"])]
    assert pyarrow.array(nulls).null_count == 1
    # The digests of digests: what comes out goes in.
    again = saltern.blake2b.hash_many(saltern.blake2b.hash_many(rows))
    assert list(again) == expected(expected(rows))
    mixed = [b"a", bytearray(b"b"), memoryview(b"c"), array.array("B", b"d")]
    assert list(saltern.blake2b.hash_many(iter(mixed))) == expected([b"a", b"b", b"c", b"d"])
    assert list(saltern.blake2b.hash_many([])) == []


def test_rows_of_numpy():
    grid = numpy.arange(600, dtype=numpy.uint8).reshape(20, 30)
    assert list(saltern.blake2b.hash_many(grid)) == expected([bytes(row) for row in grid])
    strings = numpy.array([b"a", b"abc", b""])
    assert list(saltern.blake2b.hash_many(strings)) == expected([bytes(one) for one in strings])
    void = grid.view("V30").reshape(20)
    assert list(saltern.blake2b.hash_many(void)) == expected([bytes(row) for row in grid])
    objects = numpy.array([b"a\0", b"abc"], dtype=object)
    assert list(saltern.blake2b.hash_many(objects)) == expected([b"a\0", b"abc"])
    empty = numpy.zeros((3, 0), numpy.uint8)
    assert list(saltern.blake2b.hash_many(empty)) == expected([b""] * 3)
    # Rows that are not one after the other are taken one by one.
    assert list(saltern.blake2b.hash_many(list(grid[::2]))) == expected([bytes(r) for r in grid[::2]])


def test_digests_are_a_sequence():
    digests = saltern.blake2b.hash_many(ROWS[:100], digest_size=32)
    listed = list(digests)
    assert isinstance(digests, collections.abc.Sequence)
    match digests:
        case [first, *_, last]:
            assert (first, last) == (listed[0], listed[-1])
        case _:
            raise AssertionError
    slices = [slice(10, 20), slice(None), slice(-5, None), slice(20, 10), slice(500, 600)]
    slices += [slice(None, None, -1), slice(1, 90, 7), slice(90, 1, -7)]
    for part in slices:
        assert isinstance(digests[part], saltern.Digests) and list(digests[part]) == listed[part]
        assert bytes(digests[part]) == b"".join(listed[part])
        assert pyarrow.array(digests[part]).to_pylist() == listed[part]
    assert listed[7] in digests and bytes(32) not in digests and 7 not in digests
    assert digests.index(listed[7]) == 7 and digests.count(listed[7]) == 1
    assert digests.index(listed[7], -95, 50) == 7 and digests.count("text") == 0
    for wrong in (bytes(32),), (listed[7], 8), (listed[7], 0, 7), (None,):
        with pytest.raises(ValueError):
            digests.index(*wrong)
    assert list(reversed(digests)) == listed[::-1]
    for wrong in "text", None, 1.5:
        with pytest.raises(TypeError):
            digests[wrong]
    some = saltern.blake2b.hash_many(pyarrow.array([b"a", None, b"b", None]))
    assert some.count(None) == 2 and some.index(None) == 1 and None in some
    assert list(some[::2]) == [some[0], some[2]] and list(some[1:3]) == [None, some[2]]
    with pytest.raises(BufferError):
        memoryview(some[1:3])
    assert memoryview(some[2:3]).tolist() == [list(some[2])]


def test_digests_lend_their_memory():
    digests = saltern.blake2b.hash_many(ROWS[:100], digest_size=32)
    grid = numpy.asarray(digests)
    assert grid.shape == (100, 32) and grid.dtype == numpy.uint8 and not grid.flags.writeable
    assert not grid.flags.owndata
    view = memoryview(digests)
    assert view.readonly and view.shape == (100, 32) and view.format == "B"
    with pytest.raises(TypeError, match="read-write"):
        io.BytesIO(bytes(10)).readinto(digests)
    # Who asks for columns that lie together does not get rows.
    place, wanted = ctypes.create_string_buffer(256), ctypes.py_object(digests)
    pybuf_strides, fortran = 0x18, 0x40
    with pytest.raises(BufferError, match="C-contiguous"):
        ctypes.pythonapi.PyObject_GetBuffer(wanted, place, pybuf_strides | fortran)
    single = ctypes.py_object(saltern.blake2b.hash_many([b"a"]))
    assert ctypes.pythonapi.PyObject_GetBuffer(single, place, pybuf_strides | fortran) == 0
    ctypes.pythonapi.PyBuffer_Release(place)
    del digests, view, wanted
    assert [bytes(row) for row in grid] == expected(ROWS[:100], digest_size=32)
    with pytest.raises(BufferError, match="nulls"):
        memoryview(saltern.blake2b.hash_many(pyarrow.array([b"a", None])))
    assert bytes(saltern.blake2b.hash_many([])) == b""


@pytest.mark.parametrize("length", [0, 1, 63, 64, 65, 127, 128, 129, 8192, 8193])
@pytest.mark.parametrize("count", [1, 7, 8, 9, 31, 1025])
def test_rows_of_one_length(length, count):
    grid = numpy.random.default_rng(length).integers(0, 256, (count, length), numpy.uint8)
    rows = [row.tobytes() for row in grid]
    for column in grid, rows, pyarrow.array(rows, pyarrow.binary(length)) if length else rows:
        for given_ in {"digest_size": 17}, {"key": b"key"}:
            digests = saltern.blake2b.hash_many(column, **given_)
            assert list(digests) == expected(rows, **given_)
    both_s = [hashlib.blake2s(row).digest() for row in rows]
    assert list(saltern.blake2s.hash_many(grid)) == both_s


def test_an_array_of_numbers_is_refused():
    for numbers in (
        numpy.arange(10), numpy.zeros((3, 4)), numpy.zeros((2, 2, 2), numpy.uint8),
        array.array("i", [1, 2]), numpy.zeros(3, "i4,i4"),
    ):  # fmt: skip
        with pytest.raises(TypeError, match="expected"):
            saltern.blake2b.hash_many(numbers)


def test_memory_that_the_system_does_not_have(run):
    ended = run("""
import resource, saltern
taken = next(int(line.split()[1]) << 10 for line in open("/proc/self/status") if "VmSize" in line)
resource.setrlimit(resource.RLIMIT_AS, (taken + (300 << 20),) * 2)
for call in (
    lambda: saltern.blake2xb().digest(1 << 30),
    lambda: saltern.blake2xb().hexdigest(200 << 20),
    lambda: saltern.blake2b.hash_many([b""] * 8_000_000),
):
    try:
        call()
    except MemoryError:
        pass
    else:
        raise SystemExit("no error")
assert len(saltern.blake2xb().digest(1 << 20)) == 1 << 20
""")
    assert ended.returncode == 0, ended.stderr


def test_what_are_no_rows():
    for single in b"message", bytearray(b"message"), memoryview(b"message"), numpy.zeros(9, "u1"):
        with pytest.raises(TypeError, match="a single message"):
            saltern.blake2b.hash_many(single)
    for wrong in "message", ["message"], [b"a", None], [1], 7, pyarrow.array([1]):
        with pytest.raises(TypeError):
            saltern.blake2b.hash_many(wrong)
    with pytest.raises(ValueError, match="threads = 0"):
        saltern.blake2b.hash_many([], threads=0)
    with pytest.raises(TypeError):
        saltern.blake2b.hash_many([], spam=1)
