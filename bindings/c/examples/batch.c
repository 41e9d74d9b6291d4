/*
 * Many passwords at once, and one that is waited for with a deadline.
 *
 *     cc batch.c $(pkg-config --cflags --libs saltern) -o batch && ./batch
 */
#include <saltern.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define COUNT 8

static const char policy[] =
    "[params]\n"
    "cost = 1\n"
    "[pool]\n"
    "deadline = \"10s\"\n";

/* Hashes all passwords in the time that logins leave. */
static int import(const saltern *site, saltern_answer *answers)
{
	static const char *const words[COUNT] = {"a", "b", "c", "d", "e", "f", "g", "h"};
	saltern_password passwords[COUNT];
	saltern *bulk;
	size_t i;
	int failed = 0;

	for (i = 0; i < COUNT; i++) {
		passwords[i].bytes = words[i];
		passwords[i].length = strlen(words[i]);
	}
	if (saltern_bulk(site, &bulk, NULL) != SALTERN_OK)
		return 1;
	if (saltern_hash_many(bulk, passwords, answers, COUNT, NULL) != SALTERN_OK)
		failed = 1;
	saltern_close(bulk);
	for (i = 0; i < COUNT && !failed; i++)
		if (answers[i].status != SALTERN_OK) {
			fprintf(stderr, "%s: %s\n", words[i], answers[i].message.text);
			failed = 1;
		}
	return failed;
}

/* A server does other work while a login is computed. */
static saltern_status login(const saltern *site, const char *stored)
{
	char update[SALTERN_STRING_SIZE];
	saltern_message message;
	saltern_ticket *ticket;
	saltern_login attempt;
	saltern_status status;

	attempt.account = "c";
	attempt.account_length = 1;
	attempt.password = "c";
	attempt.password_length = 1;
	attempt.stored = stored;
	status = saltern_verify_start(site, &attempt, &ticket, &message);
	if (status == SALTERN_OK) {
		while ((status = saltern_wait(ticket, 1, update, sizeof update, &message)) ==
		    SALTERN_PENDING)
			putchar('.');
		saltern_ticket_free(ticket);
	}
	if (status < 0)
		fprintf(stderr, "%s\n", message.text);
	return status;
}

int main(void)
{
	saltern_message message;
	saltern_answer *answers;
	saltern *site;
	int done = 2;

	answers = (saltern_answer *)calloc(COUNT, sizeof *answers);
	if (saltern_open_text(policy, NULL, &site, &message) != SALTERN_OK || answers == NULL) {
		fprintf(stderr, "%s\n", message.text);
		free(answers);
		return 2;
	}
	if (import(site, answers) == 0)
		done = login(site, answers[2].string) == SALTERN_OK ? 0 : 1;
	printf(done == 0 ? " c is in\n" : " c is not in\n");
	free(answers);
	saltern_close(site);
	return done;
}
