/*
 * Threads, forks, signals, the end of the process, and pointers that are null: argv[1] says which.
 * Ends with status 0 if all is as it has to be.
 */
#define _GNU_SOURCE
#include <blake2.h>
#include <crypt.h>
#include <dirent.h>
#include <errno.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <saltern.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>
#include <yescrypt.h>

#define CHECK(what) \
	do { \
		if (!(what)) { \
			fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, #what); \
			_exit(1); \
		} \
	} while (0)

#define THREADS 64

static const char setting[] = "$y$j75$LdJMENpBABJJ3hIHjB1Bi.";
static const char other[] = "$7$6/..../....salt";
static char expected[2][128];
static saltern *site;

/* A hash by each of the interfaces. */
static void hash_all(unsigned seed)
{
	struct crypt_data *data = (struct crypt_data *)calloc(1, sizeof *data);
	char update[SALTERN_STRING_SIZE];
	saltern_login login = {"a", 1, "secret", 6, expected[0]};
	yescrypt_local_t local;
	uint8_t buffer[256];

	CHECK(data != NULL && yescrypt_init_local(&local) == 0);
	for (unsigned i = 0; i < 6; i++) {
		int which = (int)((seed + i) % 2);
		const char *text = which ? other : setting;

		CHECK(strcmp(crypt_r("secret", text, data), expected[which]) == 0);
		CHECK(strcmp(crypt("secret", text), expected[which]) == 0);
		CHECK(yescrypt_r(NULL, &local, (const uint8_t *)"secret", 6, (const uint8_t *)text, NULL,
		    buffer, sizeof buffer) == buffer);
		CHECK(strcmp((char *)buffer, expected[which]) == 0);
		if (site != NULL)
			CHECK(saltern_verify(site, &login, update, sizeof update, NULL) == SALTERN_OK);
	}
	CHECK(yescrypt_free_local(&local) == 0);
	free(data);
}

static void *run(void *seed)
{
	hash_all((unsigned)(size_t)seed);
	return NULL;
}

static void start(pthread_t *threads, int count)
{
	for (int i = 0; i < count; i++)
		CHECK(pthread_create(&threads[i], NULL, run, (void *)(size_t)i) == 0);
}

static void join(pthread_t *threads, int count)
{
	for (int i = 0; i < count; i++)
		CHECK(pthread_join(threads[i], NULL) == 0);
}

static long resident(void)
{
	long pages = 0;
	FILE *file = fopen("/proc/self/statm", "r");

	CHECK(file != NULL && fscanf(file, "%*d %ld", &pages) == 1);
	fclose(file);
	return pages * sysconf(_SC_PAGESIZE);
}

static void many(void)
{
	pthread_t threads[THREADS];

	start(threads, THREADS);
	join(threads, THREADS);
}

/* What threads kept is given back when they end. */
static void *keep(void *unused)
{
	struct crypt_data data;

	memset(&data, 0, sizeof data);
	CHECK(crypt_r("secret", "$y$j9T$LdJMENpBABJJ3hIHjB1Bi.", &data)[0] == '$');
	return unused;
}

static void memory(void)
{
	pthread_t threads[8];
	long before = resident();

	for (int i = 0; i < 8; i++)
		CHECK(pthread_create(&threads[i], NULL, keep, NULL) == 0);
	join(threads, 8);
	/* Eight times 16 MiB, and no more than a little of it is left. */
	CHECK(resident() - before < 16 << 20);
}

/* More threads than can wait for each other. */
static void *crypt_often(void *seed)
{
	struct crypt_data *data = (struct crypt_data *)calloc(1, sizeof *data);

	CHECK(data != NULL);
	for (int i = 0; i < 5; i++)
		CHECK(strcmp(crypt_r("secret", setting, data), expected[0]) == 0);
	free(data);
	return seed;
}

static void crowd(void)
{
	pthread_t threads[200];

	for (int i = 0; i < 200; i++)
		CHECK(pthread_create(&threads[i], NULL, crypt_often, NULL) == 0);
	join(threads, 200);
}

/* What is kept is for as many threads as there are processors, however many are there. */
static pthread_barrier_t all_have_hashed;

static void *keep_and_stay(void *unused)
{
	keep(unused);
	pthread_barrier_wait(&all_have_hashed);
	pthread_barrier_wait(&all_have_hashed);
	return unused;
}

