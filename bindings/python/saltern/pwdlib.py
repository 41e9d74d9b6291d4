"""Saltern in pwdlib.

    >>> from pwdlib import PasswordHash
    >>> from saltern.pwdlib import YescryptHasher
    >>> passwords = PasswordHash([YescryptHasher()])
    >>> passwords.verify("correct horse", passwords.hash("correct horse"))
    True
"""

from __future__ import annotations

from saltern._saltern import PasswordHasher
from saltern.schemes import adapted, checked, hashed, is_locked, is_ours, matches, of_cost

__all__ = ["YescryptHasher"]


class YescryptHasher:
    """A hasher for `pwdlib.PasswordHash`, in pwdlib's order: the password first.

    `hasher` is one with a policy (`PasswordHasher.from_policy`); without it, one with this cost is
    used. No password is an error, of whatever length and characters. Anything that is neither a
    match nor a mismatch, such as a missing key, is raised.
    """

    def __init__(self, cost: int = 5, *, hasher: PasswordHasher | None = None) -> None:
        self._hasher = of_cost(cost) if hasher is None else adapted(hasher)

    @classmethod
    def identify(cls, hash: str | bytes) -> bool:
        """Whether this begins like a yescrypt or scrypt string, or is a wrapped hash, or the string
        of a locked account, of which no other hasher knows."""
        return is_ours(hash) or is_locked(hash)

    def hash(self, password: str | bytes, *, salt: bytes | None = None) -> str:
        """A new string."""
        return hashed(self._hasher, password, salt)

    def verify(self, password: str | bytes, hash: str | bytes) -> bool:
        """Whether the password matches."""
        return matches(self._hasher, password, hash)

    def check_needs_rehash(self, hash: str | bytes) -> bool:
        """Whether the string differs from what a new one would be."""
        return self._hasher.check_needs_rehash(checked(hash))
