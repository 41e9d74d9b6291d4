/*
 * The libraries' memory allocation (the linker's --wrap): memory from the system or, if it has none,
 * a piece of the reserve in src/reserve.rs. Memory that is passed to a program never comes from here
 * (src/crypt.rs). With PRELOAD, small allocations come from the reserve first, which its head explains.
 * Also the destructors that the standard library runs when a thread ends: the C
 * library would end the process if it had no memory to register them.
 *
 * SPDX-License-Identifier: MIT OR Apache-2.0
 */
#include <errno.h>
#include <malloc.h>
#include <pthread.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

extern void *saltern_reserve_take(size_t bytes);
extern void *saltern_reserve_take_first(size_t bytes);
extern size_t saltern_reserve_size(const void *address);
extern int saltern_reserve_give(void *address);

extern void *__real_malloc(size_t size);
extern void *__real_calloc(size_t count, size_t size);
extern void *__real_realloc(void *old, size_t size);
extern int __real_posix_memalign(void **place, size_t alignment, size_t size);
extern void __real_free(void *old);

void *__wrap_malloc(size_t size);
void *__wrap_calloc(size_t count, size_t size);
void *__wrap_realloc(void *old, size_t size);
int __wrap_posix_memalign(void **place, size_t alignment, size_t size);
void __wrap_free(void *old);

#ifdef PRELOAD
#define FIRST(size) ((size) <= 1024 ? saltern_reserve_take_first(size) : NULL)
#else
#define FIRST(size) NULL
#endif

void *__wrap_malloc(size_t size)
{
	void *new = FIRST(size);

	if (new == NULL)
		new = __real_malloc(size);
	return new != NULL ? new : saltern_reserve_take(size);
}

void *__wrap_calloc(size_t count, size_t size)
{
	void *new = __real_calloc(count, size);

	if (new != NULL || (size != 0 && count > SIZE_MAX / size))
		return new;
	new = saltern_reserve_take(count * size);
	return new != NULL ? memset(new, 0, count * size) : NULL;
}

int __wrap_posix_memalign(void **place, size_t alignment, size_t size)
{
	void *new;
	int failed = __real_posix_memalign(place, alignment, size);

	/* Pieces are aligned to this. */
	if (failed != ENOMEM || alignment > 256)
		return failed;
	new = saltern_reserve_take(size);
	if (new == NULL)
		return failed;
	*place = new;
	return 0;
}

void *__wrap_realloc(void *old, size_t size)
{
	size_t has = saltern_reserve_size(old);
	void *new = has == 0 ? __real_realloc(old, size) : __wrap_malloc(size);

	if (new == NULL && has == 0) {
		has = old != NULL ? malloc_usable_size(old) : 0;
		new = saltern_reserve_take(size);
	} else if (has == 0) {
		return new;
	}
	if (new == NULL)
		return NULL;
	if (has != 0)
		memcpy(new, old, has < size ? has : size);
	__wrap_free(old);
	return new;
}

void __wrap_free(void *old)
{
	if (!saltern_reserve_give(old))
		__real_free(old);
}

/* The destructors to run when a thread ends, the last first. */
struct ending {
	void (*run)(void *);
	void *of;
	struct ending *next;
};

static __thread struct ending *endings;
static pthread_key_t key;
static int has_key;
static pthread_once_t once = PTHREAD_ONCE_INIT;

static void end(void *unused)
{
	struct ending *first;

	(void)unused;
	while ((first = endings) != NULL) {
		void (*run)(void *) = first->run;
		void *of = first->of;

		endings = first->next;
		__wrap_free(first);
		run(of);
	}
}

static void make_key(void)
{
	has_key = pthread_key_create(&key, end) == 0;
}

extern int __real___cxa_thread_atexit_impl(void (*run)(void *), void *of, void *library);
int __wrap___cxa_thread_atexit_impl(void (*run)(void *), void *of, void *library);

int __wrap___cxa_thread_atexit_impl(void (*run)(void *), void *of, void *library)
{
	struct ending *new;

	/* The key has a value while there are destructors to run; its own destructor needs no more. */
	if (pthread_once(&once, make_key) != 0 || !has_key || pthread_setspecific(key, &key) != 0)
		return __real___cxa_thread_atexit_impl(run, of, library);
	new = __wrap_malloc(sizeof *new);
	if (new == NULL)
		return -1;
	new->run = run;
	new->of = of;
	new->next = endings;
	endings = new;
	return 0;
}
