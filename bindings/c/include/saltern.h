/*
 * saltern.h: passwords of a site, for C and C++. Link with -lsaltern (pkg-config saltern).
 *
 *     saltern *site;
 *     saltern_open(NULL, &site, NULL);
 *     saltern_hash(site, "correct horse", 13, stored, sizeof stored, NULL);
 *     ...
 *     saltern_login login = {"alice", 5, "correct horse", 13, stored};
 *     if (saltern_verify(site, &login, update, sizeof update, NULL) == SALTERN_OK)
 *         ...let alice in; if update[0] is not 0, store it in place of the old string
 *     saltern_close(site);
 *
 * There is no global state. Handles may be used by any number of threads at once, except that a
 * ticket is one thread's at a time and nothing may be in use while it is freed. Passwords are
 * bytes with a length; stored strings, names of files and messages are text that ends in a zero
 * byte. Nothing is kept of what is passed in. NULL for a handle, or for an answer that is needed,
 * is SALTERN_BAD_INPUT; NULL may be freed.
 *
 * SPDX-License-Identifier: MIT OR Apache-2.0
 */
#ifndef SALTERN_H
#define SALTERN_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/*
 * The result of a call. 0 is success; a positive value is another answer; a negative value is an
 * error of one of six kinds, which tell what the caller can do about it. A wrong password is never
 * an error, and an error never means that a password is wrong.
 */
typedef enum saltern_status {
	/* Done; the password is right. */
	SALTERN_OK = 0,
	/* The password is wrong, or there is no such account. */
	SALTERN_MISMATCH = 1,
	/* The account is locked: its string begins with `!` or `*`. */
	SALTERN_LOCKED = 2,
	/* The time ran out before there was an answer: wait again, or free the ticket. */
	SALTERN_PENDING = 3,

	/* The input is wrong and a retry will not help: a string, a policy, a pointer. */
	SALTERN_BAD_INPUT = -1,
	/* The hash costs more, or is less usual, than the policy allows. */
	SALTERN_OVER_LIMIT = -2,
	/* A key, a ROM or a file is missing; once it is available, the same call succeeds. */
	SALTERN_UNAVAILABLE = -3,
	/* Overload, or a missed deadline: the same call may succeed later. */
	SALTERN_OVERLOADED = -4,
	/* Memory, threads or randomness were not available, or there is a defect. */
	SALTERN_INTERNAL = -5,
	/*
	 * A stored string is not the one that was sealed for its account: somebody has moved, altered
	 * or inserted it. The password was not checked; an operator has to look at the table.
	 */
	SALTERN_TAMPERED = -6
} saltern_status;

/* Room for an error message, truncated if it is longer. Every call also accepts NULL. */
typedef struct saltern_message {
	char text[256];
} saltern_message;

/* Room for any string of a new hash, including the ids of a key and a ROM, and a seal. */
#define SALTERN_STRING_SIZE 512

/* "0.1.0"; static. */
const char *saltern_version(void);

/* The name of a status, such as "mismatch"; static. */
const char *saltern_status_name(int status);

/* ---- a site ---- */

/* Hashing and verifying under one policy, with its own threads. One for a whole program. */
typedef struct saltern saltern;

/*
 * Reads a policy (docs/c.md; NULL for the defaults: yescrypt at 16 MiB), its keys and its ROMs, and
 * starts the threads. After fork(2), the child must open its own: its parent's return
 * SALTERN_INTERNAL there.
 */
saltern_status saltern_open(const char *policy_file, saltern **site, saltern_message *message);

/* The same with the text of a policy; names of files in it are relative to the folder `beside`. */
saltern_status saltern_open_text(
    const char *policy, const char *beside, saltern **site, saltern_message *message);

/*
 * A second handle of the same site whose calls have this much time each: a call that cannot end in
 * time is refused at once. 0 milliseconds means no limit. Each handle must be closed.
 */
saltern_status saltern_within(
    const saltern *site, uint64_t milliseconds, saltern **same, saltern_message *message);

/* A handle of the same site for work that nobody waits for: it runs only while no login waits. */
saltern_status saltern_bulk(const saltern *site, saltern **same, saltern_message *message);

/*
 * A handle of the same site for one of several clients, known by any name, that share its threads:
 * while all of them have calls waiting, each is given work by its weight, 1 to 1000000, whatever it
 * sends and whatever its deadlines.
 */
saltern_status saltern_share(const saltern *site, const char *client, uint32_t weight,
    saltern **same, saltern_message *message);

/*
 * A handle of the same site for the strings of one account, given by an id of 1 to 4096 bytes that
 * never changes: what it hashes and rekeys is sealed for this account if the policy has an active
 * key for seals. Logins name the account themselves.
 */
saltern_status saltern_for_account(const saltern *site, const void *account, size_t length,
    saltern **same, saltern_message *message);

/* Frees a handle; with the last handle of a site, its threads end and its memory is wiped. */
void saltern_close(saltern *site);

/*
 * Remarks for the operator about the files of the policy, as lines, truncated to `size`. Returns
 * the full length, as snprintf(3) does; 0 if there are none.
 */
size_t saltern_notes(const saltern *site, char *text, size_t size);

/* A login. */
typedef struct saltern_login {
	/* The account's id: the string may be sealed for it, and it chooses a decoy. */
	const void *account;
	size_t account_length;
	const void *password;
	size_t password_length;
	/* The stored string; NULL for an account that does not exist, which takes as long. */
	const char *stored;
} saltern_login;

