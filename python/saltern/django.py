"""Saltern in Django: put ``saltern.django.YescryptPasswordHasher`` first in ``PASSWORD_HASHERS``."""

from __future__ import annotations

import functools
from typing import Any

from django.contrib.auth.hashers import BasePasswordHasher, mask_hash, must_update_salt
from django.utils.translation import gettext_noop as _

from saltern._saltern import PasswordHasher, inspect
from saltern.exceptions import VerifyMismatchError

__all__ = ["YescryptPasswordHasher"]


@functools.cache
def _hasher(cost: int, policy: str | None) -> PasswordHasher:
    return PasswordHasher(cost) if policy is None else PasswordHasher.from_policy(policy)


class YescryptPasswordHasher(BasePasswordHasher):
    """Strings are ``yescrypt$`` and what crypt(3) has: ``yescrypt$$y$j9T$…``.

    Subclasses set `cost`, 1 to 11, or `policy`, the name of a file, which then says everything.
    """

    algorithm = "yescrypt"
    cost: int = 5
    policy: str | None = None

    def _ours(self) -> PasswordHasher:
        return _hasher(self.cost, self.policy)

    def encode(self, password: str, salt: str) -> str:
        self._check_encode_args(password, salt)
        return f"{self.algorithm}${self._ours().hash(password, salt=salt.encode())}"

    def decode(self, encoded: str) -> dict[str, Any]:
        algorithm, hash = encoded.split("$", 1)
        assert algorithm == self.algorithm
        told: dict[str, Any] = dict(inspect(hash))
        salt = told["salt"].decode("latin-1")
        return {**told, "algorithm": algorithm, "hash": hash, "salt": salt}

    def verify(self, password: str, encoded: str) -> bool:
        _algorithm, hash = encoded.split("$", 1)
        try:
            return self._ours().verify(hash, password)
        except VerifyMismatchError:
            return False

    def safe_summary(self, encoded: str) -> dict[str, Any]:
        decoded = self.decode(encoded)
        return {
            _("algorithm"): decoded["algorithm"],
            _("work factor"): decoded["n"],
            _("block size"): decoded["r"],
            _("parallelism"): decoded["p"],
            _("salt"): mask_hash(decoded["salt"]),
            _("hash"): mask_hash(decoded["hash"].rsplit("$", 1)[-1]),
        }

    def must_update(self, encoded: str) -> bool:
        decoded = self.decode(encoded)
        weak = self._weak(decoded["salt"])
        return weak or self._ours().check_needs_rehash(decoded["hash"])

    def _weak(self, salt: str) -> bool:
        # Those of other programs are bytes, not letters and digits.
        if salt.isascii() and salt.isalnum():
            return bool(must_update_salt(salt, self.salt_entropy))
        return 8 * len(salt) < self.salt_entropy

    def harden_runtime(self, password: str, encoded: str) -> None:
        """Takes, for a weaker string, the time that a new one would have taken in addition."""
        work = self.decode(encoded)["work"]
        for _time in range(round(self._ours().work / work) - 1):
            self.verify(password, encoded)
