"""Saltern in libpass: for `libpass.context.CryptContext`.

    >>> from libpass.context import CryptContext
    >>> from saltern.libpass import YescryptHasher
    >>> context = CryptContext([YescryptHasher()])
    >>> context.verify("correct horse", context.hash("correct horse"))
    True
"""

from __future__ import annotations

from saltern._saltern import PasswordHasher
from saltern.exceptions import VerifyMismatchError
from saltern.schemes import is_ours

__all__ = ["YescryptHasher"]


class YescryptHasher:
    """A hasher for `libpass.context.CryptContext`, in libpass's order: the stored string first.

    `hasher` is one with a policy (`PasswordHasher.from_policy`); without it there is one of this
    cost. What is neither a match nor a mismatch, a key that is missing for example, is raised.
    """

    def __init__(self, cost: int = 5, *, hasher: PasswordHasher | None = None) -> None:
        self._hasher = PasswordHasher(cost) if hasher is None else hasher

    def hash(self, secret: str | bytes, salt: bytes | None = None) -> str:
        """A new string."""
        return self._hasher.hash(secret, salt=salt)

    def verify(self, hash: str | bytes, secret: str | bytes) -> bool:
        """Whether the password matches; `False` for strings of other schemes, since contexts ask
        all of their hashers."""
        if not self.identify(hash):
            return False
        try:
            return self._hasher.verify(hash, secret)
        except VerifyMismatchError:
            return False

    def identify(self, hash: str | bytes) -> bool:
        """Whether this is a string of yescrypt or scrypt."""
        return is_ours(hash)

    def needs_update(self, hash: str | bytes) -> bool:
        """Whether the string is not what a new one would be, or is none of these."""
        return not self.identify(hash) or self._hasher.check_needs_rehash(hash)
