#!/usr/bin/env python3
"""Tests hostile HTTP (H01-H29): each request gets its response, and the server keeps serving."""
import concurrent.futures
import email.utils
import gzip
import json
import os
import resource
import socket
import threading
import time

import server
from server import CHAT, TEXT, Server, Wire, chunked, eventually, head, post

BODY = {"messages": [{"role": "user", "content": "Hi"}], "max_tokens": 1}
JSON = json.dumps(BODY).encode()
LINE_MAX, HEAD_MAX, FIELDS_MAX, BODY_MAX = 8 << 10, 32 << 10, 100, 8 << 20
# A second request behind a bad one: its response must never be sent.
SECOND = head("GET", "/livez")


def framed(*fields, body=b"", version="HTTP/1.1"):
    """A POST with exactly these fields about its body."""
    return head("POST", CHAT, [("Content-Type", "application/json"), *fields],
                version=version) + body


class Heads(server.ServerTest):
    def test_h01_request_lines(self):
        self.refused(head(path="/" + "a" * LINE_MAX), 414)
        self.refused(b"A" * (1 << 20), 400)
        self.refused(b"A" * (1 << 20) + b" / HTTP/1.1\r\n\r\n", 400)
        self.refused(bytes(range(128, 256)) * 10, 400)
        self.refused(b"\0\0\0\0\r\n\r\n", 400)
        self.refused(b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", 505)
        self.refused(b"GET /health\r\n\r\n", 400)
        self.refused(head(version="HTTP/2.0"), 505)
        self.refused(head(version="HTTP/1.2"), 505)
        for line in (b"GET  /health HTTP/1.1", b" GET /health HTTP/1.1", b"GET\t/health HTTP/1.1",
                     b"GET /health HTTP/1.1 ", b"GET /health http/1.1", b"GET /a b HTTP/1.1",
                     b"GET HTTP/1.1", b"G@T / HTTP/1.1", b"GET health HTTP/1.1", b"",
                     b"GET /health HTTP/11"):
            with self.subTest(line=line):
                self.refused(line + b"\r\nHost: localhost\r\n\r\n", 400)

    def test_h01_tls_is_closed_without_a_word(self):
        with Wire(self.server) as wire:
            wire.send(b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03" + bytes(200))
            self.assertEqual(wire.ends(), b"")

    def test_h01_at_most_a_line_of_log_a_second(self):
        before = len(self.server.lines)
        for _ in range(50):
            self.refused(b"garbage\r\n\r\n", 400)
        times = [json.loads(line)["time"] for line in self.server.lines[before:]]
        # The lines' own times say how many seconds there were. A line may come in the part of a
        # second at either end, and its time is a little later than the server's decision.
        seconds = max(times, default=0) - min(times, default=0)
        self.assertLessEqual(len(times), 3 + seconds)

    def test_h02_too_many_fields(self):
        many = [(f"X-{i}", "v") for i in range(FIELDS_MAX)]
        self.refused(head(fields=many), 431)
        self.assertEqual(self.server.get("/health", many[1:]).status, 200)
        self.refused(head(fields=[("X-Long", "v" * (64 << 10))]), 431)
        self.refused(head(fields=[(f"X-{i}", "v" * 1000) for i in range(40)]), 431)

    def test_h02_a_head_without_an_end(self):
        with Wire(self.server) as wire:
            wire.send(b"GET / HTTP/1.1\r\nHost: localhost\r\n" + b"X: y\r\n" * 200_000)
            self.assertEqual(wire.reply().status, 431)

    def test_h03_fields(self):
        for line in (b"NoColon", b"Name : value", b" Folded: value", b"X: a\r\n folded",
                     b"X: a\0b", b"X: a\rb", b"X: a\nY: b", b": empty", b"X\xff: a", b"X: \x1f",
                     b"X Y: a", b"X: a\x7f", b"X: a\x01", b"(X): a", b"\tX: a"):
            with self.subTest(line=line):
                data = b"GET /health HTTP/1.1\r\nHost: localhost\r\n" + line + b"\r\n\r\n"
                self.refused(data + SECOND, 400)

    def test_h03_bytes_from_0x80_in_values(self):
        every = bytes(range(0x80, 0x100)).decode("latin-1")
        for name in ("X", "User-Agent", "traceparent", "Origin", "Authorization", "Connection"):
            with self.subTest(name=name):
                reply = self.server.get("/health", [(name, every[-40:])])
                self.assertEqual(reply.status, 200, reply)
                self.assertTrue(all(value.isascii() for _, value in reply.fields), reply)
        reply = self.server.exchange(head(host="localhost" + every))
        self.assert_error(reply, 421, "misdirected_request")

    def test_empty_lines_before_a_request_line(self):
        with Wire(self.server) as wire:
            for count in (1, 2, 16):
                wire.send(b"\r\n" * count + post(CHAT, BODY))
                self.assertEqual(wire.reply().status, 200)
            # Some clients send an empty line behind each body.
            wire.send((post(CHAT, BODY) + b"\r\n") * 3)
            for _ in range(3):
                self.assertEqual(wire.reply().status, 200)
        self.refused(b"\r\n" * 10_000, 400)
        for start in (b"\n", b"\r\n\n", b"\r", b" \r\n"):
            with self.subTest(start=start):
                self.refused(start + head() + SECOND, 400)

    def test_h04_hosts(self):
        self.refused(head(host=None), 400)
        self.refused(head(fields=[("Host", "localhost")]), 400)
        for host in ("evil.com", "localhost.evil.com", "127.0.0.1.nip.io", "evil.com:80", "", ":80",
                     "127.0.0.2", "0.0.0.0", "[::2]"):
            with self.subTest(host=host):
                reply = self.server.exchange(head(host=host))
                self.assert_error(reply, 421, "misdirected_request")
        for host in ("localhost", "LOCALHOST:1234", "127.0.0.1", "127.0.0.1:9", "[::1]",
                     "[::1]:80"):
            with self.subTest(host=host):
                self.assertEqual(self.server.exchange(head(host=host)).status, 200)

    def test_h05_lengths(self):
        for value in ("-1", "+5", "0x10", "5,5", "5, 5", "1" * 20, "", "5 5", "five", "5.0", "1e1"):
            with self.subTest(value=value):
                self.refused(framed(("Content-Length", value), body=b"{}   ") + SECOND, 400)
        for second in ("5", "6"):
            data = framed(("Content-Length", "5"), ("Content-Length", second), body=b"{}   ")
            self.refused(data + SECOND, 400)
        self.refused(framed(), 411)

    def test_h06_codings(self):
        body = chunked([JSON])
        for fields, status in (
                ([("Content-Length", "5"), ("Transfer-Encoding", "chunked")], 400),
                ([("Transfer-Encoding", "chunked"), ("Content-Length", "5")], 400),
                ([("Transfer-Encoding", "chunked, identity")], 501),
                ([("Transfer-Encoding", "identity")], 501),
                ([("Transfer-Encoding", "chunked"), ("Transfer-Encoding", "chunked")], 400),
                ([("Transfer-Encoding", "xchunked")], 501),
                ([("Transfer-Encoding", "gzip, chunked")], 501),
                ([("Transfer-Encoding", "")], 501),
                ([("Transfer-Encoding", "\tchunked")], 400),
                ([("Transfer-Encoding", "chunked\t")], 400)):
            with self.subTest(fields=fields):
                self.refused(framed(*fields, body=body) + SECOND, status)
        self.refused(framed(("Transfer-Encoding", "chunked"), body=body, version="HTTP/1.0")
                     + SECOND, 400)
        self.assertEqual(self.server.exchange(
            framed(("Transfer-Encoding", "Chunked"), body=body)).status, 200)

    def test_h16_smuggling(self):
        """Forty ways to make two readers see two different ends; the second never runs."""
        body = b"0\r\n\r\n"
        names = (b"Transfer-Encoding", b"transfer-encoding", b"TRANSFER-ENCODING")
        lines = [name + b": chunked" for name in names]
        lines += [b"Transfer-Encoding : chunked", b"Transfer-Encoding\t: chunked",
                  b" Transfer-Encoding: chunked", b"X: y\r\n Transfer-Encoding: chunked",
                  b"Transfer-Encoding: \x0bchunked", b"Transfer-Encoding:\tchunked",
                  b"Transfer-Encoding: chunked\x00", b"Transfer-Encoding: \"chunked\"",
                  b"Transfer-Encoding: x\r\nTransfer-Encoding: chunked",
                  b"Transfer-Encoding: chunked\r\nTransfer-Encoding: x",
                  b"Transfer-Encoding\n: chunked", b"X: y\nTransfer-Encoding: chunked",
                  b"X: y\rTransfer-Encoding: chunked", b"Transfer-Encoding: chunked, chunked",
                  b"Transfer-Encoding: identity, chunked", b"Transfer-Encoding: chunked;x=1",
                  b"Transfer-Encoding: chunke\xc4\xb0d"]
        tried = 0
        for line in lines:
            for length in (b"Content-Length: 5", b"Content-Length: 40"):
                for first, second in ((line, length), (length, line)):
                    data = (b"POST " + CHAT.encode() + b" HTTP/1.1\r\nHost: localhost\r\n"
                            b"Content-Type: application/json\r\n" + first + b"\r\n" + second
                            + b"\r\n\r\n" + body + SECOND)
                    with self.subTest(first=first, second=second):
                        self.refused(data, 400, 501)
                        tried += 1
        self.assertGreaterEqual(tried, 40)

    def test_h17_methods_and_paths(self):
        ask = self.server.exchange
        for method in ("GET", "HEAD", "OPTIONS", "TRACE", "PUT", "DELETE", "PATCH", "BREW"):
            with self.subTest(method=method):
                reply = ask(head(method, CHAT), method)
                self.assertEqual((reply.status, reply.field("Allow")), (405, "POST"), reply)
        self.assertEqual(ask(head("POST", "/health", [("Content-Length", 0)])).status, 405)
        self.refused(head("CONNECT", "localhost:80"), 400)
        for path in ("/nothing", "//", "/v1//chat/completions", "/%2e%2e/", "/../etc/passwd",
                     "/v1/models/../../etc/passwd", "/%00", "/v1/models/%2e%2e", "/v1/models/a/b",
                     "/a" * 4000, "/V1/MODELS", "/v1/chat/completions//", "/health/x"):
            with self.subTest(path=path[:50]):
                self.assert_error(ask(head(path=path)), 404)
        for path in ("/a\0b", "/\x80", "/a#b", "*"):
            with self.subTest(path=path):
                self.refused(head(path=path), 400)

    def test_absolute_targets(self):
        for start in ("http://localhost", "HTTP://LocalHost:80", "https://127.0.0.1:8443",
                      "http://[::1]:1", "http://localhost:"):
            with self.subTest(start=start):
                reply = self.server.exchange(post(start + CHAT, BODY))
                self.assertEqual(reply.status, 200, reply)
                # The target's host counts, whatever Host says.
                reply = self.server.exchange(head(path=start + "/health", host="evil.com"))
                self.assertEqual(reply.status, 200, reply)
                for query in ("", "?a"):
                    reply = self.server.exchange(head(path=start + query))
                    self.assertEqual(reply.status, self.server.get("/" + query).status, reply)
        for host in ("evil.com", "localhost.evil.com", "evil.com:80", "127.0.0.2"):
            with self.subTest(host=host):
                reply = self.server.exchange(head(path=f"http://{host}/health"))
                self.assert_error(reply, 421, "misdirected_request")
        for target in ("http:///health", "http://localhost@evil.com/", "http://a:b@localhost/",
                       "http://localhost:x/", "http://[::1/", "ftp://localhost/", "http:/health",
                       "localhost/health", "http://local\\host/", "http://localhost/#a"):
            with self.subTest(target=target):
                self.refused(head(path=target) + SECOND, 400)
        self.refused(head(path="http://localhost/health", host=None), 400)

    def test_h26_forwarded_for_changes_nothing(self):
        for value in ("", ",,", "1.2.3.4", ",".join(["1.2.3.4"] * 3000)):
            reply = self.server.get("/health", [("X-Forwarded-For", value)])
            self.assertEqual(reply.status, 200)
        # As much as a head may have; more is too much of anything.
        self.refused(head(fields=[("X-Forwarded-For", ",".join(["1.2.3.4"] * 10_000))]), 431)

    def test_h29_other_fields(self):
        for fields in ([("Range", "bytes=0-1")], [("If-None-Match", "*")],
                       [("If-Modified-Since", "Mon, 01 Jan 2024 00:00:00 GMT")],
                       [("Cookie", "a=b; c=d")],
                       [("Upgrade", "websocket"), ("Connection", "Upgrade"),
                        ("Sec-WebSocket-Key", "dGhlIHNhbXBsZSBub25jZQ=="),
                        ("Sec-WebSocket-Version", "13")],
                       [("Upgrade", "TLS/1.2"), ("Connection", "upgrade")],
                       [("Upgrade", "h2c"), ("Connection", "Upgrade, HTTP2-Settings"),
                        ("HTTP2-Settings", "AAMAAABkAARAAAAAAAIAAAAA")]):
            with self.subTest(fields=fields):
                reply = self.server.get("/health", fields)
                self.assertEqual((reply.status, reply.body), (200, b'{"status":"ok"}'))
                self.assertIsNone(reply.field("Upgrade"), reply)
                # The connection continues in HTTP/1.1 behind a body as well.
                with Wire(self.server) as wire:
                    wire.send(post(CHAT, BODY, fields) + SECOND)
                    self.assertEqual([wire.reply().status, wire.reply().status], [200, 200])

    def test_every_response_has_the_fields_of_safety(self):
        for reply in (self.server.get("/health"), self.server.get("/nothing"),
                      self.server.post(CHAT, BODY), self.server.post(CHAT, {**BODY, "stream": 1}),
                      self.server.post(CHAT, {**BODY, "stream": True}),
                      self.server.exchange(b"garbage\r\n\r\n")):
            self.assertEqual(reply.field("X-Content-Type-Options"), "nosniff", reply)
            self.assertEqual(reply.field("Cache-Control"), "no-store", reply)
            self.assertIsNone(reply.field("Server"), reply)

    def test_every_response_says_the_time(self):
        def date_now():
            before = int(time.time() - 0.1)  # C's time() is that of the last tick
            text = self.server.get("/health").field("Date")
            date = email.utils.parsedate_to_datetime(text)
            self.assertEqual(email.utils.format_datetime(date, usegmt=True), text)
            self.assertTrue(before <= date.timestamp() <= time.time(), (before, text))
            return text
        first = date_now()
        eventually("the date goes on", lambda: date_now() != first)


class Bodies(server.ServerTest):
    def chunks(self, body, *statuses):
        self.refused(framed(("Transfer-Encoding", "chunked"), body=body), *statuses)

    def test_h07_chunks(self):
        for body in (b"F" * 17 + b"\r\n", b"-1\r\n", b"0x5\r\n12345\r\n0\r\n\r\n",
                     b"5 ;ext\r\n12345\r\n0\r\n\r\n", b"2;" + b"e" * (64 << 10) + b"\r\n{}\r\n",
                     b"2\r\n{}0\r\n\r\n", b"2\n{}\r\n0\r\n\r\n", b"2\r\n{}\n0\r\n\r\n",
                     b"2\r\n{}xx0\r\n\r\n", b"\r\n{}\r\n0\r\n\r\n", b"2;\0\r\n{}\r\n0\r\n\r\n",
                     b"1\r\n{}\r\n0\r\n\r\n", b" 2\r\n{}\r\n0\r\n\r\n", b"+2\r\n{}\r\n0\r\n\r\n",
                     b"2\r\n{}\r\n0\r\nbad trailer\r\n\r\n",
                     b"2\r\n{}\r\n0\r\nX: " + b"t" * (100 << 10) + b"\r\n\r\n",
                     b"2\r\n{}\r\n0\r\nContent-Length: 5\r\n\r\n",
                     b"2\r\n{}\r\n0\r\nTransfer-Encoding: chunked\r\n\r\n",
                     b"2\r\n{}\r\n0\r\nHost: evil.com\r\n\r\n"):
            with self.subTest(body=body[:60]):
                self.chunks(body + SECOND, 400)
        self.chunks(b"FFFFFFFFFFFFFFF\r\n", 413)
        self.chunks(b"%x\r\n" % (BODY_MAX + 1), 413)
        # A thousand little extensions are as long as a long one.
        self.chunks(b"1;" + b"e" * 400 + b"\r\n{\r\n" + (b"1;" + b"e" * 400 + b"\r\n \r\n") * 1000,
                    400)

    def test_h07_good_chunks(self):
        for body in (chunked([JSON]), chunked([JSON[i:i + 1] for i in range(len(JSON))]),
                     b"%X;name=value\r\n%s\r\n000\r\nX-Trailer: dropped\r\n\r\n"
                     % (len(JSON), JSON)):
            reply = self.server.exchange(framed(("Transfer-Encoding", "chunked"), body=body))
            self.assertEqual(reply.status, 200, reply)

    def test_h07_a_million_chunks_of_a_byte(self):
        spaces = b"1\r\n \r\n" * (100_000 if server.ingot.SANITIZERS else 1_000_000)
        body = spaces + chunked([JSON])
        reply = self.server.exchange(framed(("Transfer-Encoding", "chunked"), body=body))
        self.assertEqual(reply.status, 200, reply)

    def test_h07_no_last_chunk(self):
        with Wire(self.server) as wire:
            wire.send(framed(("Transfer-Encoding", "chunked"), body=b"2\r\n{}\r\n")).end_writing()
            self.assertEqual(wire.ends(), b"")

    def test_h09_too_large(self):
        self.refused(framed(("Content-Length", BODY_MAX + 1)), 413)
        part = b" " * (1 << 20)
        self.refused(framed(("Transfer-Encoding", "chunked"),
                            body=(b"%x\r\n%s\r\n" % (len(part), part)) * 8 + b"1\r\n"), 413)
        # As large as may be is read, and what is in it is said.
        reply = self.server.post(CHAT, b" " * (BODY_MAX - 2) + b"{}")
        self.assert_error(reply, 400, param="messages")

    def test_h12_expect(self):
        length = ("Content-Length", len(JSON))
        with Wire(self.server) as wire:
            wire.send(framed(length, ("Expect", "100-continue")))
            self.assertEqual(wire.reply().status, 100)
            self.assertEqual(wire.send(JSON).reply().status, 200)
        # A client that does not wait gets no "100 Continue".
        reply = self.server.exchange(framed(length, ("Expect", "100-continue"), body=JSON))
        self.assertIn(reply.status, (100, 200), reply)
        self.refused(framed(("Content-Length", BODY_MAX + 1), ("Expect", "100-continue")), 413)
        self.refused(framed(length, ("Expect", "200-ok")), 417)
        with Wire(self.server) as wire:
            wire.send(framed(length, ("Expect", "100-CONTINUE")))
            self.assertEqual(wire.reply().status, 100)
            self.assertEqual(wire.send(JSON).reply().status, 200)

    def test_h13_content_encoding(self):
        for coding in ("deflate", "br", "zstd", "gzip, br", "gzip, gzip"):
            reply = self.refused(post(CHAT, BODY, [("Content-Encoding", coding)]), 415)
            self.assertEqual(reply.field("Accept-Encoding"), "gzip")
            self.assertIn("gzip", reply.error()["message"])
        reply = self.server.post(CHAT, BODY, [("Content-Encoding", "identity")])
        self.assertEqual(reply.status, 200, reply)

    def packed(self, data, coding="gzip"):
        return post(CHAT, data, [("Content-Encoding", coding)])

    def test_h13_gzip(self):
        data = gzip.compress(JSON)
        halves = gzip.compress(JSON[:9]) + gzip.compress(JSON[9:])
        with Wire(self.server) as wire:
            for body, coding in ((data, "gzip"), (data, "X-GZip"), (data, "identity, gzip"),
                                 (halves, "gzip")):
                self.assertEqual(wire.send(self.packed(body, coding)).reply().status, 200)
            wire.send(framed(("Transfer-Encoding", "chunked"), ("Content-Encoding", "gzip"),
                             body=chunked([data[:7], data[7:]])))
            self.assertEqual(wire.reply().status, 200)
        # An error in the data gets the same response as without gzip.
        reply = self.server.exchange(self.packed(gzip.compress(b"{}")))
        self.assert_error(reply, 400, param="messages")

    def test_h13_gzip_that_is_none(self):
        data = gzip.compress(JSON)
        damaged = data[:-8] + bytes([data[-8] ^ 1]) + data[-7:]
        for body in (JSON, data[:-1], data[:5], damaged, data + b"x", data + JSON, data + b"\0"):
            with self.subTest(body=body):
                self.refused(self.packed(body) + SECOND, 400)

    def test_h13_bombs(self):
        exact = self.server.exchange(self.packed(gzip.compress(b" " * (BODY_MAX - 2) + b"{}")))
        self.assert_error(exact, 400, param="messages")
        self.refused(self.packed(gzip.compress(b" " * (BODY_MAX - 1) + b"{}")), 413)
        bomb = self.packed(gzip.compress(bytes(64 << 20)) * 4)
        before = self.server.resident_bytes()
        for _ in range(8):
            self.refused(bomb, 413)
        if not server.ingot.SANITIZERS:
            self.assertLess(self.server.resident_bytes() - before, 64 << 20)

    def test_h14_content_type(self):
        for kind in ("text/plain", "application/x-www-form-urlencoded",
                     "multipart/form-data; boundary=x", None, "",
                     "application/json; charset=utf-16", "application/jsonp",
                     "application/json, text/plain", "text/json"):
            with self.subTest(kind=kind):
                reply = self.server.exchange(post(CHAT, BODY, type=kind))
                self.assert_error(reply, 415, "unsupported_media_type")
        for kind in ("application/json", "Application/JSON", "application/json; charset=utf-8",
                     'application/json;charset="UTF-8"'):
            with self.subTest(kind=kind):
                self.assertEqual(self.server.exchange(post(CHAT, BODY, type=kind)).status, 200)

    def test_h27_nothing_of_a_request_reaches_the_log_as_it_is(self):
        evil = "\x1b[2J\u202e" + "x" * 100_000
        with Wire(self.server) as wire:
            wire.send(b"GET /\x1b[2J HTTP/1.1\r\nHost: localhost\r\n\r\n").ends()
        self.refused(head(path="/health", fields=[("User-Agent", "\x1b[2J")]), 400)
        for body in ({**BODY, "model": evil}, {**BODY, "user": evil[:200]}, {**BODY, evil: 1},
                     {**BODY, "model": "a\r\nerror: fake"}):
            reply = self.server.post(CHAT, body)
            self.assertIn(reply.status, (200, 400, 404))
            self.assertLess(len(reply.body), 2000)
            self.assertNotIn(b"\x1b", reply.body)
            self.assertNotIn("\u202e".encode(), reply.body)
        for line in self.server.lines:
            self.assertTrue(line.isprintable(), repr(line))
            self.assertLess(len(line), 1500)

    def test_h27_a_refusal_has_path_address_and_error(self):
        body = {**BODY, "top_k": "x"}
        cases = ((head(path="/nothing?key=secret"), "/nothing", "not_found", None),
                 (head("PUT", CHAT), CHAT, "method_not_allowed", None),
                 (framed(), CHAT, "invalid_http", None),
                 (post(CHAT, body), CHAT, "invalid_value", "top_k"))
        for data, path, code, param in cases:
            def logged():
                # A line is written at most once a second for each status.
                reply = self.server.exchange(data)
                lines = [json.loads(line) for line in self.server.lines if line[:1] == "{"]
                return [line for line in lines if line.get("path") == path
                        and line.get("status") == reply.status and line.get("code") == code
                        and line.get("param") == param and line.get("peer") == "127.0.0.1"]
            eventually(f"{path} {code} is logged", logged)
        self.assertNotIn("secret", "".join(self.server.lines))

    def test_h28_metrics_have_no_names_of_clients(self):
        for i in range(300):
            self.server.get(f"/path-{i}")
            self.server.post(TEXT, {"model": f"model-{i}", "prompt": "x"})
        text = self.server.get("/metrics").body.decode()
        self.assertNotIn("path-", text)
        self.assertNotIn("model-1", text)
        self.assertIn('route="other"', text)


class Pipelines(server.ServerTest):
    args = ("--ctx", "16384")

    def test_h15_in_order(self):
        with Wire(self.server) as wire:
            for i in range(100):
                wire.send(post(TEXT, {"prompt": "x", "max_tokens": 1, "n": i % 3 + 1}))
            for i in range(100):
                reply = wire.reply()
                self.assertEqual(len(reply.json()["choices"]), i % 3 + 1, reply)

    def test_h15_nothing_runs_behind_a_malformed_one(self):
        self.assert_quiet()
        before = self.server.metric("vllm:request_success_total")
        one = post(TEXT, {"prompt": "x", "max_tokens": 1})
        with Wire(self.server) as wire:
            wire.send(one + b"malformed\r\n\r\n" + one * 50)
            self.assertEqual(wire.reply().status, 200)
            self.assertEqual(wire.reply().status, 400)
            self.assertEqual(wire.ends(), b"")
        eventually("it is counted",
                   lambda: self.server.metric("vllm:request_success_total") > before)
        self.assert_quiet()
        self.assertEqual(self.server.metric("vllm:request_success_total"), before + 1)

    def test_h15_an_unread_body_is_no_request(self):
        hidden = head("GET", "/livez")
        for first in (head("POST", "/nothing", [("Content-Length", len(hidden))]),
                      head("POST", CHAT, [("Content-Type", "text/plain"),
                                          ("Content-Length", len(hidden))])):
            with Wire(self.server) as wire:
                self.assertIn(wire.send(first + hidden).reply().status, (404, 415))
                self.assertEqual(wire.ends(), b"")

    def test_h15_what_is_read_ahead_is_bounded(self):
        """While a stream is not read, the server takes little of what is sent behind it."""
        with Wire(self.server, narrow=True) as wire:
            wire.send(post(TEXT, {"prompt": "x", "max_tokens": 16000, "ignore_eos": True,
                                  "logprobs": 20, "stream": True}))
            eventually("it is paused", lambda: self.server.metric("ingot:num_requests_paused") == 1)
            wire.socket.settimeout(0.5)
            sent = 0
            # The server's 64 KiB, and what the system holds in both directions.
            while sent < 32 << 20:
                try:
                    sent += wire.socket.send(head() * 1000)
                except TimeoutError:
                    break
            self.assertLess(sent, 32 << 20)

    def test_h22_a_thousand_on_one_connection(self):
        with Wire(self.server) as wire:
            for i in range(1000):
                reply = wire.send(head()).reply()
                self.assertEqual(reply.status, 200)
            self.assertEqual(wire.ends(), b"")

    def test_h22_keep_alive(self):
        with Wire(self.server) as wire:
            reply = wire.send(head(fields=[("Connection", "close")])).reply()
            self.assertEqual((reply.status, reply.field("Connection")), (200, "close"))
            self.assertEqual(wire.ends(), b"")
        with Wire(self.server) as wire:
            self.assertEqual(wire.send(head(version="HTTP/1.0")).reply().status, 200)
            self.assertEqual(wire.ends(), b"")
        # HTTP/1.0 is closed whatever it asks for, and told so.
        with Wire(self.server) as wire:
            asks = head(version="HTTP/1.0", fields=[("Connection", "keep-alive")])
            reply = wire.send(asks * 2).reply()
            self.assertEqual((reply.status, reply.field("Connection")), (200, "close"))
            self.assertEqual(wire.ends(), b"")
        # A stream to a client that knows no chunks ends with the connection.
        body = {**BODY, "stream": True}
        with Wire(self.server) as wire:
            reply = wire.send(post(CHAT, body, version="HTTP/1.0",
                                   fields=[("Connection", "keep-alive")])).reply()
            self.assertIsNone(reply.field("Transfer-Encoding"), reply)
            self.assertEqual(reply.events()[-1], "data: [DONE]")


class Timers(server.ServerTest):
    args = ("--idle-timeout", "2")

    def late(self, first, dribble):
        """Sends `first`, then `dribble` now and then: a 408 comes all the same."""
        with Wire(self.server) as wire:
            wire.send(first)
            wire.socket.settimeout(0.1)
            while not wire.got:
                try:
                    if not wire.more():
                        break
                except TimeoutError:
                    wire.send(dribble)
            wire.socket.settimeout(server.LIMIT_S)
            self.assert_error(wire.reply(), 408)
            self.assertEqual(wire.ends(), b"")

    def test_h10_h11_h20_heads_and_bodies_that_stall_and_idle_connections(self):
        """Both wait for timers, so they wait together."""
        before = self.server.metric("vllm:request_success_total")
        requests = ((b"GET / HTTP/1.1\r\n", b"x"),
                    (framed(("Content-Length", 1000), body=b"x" * 10), b""),
                    (framed(("Content-Length", 1000)), b"x"),
                    (framed(("Transfer-Encoding", "chunked")), b"1\r\nx\r\n"))
        with concurrent.futures.ThreadPoolExecutor(len(requests)) as pool:
            late = [pool.submit(self.late, *request) for request in requests]
            self.hold_idle_connections()
            for done in late:
                done.result()
        self.assertEqual(self.server.metric("vllm:request_success_total"), before)
        self.assert_quiet()

    def hold_idle_connections(self):
        """Many connections without a whole request stay small, and end by themselves."""
        count = 50 if server.ingot.SANITIZERS else 300
        held = []
        before = self.server.resident_bytes()
        for state in (b"", b"GET /health HTTP/1.1\r\nHost: loc", head()):
            for _ in range(count):
                held.append(Wire(self.server).send(state))
                if state.endswith(b"\r\n\r\n"):
                    held[-1].reply()
        eventually("all of them are open", lambda: self.server.metric("ingot:open_connections")
                   > count)
        if not server.ingot.SANITIZERS:
            # 16 KiB each, and what the allocator keeps of a burst.
            grown = self.server.resident_bytes() - before
            self.assertLess(grown, 3 * count * (16 << 10) + (4 << 20))
        self.assertEqual(self.server.get("/health").status, 200)
        for wire in held:
            wire.ends()
            wire.socket.close()


class Disconnects(server.ServerTest):
    args = ("--ctx", "8192", "--sequences", "4", "--write-stall", "1")
    LONG = {"prompt": "x", "max_tokens": 8000, "ignore_eos": True, "stream": True}

    def ended(self, reason):
        return self.server.metric("vllm:request_success_total", finished_reason=reason)

    def cut(self, how, when):
        """A long request whose client leaves; it ends early, and counts once."""
        aborted, tokens = self.ended("abort"), self.server.metric("vllm:generation_tokens_total")
        wire = Wire(self.server).send(post(TEXT, self.LONG))
        when(wire)
        how(wire)
        eventually("the request is cancelled", lambda: self.ended("abort") == aborted + 1)
        self.assert_quiet()
        made = self.server.metric("vllm:generation_tokens_total") - tokens
        self.assertLess(made, 7000)
        wire.socket.close()

    def test_h18_between_tokens(self):
        def reads_some(wire):
            wire.until(b'"text"')
        self.cut(lambda wire: wire.socket.close(), reads_some)
        self.cut(Wire.reset, reads_some)
        self.cut(Wire.end_writing, reads_some)  # half-close is a disconnect

    def test_h18_before_the_first_token(self):
        def runs(_):
            eventually("it runs", lambda: self.server.metric("vllm:num_requests_running") == 1)
        for how in (lambda wire: wire.socket.close(), Wire.reset, Wire.end_writing):
            self.cut(how, runs)

    def test_h18_during_prefill(self):
        body = post(TEXT, {**self.LONG, "prompt": [5] * 7000, "max_tokens": 1000})
        aborted = self.ended("abort")
        wire = Wire(self.server).send(body)
        eventually("it runs", lambda: self.server.metric("vllm:num_requests_running") == 1)
        wire.reset()
        eventually("the request is cancelled", lambda: self.ended("abort") == aborted + 1)
        self.assert_quiet()

    def test_h18_while_queued(self):
        aborted = self.ended("abort")
        running = [Wire(self.server).send(post(TEXT, self.LONG)) for _ in range(4)]
        for wire in running:
            wire.until(b'"text"')
        waiting = Wire(self.server).send(post(TEXT, self.LONG))
        eventually("one waits or runs", lambda: self.server.metric("vllm:num_requests_running")
                   + self.server.metric("vllm:num_requests_waiting")
                   + self.server.metric("ingot:num_requests_paused") == 5)
        waiting.reset()
        for wire in running:
            wire.socket.close()
        eventually("all are cancelled", lambda: self.ended("abort") == aborted + 5)
        self.assert_quiet()

    def test_h18_before_there_is_a_request(self):
        before = self.server.metric("vllm:request_success_total")
        for part in (b"", b"POST /v1/comp", framed(("Content-Length", 1000), body=b"{" * 10),
                     framed(("Transfer-Encoding", "chunked"), body=b"5\r\n{")):
            for how in (lambda wire: wire.socket.close(), Wire.reset, Wire.end_writing):
                wire = Wire(self.server).send(part)
                how(wire)
                wire.socket.close()
        self.assert_quiet()
        self.assertEqual(self.server.metric("vllm:request_success_total"), before)

    def test_h18_after_the_last_token(self):
        """The response is on its way: the request ended well, and counts as that."""
        before = self.ended("length")
        wire = Wire(self.server).send(post(TEXT, {"prompt": "x", "max_tokens": 2, "stream": True}))
        eventually("it ended", lambda: self.ended("length") == before + 1)
        wire.reset()
        self.assert_quiet()
        self.assertEqual(self.ended("length"), before + 1)

    def test_h19_a_reader_that_stops_reading(self):
        aborted = self.ended("abort") + self.ended("error")
        with Wire(self.server, narrow=True) as wire:
            wire.send(post(TEXT, {**self.LONG, "logprobs": 20}))
            # A slow machine gives it up before there was more than a connection holds.
            eventually("it is paused or given up",
                       lambda: self.server.metric("ingot:num_requests_paused") == 1
                       or self.ended("abort") + self.ended("error") > aborted)
            self.assert_sound()  # others are served
            self.assertLess(len(wire.got), 1 << 20)
            eventually("it is given up",
                       lambda: self.ended("abort") + self.ended("error") == aborted + 1)
            self.assert_quiet()


class Crowds(server.ServerTest):
    args = ("--connections", "8")

    def test_h20_connections_beyond_the_limit(self):
        held = [Wire(self.server)]
        while (reply := held[-1].send(head(path="/v1/models")).reply()).status == 200:
            held.append(Wire(self.server))
        # One or two that were just closed may still have counted.
        self.assertIn(len(held), (7, 8, 9))
        self.assertEqual((reply.status, reply.field("Retry-After")), (503, "1"))
        self.assertEqual(held[-1].ends(), b"")
        # The connections kept for probes can be taken too, for a while.
        probes = [Wire(self.server) for _ in range(6)]
        self.assertEqual(probes[-1].reply().status, 503)
        for wire in (*held, *probes):
            wire.socket.close()

        def is_back():
            return self.server.get("/health").status == 200
        eventually("there is room again", is_back)
        self.assertGreaterEqual(self.server.metric("ingot:refused_connections_total"), 1)


class Descriptors(server.ServerTest):
    @classmethod
    def setUpClass(cls):
        cls.server = Server(limits={resource.RLIMIT_NOFILE: 64})
        cls.addClassCleanup(cls.server.kill)
        cls.answer = cls.server.answer()
        cls.base = {"descriptors": cls.server.descriptors(), "threads": cls.server.threads()}

    def assert_rests(self):
        """A thread that tries again and again runs at nearly every look."""
        looks = []

        def rests():
            looks.append(self.server.is_asleep())
            return len(looks) >= 20 and all(looks[-20:])
        eventually("the server rests", rests)

    def test_h21_no_descriptors_left(self):
        # Fewer than the server counted on when it began.
        limit = self.server.descriptors() + 10
        before = resource.prlimit(self.server.process.pid, resource.RLIMIT_NOFILE, (limit, 64))
        self.addCleanup(resource.prlimit, self.server.process.pid, resource.RLIMIT_NOFILE, before)
        held = []
        for _ in range(20):
            held.append(Wire(self.server))
        eventually("all are used", lambda: self.server.descriptors() >= limit - 1)
        self.assert_rests()
        held[0].socket.setblocking(False)
        with self.assertRaises(BlockingIOError):
            held[0].more()
        for wire in held:
            wire.socket.close()
        self.assertEqual(self.server.get("/health").status, 200)

    def test_h21_few_descriptors_leave_room_for_probes(self):
        self.server.line("warning: --connections 1024 needs ")
        held = [Wire(self.server) for _ in range(60)]
        eventually("a probe is answered", lambda: self.server.get("/health").status == 200)
        self.assertEqual(held[-1].reply().status, 503)
        self.assertEqual(held[0].send(head()).reply().status, 200)
        for wire in held:
            wire.socket.close()
        eventually("there is room again", lambda: self.server.get("/health").status == 200)

    def test_h21_a_storm_of_connections(self):
        def storm():
            for _ in range(500):
                with socket.socket() as s:
                    s.connect(self.server.address)
        threads = [threading.Thread(target=storm) for _ in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.assertEqual(self.server.get("/health").status, 200)


class Announced(server.ServerTest):
    def test_bodies_that_do_not_come_keep_no_client_out(self):
        held = [Wire(self.server).send(framed(("Content-Length", BODY_MAX))) for _ in range(40)]
        self.assertEqual(self.server.post(CHAT, BODY).status, 200)
        large = JSON + b" " * (1 << 20)
        self.assertEqual(self.server.post(CHAT, large).status, 200)
        for wire in held:
            wire.socket.close()

    def test_a_last_response_is_whole_whatever_comes_behind_its_request(self):
        """Unread bytes must not make the system take the response back."""
        last = framed(("Content-Length", len(JSON)), ("Connection", "close"), body=JSON)
        with Wire(self.server) as wire:
            reply = wire.send(last + b"x" * 300000).reply()
            self.assertEqual(reply.status, 200)
            self.assertEqual(reply.field("Connection"), "close")
            self.assertEqual(wire.ends(), b"")

    def test_texts_of_ids_have_a_bound(self):
        words = "grandmother everything beautiful suddenly remembered playground"
        reply = self.server.post("/tokenize", {"prompt": words, "return_token_strs": True}).json()
        text, longest = max(zip(reply["token_strs"], reply["tokens"]), key=lambda t: len(t[0]))
        for count, status in ((BODY_MAX // len(text), 200), (BODY_MAX // len(text) + 1, 400)):
            reply = self.server.post("/detokenize", {"tokens": [longest] * count})
            self.assertEqual(reply.status, status)
        self.assert_error(reply, 400, "invalid_value", "tokens")


if __name__ == "__main__":
    server.main()
