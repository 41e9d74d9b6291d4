"""The policy on this machine's disk, and checking that the job was begun with it."""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import saltern
from saltern import PasswordHasher
from saltern.bulk.refusal import Refused

WRITES = ("rekey", "wrap", "seal")
"""The operations that write to the table."""
OPERATIONS = (*WRITES, "census", "verify-sample")


@dataclass(frozen=True)
class Site:
    """A policy whose files have been read on this machine."""

    hasher: PasswordHasher
    description: dict[str, Any]
    """What it makes of strings; nothing secret."""
    digest: str
    """Of the description: the same on all machines, and in the ledger."""

    @property
    def active_key(self) -> str | None:
        """The name and fingerprint of the key for new strings."""
        key = self.description["active_key"]
        return None if key is None else str(key)


def open_site(policy: str | Path) -> Site:
    """Reads a policy, its keys and its ROMs from this machine's disks."""
    try:
        hasher = PasswordHasher.from_policy(policy)
    except saltern.SalternError as error:
        raise Refused(str(error)) from None
    description = dict(hasher.site)
    text = json.dumps(description, sort_keys=True)
    return Site(hasher, description, hashlib.sha256(text.encode()).hexdigest()[:32])


def refuse_for(site: Site, operation: str) -> None:
    """Refuses policies under which an operation would do harm."""
    if operation not in WRITES:
        return
    if site.description["unnamed_key"]:
        raise Refused(
            "the policy has assume_unnamed_key: nothing tells which strings were encrypted with "
            "that key, or whether all machines have the same. Move these strings to a key with a "
            "name first (`saltern reencrypt`), and take it out of the policy"
        )
    if operation == "seal" and site.description["active_seal_key"] is None:
        raise Refused(
            "the policy has no active key for seals, so that seal would take off every seal: set "
            "`active = true` for one of [[seal.keys]]"
        )
    if operation == "rekey" and site.active_key is None:
        raise Refused(
            "the policy has no active key, so that rekey would take the encryption off every "
            "string: set `active = true` for the key that new strings are to have"
        )


def differences(ours: dict[str, Any], theirs: dict[str, Any]) -> list[str]:
    """The differences of two descriptions, in words: what is missing, and what is different."""
    found = []
    for name in sorted(ours.keys() | theirs.keys()):
        here, there = ours.get(name), theirs.get(name)
        if here == there:
            continue
        if isinstance(here, list) and isinstance(there, list):
            found += _missing(name, here, there)
        else:
            found.append(f"{name} is different ({there} instead of {here})")
    return found


def _missing(name: str, here: list[Any], there: list[Any]) -> list[str]:
    kinds = {
        "keys": "the key",
        "seal_keys": "the seal key",
        "roms": "the ROM",
        "schemes": "the scheme",
    }
    kind = kinds.get(name, name)
    lacks = [f"{kind} {item} is missing" for item in here if item not in there]
    return lacks + [f"{kind} {item} is different or too many" for item in there if item not in here]
