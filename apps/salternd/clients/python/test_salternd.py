"""Against a service that runs: test_salternd.py SOCKET. Its policy has cost 1."""

import http.server
import os
import socketserver
import sys
import tempfile
import threading
import time
import unittest

from salternd import Client, Problem

SOCKET = sys.argv.pop(1)


class Calls(unittest.TestCase):
    def setUp(self):
        self.client = Client(SOCKET)
        self.addCleanup(self.client.close)

    def test_a_password_is_hashed_and_verified(self):
        stored = self.client.hash("correct horse")
        self.assertTrue(stored.startswith("$y$j75$"))
        self.assertTrue(self.client.verify("alice", "correct horse", stored).matches)
        self.assertEqual(self.client.verify("alice", "battery staple", stored).outcome, "mismatch")
        self.assertEqual(self.client.verify("mallory", "x", None).outcome, "mismatch")
        self.assertEqual(self.client.verify("alice", "x", "!" + stored).outcome, "locked")
        self.assertEqual((self.client.needs_rehash(stored), self.client.rekey(stored)), ((), None))

    def test_bytes_need_not_be_unicode(self):
        stored = self.client.hash(b"\xff\xfe")
        self.assertTrue(self.client.verify("a", b"\xff\xfe", stored).matches)
        self.assertFalse(self.client.verify("a", b"\xff\xfd", stored).matches)

    def test_what_was_not_done_is_a_problem(self):
        for call, outcome, reason in [
            (lambda: self.client.verify("a", "x", "nonsense"), "bad-input", "bad-input"),
            (lambda: self.client.hash("x" * 600), "over-limit", "over-limit"),
            (lambda: self.client.hash("x" * 2_000_000), "over-limit", "too-large"),
            (lambda: self.client.hash("x", timeout_ms=0), "overloaded", "too-late"),
        ]:
            with self.assertRaises(Problem) as caught:
                call()
            self.assertEqual((caught.exception.outcome, caught.exception.reason), (outcome, reason))
        with self.assertRaises(OSError):
            Client(SOCKET + ".none").hash("x")

    def test_an_address_may_end_with_a_slash(self):
        connection = Client("http://localhost:8443/")._connect()
        self.assertEqual((connection.host, connection.port), ("localhost", 8443))

    def test_threads_have_connections_of_their_own(self):
        stored, wrong = self.client.hash("x"), []

        def calls():
            for _ in range(10):
                if not self.client.verify("a", "x", stored).matches:
                    wrong.append(1)

        threads = [threading.Thread(target=calls) for _ in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.assertEqual(wrong, [])

    def test_processes_have_connections_of_their_own(self):
        stored = self.client.hash("x")
        children = []
        for password, right in [("x", True), ("y", False)]:
            child = os.fork()
            if child == 0:
                wrong = 1
                try:
                    wrong = any(self.client.verify("a", password, stored).matches != right for _ in range(50))
                finally:
                    os._exit(wrong)
            children.append(child)
        ends = [os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) for child in children]
        self.assertEqual(ends, [0, 0])
        self.assertTrue(self.client.verify("a", "x", stored).matches)

    def test_an_answer_that_was_not_waited_for_is_given_to_nobody(self):
        with tempfile.TemporaryDirectory() as folder, Late(folder + "/socket") as late:
            threading.Thread(target=late.serve_forever, args=(0.01,), daemon=True).start()
            client = Client(folder + "/socket", timeout=0.2)
            self.assertEqual(client.hash("prompt"), "1")
            for _ in range(2):
                with self.assertRaises(TimeoutError):
                    client.hash("late")
            self.assertEqual(client.hash("prompt"), "4")
            for _ in range(2):
                with self.assertRaises(ConnectionError):
                    client.hash("short")
            self.assertEqual(client.hash("prompt"), "7")
            for strange in ["strange", "strange list"]:
                with self.assertRaises(ConnectionError):
                    client.hash(strange)
            self.assertEqual(client.hash("prompt"), "10")
            client.close()
            late.shutdown()

    def test_a_client_that_is_refused_sends_less_and_asks_again(self):
        with tempfile.TemporaryDirectory() as folder, Late(folder + "/socket") as late:
            threading.Thread(target=late.serve_forever, args=(0.01,), daemon=True).start()
            client = Client(folder + "/socket", patience=30)
            # Every second request is refused, with 10 ms to wait.
            self.assertEqual([client.hash("busy") for _ in range(3)], ["2", "4", "6"])
            client.close()
            client, reasons = Client(folder + "/socket"), []
            before = late.requests
            for _ in range(400):
                with self.assertRaises(Problem) as caught:
                    client.hash("full")
                reasons.append(caught.exception.reason)
            sent = late.requests - before
            self.assertEqual(reasons.count("queue-full"), sent)
            self.assertEqual(reasons.count("throttled"), 400 - sent)
            self.assertLess(sent, 150)
            client.close()
            late.shutdown()

    def test_a_connection_that_was_idle_for_too_long_is_no_error(self):
        self.client.hash("x")
        # The service of this test ends idle connections after 200 ms.
        time.sleep(0.6)
        self.client.hash("x")


class Late(socketserver.ThreadingUnixStreamServer):
    """Answers with the number of the request: after a second where it asks for that, or with half an answer."""

    daemon_threads, block_on_close = True, False

    def __init__(self, path):
        super().__init__(path, Answers)
        self.requests = 0


class Answers(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_POST(self):
        self.server.requests += 1
        body = b'{"outcome": "hashed", "hash": "%d"}' % self.server.requests
        asked = self.rfile.read(int(self.headers["content-length"]))
        if b"strange" in asked:
            body = b"[1]" if b"list" in asked else b"<html>"
        if b"late" in asked:
            time.sleep(1)
        short = b"short" in asked
        status = 200
        if b"full" in asked or b"busy" in asked and self.server.requests % 2:
            status = 503
            body = b'{"outcome": "overloaded", "type": "urn:saltern:problem:queue-full", "retry_after_ms": 10}'
        self.close_connection = short
        try:
            self.send_response(status)
            self.send_header("content-length", str(len(body) + short))
            self.end_headers()
            self.wfile.write(body)
        except BrokenPipeError:
            self.close_connection = True

    def address_string(self):
        return ""

    def log_message(self, *_):
        pass


if __name__ == "__main__":
    unittest.main()