static void bound(void)
{
	pthread_t threads[24];
	long before = resident();
	cpu_set_t given, two;

	CHECK(sched_getaffinity(0, sizeof given, &given) == 0);
	CPU_ZERO(&two);
	for (int cpu = 0; cpu < CPU_SETSIZE && CPU_COUNT(&two) < 2; cpu++)
		if (CPU_ISSET(cpu, &given))
			CPU_SET(cpu, &two);
	CHECK(sched_setaffinity(0, sizeof two, &two) == 0);
	CHECK(pthread_barrier_init(&all_have_hashed, NULL, 25) == 0);
	for (int i = 0; i < 24; i++)
		CHECK(pthread_create(&threads[i], NULL, keep_and_stay, NULL) == 0);
	pthread_barrier_wait(&all_have_hashed);
	/* Two places, each for up to two hashes of 16 MiB at a time. */
	CHECK(resident() - before < 96 << 20);
	pthread_barrier_wait(&all_have_hashed);
	join(threads, 24);
}

/* A process with one thread that has hashed, and has forbidden itself all but to read and write. */
static void locked(void)
{
	static struct crypt_data data;

	CHECK(strcmp(crypt_r("secret", setting, &data), expected[0]) == 0);
	CHECK(prctl(PR_SET_SECCOMP, SECCOMP_MODE_STRICT) == 0);
	/* Other ways to end are forbidden, too. */
	syscall(SYS_exit, strcmp(crypt_r("secret", setting, &data), expected[0]) != 0);
}

/* A thread that is cancelled while it is in here. */
static void *go_on(void *unused)
{
	char output[192];

	for (;;) {
		saltern *other;

		CHECK(crypt_gensalt_rn("$y$", 0, NULL, 0, output, sizeof output) == output);
		CHECK(saltern_open("/proc/self/status", &other, NULL) == SALTERN_BAD_INPUT);
		pthread_testcancel();
	}
	return unused;
}

/* The same, at any instruction of crypt_r, and of this function. */
static void *go_on_anywhere(void *unused)
{
	static __thread struct crypt_data data;
	int before;

	CHECK(pthread_setcanceltype(PTHREAD_CANCEL_ASYNCHRONOUS, &before) == 0);
	for (;;)
		if (crypt_r("secret", setting, &data) == NULL)
			return unused;
}

static void cancelled(void)
{
	for (int i = 0; i < 100; i++) {
		pthread_t thread;
		void *end;

		CHECK(pthread_create(&thread, NULL, i < 50 ? go_on : go_on_anywhere, NULL) == 0);
		usleep(1000);
		CHECK(pthread_cancel(thread) == 0 && pthread_join(thread, &end) == 0);
		CHECK(end == PTHREAD_CANCELED);
	}
}

/* The threads of a site leave all signals to those of the program. */
static void masks(void)
{
	DIR *tasks = opendir("/proc/self/task");
	struct dirent *task;
	int others = 0;

	CHECK(tasks != NULL);
	while ((task = readdir(tasks)) != NULL) {
		unsigned long long blocked = 0;
		char name[300], line[256];
		FILE *status;

		if (atoi(task->d_name) == 0 || atoi(task->d_name) == getpid())
			continue;
		snprintf(name, sizeof name, "/proc/self/task/%s/status", task->d_name);
		CHECK((status = fopen(name, "r")) != NULL);
		while (fgets(line, sizeof line, status) != NULL)
			sscanf(line, "SigBlk: %llx", &blocked);
		fclose(status);
		/* All that can be blocked by programs, of which SIGTERM is one. */
		CHECK(blocked >> (SIGTERM - 1) & 1 && blocked >> (SIGALRM - 1) & 1);
		others++;
	}
	closedir(tasks);
	CHECK(others > 0);
}

/* A child of a process whose threads were hashing. */
static void forks(void)
{
	pthread_t threads[8];
	char stored[SALTERN_STRING_SIZE];
	int status;

	start(threads, 8);
	for (int i = 0; i < 20; i++) {
		pid_t child = fork();

		CHECK(child >= 0);
		if (child == 0) {
			/* The threads of the site are not here; a new one works. */
			alarm(60);
			CHECK(saltern_hash(site, "secret", 6, stored, sizeof stored, NULL) ==
			    SALTERN_INTERNAL);
			site = NULL;
			if (i % 4 == 0)
				CHECK(saltern_open(NULL, &site, NULL) == SALTERN_OK);
			if (i % 2 == 0) {
				start(threads, 4);
				join(threads, 4);
			} else {
				hash_all(0);
			}
			_exit(0);
		}
		CHECK(waitpid(child, &status, 0) == child);
		CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 0);
	}
	join(threads, 8);
}

