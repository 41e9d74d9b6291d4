/*
 * A program that was written for libb2: its arguments of the simple functions, its types of buffers.
 * Prints what it hashes to; libb2.txt is what it printed with libb2 0.98.1.
 */
#include <blake2.h>
#include <stdio.h>
#include <string.h>

static void tell(const char *name, int failed, const uint8_t *hash, size_t length)
{
	printf("%s %d ", name, failed);
	for (size_t i = 0; i < length; i++)
		printf("%02x", hash[i]);
	putchar('\n');
}

#define WHOLE(name, length) \
	tell(#name, name(hash, message, key, length, sizeof message, sizeof key), hash, length); \
	tell(#name, name(hash, message, NULL, 20, 3, 0), hash, 20)

#define PIECES(name, length) \
	do { \
		name##_state state; \
		failed = name##_init_key(&state, length, key, sizeof key); \
		failed |= name##_update(&state, message, 100); \
		failed |= name##_update(&state, message + 100, sizeof message - 100); \
		failed |= name##_final(&state, hash, length); \
		tell(#name, failed, hash, length); \
	} while (0)

/* A parameter block, whose fields have one layout in both libraries. */
#define PARAMS(name, length) \
	do { \
		name##_state state; \
		name##_param params; \
		memset(&params, 0, sizeof params); \
		params.digest_length = length; \
		params.fanout = params.depth = 1; \
		memset(params.salt, 7, sizeof params.salt); \
		memset(params.personal, 8, sizeof params.personal); \
		failed = name##_init_param(&state, &params) | name##_update(&state, message, 1000); \
		state.last_node = 1; \
		failed |= name##_final(&state, hash, length); \
		tell(#name, failed, hash, length); \
	} while (0)

int main(void)
{
	uint8_t message[1500], key[20], hash[64];
	int failed;

	for (size_t i = 0; i < sizeof message; i++)
		message[i] = (uint8_t)(i * i);
	memcpy(key, message + 50, sizeof key);
	WHOLE(blake2b, 64);
	WHOLE(blake2s, 32);
	WHOLE(blake2bp, 64);
	WHOLE(blake2sp, 32);
	PIECES(blake2b, 64);
	PIECES(blake2s, 32);
	PIECES(blake2bp, 64);
	PIECES(blake2sp, 32);
	PARAMS(blake2b, 48);
	PARAMS(blake2s, 24);
	return 0;
}
