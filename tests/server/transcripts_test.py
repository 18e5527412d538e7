#!/usr/bin/env python3
"""Runs the transcripts tests/http/*.http: requests, and the responses that they must get.

A file is a series of exchanges on one connection. Lines that begin with "#" are comments. The first
line that begins with "# args:" has options for the server; "${HTTP}" stands for this folder there,
and "${SHARED}" for the folder of shared models. An empty line ends an exchange.

    > POST /v1/completions            the request: method and path,
    > X-Name: value                   header fields,
    >                                 and behind an empty line the body
    > {"prompt": "Hi"}
    < 200                             the response: its status,
    < Content-Type: application/json  header fields that it has; "X-Name: -" for one that it lacks
    <                                 and behind an empty line the body, as a pattern
    < {"object": "text_completion"}

Host, Content-Type: application/json and Content-Length are sent unless the request has them; a
value "-" leaves them out. With Transfer-Encoding: chunked the body goes out in little chunks. A
header field's value is a pattern too, of text.

A body's pattern is JSON. An object must have all members of the pattern, and may have others. An
array must have as many entries as the pattern, unless the pattern's last entry is "...". Texts in
angle brackets have a meaning:

    "<text>" "<integer>" "<number>" "<boolean>" "<array>" "<object>"   any of that kind
    "<any>" "<absent>"      any value; no such member
    "<~ REGEX>"             a text in which the expression is found
    "<$NAME>"               any value the first time, an equal value at each later use of the name;
                            "${NAME}" in a later request stands for the value

"${NUMBER tokens}" in a request becomes an array of NUMBER ids.

A streamed response has a pattern for each of its events: "data: JSON", "data: [DONE]", a comment
(": TEXT"), and "..." for any number of events. A line "joined PATH PATTERN" joins the texts that
the events have at a path, and compares the result: joined choices.0.delta.content "<$said>". A
line "text REGEX" is for a body that is not JSON; the body must contain a match. "<closed>" instead
of a body means that the connection ends after the response.
"""
import glob
import json
import os
import re
import unittest

import server
from server import Server, Wire, ingot

FOLDER = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "http")
KINDS = {"<text>": (str,), "<integer>": (int,), "<number>": (int, float), "<boolean>": (bool,),
         "<array>": (list,), "<object>": (dict,)}
ABSENT = object()


class Exchange:
    """A request and what is expected."""

    def __init__(self, lines):
        self.sent = [line[2:] for line in lines if line[0] == ">"]
        self.expected = [line[2:] for line in lines if line[0] == "<"]

    def request(self, names):
        def filled(text):
            text = re.sub(r"\$\{(\d+) tokens\}", lambda m: str([5] * int(m[1])), text)
            return re.sub(r"\$\{(\w+)\}", lambda m: str(names[m[1]]), text)
        first, *rest = map(filled, self.sent)
        split = rest.index("") if "" in rest else len(rest)
        body = "\n".join(rest[split + 1:]).encode()
        method, path = first.split(" ")
        fields = [tuple(line.split(": ", 1)) for line in rest[:split]]
        given = {name.lower() for name, _ in fields}
        usual = [("Host", "localhost")]
        if body:
            usual += [("Content-Type", "application/json")]
        if "transfer-encoding" in given:
            body = server.chunked([body[i:i + 7] for i in range(0, len(body), 7)])
        elif body:
            usual += [("Content-Length", len(body))]
        fields = [f for f in usual if f[0].lower() not in given] + fields
        return method, server.head(method, path, [f for f in fields if f[1] != "-"],
                                   host=None) + body


class Transcript:
    def __init__(self, path):
        with open(path, encoding="utf-8") as f:
            lines = f.read().split("\n")
        self.args, self.exchanges, group = (), [], []
        for line in [*lines, ""]:
            if line.startswith("# args: "):
                args = line[len("# args: "):].replace("${HTTP}", FOLDER)
                self.args = tuple(args.replace("${SHARED}", ingot.SHARED).split())
            if line.startswith((">", "<")):
                group.append(line)
            elif not line and group:
                self.exchanges.append(Exchange(group))
                group = []
            elif line and not line.startswith("#"):
                raise AssertionError(f"{path}: no line of a transcript: {line!r}")


