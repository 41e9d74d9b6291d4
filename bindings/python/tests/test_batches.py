"""Columns of passwords: lists, generators, NumPy, Arrow."""

from __future__ import annotations

import numpy
import pyarrow
import pytest

import saltern

PASSWORDS = [f"password {n}" for n in range(150)]


@pytest.fixture(scope="module")
def hashes(hasher):
    return hasher.hash_many(PASSWORDS)


COLUMNS = {
    "list": list,
    "tuple": tuple,
    "generator": iter,
    "bytes": lambda strings: [text.encode() for text in strings],
    "numpy str": numpy.array,
    "numpy bytes": lambda strings: numpy.array([text.encode() for text in strings]),
    "numpy objects": lambda strings: numpy.array(strings, dtype=object),
    "arrow": pyarrow.array,
    "arrow large": lambda strings: pyarrow.array(strings, pyarrow.large_string()),
    "arrow view": lambda strings: pyarrow.array(strings, pyarrow.string_view()),
    "arrow binary": lambda strings: pyarrow.array([text.encode() for text in strings]),
    "arrow slice": lambda strings: pyarrow.array(["x", *strings, "y"])[1:-1],
    "arrow chunks": lambda strings: pyarrow.chunked_array([strings[:40], [], strings[40:]]),
}


@pytest.mark.parametrize("kind", COLUMNS)
def test_every_column_is_answered_in_order(hasher, hashes, kind):
    column = COLUMNS[kind]
    answers = hasher.verify_many(column(hashes), column(PASSWORDS))
    assert answers == [True] * len(PASSWORDS)
    swapped = hasher.verify_many(column(hashes[:20]), column(PASSWORDS[1:21]))
    assert swapped == [False] * 20
    made = hasher.hash_many(column(PASSWORDS[:10]))
    assert hasher.verify_many(made, PASSWORDS[:10]) == [True] * 10


def test_errors_are_those_of_single_items(hasher, hashes):
    column = ["fine", 7, "a\0b", None, "x" * 600, "fine"]
    first, wrong, zero, null, long, last = hasher.hash_many(column)
    assert isinstance(first, str) and isinstance(last, str)
    assert isinstance(wrong, TypeError) and isinstance(long, saltern.OverLimitError)
    assert isinstance(zero, saltern.BadInputError) and isinstance(null, saltern.BadInputError)
    answers = hasher.verify_many(
        [hashes[0], "tiger", None, "!" + hashes[0], PASSWORDS[0]], [PASSWORDS[0]] * 4 + [hashes[0]]
    )
    assert answers[0] is True and answers[2] is False
    assert isinstance(answers[1], saltern.InvalidHashError)
    assert isinstance(answers[3], saltern.AccountLockedError)
    assert "wrong order" in str(answers[4])


def test_what_is_no_column(hasher, hashes):
    for single in "password", b"password", bytearray(b"password"), memoryview(b"password"):
        with pytest.raises(TypeError, match="a single item"):
            hasher.hash_many(single)
    with pytest.raises(TypeError):
        hasher.hash_many(7)
    with pytest.raises(TypeError, match="Int64"):
        hasher.hash_many(pyarrow.array([1, 2]))
    with pytest.raises(TypeError, match="Struct"):
        hasher.hash_many(pyarrow.table({"password": PASSWORDS}))
    with pytest.raises(ValueError, match="as many passwords"):
        hasher.verify_many(hashes[:2], PASSWORDS[:1])
    assert hasher.hash_many([]) == [] and hasher.verify_many([], []) == []


def test_an_error_of_the_column_is_raised(hasher):
    def column():
        yield "password"
        raise RuntimeError("the table is gone")

    with pytest.raises(RuntimeError, match="the table is gone"):
        hasher.hash_many(column())


def test_a_deadline_is_for_all_of_it(hasher):
    answers = saltern.PasswordHasher(5).hash_many(PASSWORDS, deadline=0.3)
    late = [answer for answer in answers if isinstance(answer, saltern.DeadlineError)]
    assert late and len(answers) == len(PASSWORDS)
    assert all(isinstance(answer, str) for answer in answers if answer not in late)


def test_a_stream_whose_threads_need_the_interpreter(run):
    # Arrow reads it in threads of its own, which call a generator of Python. What they still read
    # ahead when an interpreter ends can hang it, with pyarrow 22 alone as well: this one is left.
    ended = run("""
import os, pyarrow, pyarrow.dataset, saltern
schema = pyarrow.schema([("password", pyarrow.string())])
def batches():
    for _ in range(20):
        yield pyarrow.record_batch([["a", "b"]], schema=schema)
reader = pyarrow.dataset.Scanner.from_batches(batches(), schema=schema).to_reader()
try:
    saltern.blake2b.hash_many(reader)
except TypeError as error:
    os._exit(0 if "Struct" in str(error) else 1)
raise SystemExit("no error")
""")
    assert ended.returncode == 0, ended.stderr


def test_an_error_of_a_stream_says_what_it_says():
    schema = pyarrow.schema([("password", pyarrow.string())])

    def batches():
        raise RuntimeError("the disk is gone")
        yield

    reader = pyarrow.RecordBatchReader.from_batches(schema, batches())
    with pytest.raises(ValueError, match="the disk is gone"):
        saltern.blake2b.hash_many(reader)


class Spent:
    """Gives the same capsules every time."""

    def __init__(self, column):
        self._array = column.__arrow_c_array__()

    def __arrow_c_array__(self, requested_schema=None):
        return self._array


def test_a_capsule_is_read_once(hasher):
    column = Spent(pyarrow.array([b"a", b"b"]))
    assert len(saltern.blake2b.hash_many(column)) == 2
    with pytest.raises(ValueError, match="taken out of its capsule"):
        saltern.blake2b.hash_many(column)
    with pytest.raises(ValueError, match="taken out of its capsule"):
        hasher.hash_many(column)


def test_offsets_beyond_their_buffer_are_refused():
    offsets = pyarrow.py_buffer(numpy.array([0, 1 << 30, 5], numpy.int32).tobytes())
    kinds = pyarrow.binary(), pyarrow.string()
    for kind in kinds:
        broken = pyarrow.Array.from_buffers(kind, 2, [None, offsets, pyarrow.py_buffer(bytes(8))])
        with pytest.raises(ValueError, match="cannot be read"):
            saltern.blake2b.hash_many(broken)
    # What says that it is text need not be UTF-8: it is bytes here.
    offsets = pyarrow.py_buffer(numpy.array([0, 2], numpy.int32).tobytes())
    text = pyarrow.Array.from_buffers(
        pyarrow.string(), 1, [None, offsets, pyarrow.py_buffer(b"\xff\xfe")]
    )
    assert saltern.blake2b.hash_many(text)[0] == saltern.blake2b(b"\xff\xfe").digest()
