/* Lines of words: byte strings are hexadecimal, "-" is an empty one and "NULL" a null pointer. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct {
	uint8_t *start;
	size_t length;
} bytes;

/* Exactly as much as there is and a zero byte, so that a memory checker sees what is read beyond. */
static bytes next_bytes(void)
{
	const char *word = strtok(NULL, " \n");
	bytes read = {NULL, 0};
	unsigned digit;

	if (word == NULL || strcmp(word, "NULL") == 0)
		return read;
	read.length = strcmp(word, "-") == 0 ? 0 : strlen(word) / 2;
	read.start = (uint8_t *)calloc(read.length + 1, 1);
	for (size_t i = 0; i < read.length; i++) {
		sscanf(word + 2 * i, "%2x", &digit);
		read.start[i] = (uint8_t)digit;
	}
	return read;
}

static const char *next_word(void)
{
	const char *word = strtok(NULL, " \n");
	return word == NULL ? "0" : word;
}
