/*
 * Every allocation fails once, and then all of them from some point on: each call then answers, with
 * an error or without one. What cannot be seen from here is that nothing aborts; if something does,
 * this program ends by a signal.
 */
#define _GNU_SOURCE
#include <crypt.h>
#include <errno.h>
#include <saltern.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>
#include <yescrypt.h>

extern void *__libc_malloc(size_t);
extern void *__libc_calloc(size_t, size_t);
extern void *__libc_realloc(void *, size_t);
extern void *__libc_memalign(size_t, size_t);

/* The allocation that fails, counted down to 0; below 0 none does, unless all are to. */
static atomic_long countdown = -1;
static atomic_int stays;

static int fails(void)
{
	long before = atomic_load(&countdown);
	if (before < 0)
		return 0;
	if (before == 0)
		return atomic_load(&stays) || atomic_compare_exchange_strong(&countdown, &before, -2);
	return atomic_fetch_sub(&countdown, 1) == 1 &&
	    (atomic_load(&stays) || (atomic_store(&countdown, -2), 1));
}

#define ALLOCATE(call) \
	do { \
		if (fails()) { \
			errno = ENOMEM; \
			return NULL; \
		} \
		return call; \
	} while (0)

void *malloc(size_t size)
{
	ALLOCATE(__libc_malloc(size));
}

void *calloc(size_t count, size_t size)
{
	ALLOCATE(__libc_calloc(count, size));
}

void *realloc(void *old, size_t size)
{
	ALLOCATE(__libc_realloc(old, size));
}

void *aligned_alloc(size_t alignment, size_t size)
{
	ALLOCATE(__libc_memalign(alignment, size));
}

int posix_memalign(void **place, size_t alignment, size_t size)
{
	if (fails())
		return ENOMEM;
	*place = __libc_memalign(alignment, size);
	return *place == NULL ? ENOMEM : 0;
}

static const char policy[] = "[params]\ncost = 1\n[pool]\nthreads = 1\n";

/* Each returns 0 if all went well, and 1 for an error that was told. */

static int a_site(void)
{
	char stored[SALTERN_STRING_SIZE], update[SALTERN_STRING_SIZE];
	saltern_login login = {"alice", 5, "secret", 6, stored};
	saltern_message message;
	saltern *site = NULL;
	int status = saltern_open_text(policy, NULL, &site, &message);

	if (status == SALTERN_OK)
		status = saltern_hash(site, "secret", 6, stored, sizeof stored, &message);
	if (status == SALTERN_OK)
		status = saltern_verify(site, &login, update, sizeof update, &message);
	saltern_close(site);
	if (status < 0 && message.text[0] == '\0')
		abort();
	if (status > 0)
		abort();
	return status != SALTERN_OK;
}

static int a_string(void)
{
	static const uint8_t setting[] = "$y$j75$LdJMENpBABJJ3hIHjB1Bi.";
	yescrypt_binary_t key = {{1}};
	yescrypt_local_t local;
	uint8_t buffer[256];
	int done;

	yescrypt_init_local(&local);
	errno = 0;
	done = yescrypt_r(NULL, &local, (const uint8_t *)"secret", 6, setting, &key, buffer,
	           sizeof buffer) != NULL;
	if (!done && errno != ENOMEM)
		abort();
	yescrypt_free_local(&local);
	return !done;
}

static int a_rom(void)
{
	yescrypt_params_t params = {YESCRYPT_DEFAULTS, 0, 8, 1, 0, 0, 64};
	yescrypt_shared_t shared;
	int done;

	errno = 0;
	done = yescrypt_init_shared(&shared, (const uint8_t *)"seed", 4, &params) == 0;
	if (!done && errno != ENOMEM)
		abort();
	if (done)
		yescrypt_free_shared(&shared);
	return !done;
}

static int a_crypt(void)
{
	void *data = NULL;
	int size = 0;
	char *made;

	errno = 0;
	made = crypt_ra("secret", "$y$j75$LdJMENpBABJJ3hIHjB1Bi.", &data, &size);
	if (made == NULL && errno != ENOMEM)
		abort();
	free(data);
	return made == NULL;
}

/* The image of a ROM: the program's argument. */
static const char *image;

static int a_rom_attached(void)
{
	saltern_message message;
	saltern_rom *rom = NULL;
	int status = saltern_rom_attach(image, NULL, &rom, &message);

	saltern_rom_free(rom);
	if (status > 0 || (status < 0 && message.text[0] == '\0'))
		abort();
	return status != SALTERN_OK;
}

static const struct {
	const char *name;
	int (*run)(void);
} calls[] = {{"site", a_site}, {"string", a_string}, {"rom", a_rom}, {"crypt", a_crypt},
    {"attach", a_rom_attached}};

/* The memory of a hash, which is mapped: with no more than 8 MiB left, 16 MiB are an error. */
static int large_fails(void)
{
	static const char setting[] = "$y$j9T$LdJMENpBABJJ3hIHjB1Bi.";
	char stored[SALTERN_STRING_SIZE];
	struct crypt_data data;
	yescrypt_local_t local;
	struct rlimit limit;
	uint8_t buffer[256];
	saltern *site;
	long pages = 0;
	FILE *file;
	int told;

	memset(&data, 0, sizeof data);
	yescrypt_init_local(&local);
	if (saltern_open_text("[pool]\nthreads = 1\n", NULL, &site, NULL) != SALTERN_OK)
		return 1;
	file = fopen("/proc/self/statm", "r");
	if (file == NULL || fscanf(file, "%ld", &pages) != 1)
		return 1;
	fclose(file);
	getrlimit(RLIMIT_AS, &limit);
	limit.rlim_cur = (rlim_t)(pages * sysconf(_SC_PAGESIZE) + (8 << 20));
	setrlimit(RLIMIT_AS, &limit);
	errno = 0;
	told = yescrypt_r(NULL, &local, (const uint8_t *)"a", 1, (const uint8_t *)setting, NULL,
	           buffer, sizeof buffer) == NULL && errno == ENOMEM;
	errno = 0;
	told &= crypt_r("a", setting, &data)[0] == '*' && errno == ENOMEM;
	told &= saltern_hash(site, "a", 1, stored, sizeof stored, NULL) == SALTERN_INTERNAL;
	limit.rlim_cur = limit.rlim_max;
	setrlimit(RLIMIT_AS, &limit);
	told &= saltern_hash(site, "a", 1, stored, sizeof stored, NULL) == SALTERN_OK;
	told &= crypt_r("a", setting, &data)[0] == '$';
	saltern_close(site);
	yescrypt_free_local(&local);
	return !told;
}

int main(int argc, char **argv)
{
	if (argc != 2)
		return 3;
	image = argv[1];
	if (large_fails())
		return 2;
	for (size_t i = 0; i < sizeof calls / sizeof *calls; i++) {
		for (int all = 0; all < 2; all++) {
			long n = 0, errors = 0;
			int hit = 1;

			calls[i].run();
			for (; hit; n++) {
				atomic_store(&stays, all);
				atomic_store(&countdown, n + 1);
				errors += calls[i].run();
				/* Whether so many allocations were made at all. */
				hit = all ? atomic_load(&countdown) == 0 : atomic_load(&countdown) == -2;
				atomic_store(&countdown, -1);
			}
			/* With memory again, all is as before. */
			if (calls[i].run() != 0)
				return 1;
			printf("%s %s: %ld points, %ld errors\n", calls[i].name, all ? "all" : "one",
			    n - 1, errors);
			fflush(stdout);
		}
	}
	return 0;
}
