"""The exceptions of this package.

A wrong password raises :class:`VerifyMismatchError`. The only other negative answer is a locked
account, for which no password matches (:class:`AccountLockedError`). Both are a
:class:`VerificationError` and mean that the login is refused. All other errors are of one of six
kinds, each a class, and say nothing about the password.
"""

__all__ = [
    "AccountLockedError",
    "BadInputError",
    "DeadlineError",
    "InternalError",
    "InvalidHash",
    "InvalidHashError",
    "OutOfMemoryError",
    "OverLimitError",
    "OverloadedError",
    "SalternError",
    "TamperedError",
    "UnavailableError",
    "VerificationError",
    "VerifyMismatchError",
]


class SalternError(Exception):
    """The base of all exceptions of this package."""


class VerificationError(SalternError):
    """The password was checked and does not match, or the account is locked."""


class VerifyMismatchError(VerificationError):
    """The password is wrong, or there is no such account."""


class AccountLockedError(VerifyMismatchError):
    """The account is locked (its stored string begins with ``!`` or ``*``): no password matches,
    and none is checked. ``verify`` raises it; ``verify_and_update`` says ``(False, None)``."""


class BadInputError(SalternError, ValueError):
    """The input is wrong and a retry will not help: a policy, a parameter, a password that no
    scheme accepts."""


class InvalidHashError(BadInputError):
    """This is not a stored string, or the arguments are in the wrong order."""


InvalidHash = InvalidHashError
"""The older name of it in argon2-cffi."""


class OverLimitError(SalternError, ValueError):
    """The hash costs more than the policy allows, or its scheme is not accepted by the policy or not
    computed by Saltern at all."""


class UnavailableError(SalternError, LookupError):
    """A key, a ROM or a file is missing, or is the wrong one. Once it is available, the same call
    succeeds."""


class TamperedError(SalternError, ValueError):
    """A stored string is not the one that was sealed for its account: somebody has moved, altered
    or inserted it. The password was not checked; an operator has to look at the table."""


class OverloadedError(SalternError):
    """Overload: the same call may succeed later. A server should answer 503."""


class DeadlineError(OverloadedError, TimeoutError):
    """The call could not have ended in time, at the rate that the pool has measured, or the
    deadline passed before it began."""


class InternalError(SalternError, RuntimeError):
    """Neither the input nor the load is at fault: threads or randomness were not available, or
    there is a defect."""


class OutOfMemoryError(InternalError, MemoryError):
    """The system refused memory."""
