/*
 * Asks two libraries the same: argv[1] and argv[2] are loaded apart from each other, and each line
 * is answered by what both say, a tab between them. Words are as in words.h.
 *
 *     crypt FUNCTION PHRASE SETTING SIZE     FUNCTION: crypt, r, rn, ra
 *     gensalt FUNCTION PREFIX COUNT RANDOM SIZE
 *     check SETTING
 */
#define _GNU_SOURCE
#include <crypt.h>
#include <dlfcn.h>
#include <errno.h>

#include "words.h"

typedef struct {
	char *(*crypt)(const char *, const char *);
	char *(*crypt_r)(const char *, const char *, struct crypt_data *);
	char *(*crypt_rn)(const char *, const char *, void *, int);
	char *(*crypt_ra)(const char *, const char *, void **, int *);
	char *(*gensalt)(const char *, unsigned long, const char *, int);
	char *(*gensalt_rn)(const char *, unsigned long, const char *, int, char *, int);
	char *(*gensalt_ra)(const char *, unsigned long, const char *, int);
	int (*check)(const char *);
} library;

static library libraries[2];

#define FIND(place, name) (*(void **)&libraries[i].place = dlsym(handle, name))

static int load(int i, const char *file)
{
	void *handle = dlopen(file, RTLD_NOW | RTLD_LOCAL);

	if (handle == NULL) {
		fprintf(stderr, "%s\n", dlerror());
		return 1;
	}
	return !FIND(crypt, "crypt") || !FIND(crypt_r, "crypt_r") || !FIND(crypt_rn, "crypt_rn") ||
	    !FIND(crypt_ra, "crypt_ra") || !FIND(gensalt, "crypt_gensalt") ||
	    !FIND(gensalt_rn, "crypt_gensalt_rn") || !FIND(gensalt_ra, "crypt_gensalt_ra") ||
	    !FIND(check, "crypt_checksalt");
}

static const char *text(bytes read)
{
	return (const char *)read.start;
}

static long next_number(void)
{
	return strtol(next_word(), NULL, 10);
}

/* What is answered, what is in the buffer, and errno. */
static void tell(const char *answer, const char *buffer, size_t length, int number)
{
	printf("%s ", answer == NULL ? "NULL" : answer);
	for (size_t i = 0; i < length && buffer[i] != '\0'; i++)
		putchar(buffer[i]);
	printf(" %d", answer == NULL || answer[0] == '*' ? number : 0);
}

static void ask_crypt(const library *library, const char *function, const char *phrase,
    const char *setting, int size)
{
	struct crypt_data *data = (struct crypt_data *)calloc(1, sizeof *data);
	void *grown = NULL;
	int room = 0;
	char *answer;

	errno = 0;
	if (strcmp(function, "crypt") == 0) {
		answer = library->crypt(phrase, setting);
		tell(answer, "", 0, errno);
	} else if (strcmp(function, "r") == 0) {
		answer = library->crypt_r(phrase, setting, data);
		tell(answer, data->output, sizeof data->output, errno);
	} else if (strcmp(function, "rn") == 0) {
		answer = library->crypt_rn(phrase, setting, data, size);
		tell(answer, data->output, sizeof data->output, errno);
	} else {
		if (size > 0) {
			grown = calloc((size_t)size, 1);
			room = size;
		}
		answer = library->crypt_ra(phrase, setting, &grown, &room);
		tell(answer, grown ? (char *)grown : "", grown ? 384 : 0, errno);
		printf(" %d", room);
		free(grown);
	}
	free(data);
}

static void ask_gensalt(const library *library, const char *function, const char *prefix,
    unsigned long count, const char *random, int length, int size)
{
	char output[256] = "untouched";
	char *answer;

	errno = 0;
	if (strcmp(function, "gensalt") == 0) {
		answer = library->gensalt(prefix, count, random, length);
		tell(answer, "", 0, errno);
	} else if (strcmp(function, "rn") == 0) {
		answer = library->gensalt_rn(prefix, count, random, length, output, size);
		tell(answer, output, sizeof output, errno);
	} else {
		answer = library->gensalt_ra(prefix, count, random, length);
		tell(answer, "", 0, errno);
		free(answer);
	}
}

int main(int argc, char **argv)
{
	static char line[1 << 18];

	if (argc != 3 || load(0, argv[1]) || load(1, argv[2]))
		return 2;
	while (fgets(line, sizeof line, stdin) != NULL) {
		const char *what = strtok(line, " \n");
		const char *function = strcmp(what, "check") == 0 ? "" : strtok(NULL, " \n");
		bytes first = next_bytes(), second = {NULL, 0};
		unsigned long count = 0;
		long size = 0;

		if (strcmp(what, "crypt") == 0) {
			second = next_bytes();
			size = next_number();
		} else if (strcmp(what, "gensalt") == 0) {
			count = (unsigned long)next_number();
			second = next_bytes();
			size = next_number();
		}
		for (int i = 0; i < 2; i++) {
			if (strcmp(what, "crypt") == 0)
				ask_crypt(&libraries[i], function, text(first), text(second), (int)size);
			else if (strcmp(what, "gensalt") == 0)
				ask_gensalt(&libraries[i], function, text(first), count, text(second),
				    (int)second.length, (int)size);
			else
				printf("%d", libraries[i].check(text(first)));
			putchar(i == 0 ? '\t' : '\n');
		}
		fflush(stdout);
		free(first.start);
		free(second.start);
	}
	return 0;
}
