"""The programs of this repository, for scripts that run them."""

import json
import re
import socket
import subprocess
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent

# As `cargo test` builds them: with their features, which --examples asks for.
TESTED = ["--workspace", "--all-features", "--examples"]


def built(name, *arguments):
    """Builds programs, and says where the one of this name is: in whatever folder cargo has put it."""
    lines = subprocess.run(["cargo", "build", "--quiet", "--message-format=json-render-diagnostics", *arguments],
                           cwd=ROOT, check=True, stdout=subprocess.PIPE, text=True).stdout.splitlines()
    made = (json.loads(line) for line in lines)
    return next(Path(line["executable"]) for line in made if line.get("executable") and line["target"]["name"] == name)


# nginx in its folder: what stands around the lines of a page.
NGINX = """
daemon off; pid nginx.pid; error_log stderr; user root;
events {{}}
http {{
access_log off; client_body_temp_path b; proxy_temp_path p; fastcgi_temp_path f; uwsgi_temp_path u; scgi_temp_path s;
{}
}}
"""


def blocks(page, language):
    """The blocks of a language in a page of docs."""
    text = (ROOT / "docs" / f"{page}.md").read_text()
    return re.findall(rf"^```{language}\n(.*?)^```", text, re.MULTILINE | re.DOTALL)


def free_port():
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        return found.getsockname()[1]


class Service:
    """salternd with these files and arguments, in a folder of its own, which it has written `socket` into."""

    def __init__(self, program, files, *arguments, before=(), log=None, **options):
        self.folder = tempfile.TemporaryDirectory()
        self.place = Path(self.folder.name)
        for name, text in files.items():
            (self.place / name).write_text(text)
        self.log = Path(log or self.place / "log")
        with open(self.log, "wb") as stderr:
            self.process = subprocess.Popen([*before, Path(program).resolve(), *arguments], cwd=self.place, stdout=subprocess.PIPE, stderr=stderr, **options)
        said = self.process.stdout.readline()
        assert b"listening" in said, (said, self.log.read_text())

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.kill()
        self.process.wait()

    def connect(self):
        connection = socket.socket(socket.AF_UNIX)
        # Waits while the queue of the socket is full.
        connection.connect(str(self.place / "socket"))
        connection.settimeout(30)
        return connection

    def exchange(self, request):
        """The status and the body of an answer."""
        with self.connect() as connection:
            connection.sendall(request)
            answer = b""
            while piece := connection.recv(65536):
                answer += piece
        head, _, body = answer.partition(b"\r\n\r\n")
        return int(head[9:12]), body.decode()

    def ask(self, path, request):
        status, body = self.exchange(post(path, request))
        return status, json.loads(body)

    def metrics(self):
        return self.exchange(b"GET /metrics HTTP/1.1\r\nhost: a\r\nconnection: close\r\n\r\n")[1]


def post(path, request):
    """A request, as bytes."""
    body = json.dumps(request)
    return (f"POST {path} HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\ncontent-type: application/json\r\n"
            f"content-length: {len(body)}\r\n\r\n{body}").encode()
