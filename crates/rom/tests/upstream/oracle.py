"""yescrypt's own C code, out of the Python package pyescrypt, as it makes ROMs and hashes with them.

Reads one command a line, answers with one line each:
    file SEED NROM R P T PATH     makes a ROM, writes its image -> digest
    segment SEED NROM R P T KEY   makes a ROM in a new System V segment, as upstream's initrom does -> digest
    hash PASSWORD SETTING PATH    hashes with the ROM in a file -> the hash string
    hashsegment PASSWORD SETTING KEY SIZE
                                  hashes with the ROM in a segment, as upstream's userom does
    remove KEY                    removes a segment
Seeds and passwords are in hexadecimal. Exits with status 77 if the package is not here.
"""

import ctypes
import importlib.util
import os
import sys

spec = importlib.util.find_spec("pyescrypt")
if spec is None:
    sys.exit(77)
lib = ctypes.CDLL(os.path.join(os.path.dirname(spec.origin), "yescrypt.bin"))
libc = ctypes.CDLL(None, use_errno=True)
libc.shmat.restype = ctypes.c_void_p
libc.shmat.argtypes = [ctypes.c_int, ctypes.c_void_p, ctypes.c_int]
libc.shmdt.argtypes = [ctypes.c_void_p]
libc.shmget.argtypes = [ctypes.c_int, ctypes.c_size_t, ctypes.c_int]
libc.shmctl.argtypes = [ctypes.c_int, ctypes.c_int, ctypes.c_void_p]

DEFAULTS, PREALLOCATED = 182, 0x10000
IPC_CREAT, IPC_EXCL, SHM_RDONLY, IPC_RMID = 0o1000, 0o2000, 0o10000, 0


class Region(ctypes.Structure):
    _fields_ = [("base", ctypes.c_void_p), ("aligned", ctypes.c_void_p),
                ("base_size", ctypes.c_size_t), ("aligned_size", ctypes.c_size_t)]


class Params(ctypes.Structure):
    _fields_ = [("flags", ctypes.c_uint32), ("N", ctypes.c_uint64), ("r", ctypes.c_uint32),
                ("p", ctypes.c_uint32), ("t", ctypes.c_uint32), ("g", ctypes.c_uint32),
                ("NROM", ctypes.c_uint64)]


lib.yescrypt_r.restype = ctypes.c_char_p
lib.yescrypt_digest_shared.restype = ctypes.POINTER(ctypes.c_uint8 * 32)


def fill(seed, nrom, r, p, t, address, size):
    region = Region(address, address, size, size)
    params = Params(DEFAULTS | PREALLOCATED, 0, r, p, t, 0, nrom)
    if lib.yescrypt_init_shared(ctypes.byref(region), seed, ctypes.c_size_t(len(seed)), ctypes.byref(params)):
        return "refused"
    return bytes(lib.yescrypt_digest_shared(ctypes.byref(region)).contents).hex()


def aligned(size):
    memory = ctypes.create_string_buffer(size + 64)
    return memory, -(-ctypes.addressof(memory) // 64) * 64


def hash_with(password, setting, address, size):
    region, local = Region(address, address, size, size), Region()
    buffer = ctypes.create_string_buffer(512)
    lib.yescrypt_init_local(ctypes.byref(local))
    out = lib.yescrypt_r(ctypes.byref(region), ctypes.byref(local), password, ctypes.c_size_t(len(password)),
                         setting, None, buffer, ctypes.c_size_t(512))
    lib.yescrypt_free_local(ctypes.byref(local))
    return out.decode() if out else "refused"


def segment(key, size, flags, attach):
    number = libc.shmget(key, size, flags)
    if number < 0:
        raise OSError(ctypes.get_errno(), "shmget")
    return number, libc.shmat(number, None, attach)


def answer(words):
    if words[0] in ("file", "segment"):
        seed, (nrom, r, p, t) = bytes.fromhex(words[1]), map(int, words[2:6])
        size = 128 * r * nrom
        if words[0] == "segment":
            _, address = segment(int(words[6]), size, IPC_CREAT | IPC_EXCL | 0o640, 0)
            digest = fill(seed, nrom, r, p, t, address, size)
            libc.shmdt(address)
            return digest
        memory, address = aligned(size)
        digest = fill(seed, nrom, r, p, t, address, size)
        with open(words[6], "wb") as file:
            file.write(ctypes.string_at(address, size))
        return digest
    if words[0] == "hash":
        with open(words[3], "rb") as file:
            image = file.read()
        memory, address = aligned(len(image))
        ctypes.memmove(address, image, len(image))
        return hash_with(bytes.fromhex(words[1]), words[2].encode(), address, len(image))
    if words[0] == "hashsegment":
        _, address = segment(int(words[3]), 0, 0, SHM_RDONLY)
        hashed = hash_with(bytes.fromhex(words[1]), words[2].encode(), address, int(words[4]))
        libc.shmdt(address)
        return hashed
    number = libc.shmget(int(words[1]), 0, 0)
    return str(libc.shmctl(number, IPC_RMID, None))


for line in sys.stdin:
    print(answer(line.split()), flush=True)
