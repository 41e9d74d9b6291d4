"""A site of FastAPI with passwords of pwdlib, as FastAPI's manual has it.

fastapi_site.py: serves until it is ended. The first line that it prints is its port.
"""

from __future__ import annotations

import socket

import uvicorn
from fastapi import FastAPI, Request
from fastapi.responses import JSONResponse
from pwdlib import PasswordHash
from pwdlib.hashers.argon2 import Argon2Hasher

from saltern.pwdlib import YescryptHasher

PASSWORD = "correct horse"
OLD_PASSWORD = "a right password of another hasher, " * 20

old = Argon2Hasher(time_cost=1, memory_cost=64, parallelism=1)
passwords = PasswordHash([YescryptHasher(1), old])
users = {
    "known": passwords.hash(PASSWORD),
    "locked": "!" + passwords.hash(PASSWORD),
    "closed": "*",
    "older": old.hash(OLD_PASSWORD),
}
DUMMY = passwords.hash("nobody's")


app = FastAPI()


@app.post("/login")
async def login(request: Request) -> JSONResponse:
    given = await request.json()
    name, password = given["username"], given["password"]
    valid, update = passwords.verify_and_update(password, users.get(name, DUMMY))
    if update is not None and name in users:
        users[name] = update
    valid = valid and name in users
    return JSONResponse({"in": valid}, 200 if valid else 401)


@app.post("/register")
async def register(request: Request) -> JSONResponse:
    given = await request.json()
    users[given["username"]] = passwords.hash(given["password"])
    return JSONResponse({"made": True}, 201)


def main() -> None:
    server = socket.create_server(("127.0.0.1", 0))
    print(server.getsockname()[1], flush=True)
    uvicorn.Server(uvicorn.Config(app, log_level="warning")).run(sockets=[server])


if __name__ == "__main__":
    main()
