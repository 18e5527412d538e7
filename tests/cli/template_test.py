"""Compares ingot's chat templates with Python's Jinja2: real templates on generated chats, and
generated expressions.

INGOT_BINARY and INGOT_SHARED are those of all tests; INGOT_FULL=1 runs many more cases.
"""
import os
import pathlib
import sys
import tempfile
import unittest

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import template_reference as reference  # noqa: E402

reference.require()

import template_conversations  # noqa: E402
import template_expressions  # noqa: E402

BINARY = os.environ.get("INGOT_BINARY", "")
SHARED = pathlib.Path(os.environ.get("INGOT_SHARED") or os.environ.get("INGOT_DEFAULT_SHARED", ""))
FULL = bool(os.environ.get("INGOT_FULL"))


def templates():
    found = sorted((SHARED / "data/llama.cpp/templates").glob("*.jinja"))
    return found + sorted((SHARED / "data/chat").glob("*/*.jinja*"))


def shown(result):
    return repr(result) if isinstance(result, Exception) else repr(result)[-600:]


class Conversations(unittest.TestCase):
    def test_real_templates(self):
        found = templates()
        if not found:
            self.skipTest(f"no templates below {SHARED}: set INGOT_SHARED")
        rendered = 0
        for path in found:
            generator = template_conversations.Generator(path.name)
            contexts = [generator.context() for _ in range(1000 if FULL else 40)]
            theirs = reference.render(path.read_text(encoding="utf-8"), contexts)
            ours = reference.render_ingot(BINARY, str(path), contexts)
            for i, a, b in reference.differences(theirs, ours):
                self.fail(f"{path.name}, chat {i}:\nJinja2 {shown(a)}\ningot  {shown(b)}\n"
                          f"{contexts[i]}")
            rendered += sum(not isinstance(a, Exception) for a in theirs)
        print(f"{len(found)} templates, {rendered} texts equal")


class Expressions(unittest.TestCase):
    def test_generated_expressions(self):
        compared = 0
        for seed in range(400 if FULL else 12):
            expressions = template_expressions.generate(seed, 150)
            template = template_expressions.template_of(expressions)
            contexts = [dict(template_expressions.VARIABLES,
                             case=i) for i in range(len(expressions))]
            theirs = reference.render(template, contexts)
            with tempfile.NamedTemporaryFile("w", suffix=".jinja", encoding="utf-8") as file:
                file.write(template)
                file.flush()
                ours = reference.render_ingot(BINARY, file.name, contexts)
            for i, a, b in reference.differences(theirs, ours):
                if template_expressions.is_comparable(a, b):
                    self.fail(f"{expressions[i]}\nJinja2 {shown(a)}\ningot  {shown(b)}")
            compared += sum(not isinstance(a, Exception) for a in theirs)
        self.assertGreater(compared, 500)
        print(f"{compared} expressions equal")


if __name__ == "__main__":
    unittest.main()
