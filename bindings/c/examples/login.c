/*
 * A password from its hash to a login: hash, verify, and store the update.
 *
 *     cc login.c $(pkg-config --cflags --libs saltern) -o login && ./login
 */
#include <saltern.h>

#include <stdio.h>
#include <string.h>

/* What a table of accounts would hold. */
static char stored[SALTERN_STRING_SIZE];

static int login(const saltern *site, const char *password)
{
	char update[SALTERN_STRING_SIZE];
	saltern_message message;
	saltern_login attempt;
	saltern_status status;

	attempt.account = "alice";
	attempt.account_length = 5;
	attempt.password = password;
	attempt.password_length = strlen(password);
	attempt.stored = stored;
	status = saltern_verify(site, &attempt, update, sizeof update, &message);
	printf("%s: %s\n", password, saltern_status_name(status));
	if (status < 0)
		/* The password was not found to be wrong: say so to an operator, not to alice. */
		fprintf(stderr, "%s\n", message.text);
	if (status == SALTERN_OK && update[0] != '\0')
		/* Where the old string still stands. */
		memcpy(stored, update, sizeof stored);
	return status;
}

int main(void)
{
	saltern_message message;
	saltern *site;
	int right, wrong;

	if (saltern_open(NULL, &site, &message) != SALTERN_OK ||
	    saltern_hash(site, "correct horse", 13, stored, sizeof stored, &message) != SALTERN_OK) {
		fprintf(stderr, "%s\n", message.text);
		return 2;
	}
	right = login(site, "correct horse");
	wrong = login(site, "battery staple");
	saltern_close(site);
	return right == SALTERN_OK && wrong == SALTERN_MISMATCH ? 0 : 1;
}
