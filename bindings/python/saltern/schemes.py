"""Common parts of the adapters: which strings are ours, answers that are yes or no, and passwords
of any length.

The frameworks pass on whatever somebody has typed, and hash it again when another hasher's string is
to be upgraded. None of this may be an error: it would lock people out, and tell which accounts there
are. crypt(3) takes at most 511 bytes without zero bytes; from any other password, the adapters hash a
digest.
"""

from __future__ import annotations

import logging
import re
from collections.abc import Callable
from contextlib import suppress

from saltern._saltern import OWN_PREFIXES, PasswordHasher, blake2b
from saltern.exceptions import BadInputError, OverLimitError, VerifyMismatchError

__all__ = [
    "MAX_PASSWORD",
    "adapted",
    "checked",
    "forms",
    "hashed",
    "is_locked",
    "is_ours",
    "matches",
    "of_cost",
]

#: Bytes of the longest password that crypt(3) takes.
MAX_PASSWORD = 511

_LOG = logging.getLogger("saltern")
_SCHEMES = ["yescrypt", "scrypt", "escrypt"]
#: MySQL's PASSWORD(), which looks locked.
_MYSQL = re.compile(r"\*[0-9A-Fa-f]{40}")


def of_cost(cost: int) -> PasswordHasher:
    """A hasher without a policy, for the strings of `is_ours`."""
    return PasswordHasher(cost, schemes=_SCHEMES)


def adapted(hasher: PasswordHasher) -> PasswordHasher:
    """A hasher with a policy, if it can serve an adapter."""
    if not hasher._takes(b"x" * MAX_PASSWORD):
        raise BadInputError(
            f"limits.password is below {MAX_PASSWORD}, so that a password that somebody types would "
            "be an error in this framework: raise it in the policy, and limit lengths in forms"
        )
    site = hasher.site
    if site["active_seal_key"] is not None or site["seal_required"]:
        raise BadInputError(
            "the policy seals strings for their accounts, and this framework does not say whose "
            "password it is: use a policy without an active key for seals, or PasswordHasher itself"
        )
    return hasher


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
    return text.lstrip("!*").startswith(OWN_PREFIXES)


def is_locked(hash: str | bytes) -> bool:
    """Whether this is the string of a locked account, whatever follows the marks (``!``, ``*``)."""
    hash = checked(hash)
    text = hash if isinstance(hash, str) else hash.decode("latin-1")
    return text.startswith(("!", "*")) and not _MYSQL.fullmatch(text)


def forms(password: str | bytes) -> tuple[bytes, ...]:
    """The forms of a password that a string may be of: itself; or, if crypt(3) does not take it,
    its digest and then itself.

    A lone surrogate is encoded like any other character.
    """
    raw = password.encode("utf-8", "surrogatepass") if isinstance(password, str) else password
    if not isinstance(raw, bytes):
        raise TypeError(f"the password must be str or bytes, not {type(raw).__name__}")
    if len(raw) <= MAX_PASSWORD and 0 not in raw:
        return (raw,)
    digest = blake2b(raw, digest_size=32, person=b"saltern password")
    return digest.hexdigest().encode(), raw


def hashed(hasher: PasswordHasher, password: str | bytes, salt: bytes | None = None) -> str:
    """A new string, of any password. It takes as long as `matches` takes to say no: Django hashes
    the password of an account that is not there."""
    first, *others = forms(password)
    for other in filter(hasher._takes, others):
        with suppress(VerifyMismatchError):
            hasher.verify(None, other)
    return hasher.hash(first, salt=salt)


def matches(hasher: PasswordHasher, password: str | bytes, hash: str | bytes) -> bool:
    """Whether the password matches."""
    hash = checked(hash)
    first, *others = forms(password)
    if all(map(hasher._takes, others)):
        # Under the wide syntax another program may have made the string of the password itself.
        return any(_matches(hasher.verify, hash, form) for form in (first, *others))
    [itself] = others
    try:
        return _matches(hasher._verify_any, hash, itself, first)
    except OverLimitError as refusal:
        # If it is not the string that is refused, whatever the password:
        _matches(hasher.verify, hash, first)
        _LOG.warning("a login was refused: %s", refusal)
        return False


def _matches(verify: Callable[..., bool], *what: str | bytes) -> bool:
    try:
        return verify(*what)
    except VerifyMismatchError:
        return False
