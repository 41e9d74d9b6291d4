/*
 * Keys from a password, with the interface of yescrypt's own library, and a hash with that of
 * BLAKE2's; with saltern.h, bytes with a ROM.
 *
 *     cc derive.c $(pkg-config --cflags --libs saltern saltern-yescrypt saltern-blake2) -o derive
 *     ./derive [IMAGE]
 */
#include <blake2.h>
#include <saltern.h>
#include <yescrypt.h>

#include <stdio.h>
#include <string.h>

static const uint8_t salt[] = "a salt of 16 byt";

/* A key of 32 bytes at 2 MiB. */
static int by_yescrypt(uint8_t key[32])
{
	yescrypt_params_t params;
	yescrypt_local_t local;
	int failed;

	memset(&params, 0, sizeof params);
	params.flags = YESCRYPT_DEFAULTS;
	params.N = 2048;
	params.r = 8;
	params.p = 1;
	if (yescrypt_init_local(&local))
		return 1;
	failed = yescrypt_kdf(
	    NULL, &local, (const uint8_t *)"correct horse", 13, salt, 16, &params, key, 32);
	return yescrypt_free_local(&local) || failed;
}

/* The same by saltern.h, with a ROM if there is one. */
static int by_saltern(uint8_t key[32], const char *image)
{
	saltern_message message;
	saltern_params params;
	saltern_input input;
	saltern_rom *rom = NULL;
	saltern_status status = SALTERN_OK;

	memset(&params, 0, sizeof params);
	params.flags = YESCRYPT_DEFAULTS;
	params.n = 2048;
	params.r = 8;
	params.p = 1;
	input.password = "correct horse";
	input.password_length = 13;
	input.salt = salt;
	input.salt_length = 16;
	if (image != NULL) {
		status = saltern_rom_attach(image, NULL, &rom, &message);
		params.nrom = saltern_rom_size(rom) / (128 * params.r);
	}
	if (status == SALTERN_OK)
		status = saltern_derive(&params, &input, rom, key, 32, &message);
	if (status != SALTERN_OK)
		fprintf(stderr, "%s\n", message.text);
	saltern_rom_free(rom);
	return status != SALTERN_OK;
}

int main(int argc, char **argv)
{
	uint8_t keys[2][32], tag[16];
	size_t i;

	if (by_yescrypt(keys[0]) || by_saltern(keys[1], argc > 1 ? argv[1] : NULL))
		return 2;
	if (argc == 1 && memcmp(keys[0], keys[1], 32) != 0)
		return 1;
	if (blake2b(tag, sizeof tag, "a message", 9, keys[1], 32))
		return 2;
	for (i = 0; i < sizeof tag; i++)
		printf("%02x", tag[i]);
	putchar('\n');
	return 0;
}
