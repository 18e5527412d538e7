#!/usr/bin/env python3
"""Tests TLS: the server works as without it, and every state of a connection has a timeout."""
import os
import shutil
import ssl
import subprocess
import tempfile
import unittest

import server
from server import TEXT, Server, Wire, eventually, head, ingot, post


class TlsWire(Wire):
    """A connection with TLS. It answers no farewell: the server has to close all the same."""

    def __init__(self, served):
        super().__init__(served)
        context = ssl.create_default_context(cafile=served.certificate)
        self.socket = context.wrap_socket(self.socket, server_hostname="localhost")


class TlsServer(Server):
    certificate = None

    def exchange(self, data, method="GET"):
        with TlsWire(self) as wire:
            return wire.send(data).reply(method)


@unittest.skipUnless(shutil.which("openssl"), "no openssl to make a certificate with")
class Tls(server.ServerTest):
    @classmethod
    def setUpClass(cls):
        folder = tempfile.TemporaryDirectory(prefix="ingot-tls-")
        cls.addClassCleanup(folder.cleanup)
        cls.cert, cls.key = (os.path.join(folder.name, name) for name in ("c.pem", "k.pem"))
        subprocess.run(["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2",
                        "-subj", "/CN=localhost", "-addext", "subjectAltName=DNS:localhost",
                        "-keyout", cls.key, "-out", cls.cert], check=True, capture_output=True)
        TlsServer.certificate = cls.cert
        cls.server = TlsServer("--tls-cert", cls.cert, "--tls-key", cls.key, "--ctx", "8192")
        cls.addClassCleanup(cls.server.kill)
        cls.answer = cls.server.answer()
        cls.base = {"descriptors": cls.server.descriptors(), "threads": cls.server.threads()}

    def test_responses_and_streams(self):
        body = {"prompt": "x", "max_tokens": 5, "stream": True}
        for fields in ((), [("Connection", "close")]):
            with TlsWire(self.server) as wire:
                # The end is TLS's own: cut off, it would be an error here.
                reply = wire.send(post(TEXT, body, fields)).reply()
                self.assertEqual(reply.events()[-1], "data: [DONE]")
                if fields:
                    self.assertEqual(wire.ends(), b"")

    def test_what_is_no_tls_gets_no_word(self):
        with Wire(self.server) as wire:
            self.assertEqual(wire.send(head()).ends()[:5], b"")

    def test_a_handshake_that_does_not_come(self):
        with Wire(self.server) as silent, Wire(self.server) as begun:
            silent.send(b"")
            begun.send(b"\x16\x03\x01")
            for wire in (silent, begun):
                wire.ends()

    def test_farewells_that_are_not_answered(self):
        held = [TlsWire(self.server).send(data) for data in
                [b"garbage\r\n\r\n", head(fields=[("Connection", "close")])] * 5]
        for wire in held:
            wire.reply()
        self.assert_quiet()
        for wire in held:
            wire.socket.close()

    def test_a_client_that_leaves(self):
        wire = TlsWire(self.server).send(post(TEXT, {"prompt": "x", "max_tokens": 8000,
                                                     "ignore_eos": True, "stream": True}))
        wire.until(b'"text"')
        wire.socket.close()
        eventually("it is cancelled", lambda: self.server.metric(
            "vllm:request_success_total", finished_reason="abort") == 1)
        self.assert_quiet()

    def test_certificates_that_are_none(self):
        for cert, key in ((self.key, self.key), (self.cert, self.cert), ("/nothing", self.key)):
            result = ingot.run("serve", "--port", "0", "--log-level", "error", "--tls-cert", cert,
                               "--tls-key", key)
            self.assertEqual(result.code, ingot.USAGE, result)
            self.assertRegex(result.err, "^error: --tls-(cert|key) ")


if __name__ == "__main__":
    server.main()
