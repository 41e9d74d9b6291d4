import os
import sys
from collections.abc import Iterator, Sequence
from typing import Any, Final, Self, TypedDict, final, overload

from typing_extensions import Buffer

__all__ = [
    "Batch",
    "Digests",
    "OWN_PREFIXES",
    "PasswordHasher",
    "Pending",
    "Rows",
    "Wakeup",
    "__version__",
    "blake2b",
    "blake2bp",
    "blake2s",
    "blake2sp",
    "blake2xb",
    "blake2xs",
    "inspect",
    "string_in_json",
]

__version__: Final[str]

_Secret = str | bytes | bytearray | memoryview
_Stored = str | bytes

class _Inspected(TypedDict):
    scheme: str
    n: int
    r: int
    p: int
    t: int
    salt: bytes
    memory: int
    work: int
    key: str | None
    rom: str | None

class _Site(TypedDict):
    params: str
    floor: str
    salt: int
    limits: str
    schemes: list[str]
    replace: str | list[str]
    keys: list[str]
    active_key: str | None
    unnamed_key: bool
    seal_keys: list[str]
    active_seal_key: str | None
    seal_required: bool
    firebase: str | None
    roms: list[str]
    active_rom: str | None
    unnamed_rom: str | None

class _Census(TypedDict):
    accounts: int
    locked: int
    without_string: int
    bad: int
    refused: int
    outdated: int
    needs_rekey: int
    needs_wrap: int
    needs_login: int
    kept: int
    below_floor: int
    wrapped: int
    sealed: int
    unsealed: int
    tampered: int
    unknown_seals: int
    needs_seal: int
    other_seals: int
    other_keys: int
    other_roms: int
    other_costs: int
    unsupported: dict[str, int]
    schemes: dict[str, int]
    seals: dict[str, int]
    keys: dict[str, int]
    roms: dict[str, int]
    costs: dict[str, int]

#: What strings of yescrypt and scrypt begin with, and wrapped ones.
OWN_PREFIXES: Final[tuple[str, ...]]

def inspect(hash: _Stored) -> _Inspected: ...
def string_in_json(
    document: _Stored, json_key: str | None = None, *, keycloak: bool = False
) -> str | None: ...
@final
class PasswordHasher:
    def __new__(
        cls,
        cost: int = 5,
        *,
        schemes: Sequence[str] | None = None,
        deadline: float | None = None,
    ) -> Self: ...
    @staticmethod
    def from_policy(file: str | os.PathLike[str]) -> PasswordHasher: ...
    @staticmethod
    def from_policy_text(
        text: str, *, beside: str | os.PathLike[str] = ""
    ) -> PasswordHasher: ...
    @property
    def notes(self) -> list[str]: ...
    @property
    def work(self) -> int: ...
    @property
    def site(self) -> _Site: ...
    @property
    def threads(self) -> int: ...
    def for_client(self, client: str, weight: int = 1) -> PasswordHasher: ...
    def hash(
        self,
        password: _Secret,
        *,
        salt: bytes | None = None,
        account: str | bytes | None = None,
        deadline: float | None = None,
    ) -> str: ...
    def verify(
        self,
        hash: _Stored | None,
        password: _Secret,
        *,
        account: str | bytes | None = None,
        deadline: float | None = None,
    ) -> bool: ...
    def verify_and_update(
        self,
        hash: _Stored | None,
        password: _Secret,
        *,
        account: str | bytes | None = None,
        deadline: float | None = None,
    ) -> tuple[bool, str | None]: ...
    def check_needs_rehash(self, hash: _Stored) -> bool: ...
    def rehash_reasons(self, hash: _Stored) -> list[str]: ...
    def rekey(self, hash: _Stored, *, account: str | bytes | None = None) -> str | None: ...
    def seal(self, hash: _Stored, account: str | bytes) -> str | None: ...
    def wrap(
        self,
        hash: _Stored,
        *,
        account: str | bytes | None = None,
        deadline: float | None = None,
    ) -> str | None: ...
    # Columns are Arrow columns or any iterables: typing cannot express both.
    def hash_many(
        self, passwords: Any, *, accounts: Any = None, deadline: float | None = None
    ) -> list[str | Exception]: ...
    def verify_many(
        self,
        hashes: Any,
        passwords: Any,
        *,
        accounts: Any = None,
        deadline: float | None = None,
    ) -> list[bool | Exception]: ...
    def rekey_many(
        self, hashes: Any, *, accounts: Any = None, json_key: str | None = None,
        keycloak: bool = False,
    ) -> Rows: ...
    def seal_many(
        self, hashes: Any, accounts: Any, *, json_key: str | None = None,
        keycloak: bool = False,
    ) -> Rows: ...
    def wrap_many(
        self, hashes: Any, *, accounts: Any = None, deadline: float | None = None,
        json_key: str | None = None, keycloak: bool = False,
    ) -> Rows: ...
    def check_many(
        self, hashes: Any, *, accounts: Any = None, json_key: str | None = None,
        keycloak: bool = False,
    ) -> Rows: ...
    def count_many(
        self, hashes: Any, *, accounts: Any = None, json_key: str | None = None,
        keycloak: bool = False,
    ) -> tuple[_Census, Rows]: ...
    def _start_hash(
        self,
        password: _Secret,
        salt: bytes | None,
        account: str | bytes | None,
        deadline: float | None,
    ) -> Pending: ...
    def _start_login(
        self,
        hash: _Stored | None,
        password: _Secret,
        account: str | bytes | None,
        deadline: float | None,
        update: bool,
    ) -> Pending: ...
    def _takes(self, password: bytes) -> bool: ...
    def _verify_any(self, hash: _Stored, password: _Secret, stand_in: bytes) -> bool: ...
    def _batch(self, columns: Sequence[Any], deadline: float | None) -> Batch: ...

