#!/usr/bin/env python3
"""Tests constraints of ingot run: texts obey them, cut texts say so, bad ones are refused."""
import json
import re
import subprocess

import ingot
from ingot import CHECK_FAILED, MODEL, USAGE, run

SCHEMA = {"type": "object", "additionalProperties": False, "required": ["kind", "count"],
          "properties": {"kind": {"enum": ["cat", "dog"]},
                         "count": {"type": "integer", "minimum": 0, "maximum": 99},
                         "name": {"type": "string", "maxLength": 5}}}
GRAMMAR = 'root ::= "<" item ("," item){1,2} ">"\nitem ::= [a-c] [0-9]?\n'
REGEX = r"[A-F0-9]{4}(-[a-z]+){2}!"
WARM = ("--temperature", "2", "--max-tokens", "120")
CUT = ("--temperature", "0", "--max-tokens", "1")
# A schema that cannot be enforced, and the pointer to its keyword.
IMPOSSIBLE = ({"type": "object", "properties": {"a": {"pattern": "(a)\\1"}}}, "/properties/a")


def fits_schema(text):
    """An independent check of a text against SCHEMA."""
    value = json.loads(text)
    return (isinstance(value, dict) and {"kind", "count"} <= set(value) <= {"kind", "count", "name"}
            and value["kind"] in ("cat", "dog") and type(value["count"]) is int
            and 0 <= value["count"] <= 99 and len(value.get("name", "")) <= 5)


def fits_grammar(text):
    return re.fullmatch(r"<[a-c][0-9]?(,[a-c][0-9]?){1,2}>", text) is not None


