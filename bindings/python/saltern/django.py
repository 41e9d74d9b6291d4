"""Saltern in Django: put ``saltern.django.YescryptPasswordHasher`` first in ``PASSWORD_HASHERS``.

``saltern.django.HashablePasswordValidator`` is for ``AUTH_PASSWORD_VALIDATORS``.
"""

from __future__ import annotations

import functools
from typing import Any

from django.contrib.auth.hashers import BasePasswordHasher, mask_hash, must_update_salt
from django.core.exceptions import ImproperlyConfigured, ValidationError
from django.utils.translation import gettext
from django.utils.translation import gettext_noop as _

from saltern._saltern import PasswordHasher, inspect
from saltern.exceptions import InvalidHashError
from saltern.schemes import MAX_PASSWORD, adapted, forms, hashed, matches, of_cost

__all__ = ["HashablePasswordValidator", "YescryptPasswordHasher"]

#: What may stand before a yescrypt string.
_CRYPT, _OVER = "{CRYPT}", "{over="


@functools.cache
def _hasher(cost: int, policy: str | None, most: int | None) -> PasswordHasher:
    hasher = of_cost(cost) if policy is None else adapted(PasswordHasher.from_policy(policy))
    # Before anybody logs in: later it would be an error for some users only.
    salt = BasePasswordHasher().salt()
    _fitting(f"{YescryptPasswordHasher.algorithm}${hasher.hash('', salt=salt.encode())}", most)
    return hasher


def _fitting(encoded: str, most: int | None) -> str:
    """The string, if the column has room for it."""
    if most is not None and len(encoded) > most:
        raise ImproperlyConfigured(
            f"a string with the key and the ROM of this policy has {len(encoded)} characters, "
            f"and the column for passwords {most}: make the column wider, and say so "
            "in a subclass of this hasher (`max_length`)"
        )
    return encoded


def _told(hash: str) -> dict[str, Any] | None:
    """The contents of a string of yescrypt or scrypt; empty for others."""
    try:
        return dict(inspect(hash.lstrip("!*")))
    except InvalidHashError:
        return None


class YescryptPasswordHasher(BasePasswordHasher):
    """Strings are ``yescrypt$`` followed by a crypt(3) string: ``yescrypt$$y$j9T$…``.

    Subclasses set `cost`, 1 to 9, or `policy`, the name of a file, which then sets everything.

    No password is an error, of whatever length and characters: Django hashes the password of an
    account that is not there, and an error would give that away.
    """

    algorithm = "yescrypt"
    cost: int = 5
    policy: str | None = None
    #: Characters of the column for passwords, 128 in Django's own user model. A subclass for a
    #: wider column sets this; `None` for no bound.
    max_length: int | None = 128

    def _ours(self) -> PasswordHasher:
        return _hasher(self.cost, self.policy, self.max_length)

    def encode(self, password: str, salt: str) -> str:
        self._check_encode_args(password, salt)
        encoded = f"{self.algorithm}${hashed(self._ours(), password, salt.encode())}"
        return _fitting(encoded, self.max_length)

    def decode(self, encoded: str) -> dict[str, Any]:
        """The contents of the string; for wrapped and other schemes' strings only the scheme."""
        algorithm, hash = encoded.split("$", 1)
        assert algorithm == self.algorithm
        told = _told(hash)
        if told is None:
            return {"algorithm": algorithm, "hash": hash}
        salt = told["salt"]
        # Salts of other programs are bytes, not letters and digits.
        shown = salt.decode("ascii") if salt.isalnum() else salt.hex()
        return {**told, "algorithm": algorithm, "hash": hash, "salt": shown}

    def verify(self, password: str, encoded: str) -> bool:
        _algorithm, hash = encoded.split("$", 1)
        return matches(self._ours(), password, hash)

    def safe_summary(self, encoded: str) -> dict[str, Any]:
        decoded = self.decode(encoded)
        summary = {_("algorithm"): decoded["algorithm"]}
        if "n" in decoded:
            summary[_("work factor")] = decoded["n"]
            summary[_("block size")] = decoded["r"]
            summary[_("parallelism")] = decoded["p"]
            summary[_("salt")] = mask_hash(decoded["salt"])
        summary[_("hash")] = mask_hash(decoded["hash"].rsplit("$", 1)[-1])
        return summary

    def must_update(self, encoded: str) -> bool:
        hash = self.decode(encoded)["hash"]
        return self._weak(hash) or self._ours().check_needs_rehash(hash)

    def _weak(self, hash: str) -> bool:
        told = _told(hash)
        if told is None:
            return False
        salt = told["salt"]
        if salt.isalnum():
            return bool(must_update_salt(salt.decode("ascii"), self.salt_entropy))
        return bool(8 * len(salt) < self.salt_entropy)

    def harden_runtime(self, password: str, encoded: str) -> None:
        """For a weaker string, takes the additional time that a new one would have taken; for one
        of another scheme, all of it."""
        hash = encoded.split("$", 1)[1]
        text = hash[len(_CRYPT) :] if hash.upper().startswith(_CRYPT) else hash
        if text.startswith(("!", "*")):
            return  # what is computed for a locked account costs as much as a new string
        told = _told(text.partition("}")[2] if text.startswith(_OVER) else text)
        if told is None:
            hashed(self._ours(), password)
            return
        for _time in range(round(self._ours().work / told["work"]) - 1):
            self.verify(password, encoded)


class HashablePasswordValidator:
    """Refuses new passwords that crypt(3) does not take: of more than 511 bytes, with a zero byte or
    a lone surrogate.

    The hasher does not need it. It is for sites whose strings other programs verify, which do not
    know the digest that the hasher makes of such a password.
    """

    def validate(self, password: str, user: Any = None) -> None:
        """Raises ValidationError for such a password."""
        try:
            password.encode()
        except UnicodeEncodeError:
            given = False
        else:
            given = len(forms(password)) == 1
        if not given:
            raise ValidationError(self.get_help_text(), code="password_not_hashable")

    def get_help_text(self) -> str:
        return gettext(
            "Your password can have at most %(bytes)d bytes, none of them zero."
        ) % {"bytes": MAX_PASSWORD}