@final
class Rows:
    def __len__(self) -> int: ...
    def __arrow_c_array__(
        self, requested_schema: object | None = None
    ) -> tuple[object, object]: ...
    def __arrow_c_schema__(self) -> object: ...

@final
class Batch:
    def has_room(self) -> bool: ...
    def add(self) -> None: ...
    def remove(self) -> None: ...
    def close(self) -> None: ...
    def hash(self, password: _Secret | None) -> Pending: ...
    def verify(self, hash: _Stored | None, password: _Secret | None) -> Pending: ...

@final
class Pending:
    def poll(self, wakeup: Wakeup, key: int) -> tuple[Any] | None: ...
    def cancel(self) -> None: ...

@final
class Wakeup:
    def __new__(cls) -> Self: ...
    def fileno(self) -> int: ...
    def take(self) -> list[int]: ...

@final
class Digests(Sequence[bytes | None]):
    @property
    def digest_size(self) -> int: ...
    def __len__(self) -> int: ...
    @overload
    def __getitem__(self, key: int, /) -> bytes | None: ...
    @overload
    def __getitem__(self, key: slice, /) -> Digests: ...
    def __reversed__(self) -> Iterator[bytes | None]: ...
    def __contains__(self, key: object, /) -> bool: ...
    def index(self, value: object, start: int = 0, stop: int = sys.maxsize, /) -> int: ...
    def count(self, value: object, /) -> int: ...
    def __buffer__(self, flags: int, /) -> memoryview: ...
    def __arrow_c_array__(
        self, requested_schema: object | None = None
    ) -> tuple[object, object]: ...
    def __arrow_c_schema__(self) -> object: ...

class _Hash:
    @property
    def digest_size(self) -> int: ...
    @property
    def block_size(self) -> int: ...
    @property
    def name(self) -> str: ...
    def copy(self) -> Self: ...
    def update(self, data: Buffer, /) -> None: ...

class _Fixed(_Hash):
    MAX_KEY_SIZE: Final[int]
    MAX_DIGEST_SIZE: Final[int]
    def digest(self) -> bytes: ...
    def hexdigest(self) -> str: ...

class _Sequential(_Fixed):
    SALT_SIZE: Final[int]
    PERSON_SIZE: Final[int]
    def __new__(
        cls,
        data: Buffer = b"",
        /,
        *,
        digest_size: int = ...,
        key: Buffer = b"",
        salt: Buffer = b"",
        person: Buffer = b"",
        fanout: int = 1,
        depth: int = 1,
        leaf_size: int = 0,
        node_offset: int = 0,
        node_depth: int = 0,
        inner_size: int = 0,
        last_node: bool = False,
        usedforsecurity: bool = True,
    ) -> Self: ...
    @staticmethod
    def hash_many(
        rows: Any,
        /,
        *,
        threads: int | None = None,
        digest_size: int = ...,
        key: Buffer = b"",
        salt: Buffer = b"",
        person: Buffer = b"",
        fanout: int = 1,
        depth: int = 1,
        leaf_size: int = 0,
        node_offset: int = 0,
        node_depth: int = 0,
        inner_size: int = 0,
        last_node: bool = False,
        usedforsecurity: bool = True,
    ) -> Digests: ...

class _Tree(_Fixed):
    def __new__(
        cls,
        data: Buffer = b"",
        /,
        *,
        digest_size: int = ...,
        key: Buffer = b"",
        threads: int | None = None,
        usedforsecurity: bool = True,
    ) -> Self: ...

class _Xof(_Hash):
    def __new__(
        cls,
        data: Buffer = b"",
        /,
        *,
        digest_size: int | None = None,
        key: Buffer = b"",
        salt: Buffer = b"",
        person: Buffer = b"",
        usedforsecurity: bool = True,
    ) -> Self: ...
    def digest(self, length: int | None = None, /) -> bytes: ...
    def hexdigest(self, length: int | None = None, /) -> str: ...

@final
class blake2b(_Sequential): ...

@final
class blake2s(_Sequential): ...

@final
class blake2bp(_Tree): ...

@final
class blake2sp(_Tree): ...

@final
class blake2xb(_Xof): ...

@final
class blake2xs(_Xof): ...