class Constraint(ingot.CliTest):
    def single(self, *args, prompt="hello", how=WARM):
        return self.one_json(self.assert_done(
            run("run", self.model, "-p", prompt, "--json", *how, *args)))

    def answers(self, lines, *args):
        process = ingot.start("run", self.model, "--jsonl", *WARM, *args, stdin=subprocess.PIPE)
        text = "".join(json.dumps(line) + "\n" for line in lines)
        out, err = process.communicate(text.encode(), timeout=ingot.TIMEOUT_S * 4)
        result = ingot.Result(process.args, process.returncode, out, err)
        return result, [json.loads(line) for line in out.splitlines()]

    def as_file(self, name, content):
        return self.file(name, content.encode())

    def flags(self):
        """Each kind of constraint as flags, and a check of its texts."""
        return ((("--json-schema", self.as_file("schema.json", json.dumps(SCHEMA))), fits_schema),
                (("--regex", REGEX), lambda text: re.fullmatch(REGEX, text) is not None),
                (("--grammar", self.as_file("grammar.gbnf", GRAMMAR)), fits_grammar),
                (("--choice", "yes please,no thanks,not sure"),
                 lambda text: text in ("yes please", "no thanks", "not sure")))

    def test_every_text_obeys(self):
        for flags, fits in self.flags():
            texts = set()
            for seed in range(12):
                with self.subTest(flags=flags, seed=seed):
                    found = self.single(*flags, "--seed", str(seed))
                    if found["finish_reason"] == "stop":
                        self.assertTrue(fits(found["text"]), found["text"])
                        texts.add(found["text"])
                    else:
                        self.assertEqual(found["finish_reason"], "length")
                        self.assertEqual(len(found["ids"]), 120)
            self.assertGreater(len(texts), 1, flags)

    def test_a_cut_text_says_length(self):
        for flags, _ in self.flags():
            with self.subTest(flags=flags):
                found = self.single(*flags, how=CUT)
                self.assertEqual((found["finish_reason"], len(found["ids"])), ("length", 1))

    def test_lines_have_their_own(self):
        own = ({"json_schema": SCHEMA}, {"regex": REGEX}, {"grammar": GRAMMAR},
               {"choice": ["yes", "no, thanks"]}, {})
        lines = [{"prompt": "a", "seed": seed, **one} for seed in range(6) for one in own]
        result, found = self.answers(lines, "--choice", "flag")
        self.assert_done(result)
        checks = (fits_schema, lambda text: re.fullmatch(REGEX, text), fits_grammar,
                  lambda text: text in ("yes", "no, thanks"), lambda text: text == "flag")
        for i, line in enumerate(found):
            with self.subTest(line=lines[i], found=line):
                if line["finish_reason"] == "stop":
                    self.assertTrue(checks[i % 5](line["text"]))
                else:
                    self.assertEqual(line["finish_reason"], "length")

    def test_a_line_is_a_single_run(self):
        _, (line,) = self.answers([{"prompt": "hello", "json_schema": SCHEMA, "seed": 3}])
        flags, _ = self.flags()[0]
        self.assertEqual(self.single(*flags, "--seed", "3")["ids"], line["ids"])

    def test_a_chat_is_constrained_too(self):
        chat = self.as_file("chat.json", json.dumps({"messages": [{"role": "user",
                                                                   "content": "hi"}]}))
        found = self.one_json(self.assert_done(
            run("run", self.model, "--messages", chat, "--template", "chatml", "--json", *WARM,
                "--choice", "yes,no")))
        self.assertIn(found["text"], ("yes", "no"))

    def test_what_cannot_be_enforced(self):
        schema, pointer = IMPOSSIBLE
        path = self.as_file("impossible.json", json.dumps(schema))
        self.assert_error(run("run", self.model, "-p", "a", "--json-schema", path), USAGE,
                          f"--json-schema{pointer}")
        result, (bad, good) = self.answers([{"prompt": "a", "json_schema": schema},
                                          {"prompt": "a", "choice": ["b"]}])
        self.assertEqual(result.code, CHECK_FAILED, result)
        self.assertEqual(list(bad), ["error"])
        self.assertIn(f"json_schema{pointer}", bad["error"])
        self.assertEqual((good["text"], good["finish_reason"]), ("b", "stop"))

    def test_malformed_constraints(self):
        for args, says in ((("--regex", "("), "--regex"),
                           (("--grammar", self.as_file("bad.gbnf", "root ::= x")), "--grammar"),
                           (("--choice", "a,,b"), "--choice"), (("--choice", ""), "--choice"),
                           (("--json-schema", self.as_file("bad.json", "{")), "--json-schema"),
                           (("--json-schema", self.as_file("never.json", "false")),
                            "--json-schema")):
            with self.subTest(args=args):
                self.assert_error(run("run", self.model, "-p", "a", *args), USAGE, says)
        self.assert_error(run("run", self.model, "-p", "a", "--grammar", self.path("none")), MODEL,
                          "none")
        for line, says in (({"regex": 1}, "regex: is an integer"),
                           ({"choice": "a"}, "choice: is a string"),
                           ({"choice": []}, "choice: is empty"),
                           ({"choice": [1]}, "choice[0]: is an integer"),
                           ({"json_schema": "{}"}, "json_schema: is a string"),
                           ({"regex": "a", "choice": ["a"]}, "choice: excludes regex")):
            with self.subTest(line=line):
                _, (found,) = self.answers([{"prompt": "a", **line}])
                self.assertIn(says, found["error"])

    def test_one_constraint_at_a_time(self):
        flags = [pair for pair, _ in self.flags()]
        for i, one in enumerate(flags):
            for other in flags[i + 1:]:
                with self.subTest(one=one, other=other):
                    self.assert_error(run("run", self.model, "-p", "a", *one, *other), USAGE,
                                      "excludes")
        for session in ("--session", "--save-session"):
            self.assert_error(run("run", self.model, session, self.path("s"), "--choice", "a"),
                              USAGE, "excludes")

    def test_stop_strings_do_not_end_constrained_text(self):
        result = self.assert_done(run("run", self.model, "-p", "a", "--json", "--choice", "abc",
                                      "--stop", "b"))
        self.assertEqual(self.one_json(result)["text"], "abc")
        self.assertIn("warning: --stop", result.err)


if __name__ == "__main__":
    ingot.main()
