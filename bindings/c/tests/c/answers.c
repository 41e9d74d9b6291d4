/*
 * Answers lines of words (words.h) through the C interfaces. An answer is hexadecimal, or
 * "! ERRNO" for a failure.
 */
#include <blake2.h>
#include <errno.h>
#include <yescrypt.h>

#include "words.h"

#define MOST (1 << 20)

static uint64_t next_number(void)
{
	return strtoull(next_word(), NULL, 10);
}

static void tell(const uint8_t *start, size_t length)
{
	if (length == 0)
		putchar('-');
	for (size_t i = 0; i < length; i++)
		printf("%02x", start[i]);
	putchar('\n');
}

static void fail(void)
{
	printf("! %d\n", errno);
}

static yescrypt_params_t next_params(void)
{
	yescrypt_params_t params;
	memset(&params, 0, sizeof params);
	params.flags = (yescrypt_flags_t)next_number();
	params.N = next_number();
	params.r = (uint32_t)next_number();
	params.p = (uint32_t)next_number();
	params.t = (uint32_t)next_number();
	params.g = (uint32_t)next_number();
	params.NROM = next_number();
	return params;
}

static yescrypt_local_t local;
static yescrypt_shared_t shared;

/* The ROM that the calls after it use; none without one. */
static yescrypt_shared_t *rom;

/* rom PARAMS SEED PREALLOCATED: the ends of the image. */
static void make_rom(void)
{
	yescrypt_params_t params = next_params();
	bytes seed = next_bytes();
	size_t size = (size_t)128 * params.r * params.NROM;

	if (rom != NULL && shared.base != NULL)
		yescrypt_free_shared(&shared);
	memset(&shared, 0, sizeof shared);
	rom = NULL;
	if (next_number()) {
		params.flags |= YESCRYPT_SHARED_PREALLOCATED;
		shared.aligned = aligned_alloc(64, size);
		shared.aligned_size = size;
	}
	errno = 0;
	if (yescrypt_init_shared(&shared, seed.start, seed.length, &params)) {
		fail();
	} else {
		rom = &shared;
		uint8_t ends[128];

		/* Its first bytes and its last ones, which all others go into. */
		memcpy(ends, shared.aligned, 64);
		memcpy(ends + 64, (uint8_t *)shared.aligned + size - 64, 64);
		printf("%s ", memcmp(yescrypt_digest_shared(rom)->uc, ends + 96, 32) == 0
		        ? "digest" : "another digest");
		tell(ends, sizeof ends);
	}
	free(seed.start);
}

/* kdf PARAMS LENGTH PASSWORD SALT */
static void kdf(void)
{
	yescrypt_params_t params = next_params();
	size_t length = (size_t)next_number();
	bytes password = next_bytes(), salt = next_bytes();
	uint8_t *out = (uint8_t *)malloc(length ? length : 1);

	errno = 0;
	if (yescrypt_kdf(rom, &local, password.start, password.length, salt.start, salt.length,
	        &params, out, length))
		fail();
	else
		tell(out, length);
	free(password.start);
	free(salt.start);
	free(out);
}

/* crypt PASSWORD SETTING KEY ROOM */
static void crypt_text(void)
{
	bytes password = next_bytes(), setting = next_bytes(), key = next_bytes();
	size_t room = (size_t)next_number();
	uint8_t *buffer = (uint8_t *)malloc(room ? room : 1);
	yescrypt_binary_t binary;

	if (key.start != NULL)
		memcpy(binary.uc, key.start, 32);
	errno = 0;
	if (!yescrypt_r(rom, &local, password.start, password.length, setting.start,
	        key.start ? &binary : NULL, buffer, room))
		fail();
	else
		tell(buffer, strlen((char *)buffer));
	free(password.start);
	free(setting.start);
	free(key.start);
	free(buffer);
}

/* reencrypt HASH FROM TO */
static void reencrypt(void)
{
	bytes hash = next_bytes(), keys[2];
	yescrypt_binary_t binary[2];

	for (int i = 0; i < 2; i++) {
		keys[i] = next_bytes();
		if (keys[i].start != NULL)
			memcpy(binary[i].uc, keys[i].start, 32);
	}
	errno = 0;
	if (!yescrypt_reencrypt(hash.start, keys[0].start ? &binary[0] : NULL,
	        keys[1].start ? &binary[1] : NULL))
		fail();
	else
		tell(hash.start, strlen((char *)hash.start));
	free(hash.start);
	free(keys[0].start);
	free(keys[1].start);
}

/* encode PARAMS SALT ROOM */
static void encode(void)
{
	yescrypt_params_t params = next_params();
	bytes salt = next_bytes();
	size_t room = (size_t)next_number();
	uint8_t *buffer = (uint8_t *)malloc(room ? room : 1);

	errno = 0;
	if (!yescrypt_encode_params_r(&params, salt.start, salt.length, buffer, room))
		fail();
	else
		tell(buffer, strlen((char *)buffer));
	free(salt.start);
	free(buffer);
}

