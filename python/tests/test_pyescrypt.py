"""yescrypt beside upstream's C code, in the package pyescrypt."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st
from pyescrypt import Mode, Yescrypt

import saltern

HASHER = saltern.PasswordHasher(1)
PASSWORDS = st.binary(max_size=100).filter(lambda password: 0 not in password)


@settings(max_examples=60, deadline=None)
@given(
    PASSWORDS,
    st.binary(min_size=1, max_size=16),
    st.sampled_from([4, 64, 1024]),
    st.sampled_from([8, 16, 32]),
    st.sampled_from([1, 2]),
    st.integers(0, 2),
)
def test_strings_of_upstream_are_verified(password, salt, n, r, p, t):
    stored = Yescrypt(n=max(n, 4 * p), r=r, p=p, t=t, mode=Mode.MCF).digest(password, salt).decode()
    assert HASHER.verify(stored, password)
    assert HASHER.verify_and_update(stored, password + b"x")[0] is False
    assert saltern.inspect(stored)["salt"] == salt


@settings(max_examples=30, deadline=None)
@given(PASSWORDS, st.binary(min_size=1, max_size=60))
def test_strings_are_those_of_upstream(password, salt):
    upstream = Yescrypt(n=1024, r=8, mode=Mode.MCF)
    assert HASHER.hash(password, salt=salt) == upstream.digest(password, salt).decode()