static volatile sig_atomic_t rings;

static void ring(int number)
{
	(void)number;
	rings++;
}

/* Calls that a signal interrupts, again and again, without being restarted. */
static void signals(void)
{
	struct itimerval often = {{0, 500}, {0, 500}};
	struct sigaction action;
	pthread_t threads[4];

	memset(&action, 0, sizeof action);
	action.sa_handler = ring;
	CHECK(sigaction(SIGALRM, &action, NULL) == 0);
	CHECK(setitimer(ITIMER_REAL, &often, NULL) == 0);
	for (int i = 0; i < 5; i++) {
		start(threads, 4);
		hash_all(0);
		join(threads, 4);
	}
	memset(&often, 0, sizeof often);
	CHECK(setitimer(ITIMER_REAL, &often, NULL) == 0);
	CHECK(rings > 10);
}

static void at_end(void)
{
	/* Threads may still be hashing; this one can. */
	CHECK(strcmp(crypt("secret", setting), expected[0]) == 0);
	hash_all(1);
}

static void ends(void)
{
	static pthread_t threads[8];

	CHECK(atexit(at_end) == 0);
	start(threads, 8);
	exit(0);
}

/* Strings that are sealed for an account. */
static void seals(void)
{
	static const char policy[] =
	    "[params]\ncost = 1\n[seal]\nrequired = true\n[[seal.keys]]\nname = \"a\"\n"
	    "file = \"seal.key\"\nfingerprint = \"375517c7da22b70b\"\nactive = true\n";
	char folder[] = "/tmp/saltern-seals-XXXXXX", file[64];
	char stored[SALTERN_STRING_SIZE], update[SALTERN_STRING_SIZE], plain[SALTERN_STRING_SIZE];
	saltern_login login = {"alice", 5, "secret", 6, stored};
	saltern_message message;
	saltern *sealing, *alice, *bob;
	unsigned char key[32];
	FILE *out;

	memset(key, 7, sizeof key);
	CHECK(mkdtemp(folder) != NULL);
	snprintf(file, sizeof file, "%s/seal.key", folder);
	CHECK((out = fopen(file, "wb")) != NULL && fwrite(key, 1, 32, out) == 32 && fclose(out) == 0);
	CHECK(saltern_open_text(policy, folder, &sealing, NULL) == SALTERN_OK);
	CHECK(unlink(file) == 0 && rmdir(folder) == 0);
	CHECK(saltern_for_account(sealing, "alice", 5, &alice, NULL) == SALTERN_OK);
	CHECK(saltern_for_account(sealing, "bob", 3, &bob, NULL) == SALTERN_OK);
	/* Without an account no string can be made. */
	CHECK(saltern_hash(sealing, "secret", 6, stored, sizeof stored, &message) == SALTERN_BAD_INPUT);
	CHECK(strstr(message.text, "account") != NULL && !stored[0]);
	CHECK(saltern_hash(alice, "secret", 6, stored, sizeof stored, NULL) == SALTERN_OK);
	CHECK(strncmp(stored, "{seal=a+375517c7da22b70b,", 25) == 0);
	/* Whatever the handle, a login names the account. */
	CHECK(saltern_verify(bob, &login, update, sizeof update, NULL) == SALTERN_OK && !update[0]);
	CHECK(saltern_seal(alice, stored, update, sizeof update, NULL) == SALTERN_OK && !update[0]);
	CHECK(saltern_seal(bob, stored, update, sizeof update, NULL) == SALTERN_TAMPERED);
	CHECK(saltern_rekey(bob, stored, update, sizeof update, NULL) == SALTERN_TAMPERED);
	login.account = "bob";
	login.account_length = 3;
	CHECK(saltern_verify(alice, &login, NULL, 0, &message) == SALTERN_TAMPERED && message.text[0]);
	strcpy(plain, strchr(stored, '}') + 1);
	login.stored = plain;
	CHECK(saltern_verify(alice, &login, NULL, 0, NULL) == SALTERN_TAMPERED);
	saltern_close(bob);
	CHECK(saltern_for_account(NULL, "a", 1, &bob, NULL) == SALTERN_BAD_INPUT && bob == NULL);
	saltern_close(alice);
	saltern_close(sealing);
}

