"""A client of the service `salternd`, for Python 3.9 and later, with the standard library alone.

    from salternd import Client
    client = Client("/run/salternd/socket")
    stored = client.hash("correct horse")
    login = client.verify("alice", "correct horse", stored)
    if login.matches:
        if login.update:                 # UPDATE ... SET hash = update WHERE hash = stored
            stored = login.update

A wrong password is an answer. Whatever kept the service from answering is a `Problem`, or an
`OSError` if it cannot be reached. Passwords of type `bytes` need not be Unicode. Strings of Python
cannot be wiped: they stay in memory until they are overwritten.
"""

from __future__ import annotations

import http.client
import json
import math
import os
import random
import socket
import ssl
import threading
import time
from dataclasses import dataclass
from typing import Optional, Union

__all__ = ["Client", "Login", "Problem"]

Password = Union[str, bytes]

# How a connection ends that was idle for too long.
_ENDED = (
    http.client.RemoteDisconnected, BrokenPipeError, ConnectionResetError, ssl.SSLEOFError, ssl.SSLZeroReturnError
)
_STRANGE = "the answer is not one of the service"


class Problem(Exception):
    """Why a request failed (RFC 9457)."""

    def __init__(self, fields: dict) -> None:
        super().__init__(fields.get("detail", ""))
        #: The status of the answer.
        self.status: int = fields.get("status", 0)
        #: bad-input, over-limit, unavailable, overloaded or internal.
        self.outcome: str = fields.get("outcome", "")
        #: What is more exact than that, such as too-late.
        self.reason: str = fields.get("type", "").rpartition(":")[2]
        #: Seconds after which the same request may succeed, if that is known.
        self.retry_after: Optional[float] = None
        if "retry_after_ms" in fields:
            self.retry_after = fields["retry_after_ms"] / 1000


@dataclass(frozen=True)
class Login:
    """What came of a login."""

    #: match, mismatch or locked.
    outcome: str
    #: Why the stored string is outdated, if it is.
    outdated: tuple = ()
    #: The string to store where the one that was sent still stands.
    update: Optional[str] = None

    @property
    def matches(self) -> bool:
        """Whether the password is right."""
        return self.outcome == "match"


