"""Common parts of the adapters: which strings are ours, and answers that are yes or no."""

from __future__ import annotations

from saltern._saltern import PasswordHasher
from saltern.exceptions import (
    BadInputError,
    InvalidHashError,
    OverLimitError,
    VerifyMismatchError,
)

__all__ = ["checked", "is_ours", "matches"]

_TEXT = ("$y$", "$7$", "$7X", "$scrypt$", "$saltern-yescrypt$", "{key=", "{rom=", "{over=")


def checked(hash: str | bytes) -> str | bytes:
    """The stored string, if it is text: the frameworks have no accounts without one."""
    if not isinstance(hash, str | bytes):
        raise TypeError(f"hash must be str or bytes, not {type(hash).__name__}")
    return hash


def is_ours(hash: str | bytes) -> bool:
    """Whether this begins like a yescrypt or scrypt string, or is a wrapped hash; strings of locked
    accounts (``!``, ``*``) are included."""
    hash = checked(hash)
    text = hash if isinstance(hash, str) else hash.decode("latin-1")
    return text.lstrip("!*").startswith(_TEXT)


def matches(hasher: PasswordHasher, password: str | bytes, hash: str | bytes) -> bool:
    """Whether the password matches.

    A password that is too long or has zero bytes matches no string: the frameworks pass on whatever
    somebody has typed. The answer takes as long as that of a wrong password.
    """
    try:
        return hasher.verify(checked(hash), password)
    except VerifyMismatchError:
        return False
    except InvalidHashError:
        raise
    except (BadInputError, OverLimitError):
        if not _is_impossible(hasher, password):
            raise
    try:
        return hasher.verify(None, b"") and False
    except VerifyMismatchError:
        return False


def _is_impossible(hasher: PasswordHasher, password: str | bytes) -> bool:
    """Whether the password is impossible for any stored string."""
    try:
        hasher.verify(None, password)
    except VerifyMismatchError:
        return False
    except (BadInputError, OverLimitError):
        return True
    return False