typedef union {
	blake2b_state b;
	blake2s_state s;
	blake2bp_state bp;
	blake2sp_state sp;
	blake2xb_state xb;
	blake2xs_state xs;
} state;

typedef int (*whole)(void *, size_t, const void *, size_t, const void *, size_t);
typedef int (*init)(state *, size_t);
typedef int (*init_key)(state *, size_t, const void *, size_t);
typedef int (*update)(state *, const void *, size_t);
typedef int (*final)(state *, void *, size_t);

#define FUNCTION(name) \
	{#name, name, (init)name##_init, (init_key)name##_init_key, (update)name##_update, \
	    (final)name##_final}

static const struct {
	const char *name;
	whole whole;
	init init;
	init_key init_key;
	update update;
	final final;
} functions[] = {FUNCTION(blake2b), FUNCTION(blake2s), FUNCTION(blake2bp), FUNCTION(blake2sp),
    FUNCTION(blake2xb), FUNCTION(blake2xs)};

/* blake2 NAME LENGTH STEP KEY MESSAGE: in one call if the step is 0, else so many bytes at a time. */
static void blake2_hash(void)
{
	const char *name = strtok(NULL, " \n");
	size_t length = (size_t)next_number(), step = (size_t)next_number(), at = 0;
	bytes key = next_bytes(), message = next_bytes();
	uint8_t *out = (uint8_t *)malloc(length ? length : 1);
	state running, copy;
	size_t i = 0;
	int failed;

	while (strcmp(functions[i].name, name) != 0)
		i++;
	if (step == 0) {
		failed = functions[i].whole(out, length, message.start, message.length, key.start,
		    key.length);
	} else {
		memset(&running, 0xa5, sizeof running);
		failed = key.start ? functions[i].init_key(&running, length, key.start, key.length)
		                   : functions[i].init(&running, length);
		for (; !failed && at < message.length; at += step) {
			/* A state is a value. */
			memcpy(&copy, &running, sizeof copy);
			failed = functions[i].update(&copy, message.start + at,
			    message.length - at < step ? message.length - at : step);
			memcpy(&running, &copy, sizeof copy);
		}
		failed = failed || functions[i].final(&running, out, length);
		/* The end comes once. */
		if (!failed && functions[i].final(&running, out, length) == 0)
			puts("! twice");
	}
	errno = 0;
	if (failed)
		fail();
	else
		tell(out, length);
	free(key.start);
	free(message.start);
	free(out);
}

/* param blake2b|blake2s BLOCK LAST KEY MESSAGE */
static void blake2_param(void)
{
	int is_b = strcmp(strtok(NULL, " \n"), "blake2b") == 0;
	bytes block = next_bytes();
	uint8_t last = (uint8_t)next_number(), out[64];
	bytes key = next_bytes(), message = next_bytes();
	uint8_t padded[128] = {0};
	state running;

	if (key.start != NULL)
		memcpy(padded, key.start, key.length);
	if (is_b) {
		blake2b_init_param(&running.b, (const blake2b_param *)(void *)block.start);
		running.b.last_node = last;
		if (key.start != NULL)
			blake2b_update(&running.b, padded, 128);
		blake2b_update(&running.b, message.start, message.length);
		blake2b_final(&running.b, out, sizeof out);
	} else {
		blake2s_init_param(&running.s, (const blake2s_param *)(void *)block.start);
		running.s.last_node = last;
		if (key.start != NULL)
			blake2s_update(&running.s, padded, 64);
		blake2s_update(&running.s, message.start, message.length);
		blake2s_final(&running.s, out, sizeof out);
	}
	tell(out, block.start[0]);
	free(block.start);
	free(key.start);
	free(message.start);
}

int main(void)
{
	char *line = (char *)malloc(MOST);
	const char *what;

	if (line == NULL || yescrypt_init_local(&local))
		return 2;
	while (fgets(line, MOST, stdin) != NULL) {
		what = strtok(line, " \n");
		if (strcmp(what, "rom") == 0)
			make_rom();
		else if (strcmp(what, "norom") == 0)
			rom = NULL, puts("-");
		else if (strcmp(what, "poke") == 0) {
			uint64_t place = next_number();
			((uint8_t *)shared.aligned)[place] ^= (uint8_t)next_number();
			puts("-");
		} else if (strcmp(what, "kdf") == 0)
			kdf();
		else if (strcmp(what, "crypt") == 0)
			crypt_text();
		else if (strcmp(what, "reencrypt") == 0)
			reencrypt();
		else if (strcmp(what, "encode") == 0)
			encode();
		else if (strcmp(what, "blake2") == 0)
			blake2_hash();
		else if (strcmp(what, "param") == 0)
			blake2_param();
		else
			return 3;
		fflush(stdout);
	}
	free(line);
	return yescrypt_free_local(&local) ? 4 : 0;
}
