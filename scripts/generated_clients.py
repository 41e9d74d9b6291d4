"""Clients that generators make from docs/openapi.json: they have to compile and to log in.

For Python with openapi-python-client (PyPI), for TypeScript with openapi-typescript (npm) under the strict checks of tsc.
"""

import os
import shutil
import subprocess
import sys

from programs import ROOT

PYTHON = "openapi-python-client==0.29.1"
TYPESCRIPT = ["openapi-typescript@7.13.0", "openapi-fetch@0.17.0", "typescript@5.9.3", "@types/node@20"]

LOGIN_PY = """
import sys
from generated import Client
from generated.api.default import hash_, needs_rehash, rekey, verify
from generated.models import HashHexPassword, HashPassword, StoredRequest, VerifyHexPassword, VerifyPassword

client = Client(base_url=sys.argv[1])
stored = hash_.sync(client=client, body=HashPassword(password="correct horse")).hash_


def login(body, **rest):
    return verify.sync(client=client, body=body, **rest)


right = login(VerifyPassword(account="alice", password="correct horse", hash_=stored), x_envoy_expected_rq_timeout_ms=5000)
assert right.outcome == "match", right
assert login(VerifyPassword(account="alice", password="wrong", hash_=stored)).outcome == "mismatch"
assert login(VerifyPassword(account="nobody", password="wrong", hash_=None)).outcome == "mismatch"
assert login(VerifyHexPassword(password_hex=b"correct horse".hex(), hash_=stored, update=False)).outcome == "match"
again = hash_.sync(client=client, body=HashHexPassword(password_hex="ff", timeout_ms=5000)).hash_
assert again.startswith("$y$"), again
assert needs_rehash.sync(client=client, body=StoredRequest(hash_=stored)).outcome == "current"
assert rekey.sync(client=client, body=StoredRequest(hash_=stored)).outcome == "unchanged"
problem = login(VerifyPassword(password="a", hash_="damaged"))
assert (problem.status, problem.outcome) == (422, "bad-input"), problem
"""

LOGIN_TS = """
import createClient from "openapi-fetch";
import type { components, paths } from "./schema.js";

const client = createClient<paths>({ baseUrl: process.argv[2] ?? "" });

function expect(holds: boolean, what: unknown): asserts holds {
  if (!holds) throw new Error(JSON.stringify(what));
}

async function login(body: components["schemas"]["VerifyRequest"]) {
  const { data, error } = await client.POST("/v1/verify", { body });
  return data ? data.outcome : error;
}

const { data: made } = await client.POST("/v1/hash", { body: { password: "correct horse" } });
expect(made !== undefined, "no hash");
const hash: string = made.hash;
const hex = Buffer.from("correct horse").toString("hex");
expect((await login({ account: "alice", password: "correct horse", hash })) === "match", "right");
expect((await login({ account: "alice", password: "wrong", hash })) === "mismatch", "wrong");
expect((await login({ account: "nobody", password: "wrong", hash: null })) === "mismatch", "unknown");
expect((await login({ password_hex: hex, hash, update: false })) === "match", "hex");
const damaged = await login({ password: "a", hash: "damaged" });
expect(typeof damaged === "object" && damaged.outcome === "bad-input" && damaged.status === 422, damaged);
// @ts-expect-error: one of the two forms of a password has to be there.
const without: components["schemas"]["VerifyRequest"] = { account: "alice", hash: null };
void without;
"""


def python(service, url):
    folder = _built("python-client")
    generator = folder / "bin" / "openapi-python-client"
    if not generator.exists():
        subprocess.run([sys.executable, "-m", "venv", folder], check=True)
        if subprocess.run([folder / "bin" / "pip", "install", "--quiet", PYTHON]).returncode != 0:
            shutil.rmtree(folder)
            return "skipped: openapi-python-client cannot be had from PyPI"
    place = service.place / "python-client"
    place.mkdir()
    made = _run([generator, "generate", "--path", ROOT / "docs" / "openapi.json", "--output-path", place / "generated", "--meta", "none"], place)
    if made:
        return made
    (place / "login.py").write_text(LOGIN_PY)
    return _run([folder / "bin" / "python", "login.py", url], place)


def typescript(service, url):
    if not shutil.which("npm"):
        return "skipped: there is no npm for a client in TypeScript"
    folder = _built("typescript-client")
    if not (folder / "node_modules" / ".bin" / "tsc").exists():
        folder.mkdir(parents=True, exist_ok=True)
        (folder / "package.json").write_text('{"private": true, "type": "module"}')
        if subprocess.run(["npm", "install", "--silent", "--no-fund", *TYPESCRIPT], cwd=folder).returncode != 0:
            shutil.rmtree(folder)
            return "skipped: openapi-typescript cannot be had from npm"
    (folder / "login.ts").write_text(LOGIN_TS)
    tools = folder / "node_modules" / ".bin"
    return (_run([tools / "openapi-typescript", ROOT / "docs" / "openapi.json", "-o", "schema.d.ts"], folder)
            or _run([tools / "tsc", "--strict", "--noUncheckedIndexedAccess", "--exactOptionalPropertyTypes", "--target", "es2022",
                     "--module", "nodenext", "--types", "node", "--skipLibCheck", "login.ts"], folder)
            or _run(["node", "login.js", url], folder))


def _built(name):
    return (ROOT / os.environ.get("CARGO_TARGET_DIR", "target") / name).absolute()


def _run(command, place):
    """What is wrong, if anything is."""
    run = subprocess.run(command, cwd=place, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    return f"{command[0]}: {run.stdout}" if run.returncode != 0 else None
