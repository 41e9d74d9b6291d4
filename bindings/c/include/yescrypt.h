/*
 * yescrypt.h: the interface of yescrypt 1.1's C library, provided by libsaltern-yescrypt.
 *
 * Names, types and values are those of the library that this one replaces, so that programs written
 * for it compile, and programs compiled with it link. The descriptions are Saltern's; docs/c.md
 * lists differences in behaviour.
 *
 * Functions that return int return 0, or -1 with errno; those that return a pointer return NULL
 * with errno on failure: EINVAL for invalid arguments, ENOMEM for lack of memory, EIO for a defect.
 * All of them may be called by any number of threads, if no two calls share a buffer or a `local`.
 *
 * SPDX-License-Identifier: MIT OR Apache-2.0
 */
#ifndef SALTERN_YESCRYPT_H
#define SALTERN_YESCRYPT_H

#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Memory. Programs do not depend on `base` and `base_size`; `aligned` is a multiple of 64. */
typedef struct {
	void *base, *aligned;
	size_t base_size, aligned_size;
} yescrypt_region_t;

/*
 * A ROM. A program that has one in memory (a mapped file, a shared segment) sets `aligned` and
 * `aligned_size` itself.
 */
typedef yescrypt_region_t yescrypt_shared_t;

/* Memory that one thread keeps from call to call. */
typedef yescrypt_region_t yescrypt_local_t;

/* The two numbers 48 bytes before the end of a ROM, followed by its digest of 32 bytes. */
#define YESCRYPT_ROM_TAG1 0x7470797263736579ULL
#define YESCRYPT_ROM_TAG2 0x687361684d4f522dULL

/* The algorithm: 0 is classic scrypt, YESCRYPT_WORM stands alone, the rest goes with RW. */
typedef uint32_t yescrypt_flags_t;
#define YESCRYPT_WORM 1
#define YESCRYPT_RW 0x002
#define YESCRYPT_ROUNDS_3 0x000
#define YESCRYPT_ROUNDS_6 0x004
#define YESCRYPT_GATHER_1 0x000
#define YESCRYPT_GATHER_2 0x008
#define YESCRYPT_GATHER_4 0x010
#define YESCRYPT_GATHER_8 0x018
#define YESCRYPT_SIMPLE_1 0x000
#define YESCRYPT_SIMPLE_2 0x020
#define YESCRYPT_SIMPLE_4 0x040
#define YESCRYPT_SIMPLE_8 0x060
#define YESCRYPT_SBOX_6K 0x000
#define YESCRYPT_SBOX_12K 0x080
#define YESCRYPT_SBOX_24K 0x100
#define YESCRYPT_SBOX_48K 0x180
#define YESCRYPT_SBOX_96K 0x200
#define YESCRYPT_SBOX_192K 0x280
#define YESCRYPT_SBOX_384K 0x300
#define YESCRYPT_SBOX_768K 0x380

/* The only flavour that this library computes, like the one it replaces. saltern.h has all. */
#define YESCRYPT_RW_DEFAULTS \
	(YESCRYPT_RW | YESCRYPT_ROUNDS_6 | YESCRYPT_GATHER_4 | YESCRYPT_SIMPLE_2 | YESCRYPT_SBOX_12K)
#define YESCRYPT_DEFAULTS YESCRYPT_RW_DEFAULTS

/* Only for yescrypt_init_shared(): the memory is already allocated. */
#define YESCRYPT_SHARED_PREALLOCATED 0x10000

/*
 * N blocks of 128 * r bytes; p: parallelism; t: extra time; g: 0; NROM: blocks of ROM, or 0.
 * N is a power of two from 4 to 2^31.
 */
typedef struct {
	yescrypt_flags_t flags;
	uint64_t N;
	uint32_t r, p, t, g;
	uint64_t NROM;
} yescrypt_params_t;

/* 32 bytes: a key for hash encryption, or the digest of a ROM. */
typedef union {
	unsigned char uc[32];
	uint64_t u64[4];
} yescrypt_binary_t;

/* Classic scrypt. */
extern int crypto_scrypt(const uint8_t *passwd, size_t passwdlen, const uint8_t *salt,
    size_t saltlen, uint64_t N, uint32_t r, uint32_t p, uint8_t *buf, size_t buflen);

/*
 * Fills a ROM of 128 * r * NROM bytes from a seed, which is secret. With
 * YESCRYPT_SHARED_PREALLOCATED it is filled into shared->aligned, which has at least as many bytes;
 * otherwise memory is allocated, for yescrypt_free_shared(). N and g are 0, flags are
 * YESCRYPT_DEFAULTS. With p > 1, all processors share the work.
 */
extern int yescrypt_init_shared(yescrypt_shared_t *shared, const uint8_t *seed, size_t seedlen,
    const yescrypt_params_t *params);

/* The digest of a ROM, in a buffer of the calling thread, valid until its next call. */
extern yescrypt_binary_t *yescrypt_digest_shared(yescrypt_shared_t *shared);

/* Frees what yescrypt_init_shared() allocated: `base` of `base_size` bytes, by munmap(2). */
extern int yescrypt_free_shared(yescrypt_shared_t *shared);

/* Initialises `local` without any memory. */
extern int yescrypt_init_local(yescrypt_local_t *local);

/* Wipes and frees the memory of `local`. */
extern int yescrypt_free_local(yescrypt_local_t *local);

/*
 * Derives `buflen` bytes. `shared` is NULL if params->NROM is 0, and the ROM otherwise. The memory
 * of `local` grows to what the call needs, and is kept; if calls are computed together, it is large
 * enough for several.
 */
extern int yescrypt_kdf(const yescrypt_shared_t *shared, yescrypt_local_t *local,
    const uint8_t *passwd, size_t passwdlen, const uint8_t *salt, size_t saltlen,
    const yescrypt_params_t *params, uint8_t *buf, size_t buflen);

/*
 * Hashes a password under a setting, "$y$" or "$7$", or a complete string, into a complete string
 * in `buf`, which it returns. `key`, unless it is NULL, encrypts a "$y$" hash.
 */
extern uint8_t *yescrypt_r(const yescrypt_shared_t *shared, yescrypt_local_t *local,
    const uint8_t *passwd, size_t passwdlen, const uint8_t *setting, const yescrypt_binary_t *key,
    uint8_t *buf, size_t buflen);

/*
 * The same without ROM or key, in a buffer of the calling thread, valid until its next call; for
 * salts of up to 32 bytes.
 */
extern uint8_t *yescrypt(const uint8_t *passwd, const uint8_t *setting);

/*
 * Moves a complete "$y$" string from one key to another, in place; NULL means no key. Returns
 * `hash`. A wrong `from_key` is not detected.
 */
extern uint8_t *yescrypt_reencrypt(uint8_t *hash, const yescrypt_binary_t *from_key,
    const yescrypt_binary_t *to_key);

/* Writes the setting for these parameters and this salt into `buf`, which it returns. */
extern uint8_t *yescrypt_encode_params_r(const yescrypt_params_t *params, const uint8_t *src,
    size_t srclen, uint8_t *buf, size_t buflen);

/* The same in a buffer of the calling thread, valid until its next call; for up to 32 bytes. */
extern uint8_t *yescrypt_encode_params(const yescrypt_params_t *params, const uint8_t *src,
    size_t srclen);

#ifdef __cplusplus
}
#endif

#endif