class Matcher:
    """Compares what came with patterns, and remembers what was named."""

    def __init__(self):
        self.names = {}

    def differs(self, pattern, value, where=""):
        """Where they differ; None where they do not."""
        if isinstance(pattern, str) and pattern.startswith("<") and pattern.endswith(">"):
            return self.differs_from_word(pattern, value, where)
        if isinstance(pattern, dict) and isinstance(value, dict):
            return self.first(self.differs(p, value.get(key, ABSENT), f"{where}.{key}")
                              for key, p in pattern.items())
        if isinstance(pattern, list) and isinstance(value, list):
            return self.list_differs(pattern, value, where)
        if type(pattern) is type(value) and pattern == value:
            return None
        return f"{where or 'it'} is {value!r:.500}, expected {pattern!r}"

    def list_differs(self, pattern, value, where):
        if pattern and pattern[-1] == "...":
            pattern = pattern[:-1]
            value = value[:len(pattern)]
        if len(pattern) != len(value):
            return f"{where} has {len(value)} entries, expected {len(pattern)}: {value!r:.500}"
        return self.first(self.differs(p, v, f"{where}.{i}")
                          for i, (p, v) in enumerate(zip(pattern, value)))

    def differs_from_word(self, word, value, where):
        wrong = f"{where or 'it'} is {'absent' if value is ABSENT else repr(value)[:500]}, " \
                f"expected {word}"
        if word == "<absent>":
            return None if value is ABSENT else wrong
        if value is ABSENT:
            return wrong
        if word == "<any>":
            return None
        if word in KINDS:
            is_it = isinstance(value, KINDS[word])
            return None if is_it and isinstance(value, bool) == (word == "<boolean>") else wrong
        if word.startswith("<~ "):
            return None if re.search(word[3:-1], str(value)) else wrong
        if word.startswith("<$"):
            same = self.names.setdefault(word[2:-1], value)
            return None if same == value else f"{wrong}, which is {same!r:.500}"
        return None if word == value else wrong

    @staticmethod
    def first(found):
        return next((one for one in found if one is not None), None)


def at(value, path):
    """The member at a path of names and numbers; "" where there is none."""
    for step in path.split("."):
        try:
            value = value[int(step)] if isinstance(value, list) else value[step]
        except (KeyError, IndexError):
            return ""
    return value if isinstance(value, str) else ""


class Talk:
    def __init__(self, test, transcript, wire):
        self.test, self.transcript, self.wire, self.matcher = test, transcript, wire, Matcher()

    def run(self):
        for exchange in self.transcript.exchanges:
            method, data = exchange.request(self.matcher.names)
            reply = self.wire.send(data).reply(method)
            if reply.status == 100 and exchange.expected[0] != "100":
                reply = self.wire.reply(method)
            self.check(exchange, reply)

    def same(self, pattern, value, where, reply):
        wrong = self.matcher.differs(pattern, value, where)
        if wrong is not None:
            self.test.fail(f"{wrong}\nin {reply}")

    def check(self, exchange, reply):
        status, *lines = exchange.expected
        self.same(int(status), reply.status, "status", reply)
        while lines and lines[0]:
            name, pattern = lines.pop(0).split(": ", 1)
            value = reply.field(name)
            self.same("<absent>" if pattern == "-" else pattern,
                      ABSENT if value is None else value, name, reply)
        body = lines[1:]
        if body == ["<closed>"]:
            self.test.assertEqual(self.wire.ends(), b"")
        elif reply.field("Content-Type") == "text/event-stream":
            self.check_events(body, reply)
        elif body and body[0].startswith("text "):
            for line in body:
                self.test.assertRegex(reply.body.decode(), line[len("text "):])
        elif body:
            self.same(json.loads("\n".join(body)), reply.json(), "", reply)

    def check_events(self, lines, reply):
        events = reply.events()
        joined = [line.split(" ", 2)[1:] for line in lines if line.startswith("joined ")]
        patterns = [line for line in lines if not line.startswith("joined ")]
        whole = [event for event in events if isinstance(event, dict)]
        for path, pattern in joined:
            self.same(json.loads(pattern), "".join(at(e, path) for e in whole), path, reply)
        left = list(events)
        for i, pattern in enumerate(patterns):
            if pattern == "...":
                # Events from the end: as many as patterns follow.
                left = left[max(0, len(left) - (len(patterns) - i - 1)):]
                continue
            self.test.assertTrue(left, f"no event for {pattern}\nin {reply}")
            event = left.pop(0)
            is_text = pattern.startswith(":") or pattern == "data: [DONE]"
            self.same(pattern if is_text else json.loads(pattern[len("data: "):]), event, "event",
                      reply)
        if patterns:
            self.test.assertEqual(left, [], "more events than expected")


