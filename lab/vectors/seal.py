#!/usr/bin/env python3
"""Seals of stored strings, from docs/strings.md and Python's hashlib alone: a second implementation.

    seal.py make > seal.jsonl   writes the vectors
    seal.py judge               answers lines of JSON on standard input: what each string is worth
"""

import hashlib
import hmac
import json
import random
import re
import sys

NAME = re.compile(r"[A-Za-z0-9.-]{1,32}")
SEAL = re.compile(r"\{seal=([A-Za-z0-9.-]{1,32})\+([0-9a-f]{16}),([0-9a-f]{32})\}")


def fingerprint(key: bytes) -> str:
    return hashlib.sha256(b"saltern hash key fingerprint 1" + key).digest()[:8].hex()


def tag(key: bytes, account: bytes, string: bytes) -> str:
    derived = hashlib.blake2b(b"", digest_size=32, key=key, person=b"saltern seal key").digest()
    message = len(account).to_bytes(8, "little") + account + string
    return hashlib.blake2b(
        message, digest_size=16, key=derived, person=b"saltern seal tag"
    ).hexdigest()


def seal(name: str, key: bytes, account: bytes, string: str) -> str:
    assert NAME.fullmatch(name) and 1 <= len(account) <= 4096 and string
    return f"{{seal={name}+{fingerprint(key)},{tag(key, account, string.encode())}}}{string}"


def judge(keys: dict[str, bytes], account: bytes, stored: str) -> str:
    """`sealed`, `unsealed`, `malformed`, `unavailable` (no such key) or `tampered`."""
    text = stored.lstrip("!*")
    if not text.startswith("{seal="):
        return "unsealed"
    found = SEAL.match(text)
    string = text[found.end() :] if found else ""
    if not string or string.lstrip("!*").startswith("{seal="):
        return "malformed"
    name, print_, given = found.groups()
    key = keys.get(name)
    if key is None or fingerprint(key) != print_:
        return "unavailable"
    right = tag(key, account, string.encode())
    return "sealed" if hmac.compare_digest(right, given) else "tampered"


STRINGS = [
    "$y$jD5.7$LdJMENpBABJJ3hIHjB1Bi.$HboGM6qPrsK.StKYGt6KErmUYtioHreJd98oIugoNB6",
    "!$y$jD5.7$LdJMENpBABJJ3hIHjB1Bi.$HboGM6qPrsK.StKYGt6KErmUYtioHreJd98oIugoNB6",
    "{CRYPT}$2b$05$CCCCCCCCCCCCCCCCCCCCC.E5YPO9kmyuRGyh0XouQYb4YMJKvyOeW",
    "$5$saltstring$5B8vYYiY.CVt1RlTTf8KbXBH3hsxY/GNooZaBBGWEc5",
    "5ebe2294ecd0e0f08eab7690d2a6ee69",
    "{SSHA}NdajHbcQoTBF9+nYs3Kb1uSz1IpzYWx0",
    "*2470C0C06DEE42FD1618BBB99005ADCA2EC9D1E1",
    "!*{CRYPT}*$1$abc$BXBqpb9BZcZhXLgbee.0s/",
    "{over=md5}$y$jD5.7$LdJMENpBABJJ3hIHjB1Bi.$HboGM6qPrsK.StKYGt6KErmUYtioHreJd98oIugoNB6",
]


def make() -> None:
    rng = random.Random(28)
    keys = [("2026", bytes(range(32))), ("a.b-C" * 6 + "xy", bytes(32)), ("2027", rng.randbytes(32))]
    accounts = [b"1", b"alice", "Zoë".encode(), bytes(1), bytes(range(256)), b"x" * 4096]
    accounts += [rng.randbytes(n) for n in (15, 16, 63, 64, 100, 120, 128, 248)]
    cases = []
    for name, key in keys:
        for account in accounts:
            for string in STRINGS:
                sealed = seal(name, key, account, string)
                cases.append((name, key, account, sealed, "sealed"))
    # What must not pass: another account, what moves between account and string, altered text.
    name, key = keys[0]
    of = lambda account, string=STRINGS[0]: seal(name, key, account, string)
    good = of(b"alice")
    altered = [
        (b"alic", good), (b"alice\0", good), (b"bob", good), (b"alice", of(b"bob")),
        (b"alice$", of(b"alice", STRINGS[0])), (b"alice", good + " "), (b"alice", good[:-1]),
        (b"alice", of(b"alice", STRINGS[0]).replace("}$y$", "}!$y$")),
        (b"alice", of(b"alice", STRINGS[1]).replace("}!$y$", "}$y$")),
        (b"alice", good.replace("+", "-", 1)), (b"alice", good.replace(",", ":", 1)),
        (b"alice", good.replace("{seal=2026", "{seal=2025")),
        (b"alice", good.replace("{seal=2026", "{seal=")),
        (b"alice", good.replace("{seal=2026", "{seal=2026+")),
        (b"alice", good.replace("}", "", 1)), (b"alice", good.replace(",", ",0", 1)),
        (b"alice", good[: good.index("}") + 1]), (b"alice", of(b"alice", good)),
        (b"alice", of(b"alice", "!" + good)), (b"alice", "{CRYPT}" + good),
        (b"alice", "!*" + good), (b"bob", "!" + good), (b"alice", STRINGS[0]), (b"alice", "!"),
        (b"alice", seal(name, keys[2][1], b"alice", STRINGS[0])),
        (b"alice", seal(keys[2][0], keys[2][1], b"alice", STRINGS[0])),
        (b"alice", good[:23] + good[23:56].upper() + good[56:]),
    ]
    known = {name: key}
    cases += [(name, key, account, text, judge(known, account, text)) for account, text in altered]
    fields = {
        "key": "32 bytes of the site key, hexadecimal; the only key that is known",
        "name": "its name", "account": "bytes of the account id, hexadecimal",
        "stored": "the stored string",
        "kind": "sealed, unsealed, malformed, unavailable (no such key) or tampered",
    }
    about = "seals of stored strings, made by seal.py"
    print(json.dumps({"kind": "header", "about": about, "cases": len(cases), "fields": fields}))
    for at, (name, key, account, stored, verdict) in enumerate(cases, 1):
        case = {"id": f"seal-{at:03}", "kind": verdict, "name": name, "key": key.hex(), "account": account.hex()}
        print(json.dumps({**case, "stored": stored}))


def main() -> None:
    if sys.argv[1:] == ["make"]:
        return make()
    for line in sys.stdin:
        case = json.loads(line)
        keys = {name: bytes.fromhex(key) for name, key in case["keys"].items()}
        account, string = bytes.fromhex(case["account"]), case["stored"]
        made = seal(case["name"], keys[case["name"]], account, case["plain"])
        print(json.dumps([judge(keys, account, string), made]))


main()