/* Null pointers wherever one can be. */
static void nulls(void)
{
	char stored[SALTERN_STRING_SIZE], update[SALTERN_STRING_SIZE], small[8];
	saltern_message message;
	static const saltern_password passwords[20];
	static saltern_answer answers[20];
	saltern_answer answer;
	saltern_ticket *ticket = NULL;
	saltern_login login = {NULL, 0, NULL, 0, NULL};
	saltern_login wrong = {NULL, 1, NULL, 1, NULL};
	saltern *same = (saltern *)(void *)1;
	unsigned reasons;
	yescrypt_params_t params = {YESCRYPT_DEFAULTS, 64, 8, 1, 0, 0, 0};
	yescrypt_local_t local;
	yescrypt_shared_t shared = {NULL, NULL, 0, 0};
	uint8_t out[64], misplaced[sizeof params + 1];
	blake2b_state state;

	CHECK(saltern_open(NULL, NULL, &message) == SALTERN_BAD_INPUT && message.text[0]);
	CHECK(saltern_open("/no/such/policy", &same, &message) == SALTERN_UNAVAILABLE && !same);
	CHECK(saltern_open_text(NULL, NULL, &same, NULL) == SALTERN_BAD_INPUT);
	CHECK(saltern_open_text("[params]\ncost = 99\n", NULL, &same, &message) == SALTERN_BAD_INPUT);
	CHECK(strstr(message.text, "params.cost = 99"));
	CHECK(saltern_hash(NULL, "a", 1, stored, sizeof stored, NULL) == SALTERN_BAD_INPUT);
	CHECK(saltern_hash(site, NULL, 1, stored, sizeof stored, NULL) == SALTERN_BAD_INPUT);
	CHECK(saltern_hash(site, "a", 1, NULL, 512, NULL) == SALTERN_BAD_INPUT);
	CHECK(saltern_hash(site, "a", 1, small, sizeof small, NULL) == SALTERN_BAD_INPUT);
	CHECK(saltern_hash(site, "a\0b", 3, stored, sizeof stored, NULL) == SALTERN_BAD_INPUT);
	CHECK(saltern_hash(site, NULL, 0, stored, sizeof stored, NULL) == SALTERN_OK);
	CHECK(saltern_verify(site, NULL, NULL, 0, NULL) == SALTERN_BAD_INPUT);
	CHECK(saltern_verify(site, &wrong, NULL, 0, NULL) == SALTERN_BAD_INPUT);
	CHECK(saltern_verify(site, &login, NULL, 0, NULL) == SALTERN_MISMATCH);
	login.stored = "!";
	CHECK(saltern_verify(site, &login, NULL, 0, NULL) == SALTERN_LOCKED);
	login.stored = "$6$salt$hash";
	CHECK(saltern_verify(site, &login, stored, sizeof stored, &message) < 0 && message.text[0]);
	login.stored = stored;
	CHECK(saltern_hash(site, NULL, 0, stored, sizeof stored, NULL) == SALTERN_OK);
	CHECK(saltern_verify(site, &login, NULL, 0, NULL) == SALTERN_OK);
	CHECK(saltern_needs_rehash(site, stored, &reasons, NULL) == SALTERN_OK && reasons == 0);
	/* The password in the place of the string, and the stored string in that of the update. */
	strcpy(stored, "secret");
	CHECK(saltern_hash(site, stored, 6, stored, sizeof stored, NULL) == SALTERN_OK);
	login.password = "secret";
	login.password_length = 6;
	CHECK(saltern_verify(site, &login, stored, sizeof stored, NULL) == SALTERN_OK && !stored[0]);
	CHECK(saltern_hash(site, NULL, 0, stored, sizeof stored, NULL) == SALTERN_OK);
	CHECK(saltern_needs_rehash(site, "$y$j75$LdJMENpBABJJ3hIHjB1Bi.$LOFz5qVpaHYHlkfy7RM1hH9gRBSqy5"
	                                 "mk4KRmFVRFKM4", &reasons, NULL) == SALTERN_OK);
	CHECK(reasons == SALTERN_OUTDATED_COST);
	CHECK(saltern_needs_rehash(site, stored, NULL, NULL) == SALTERN_BAD_INPUT);
	/* Whatever goes wrong, no string that was there before is taken for an answer. */
	strcpy(small, "$");
	CHECK(saltern_rekey(site, stored, small, sizeof small, NULL) == SALTERN_BAD_INPUT && !small[0]);
	strcpy(small, "$");
	CHECK(saltern_verify(site, &login, small, sizeof small, NULL) == SALTERN_BAD_INPUT && !small[0]);
	strcpy(update, "$");
	CHECK(saltern_rekey(site, "junk", update, sizeof update, NULL) < 0 && !update[0]);
	CHECK(saltern_hash_start(site, "a", 1, NULL, NULL) == SALTERN_BAD_INPUT);
	CHECK(saltern_hash_start(site, "a", 1, &ticket, NULL) == SALTERN_OK);
	CHECK(saltern_wait(ticket, -1, stored, sizeof stored, NULL) == SALTERN_OK && stored[0] == '$');
	CHECK(saltern_wait(ticket, -1, stored, sizeof stored, NULL) == SALTERN_BAD_INPUT);
	saltern_ticket_free(ticket);
	CHECK(saltern_wait(NULL, 0, stored, sizeof stored, NULL) == SALTERN_BAD_INPUT);
	CHECK(saltern_share(site, NULL, 1, &same, NULL) == SALTERN_BAD_INPUT && !same);
	CHECK(saltern_share(site, "shop", 3, &same, NULL) == SALTERN_OK);
	CHECK(saltern_hash(same, "a", 1, stored, sizeof stored, NULL) == SALTERN_OK);
	saltern_close(same);
	CHECK(saltern_within(site, 1, &same, NULL) == SALTERN_OK);
	for (int i = 0; i < 20; i++)
		CHECK(saltern_hash(same, "a", 1, stored, sizeof stored, NULL) <= SALTERN_OK);
	saltern_close(same);
	/* More items than may wait in the pool. */
	CHECK(saltern_open_text("[params]\ncost = 1\n[pool]\nqueue = 4\n", NULL, &same, NULL) ==
	    SALTERN_OK);
	CHECK(saltern_hash_many(same, passwords, answers, 20, NULL) == SALTERN_OK);
	for (int i = 0; i < 20; i++)
		CHECK(answers[i].status == SALTERN_OK && answers[i].string[0] == '$');
	saltern_close(same);
	CHECK(saltern_hash_many(site, NULL, &answer, 1, NULL) == SALTERN_BAD_INPUT);
	CHECK(saltern_verify_many(site, &wrong, &answer, 1, NULL) == SALTERN_OK);
	CHECK(answer.status == SALTERN_BAD_INPUT && answer.message.text[0]);
	CHECK(saltern_rom_attach("/no/such/rom", NULL, (saltern_rom **)(void *)&same, NULL) ==
	    SALTERN_UNAVAILABLE);
	CHECK(saltern_rom_size(NULL) == 0 && saltern_notes(NULL, NULL, 0) == 0);
	CHECK(saltern_derive(NULL, NULL, NULL, NULL, 0, NULL) == SALTERN_BAD_INPUT);
	saltern_close(NULL);
	saltern_ticket_free(NULL);
	saltern_rom_free(NULL);

	CHECK(yescrypt_init_local(NULL) == -1 && yescrypt_free_local(NULL) == -1);
	CHECK(yescrypt_init_local(&local) == 0);
	CHECK(yescrypt_kdf(NULL, NULL, NULL, 0, NULL, 0, &params, out, 32) == -1 && errno == EINVAL);
	CHECK(yescrypt_kdf(NULL, &local, NULL, 0, NULL, 0, NULL, out, 32) == -1);
	CHECK(yescrypt_kdf(NULL, &local, NULL, 1, NULL, 0, &params, out, 32) == -1);
	CHECK(yescrypt_kdf(NULL, &local, NULL, 0, NULL, 0, &params, NULL, 32) == -1);
	CHECK(yescrypt_kdf(&shared, &local, NULL, 0, NULL, 0, &params, out, 32) == -1);
	CHECK(yescrypt_kdf(NULL, &local, NULL, 0, NULL, 0, &params, out, 32) == 0);
	/* Parameters that are not aligned; the password in the place of the output. */
	memcpy(misplaced + 1, &params, sizeof params);
	CHECK(yescrypt_kdf(NULL, &local, NULL, 0, NULL, 0,
	    (const yescrypt_params_t *)(void *)(misplaced + 1), out + 32, 32) == 0);
	CHECK(memcmp(out, out + 32, 32) == 0);
	CHECK(yescrypt_kdf(NULL, &local, out, 64, out, 64, &params, out, 64) == 0);
	CHECK(yescrypt_kdf(NULL, &local, NULL, 0, NULL, 0, &params, NULL, 0) == 0);
	CHECK(local.aligned != NULL && local.aligned_size >= 64 * 8 * 128);
	CHECK(yescrypt_r(NULL, &local, NULL, 0, NULL, NULL, out, 64) == NULL);
	CHECK(yescrypt_r(NULL, &local, NULL, 0, (const uint8_t *)setting, NULL, NULL, 0) == NULL);
	CHECK(yescrypt(NULL, NULL) == NULL && yescrypt(NULL, (const uint8_t *)setting) == NULL);
	CHECK(strcmp((char *)yescrypt((const uint8_t *)"secret", (const uint8_t *)setting),
	    expected[0]) == 0);
	CHECK(yescrypt_reencrypt(NULL, NULL, NULL) == NULL);
	CHECK(yescrypt_encode_params_r(NULL, NULL, 0, out, 64) == NULL);
	CHECK(yescrypt_encode_params(&params, NULL, (size_t)-1) == NULL);
	CHECK(yescrypt_init_shared(NULL, NULL, 0, &params) == -1);
	CHECK(yescrypt_digest_shared(NULL) == NULL && yescrypt_digest_shared(&shared) == NULL);
	CHECK(yescrypt_free_shared(NULL) == -1 && yescrypt_free_shared(&shared) == 0);
	CHECK(yescrypt_free_local(&local) == 0 && yescrypt_free_local(&local) == 0);

	CHECK(blake2b_init(NULL, 32) == -1 && blake2b_update(NULL, "a", 1) == -1);
	CHECK(blake2b_init_param(&state, NULL) == -1 && blake2b(NULL, 32, "a", 1, NULL, 0) == -1);
	CHECK(blake2b(out, 32, NULL, 1, NULL, 0) == -1 && blake2b(out, 32, "a", 1, NULL, 1) == -1);
	CHECK(blake2b_init(&state, 32) == 0 && blake2b_final(&state, NULL, 32) == -1);
	CHECK(blake2b_final(&state, out, 31) == -1);
	/* A struct that is no state. */
	memset(&state, 0xff, sizeof state);
	CHECK(blake2b_update(&state, "a", 1) == -1 && blake2b_final(&state, out, 64) == -1);

	CHECK(crypt(NULL, setting)[0] == '*' && errno == EINVAL);
	CHECK(crypt_r("a", setting, NULL) == NULL);
	CHECK(crypt_rn("a", setting, NULL, 0) == NULL && errno == ERANGE);
	CHECK(crypt_ra("a", setting, NULL, NULL) == NULL);
	CHECK(crypt_gensalt_rn("$y$", 0, NULL, 0, NULL, 192) == NULL);
	CHECK(crypt_gensalt_rn("$y$", 0, "x", -1, stored, 192) == NULL && stored[0] == '*');
	CHECK(crypt_checksalt(setting) == CRYPT_SALT_OK);
	CHECK(strcmp(crypt_preferred_method(), "$y$") == 0);
}

int main(int argc, char **argv)
{
	static const struct {
		const char *name;
		void (*run)(void);
		int has_site;
	} parts[] = {{"many", many, 1}, {"memory", memory, 0}, {"forks", forks, 1},
	    {"signals", signals, 1}, {"ends", ends, 1}, {"nulls", nulls, 1}, {"crowd", crowd, 0},
	    {"bound", bound, 0}, {"locked", locked, 0}, {"cancelled", cancelled, 0}, {"masks", masks, 1},
	    {"seals", seals, 0}};

	/* From the functions under test, which others compare with vectors. */
	for (int i = 0; i < 2; i++)
		snprintf(expected[i], sizeof expected[i], "%s", crypt("secret", i ? other : setting));
	CHECK(expected[0][0] == '$' && expected[1][0] == '$');
	for (size_t i = 0; argc == 2 && i < sizeof parts / sizeof *parts; i++)
		if (strcmp(parts[i].name, argv[1]) == 0) {
			if (parts[i].has_site)
				CHECK(saltern_open(NULL, &site, NULL) == SALTERN_OK);
			parts[i].run();
			saltern_close(site);
			return 0;
		}
	return 2;
}
