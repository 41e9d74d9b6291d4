"""What can go wrong.

A wrong password is a :class:`VerifyMismatchError`. The only other one is a locked account, where no
password matches (:class:`AccountLockedError`): whoever catches either, or
:class:`VerificationError`, can be sure that the answer is no. All other errors are of one of five
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
    "UnavailableError",
    "VerificationError",
    "VerifyMismatchError",
]


class SalternError(Exception):
    """The base of all exceptions of this package."""


class VerificationError(SalternError):
    """No password but the right one would have matched, and this was not it."""


class VerifyMismatchError(VerificationError):
    """The password is wrong, or there is no such account."""


class AccountLockedError(VerifyMismatchError):
    """The stored string is that of a locked account (``!`` or ``*`` stands before it): no password
    matches, and none is tried."""


class BadInputError(SalternError, ValueError):
    """What was given is wrong, and will be the next time: a policy, a parameter, a password that no
    scheme takes."""


class InvalidHashError(BadInputError):
    """This is no stored string, or the arguments are in the wrong order."""


InvalidHash = InvalidHashError
"""The older name of it in argon2-cffi."""


class OverLimitError(SalternError, ValueError):
    """It costs more than the policy allows, or is of a scheme that the policy does not accept."""


class UnavailableError(SalternError, LookupError):
    """A key, a ROM or a file is not there, or is another one. With it there, the same call
    succeeds."""


class OverloadedError(SalternError):
    """Too much at a time: the same call may succeed later. A server answers 503."""


class DeadlineError(OverloadedError, TimeoutError):
    """It would not have ended in time, by the rate that the pool has measured, or the deadline
    passed before it began."""


class InternalError(SalternError, RuntimeError):
    """Neither the input nor the load: threads or randomness could not be had, or there is a
    defect."""


class OutOfMemoryError(InternalError, MemoryError):
    """The system refused memory."""
