"""A login server in asyncio, and how late its event loop is while all processors hash.

    python asyncio_server.py [LOGINS]

A server answers lines `account password` with `welcome` or `no`. The program then sends it this
many logins at once (200 by default), and prints how long they took, and how late a timer of 1 ms
was meanwhile: the event loop's lag, in milliseconds.
"""

from __future__ import annotations

import asyncio
import sys
import time

import saltern

HASHER = saltern.AsyncPasswordHasher(5)


class Accounts:
    """Stands for a database table."""

    def __init__(self) -> None:
        self._stored: dict[str, str] = {}

    def get(self, account: str) -> str | None:
        return self._stored.get(account)

    def set(self, account: str, stored: str) -> None:
        self._stored[account] = stored

    def replace(self, account: str, old: str, new: str) -> None:
        """Writes only if the old string is still stored."""
        if self._stored.get(account) == old:
            self._stored[account] = new


async def login(accounts: Accounts, account: str, password: str) -> bool:
    """Whether the password is right. An account that does not exist takes as long."""
    stored = accounts.get(account)
    try:
        valid, update = await HASHER.verify_and_update(stored, password, account=account)
    except saltern.AccountLockedError:
        return False
    if stored is not None and update is not None:
        accounts.replace(account, stored, update)
    return valid


async def serve(
    accounts: Accounts, reader: asyncio.StreamReader, writer: asyncio.StreamWriter
) -> None:
    """One connection."""
    try:
        while line := (await reader.readline()).decode():
            account, _, password = line.rstrip("\n").partition(" ")
            try:
                answer = "welcome" if await login(accounts, account, password) else "no"
            except saltern.OverloadedError:
                answer = "busy"
            writer.write(f"{answer}\n".encode())
            await writer.drain()
    finally:
        writer.close()


async def lag(ended: asyncio.Event) -> list[float]:
    """How late a timer is, in milliseconds, until something has ended."""
    late = []
    while not ended.is_set():
        due = time.perf_counter() + 0.001
        await asyncio.sleep(0.001)
        late.append((time.perf_counter() - due) * 1000)
    return late


async def ask(port: int, account: str, password: str) -> str:
    """A client."""
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    writer.write(f"{account} {password}\n".encode())
    answer = (await reader.readline()).decode().strip()
    writer.close()
    return answer


async def main(logins: int) -> None:
    accounts = Accounts()
    accounts.set("alice", await HASHER.hash("correct horse"))
    server = await asyncio.start_server(
        lambda reader, writer: serve(accounts, reader, writer), "127.0.0.1", 0
    )
    port = server.sockets[0].getsockname()[1]
    ended = asyncio.Event()
    late = asyncio.ensure_future(lag(ended))
    began = time.perf_counter()
    answers = await asyncio.gather(*(
        ask(port, *(("alice", "correct horse") if n % 4 else ("mallory", "battery staple")))
        for n in range(logins)
    ))
    took = time.perf_counter() - began
    ended.set()
    lags = sorted(await late)
    server.close()
    assert answers.count("welcome") == sum(1 for n in range(logins) if n % 4)
    print(
        f"{logins} logins in {took:.2f} s; lag of the event loop in ms: "
        f"median {lags[len(lags) // 2]:.2f}, 99 % {lags[len(lags) * 99 // 100]:.2f}, "
        f"most {lags[-1]:.2f}"
    )


if __name__ == "__main__":
    asyncio.run(main(int(sys.argv[1]) if len(sys.argv) > 1 else 200))
