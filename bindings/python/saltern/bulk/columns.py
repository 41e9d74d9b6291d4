"""The function that every engine calls: from a batch of rows to a batch of rows, in Arrow.

It knows no database, no engine and no files but those of the policy.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from saltern import PasswordHasher
from saltern.bulk.outcome import ERRORS, KEPT_ERRORS
from saltern.bulk.refusal import Refused
from saltern.bulk.site import WRITES, Site, differences, open_site, refuse_for

BUSY = 60.0
"""Seconds that strings which could not be computed are tried again, while none succeeds."""


def rewritten(
    hasher: PasswordHasher,
    operation: str,
    hashes: Any,
    accounts: Any = None,
    json_key: str | None = None,
    keycloak: bool = False,
) -> pa.StructArray:
    """The result for each string of a column: ``hash`` (null if nothing changes), ``outcome`` and
    ``why``. One call of the compiled half, in the threads of its pool. ``accounts`` is a column of
    ids as text, which sealed strings need. With ``json_key`` or ``keycloak`` the column has
    documents of JSON, and ``hash`` is the whole document."""
    hashes = decoded(hashes)
    named = getattr(hasher, f"{operation}_many")
    many: Callable[..., Any] = partial(named, json_key=json_key, keycloak=keycloak)
    rows = pa.array(many(hashes, accounts=accounts))
    until, fewest = time.monotonic() + BUSY, len(rows)
    while True:
        failed = pc.equal(rows.field("outcome"), "failed")
        at = pc.indices_nonzero(failed)
        if len(at) < fewest:
            until, fewest = time.monotonic() + BUSY, len(at)
        if not len(at) or time.monotonic() > until:
            return rows
        # The pool's queue or memory is full: there is other work in this process.
        time.sleep(0.05)
        places = at.to_pylist()
        ids = None if accounts is None else accounts.take(at)
        again = pa.array(many([hashes[place].as_py() for place in places], accounts=ids))
        order = pc.replace_with_mask(
            pa.array(range(len(rows))), failed, pa.array(range(len(rows), len(rows) + len(at)))
        )
        rows = pa.concat_arrays([rows, again]).take(order)


def decoded(hashes: Any) -> Any:
    """A column without dictionary encoding, which the compiled half does not support."""
    return hashes.dictionary_decode() if isinstance(hashes, pa.DictionaryArray) else hashes


def account_ids(ids: Any) -> Any:
    """A column of ids as text, as seals have them: numbers as their digits."""
    ids = decoded(ids)
    binary = pa.types.is_binary(ids.type) or pa.types.is_large_binary(ids.type)
    return ids if binary else ids.cast(pa.large_string())


def outcomes(rows: pa.StructArray) -> dict[str, int]:
    """The number of rows with each outcome."""
    counts = pc.value_counts(rows.field("outcome")).to_pylist()
    return {count["values"]: count["counts"] for count in counts}


def found_errors(batch: Any, rows: pa.StructArray) -> list[tuple[str, str, str | None]]:
    """The first rows in error: by id, never with the string."""
    wrong = pc.is_in(rows.field("outcome"), pa.array(ERRORS))
    at = pc.indices_nonzero(wrong).slice(0, KEPT_ERRORS)
    ids = [_text(id) for id in batch.column("id").take(at).to_pylist()]
    found = rows.take(at).to_pylist()
    return [(id, row["outcome"], row["why"]) for id, row in zip(ids, found, strict=True)]


def _text(id: object) -> str:
    return id.decode(errors="replace") if isinstance(id, bytes) else str(id)


class Rewrite:
    """``rekey``, ``wrap`` or ``seal`` as a function of batches, for any engine that passes Arrow
    data.

    ``policy`` is the name of a file, here and on the disk of every machine that calls this: only
    names and fingerprints are pickled, never a key. A process opens the policy with its first
    batch, and refuses it (:class:`~saltern.bulk.refusal.Refused`) if it differs from the one here.
    ``outcome`` names an additional column for the result of each row; rows in error keep their
    string. Without it, strings whose key or ROM is missing, or which the policy does not accept,
    make the whole batch fail. ``account`` names the column of ids, which sealed strings need.
    ``json_key`` is the key, or the JSON pointer, of the string where the column has documents.
    """

    def __init__(
        self,
        policy: str | Path,
        operation: str,
        column: str,
        *,
        outcome: str | None = None,
        account: str | None = None,
        json_key: str | None = None,
    ) -> None:
        if operation not in WRITES:
            raise ValueError(f"{operation}: expected rekey, wrap or seal")
        if operation == "seal" and account is None:
            raise ValueError("seal: account='…' must name the column of ids")
        self.account, self.json_key = account, json_key
        self.policy, self.operation = str(policy), operation
        self.column, self.outcome = column, outcome
        site = open_site(policy)
        refuse_for(site, operation)
        self.description, self.digest = site.description, site.digest

    def __call__(self, batch: Any) -> Any:
        """The table or record batch with its changed strings replaced."""
        at = batch.schema.get_field_index(self.column)
        if at < 0:
            raise Refused(f"no column {self.column} in the batch, or several")
        if self.outcome is not None and self.outcome in batch.schema.names:
            raise Refused(f"outcome={self.outcome!r}: the batch has a column of that name already")
        hashes = batch.column(at)
        if isinstance(hashes, pa.ChunkedArray):
            hashes = hashes.combine_chunks()
        accounts = self._accounts(batch)
        rows = rewritten(self._hasher(), self.operation, hashes, accounts, self.json_key)
        if self.outcome is None:
            _refuse_errors(rows)
        field = batch.schema.field(at)
        batch = batch.set_column(at, field, replaced(hashes, rows))
        if self.outcome is not None:
            batch = batch.append_column(self.outcome, rows.field("outcome").cast(pa.string()))
        return batch

    def _accounts(self, batch: Any) -> Any:
        if self.account is None:
            return None
        if batch.schema.get_field_index(self.account) < 0:
            raise Refused(f"no column {self.account} in the batch, or several")
        ids = batch.column(self.account)
        return account_ids(ids.combine_chunks() if isinstance(ids, pa.ChunkedArray) else ids)

    def _hasher(self) -> PasswordHasher:
        site = _opened.get(self.digest)
        if site is None:
            site = _opened[self.digest] = same_site(self.policy, self.description)
        return site.hasher


def replaced(hashes: Any, rows: pa.StructArray) -> pa.Array:
    """A column with its new strings, of the same type."""
    kind = hashes.type
    plain = kind.value_type if pa.types.is_dictionary(kind) else kind
    # Arrow has no such function for views.
    views = {pa.string_view(): pa.large_string(), pa.binary_view(): pa.large_binary()}
    usual = views.get(plain, plain)
    column = pc.coalesce(rows.field("hash").cast(usual), hashes.cast(usual)).cast(plain)
    return column if plain == kind else column.dictionary_encode().cast(kind)


_opened: dict[str, Site] = {}
"""The policies of this process, by what they make of strings."""


def same_site(policy: str, description: dict[str, Any]) -> Site:
    """The policy on this machine's disk, if it matches the given description."""
    site = open_site(policy)
    found = differences(description, site.description)
    if found:
        raise Refused(f"the policy {policy} is another one here: {'; '.join(found)}")
    return site


def _refuse_errors(rows: pa.StructArray) -> None:
    """Refuses a batch that the policy does not fit. Malformed strings are so under any policy."""
    kinds = [kind for kind in ERRORS if kind != "bad"]
    wrong = rows.filter(pc.is_in(rows.field("outcome"), pa.array(kinds)))
    if len(wrong):
        raise Refused(
            f"{len(wrong)} strings of a batch are in error ({wrong[0]['outcome']}: "
            f"{wrong[0]['why']}): is this the right policy? outcome='…' counts them in a column"
        )
