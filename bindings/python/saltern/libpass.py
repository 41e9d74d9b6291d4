"""Saltern in libpass, the maintained fork of passlib: a handler for `passlib.context.CryptContext`.

    >>> from passlib.context import CryptContext
    >>> from saltern.libpass import yescrypt
    >>> context = CryptContext([yescrypt])
    >>> context.verify("correct horse", context.hash("correct horse"))
    True
"""

from __future__ import annotations

from typing import Any, ClassVar

from passlib.exc import PasswordSizeError
from passlib.ifc import PasswordHash
from passlib.utils import MAX_PASSWORD_SIZE

from saltern._saltern import PasswordHasher, inspect
from saltern.exceptions import BadInputError
from saltern.schemes import adapted, checked, hashed, is_ours, matches, of_cost

__all__ = ["yescrypt"]


class yescrypt(PasswordHash):
    """A handler in passlib's order: the password first.

    `using(cost=…)` (in a context `yescrypt__cost`) sets another cost, and `using(policy=…)` the
    policy in a file, which sets everything. No password is an error, up to passlib's own limit of
    4096 characters. Anything that is neither a match nor a mismatch, such as a missing key, is
    raised.
    """

    name = "yescrypt"
    setting_kwds = ("cost", "policy")
    context_kwds = ()
    deprecated: ClassVar[bool] = False
    _hasher: ClassVar[PasswordHasher | None] = None

    @classmethod
    def _ours(cls) -> PasswordHasher:
        if cls._hasher is None:
            cls._hasher = of_cost(5)
        return cls._hasher

    @classmethod
    def using(
        cls,
        relaxed: bool = False,
        *,
        cost: int | str | None = None,
        policy: str | None = None,
        **unknown: Any,
    ) -> type[yescrypt]:
        """A handler with other settings. Settings from files are strings."""
        if unknown:
            raise TypeError(f"yescrypt.using() knows no {', '.join(sorted(unknown))}")
        hasher = cls._hasher
        if policy is not None:
            hasher = adapted(PasswordHasher.from_policy(policy))
        elif cost is not None:
            hasher = of_cost(int(cost))
        return type(cls.__name__, (cls,), {"_hasher": hasher, "__doc__": cls.__doc__})

    @classmethod
    def hash(cls, secret: str | bytes, **settings: Any) -> str:
        """A new string; settings are those of `using`, as in old programs."""
        handler = cls.using(**settings) if settings else cls
        return hashed(handler._ours(), _bounded(secret))

    @classmethod
    def verify(cls, secret: str | bytes, hash: str | bytes) -> bool:
        """Whether the password matches."""
        return matches(cls._ours(), _bounded(secret), hash)

    @classmethod
    def identify(cls, hash: str | bytes) -> bool:
        """Whether this begins like a yescrypt or scrypt string, or is a wrapped hash."""
        return is_ours(hash)

    @classmethod
    def needs_update(cls, hash: str | bytes, secret: str | bytes | None = None) -> bool:
        """Whether the string differs from what a new one would be."""
        return cls._ours().check_needs_rehash(checked(hash))

    @classmethod
    def genconfig(cls, **settings: Any) -> str:
        """A string for `genhash`, for old programs."""
        return cls.hash("", **settings)

    @classmethod
    def genhash(cls, secret: str | bytes, config: str | bytes, **context: Any) -> str:
        """A string with the salt of another one of this cost, for old programs."""
        checked(config)
        made = hashed(cls._ours(), _bounded(secret), inspect(config)["salt"])
        text = config if isinstance(config, str) else config.decode("ascii")
        if made.rsplit("$", 1)[0] != text.rsplit("$", 1)[0]:
            raise BadInputError("genhash() takes strings of this handler's cost: use verify()")
        return made


def _bounded(secret: str | bytes) -> str | bytes:
    """The password, if it is not longer than passlib allows."""
    if isinstance(secret, str | bytes) and len(secret) > MAX_PASSWORD_SIZE:
        raise PasswordSizeError(MAX_PASSWORD_SIZE)
    return secret
