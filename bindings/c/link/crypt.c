/*
 * The names and versions under which programs look for crypt(3) and related functions. The
 * functions themselves are in Rust (src/crypt.rs), under names that do not clash.
 *
 * SPDX-License-Identifier: MIT OR Apache-2.0
 */
#if defined(__x86_64__)
#define OLD "GLIBC_2.2.5"
#elif defined(__aarch64__)
#define OLD "GLIBC_2.17"
#else
#error "the first version of crypt(3) in this system's libcrypt is not known here"
#endif

#include <pthread.h>

struct crypt_data;

/* A function for new programs, and an alias for those linked with glibc's old libcrypt. */
#define EXPORT(name, version) __asm__(".symver new_" #name "," #name "@@" version)
#define EXPORT_OLD(name) __asm__(".symver old_" #name "," #name "@" OLD)

/*
 * A thread that can be cancelled at any instruction (PTHREAD_CANCEL_ASYNCHRONOUS) is cancelled when
 * the call is over: what unwinds then has only this function to leave, not Rust's, which would end
 * the process.
 */
#define DEFINE(type, prefix, name, params, args) \
	extern type saltern_##name params; \
	type prefix##name params; \
	__attribute__((used, retain)) type prefix##name params \
	{ \
		type answer; \
		int before; \
\
		pthread_setcanceltype(PTHREAD_CANCEL_DEFERRED, &before); \
		answer = saltern_##name args; \
		pthread_setcanceltype(before, NULL); \
		return answer; \
	}

#define CRYPT (const char *phrase, const char *setting)
#define CRYPT_R (const char *phrase, const char *setting, struct crypt_data *data)
#define CRYPT_RN (const char *phrase, const char *setting, void *data, int size)
#define CRYPT_RA (const char *phrase, const char *setting, void **data, int *size)
#define GENSALT (const char *prefix, unsigned long count, const char *rbytes, int nrbytes)
#define GENSALT_RN \
	(const char *prefix, unsigned long count, const char *rbytes, int nrbytes, char *output, \
	    int output_size)

DEFINE(char *, new_, crypt, CRYPT, (phrase, setting))
DEFINE(char *, new_, crypt_r, CRYPT_R, (phrase, setting, data))
DEFINE(char *, old_, crypt, CRYPT, (phrase, setting))
DEFINE(char *, old_, crypt_r, CRYPT_R, (phrase, setting, data))
DEFINE(char *, new_, crypt_rn, CRYPT_RN, (phrase, setting, data, size))
DEFINE(char *, new_, crypt_ra, CRYPT_RA, (phrase, setting, data, size))
DEFINE(char *, new_, crypt_gensalt, GENSALT, (prefix, count, rbytes, nrbytes))
DEFINE(char *, new_, crypt_gensalt_ra, GENSALT, (prefix, count, rbytes, nrbytes))
DEFINE(char *, new_, crypt_gensalt_rn, GENSALT_RN,
    (prefix, count, rbytes, nrbytes, output, output_size))
DEFINE(int, new_, crypt_checksalt, (const char *setting), (setting))
DEFINE(const char *, new_, crypt_preferred_method, (void), ())

EXPORT(crypt, "XCRYPT_2.0");
EXPORT(crypt_r, "XCRYPT_2.0");
EXPORT(crypt_rn, "XCRYPT_2.0");
EXPORT(crypt_ra, "XCRYPT_2.0");
EXPORT(crypt_gensalt, "XCRYPT_2.0");
EXPORT(crypt_gensalt_rn, "XCRYPT_2.0");
EXPORT(crypt_gensalt_ra, "XCRYPT_2.0");
EXPORT(crypt_checksalt, "XCRYPT_4.3");
EXPORT(crypt_preferred_method, "XCRYPT_4.4");
EXPORT_OLD(crypt);
EXPORT_OLD(crypt_r);