class Transcripts(unittest.TestCase):
    servers = {}

    @classmethod
    def server(cls, args):
        """One server for all transcripts of the same options."""
        if args not in cls.servers:
            cls.servers[args] = Server(*args)
            cls.addClassCleanup(cls.servers[args].kill)
        return cls.servers[args]

    @classmethod
    def tearDownClass(cls):
        for args, one in cls.servers.items():
            code = one.stop()
            if code != 0:
                raise AssertionError(f"the server with {args} ended with {code}: {one.lines}")

    def play(self, path):
        transcript = Transcript(path)
        self.assertTrue(transcript.exchanges, "a transcript of nothing")
        model = next(iter(transcript.args), "")
        if ingot.SHARED and model.startswith(ingot.SHARED) and not os.path.exists(model):
            self.skipTest(f"there is no {model}")
        with Wire(self.server(transcript.args)) as wire:
            Talk(self, transcript, wire).run()


class Matching(unittest.TestCase):
    """A matcher that takes everything would pass every transcript."""

    def test_what_matches_and_what_does_not(self):
        for pattern, good, bad in (
                (1, (1,), (2, 1.0, True, "1", None)), ("a", ("a",), ("b", 1)),
                (None, (None,), (0, "", ABSENT)), ("<text>", ("",), (1, None, ABSENT)),
                ("<integer>", (0,), (True, 1.5, "1")), ("<number>", (0, 1.5), (True, "1")),
                ("<boolean>", (True,), (1,)), ("<any>", (None, 1), (ABSENT,)),
                ("<absent>", (ABSENT,), (None, "")), ("<~ ^a+$>", ("aa",), ("ab",)),
                ([1, 2], ([1, 2],), ([1], [1, 2, 3], [2, 1])),
                ([1, "..."], ([1], [1, 2]), ([], [2, 1])),
                ({"a": 1}, ({"a": 1}, {"a": 1, "b": 2}), ({}, {"a": 2}, [])),
                ({"a": "<absent>"}, ({}, {"b": 1}), ({"a": None},))):
            for value in good:
                self.assertIsNone(Matcher().differs(pattern, value), (pattern, value))
            for value in bad:
                self.assertIsNotNone(Matcher().differs(pattern, value), (pattern, value))
        matcher = Matcher()
        self.assertIsNone(matcher.differs(["<$x>", "<$x>", "<$y>"], [1, 1, 2]))
        self.assertIsNotNone(matcher.differs("<$x>", 2))


def add_tests():
    for path in sorted(glob.glob(os.path.join(FOLDER, "*.http"))):
        name = os.path.splitext(os.path.basename(path))[0]
        setattr(Transcripts, f"test_{name}", lambda self, path=path: self.play(path))


add_tests()

if __name__ == "__main__":
    server.main()
