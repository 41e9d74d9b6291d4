"""Password hashing for servers, and the BLAKE2 family.

    >>> from saltern import PasswordHasher
    >>> hasher = PasswordHasher()
    >>> stored = hasher.hash("correct horse")
    >>> hasher.verify(stored, "correct horse")
    True

docs/python.md in the repository describes everything.
"""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from saltern._saltern import (
    Digests,
    PasswordHasher,
    Rows,
    __version__,
    blake2b,
    blake2bp,
    blake2s,
    blake2sp,
    blake2xb,
    blake2xs,
    inspect,
    string_in_json,
)
from saltern.exceptions import (
    AccountLockedError,
    BadInputError,
    DeadlineError,
    InternalError,
    InvalidHash,
    InvalidHashError,
    OutOfMemoryError,
    OverLimitError,
    OverloadedError,
    SalternError,
    TamperedError,
    UnavailableError,
    VerificationError,
    VerifyMismatchError,
)

if TYPE_CHECKING:
    from saltern.aio import AsyncPasswordHasher

__all__ = [
    "AccountLockedError",
    "AsyncPasswordHasher",
    "BadInputError",
    "DeadlineError",
    "Digests",
    "InternalError",
    "InvalidHash",
    "InvalidHashError",
    "OutOfMemoryError",
    "OverLimitError",
    "OverloadedError",
    "PasswordHasher",
    "Rows",
    "SalternError",
    "TamperedError",
    "UnavailableError",
    "VerificationError",
    "VerifyMismatchError",
    "__version__",
    "blake2b",
    "blake2bp",
    "blake2s",
    "blake2sp",
    "blake2xb",
    "blake2xs",
    "inspect",
    "string_in_json",
]


Sequence.register(Digests)


def __getattr__(name: str) -> Any:
    # The module asyncio takes longer to import than all of this package.
    if name == "AsyncPasswordHasher":
        from saltern.aio import AsyncPasswordHasher

        globals()[name] = AsyncPasswordHasher
        return AsyncPasswordHasher
    raise AttributeError(f"module 'saltern' has no attribute {name!r}")