/* Hashes a new password into a string to store; `size` is at least SALTERN_STRING_SIZE. */
saltern_status saltern_hash(const saltern *site, const void *password, size_t password_length,
    char *stored, size_t size, saltern_message *message);

/*
 * Whether a password is right: SALTERN_OK, SALTERN_MISMATCH or SALTERN_LOCKED. After SALTERN_OK,
 * `update` (at least SALTERN_STRING_SIZE bytes of room, or NULL and 0) is "" or the string to store
 * in place of the old one, if that is still stored. In all other cases it is "".
 */
saltern_status saltern_verify(const saltern *site, const saltern_login *login, char *update,
    size_t size, saltern_message *message);

/* ---- without waiting ---- */

/* Something that is being computed. */
typedef struct saltern_ticket saltern_ticket;

saltern_status saltern_hash_start(const saltern *site, const void *password,
    size_t password_length, saltern_ticket **ticket, saltern_message *message);

saltern_status saltern_verify_start(const saltern *site, const saltern_login *login,
    saltern_ticket **ticket, saltern_message *message);

/*
 * Waits for the answer for at most this many milliseconds (0 polls; below 0 waits without limit):
 * SALTERN_PENDING, or the answer of saltern_hash or saltern_verify with its string, once. The
 * ticket must be freed in any case.
 */
saltern_status saltern_wait(saltern_ticket *ticket, int64_t milliseconds, char *string,
    size_t size, saltern_message *message);

/* Frees a ticket. Work that has not begun is cancelled. */
void saltern_ticket_free(saltern_ticket *ticket);

/* ---- many at once ---- */

typedef struct saltern_password {
	const void *bytes;
	size_t length;
} saltern_password;

typedef struct saltern_answer {
	/* A saltern_status. */
	int status;
	/* The stored string or the update, or "". */
	char string[SALTERN_STRING_SIZE];
	saltern_message message;
} saltern_answer;

/*
 * One answer for each. Items of one cost are computed together, several times as fast as one after
 * the other. The call itself fails only for NULL or for lack of memory.
 */
saltern_status saltern_hash_many(const saltern *site, const saltern_password *passwords,
    saltern_answer *answers, size_t count, saltern_message *message);

saltern_status saltern_verify_many(const saltern *site, const saltern_login *logins,
    saltern_answer *answers, size_t count, saltern_message *message);

/* ---- stored strings without passwords ---- */

/* The ways in which a stored string differs from a new one. */
#define SALTERN_OUTDATED_SCHEME 1
#define SALTERN_OUTDATED_COST 2
#define SALTERN_OUTDATED_FLOOR 4
#define SALTERN_OUTDATED_SALT 8
#define SALTERN_OUTDATED_KEY 16
#define SALTERN_OUTDATED_ROM 32
#define SALTERN_OUTDATED_WRAPPED 64
#define SALTERN_OUTDATED_SEAL 128

/* `reasons` becomes the sum of those that apply, or 0. Computes nothing. */
saltern_status saltern_needs_rehash(
    const saltern *site, const char *stored, unsigned *reasons, saltern_message *message);

/*
 * The same string under the active key; "" if it already is, and after an error: keep the old
 * string elsewhere. A sealed string needs a handle of its account.
 */
saltern_status saltern_rekey(const saltern *site, const char *stored, char *rekeyed, size_t size,
    saltern_message *message);

/*
 * The same string, sealed for the account of the handle (saltern_for_account); "" if it already is,
 * and after an error. A string with a wrong seal is SALTERN_TAMPERED and never sealed anew.
 */
saltern_status saltern_seal(const saltern *site, const char *stored, char *sealed, size_t size,
    saltern_message *message);

/* ---- bare functions ---- */

/* A ROM in memory that processes share. */
typedef struct saltern_rom saltern_rom;

/*
 * Attaches the image of a ROM by its manifest. `hash`, if it is not NULL, is the hash of 64 digits
 * that the ROM must have. Hashes made with the ROM cannot be computed without it.
 */
saltern_status saltern_rom_attach(
    const char *image, const char *hash, saltern_rom **rom, saltern_message *message);

/* Bytes in its image. */
uint64_t saltern_rom_size(const saltern_rom *rom);

void saltern_rom_free(saltern_rom *rom);

/* The parameters of saltern_derive, with the values of yescrypt.h. */
typedef struct saltern_params {
	/* 0: classic scrypt; 1: WORM; 182: yescrypt; 2 plus other flavour bits: only Saltern. */
	uint32_t flags;
	uint32_t r;
	/* A power of two above 1. */
	uint64_t n;
	/* At least 1. */
	uint32_t p;
	uint32_t t;
	/* Blocks of ROM, or 0. */
	uint64_t nrom;
} saltern_params;

/* Bytes in, bytes out. */
typedef struct saltern_input {
	const void *password;
	size_t password_length;
	const void *salt;
	size_t salt_length;
} saltern_input;

/*
 * Derives bytes without any limits: the parameters must come from the caller, not from untrusted
 * input. Takes 128 * r * n bytes while it runs. `rom` is NULL if `nrom` is 0.
 */
saltern_status saltern_derive(const saltern_params *params, const saltern_input *input,
    const saltern_rom *rom, void *out, size_t length, saltern_message *message);

#ifdef __cplusplus
}
#endif

#endif
