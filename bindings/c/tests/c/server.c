/*
 * A server with a thread for each connection, as any program that calls crypt(3): a line
 * "PASSWORD SETTING" is answered by what crypt_r says. It prints its port, and ends with its standard
 * input, telling how many connections it had.
 */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <crypt.h>
#include <poll.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

static void *serve(void *connection)
{
	struct crypt_data *data = (struct crypt_data *)calloc(1, sizeof *data);
	FILE *stream = fdopen((int)(long)connection, "r+");
	char line[1024];

	while (data != NULL && stream != NULL && fgets(line, sizeof line, stream) != NULL) {
		char *setting = strchr(line, ' ');

		if (setting == NULL)
			break;
		*setting++ = '\0';
		setting[strcspn(setting, "\n")] = '\0';
		/* Between reading and writing, a stream has to be positioned. */
		fseek(stream, 0, SEEK_CUR);
		fprintf(stream, "%s\n", crypt_r(line, setting, data));
		fflush(stream);
	}
	if (stream != NULL)
		fclose(stream);
	free(data);
	return NULL;
}

int main(void)
{
	struct sockaddr_in address = {.sin_family = AF_INET};
	socklen_t length = sizeof address;
	int listener = socket(AF_INET, SOCK_STREAM, 0), connections = 0;
	struct pollfd ready[2] = {{.fd = 0, .events = POLLIN}, {.fd = listener, .events = POLLIN}};

	address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	if (bind(listener, (struct sockaddr *)&address, length) != 0 || listen(listener, 64) != 0 ||
	    getsockname(listener, (struct sockaddr *)&address, &length) != 0)
		return 1;
	printf("%d\n", ntohs(address.sin_port));
	fflush(stdout);
	while (poll(ready, 2, -1) > 0 && ready[0].revents == 0) {
		pthread_t thread;
		long connection = accept(listener, NULL, NULL);

		if (connection < 0 || pthread_create(&thread, NULL, serve, (void *)connection) != 0)
			return 1;
		pthread_detach(thread);
		connections++;
	}
	printf("%d\n", connections);
	return 0;
}
