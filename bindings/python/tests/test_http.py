"""Sites over HTTP, as servers of their own: the answers do not tell which users there are, and no
password is an error."""

from __future__ import annotations

import http.client
import json
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from urllib.parse import urlencode

import pytest

SITES = Path(__file__).parent / "sites"
PASSWORD = "correct horse"
OLD_PASSWORD = "a right password of another hasher, " * 20

WRONG = {
    "wrong": "battery staple",
    "empty": "",
    "511 bytes": "x" * 511,
    "512 bytes": "x" * 512,
    "600 bytes": "x" * 600,
    "600 bytes in 300 characters": "ä" * 300,
    "a zero byte": "a\0b",
    "the right one and a zero byte": PASSWORD + "\0",
    "a lone surrogate": "abc\ud800",
    "1 MiB": "x" * (1 << 20),
}
VALIDATOR = "saltern.django.HashablePasswordValidator"

Answer = tuple[int, bytes]


class Site:
    def __init__(self, port: int) -> None:
        self.port = port

    def send(self, path: str, body: str, kind: str, cookie: str = "") -> http.client.HTTPResponse:
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=60)
        # Django's protection from other sites' forms compares the two.
        token = "t" * 32
        headers = {"Cookie": f"csrftoken={token}; {cookie}", "X-CSRFToken": token}
        connection.request("POST", path, body, headers | {"Content-Type": kind})
        return connection.getresponse()

    def json(self, path: str, user: str, password: str) -> Answer:
        body = json.dumps({"username": user, "password": password})
        answer = self.send(path, body, "application/json")
        return answer.status, answer.read()

    def form(self, path: str, cookie: str = "", **fields: str) -> http.client.HTTPResponse:
        return self.send(path, urlencode(fields), "application/x-www-form-urlencoded", cookie)


@contextmanager
def serving(program: str, *arguments: object) -> Iterator[Site]:
    command = [sys.executable, "-B", SITES / program, *map(str, arguments)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as server:
        try:
            assert server.stdout is not None
            yield Site(int(server.stdout.readline()))
        finally:
            server.kill()


@pytest.fixture(scope="module")
def django_site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    with serving("django_site.py", tmp_path_factory.mktemp("django")) as site:
        yield site


@pytest.fixture(scope="module")
def fastapi_site() -> Iterator[Site]:
    with serving("fastapi_site.py") as site:
        yield site


def alike(users: list[str], log_in: Callable[[str], Answer]) -> Answer:
    """The answer that all of them get."""
    answers = {user: log_in(user) for user in users}
    assert len(set(answers.values())) == 1, answers
    return answers[users[0]]


@pytest.mark.parametrize("password", WRONG.values(), ids=WRONG)
def test_django_does_not_tell_who_is_there(django_site: Site, password: str) -> None:
    users = ["known", "unknown", "unusable", "inactive"]
    # Of Django's own hasher, which knows no lone surrogates, and for which zero bytes at the end
    # are nothing.
    users += [] if password.endswith(("\ud800", "\0")) else ["old"]
    assert alike(users, lambda user: django_site.json("/json", user, password))[0] == 401
    if "\ud800" in password:
        return  # a form's bytes cannot carry it

    def log_in(user: str) -> Answer:
        answer = django_site.form("/form", username=user, password=password)
        return answer.status, answer.read()

    assert alike(users, log_in)[0] == 200


@pytest.mark.parametrize("password", WRONG.values(), ids=WRONG)
def test_fastapi_does_not_tell_who_is_there(fastapi_site: Site, password: str) -> None:
    users = ["known", "unknown", "locked", "closed"]
    # As above, of argon2-cffi.
    users += [] if "\ud800" in password else ["older"]
    assert alike(users, lambda user: fastapi_site.json("/login", user, password))[0] == 401


def test_an_old_password_of_any_length_stays_right(django_site: Site, fastapi_site: Site) -> None:
    """It is another hasher's, which takes more than crypt(3) does, and is upgraded."""
    assert len(OLD_PASSWORD) > 511
    for site, path in (django_site, "/json"), (fastapi_site, "/login"):
        for _upgraded in range(3):
            assert site.json(path, "older", OLD_PASSWORD)[0] == 200
            assert site.json(path, "older", OLD_PASSWORD[:-1])[0] == 401
        assert site.json(path, "known", PASSWORD)[0] == 200


@pytest.mark.parametrize("password", WRONG.values(), ids=WRONG)
def test_who_registers_with_it_can_log_in(fastapi_site: Site, password: str) -> None:
    assert fastapi_site.json("/register", "new", password)[0] == 201
    assert fastapi_site.json("/login", "new", password)[0] == 200
    assert fastapi_site.json("/login", "new", password + "x")[0] == 401


@pytest.mark.parametrize("validators", [[], [VALIDATOR]], ids=["any", "validated"])
def test_djangos_admin_takes_a_password_or_says_why_not(
    tmp_path: Path, validators: list[str]
) -> None:
    with serving("django_site.py", tmp_path, *validators) as site:
        for number, password in enumerate(["x" * 512, "ä" * 300, "x" * (1 << 20)]):
            # Each change of a password ends the session.
            answer = site.form("/admin/login/", username="admin", password=PASSWORD)
            cookies = answer.headers.get_all("Set-Cookie") or []
            cookie = next(cookie for cookie in cookies if cookie.startswith("sessionid="))
            name, new = f"new{number}", {"password1": password, "password2": password}
            new["usable_password"] = "true"
            made = site.form("/admin/auth/user/add/", cookie, username=name, **new)
            changed = site.form("/admin/auth/user/2/password/", cookie, **new)
            if validators:
                for answer in made, changed:
                    assert answer.status == 200 and b"at most 511 bytes" in answer.read()
            else:
                assert made.status == changed.status == 302
                for user in name, "known":
                    assert site.json("/json", user, password)[0] == 200
                    assert site.json("/json", user, password[:-1])[0] == 401
