/*
 * Threads that call crypt_r at the same moment: the failed calls, and the memory at the peak.
 *
 *   load THREADS CALLS [SETTING [STACK]]
 *
 * Each thread makes as many calls, in a stack of STACK KiB (the system's default otherwise). Prints
 * the number of failed calls, then the peaks of resident memory and of address space, in KiB.
 */
#define _GNU_SOURCE
#include <crypt.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char *setting = "$y$j9T$LdJMENpBABJJ3hIHjB1Bi.";
static pthread_barrier_t all;
static atomic_int failed;
static int calls;

static void *run(void *data)
{
	pthread_barrier_wait(&all);
	for (int i = 0; i < calls; i++) {
		char *made = crypt_r("pleaseletmein", setting, data);

		if (made == NULL || made[0] == '*')
			failed++;
	}
	return NULL;
}

/* A number of KiB from the process's status. */
static long status(const char *name)
{
	FILE *file = fopen("/proc/self/status", "r");
	char line[256];
	long value = -1;

	while (file != NULL && fgets(line, sizeof line, file) != NULL)
		if (strncmp(line, name, strlen(name)) == 0)
			value = strtol(line + strlen(name) + 1, NULL, 10);
	if (file != NULL)
		fclose(file);
	return value;
}

int main(int argc, char **argv)
{
	int threads = argc > 1 ? atoi(argv[1]) : 0;
	pthread_t *running = calloc((size_t)threads, sizeof *running);
	struct crypt_data *data = calloc((size_t)threads, sizeof *data);
	pthread_attr_t attributes;

	if (argc < 3 || threads < 1 || running == NULL || data == NULL)
		return 2;
	calls = atoi(argv[2]);
	if (argc > 3)
		setting = argv[3];
	pthread_attr_init(&attributes);
	if (argc > 4 && pthread_attr_setstacksize(&attributes, (size_t)atoi(argv[4]) << 10) != 0)
		return 3;
	pthread_barrier_init(&all, NULL, (unsigned)threads);
	for (int i = 0; i < threads; i++)
		if (pthread_create(&running[i], &attributes, run, &data[i]) != 0)
			return 4;
	for (int i = 0; i < threads; i++)
		pthread_join(running[i], NULL);
	printf("%d %ld %ld\n", failed, status("VmHWM"), status("VmPeak"));
	return 0;
}