class Client:
    """Calls a service, on a Unix socket or an address such as ``https://auth.example.org:8443``.

    For ``https`` a context is needed that has a certificate for this client. Each thread has a
    connection of its own, which is kept; so has each process, also after a fork.

    While the service refuses requests because it has too much to do, the client sends only about a
    tenth more than are accepted; the others are Problems with the reason ``throttled``. With
    `patience`, in seconds, a request that was refused for this reason is sent again, once the
    service says that it may succeed and up to as long again, if that is within this time.
    """

    def __init__(
        self,
        address: str,
        context: Optional[ssl.SSLContext] = None,
        timeout: float = 30,
        patience: float = 0,
    ) -> None:
        self._address, self._context, self._timeout = address, context, timeout
        self._patience, self._throttle = patience, _Throttle()
        self._local = threading.local()

    def hash(
        self, password: Password, *, account: Optional[str] = None, timeout_ms: Optional[int] = None
    ) -> str:
        """Hashes a new password into a string to store, sealed for the account where the policy seals strings."""
        return self._ask("/v1/hash", {"account": account, **_password(password)}, timeout_ms)["hash"]

    def verify(
        self, account: str, password: Password, stored: Optional[str], *, timeout_ms: Optional[int] = None
    ) -> Login:
        """Verifies a password against the stored string of an account; None if there is no such account."""
        request = {"account": account, **_password(password), "hash": stored}
        answer = self._ask("/v1/verify", request, timeout_ms)
        return Login(answer["outcome"], tuple(answer.get("outdated", ())), answer.get("update"))

    def needs_rehash(self, stored: str) -> tuple:
        """Why a stored string is outdated; nothing if it is not."""
        return tuple(self._ask("/v1/needs-rehash", {"hash": stored}).get("outdated", ()))

    def rekey(self, stored: str, *, account: Optional[str] = None) -> Optional[str]:
        """The same hash under the active key, if that changes anything; sealed strings need their account."""
        return self._ask("/v1/rekey", {"account": account, "hash": stored}).get("hash")

    def seal(self, account: str, stored: str) -> Optional[str]:
        """The string sealed for its account, if that changes anything."""
        return self._ask("/v1/seal", {"account": account, "hash": stored}).get("hash")

    def close(self) -> None:
        """Ends the connection of this thread."""
        connection = self._local.__dict__.pop("connection", None)
        if connection is not None:
            connection.close()

    def _ask(self, path: str, request: dict, timeout_ms: Optional[int] = None) -> dict:
        body, headers = json.dumps(request).encode(), {"Content-Type": "application/json"}
        if timeout_ms is not None:
            # By this the service decides before it looks at the body.
            headers["X-Envoy-Expected-Rq-Timeout-Ms"] = str(timeout_ms)
        until = time.monotonic() + self._patience
        while True:
            try:
                return self._attempt(path, body, headers)
            except Problem as problem:
                if problem.retry_after is None:
                    raise
                wait = problem.retry_after * random.uniform(1, 2)
                if time.monotonic() + wait > until:
                    raise
            time.sleep(wait)

    def _attempt(self, path: str, body: bytes, headers: dict) -> dict:
        if not self._throttle.may_send():
            raise Problem({
                "status": 503,
                "outcome": "overloaded",
                "type": "urn:saltern:problem:throttled",
                "detail": "not sent: the service refuses most requests of this client",
                "retry_after_ms": 1000,
            })
        refused = False
        try:
            return self._asked(path, body, headers)
        except Problem as problem:
            # A guesser at one account is no reason to send less for the others.
            refused = problem.outcome == "overloaded" and problem.reason != "account-rate"
            raise
        finally:
            if not refused:
                self._throttle.accepted()

    def _asked(self, path: str, body: bytes, headers: dict) -> dict:
        try:
            if self._is_kept():
                try:
                    return self._answer(path, body, headers)
                except _ENDED:
                    # It was idle for too long. Asking twice does no harm: nothing is stored there.
                    pass
            self._local.connection, self._local.process = self._connect(), os.getpid()
            return self._answer(path, body, headers)
        except http.client.HTTPException as error:
            if isinstance(error, OSError):
                raise
            raise ConnectionError(f"the answer cannot be read: {error!r}") from error

    def _is_kept(self) -> bool:
        """Whether there is a connection. One from before a fork is the parent's: so are its answers."""
        if getattr(self._local, "process", None) != os.getpid():
            self.close()
        return getattr(self._local, "connection", None) is not None

    def _answer(self, path: str, body: bytes, headers: dict) -> dict:
        connection = self._local.connection
        try:
            try:
                connection.request("POST", path, body, headers)
            except (BrokenPipeError, ConnectionResetError):
                # It may have been refused before all of it was sent.
                pass
            response = connection.getresponse()
            text = response.read()
        except BaseException:
            # An answer that still comes would be taken for that of the next request.
            self.close()
            raise
        try:
            fields = json.loads(text)
        except ValueError:
            fields = None
        known = isinstance(fields, dict) and "outcome" in fields
        if response.status != 200:
            raise Problem(fields if known else {"status": response.status, "detail": _STRANGE})
        if not known:
            raise ConnectionError(_STRANGE)
        return fields

    def _connect(self) -> http.client.HTTPConnection:
        scheme, found, host = self._address.partition("://")
        host = host.rstrip("/")
        if not found:
            return _UnixConnection(self._address, self._timeout)
        if scheme == "https":
            return http.client.HTTPSConnection(host, timeout=self._timeout, context=self._context)
        return http.client.HTTPConnection(host, timeout=self._timeout)


class _Throttle:
    """Requests and accepted ones of the last seconds ("Site Reliability Engineering", chapter 21)."""

    # Sent for each one that is accepted; sent whatever is answered; seconds until a third counts.
    MORE, FREE, WINDOW = 1.1, 10, 10

    def __init__(self) -> None:
        self._lock, self._requests, self._accepted = threading.Lock(), 0.0, 0.0
        self._since = time.monotonic()

    def _age(self) -> None:
        now = time.monotonic()
        left = math.exp((self._since - now) / self.WINDOW)
        self._requests, self._accepted, self._since = self._requests * left, self._accepted * left, now

    def may_send(self) -> bool:
        """Counts a request; whether it may be sent."""
        with self._lock:
            self._age()
            refused = self._requests - self.MORE * self._accepted - self.FREE
            part = refused / (self._requests + 1)
            self._requests += 1
        return random.random() >= part

    def accepted(self) -> None:
        """A request was not refused for overload."""
        with self._lock:
            self._age()
            self._accepted += 1


class _UnixConnection(http.client.HTTPConnection):
    def __init__(self, path: str, timeout: float) -> None:
        super().__init__("localhost", timeout=timeout)
        self._path = path

    def connect(self) -> None:
        self.sock = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self.sock.settimeout(self.timeout)
        self.sock.connect(self._path)


def _password(password: Password) -> dict:
    if isinstance(password, str):
        return {"password": password}
    return {"password_hex": password.hex()}
