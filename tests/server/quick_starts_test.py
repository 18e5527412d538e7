#!/usr/bin/env python3
"""Runs the quick-starts of client libraries against a server.

The programs in quick_starts/ make the calls of the libraries' pages. Environment variables name the
server. Replies are shorter than on the pages, and LangChain's embeddings send texts in place of
OpenAI's token ids.
The libraries are looked for in INGOT_CLIENTS_PYTHON and INGOT_OLDER_CLIENTS_PYTHON, and in
build/clients-venv and build/older-clients-venv, which scripts/test.sh --full makes. Without them
programs are skipped. INGOT_CLIENTS_MODEL names a model in place of the built-in one.
"""
import os
import shutil
import subprocess
import sys
import tempfile
import unittest

import serving
from script_model import script_model
from serving import ServerTest

HERE = os.path.dirname(os.path.abspath(__file__))
PROGRAMS = os.path.join(HERE, "quick_starts")
MODEL = os.environ.get("INGOT_CLIENTS_MODEL")
SKIPPED = 77  # what ctest calls skipped
TIMEOUT_S = 300


def python(variable, venv):
    return os.environ.get(variable) or os.path.join(HERE, "..", "..", "build", venv, "bin/python")


PYTHON = python("INGOT_CLIENTS_PYTHON", "clients-venv")
# For libraries that need older packages than the others.
OLDER_PYTHON = python("INGOT_OLDER_CLIENTS_PYTHON", "older-clients-venv")
OLDER = ("instructor_", "llama_index_")


class Programs(ServerTest):
    """Clients name models of other makers, so the server takes any name."""

    @classmethod
    def arguments(cls):
        return (*([MODEL] if MODEL else []), "--any-model", "--default-max-tokens", "300")

    def environment(self, home, interpreter):
        kept = {name: value for name, value in os.environ.items() if "PROXY" not in name.upper()}
        return {**kept, "HOME": home, "LLM_USER_PATH": home,
                "PATH": os.path.dirname(os.path.abspath(interpreter)) + ":" + kept["PATH"],
                "OPENAI_BASE_URL": f"{self.server.url}/v1", "OPENAI_API_KEY": "none",
                "OPENAI_API_BASE": f"{self.server.url}/v1",
                "ANTHROPIC_BASE_URL": self.server.url, "ANTHROPIC_API_KEY": "none",
                "ANTHROPIC_API_BASE": self.server.url,
                "OPENAI_AGENTS_DISABLE_TRACING": "1", "PYTHONDONTWRITEBYTECODE": "1"}

    def said(self, interpreter, *command):
        """What a program prints, which succeeds."""
        with tempfile.TemporaryDirectory() as home:
            ended = subprocess.run(command, cwd=home, env=self.environment(home, interpreter),
                                   check=False, capture_output=True, text=True, timeout=TIMEOUT_S)
        self.assertEqual(ended.returncode, 0, ended.stdout[-2000:] + ended.stderr[-3000:])
        return ended.stdout

    def run_program(self, path):
        name = os.path.basename(path)
        if name.endswith(".java"):
            if shutil.which("java") is None:
                self.skipTest("no java")
            return self.said(PYTHON, "java", path)
        interpreter = OLDER_PYTHON if name.startswith(OLDER) else PYTHON
        if not os.access(interpreter, os.X_OK):
            self.skipTest(f"there is no {interpreter}")
        if name.endswith(".sh"):
            return self.said(interpreter, "bash", "-eu", path)
        return self.said(interpreter, interpreter, path)

    def each_program(self, folder, check):
        """Calls `check` with what each program of a folder prints."""
        for name in sorted(os.listdir(folder)):
            path = os.path.join(folder, name)
            if os.path.isfile(path):
                with self.subTest(name):
                    check(self.run_program(path))


class QuickStarts(Programs):
    """Replies need not be sensible: programs expect the form that they asked for."""

    def test_quick_starts(self):
        self.each_program(PROGRAMS, lambda text: self.assertTrue(text.strip()))


TURN = ("<turn0>", "<turn1>")
MARK = "{% if state.results == 0 %}<turn0>{% else %}<turn1>{% endif %}"
TEMPLATE = (
    "{% for tool in tools or [] %}{{ tool | tojson }}\n{% endfor %}"
    "{% set state = namespace(results=0) %}"
    "{% for message in messages %}"
    "{% if message.role == 'tool' %}{% set state.results = state.results + 1 %}{% endif %}"
    "{{ message.role[0] }}:{% if message.role == 'assistant' %}" + MARK + "{% endif %}"
    "{{ message.content or '' }}"
    "{% for call in message.tool_calls or [] %}\n<tool_call>\n"
    "{\"name\": \"{{ call.function.name }}\", \"arguments\": "
    "{{ call.function.arguments | tojson }}}\n</tool_call>{% endfor %}\n{% endfor %}"
    "{% if add_generation_prompt %}a:" + MARK + "{% endif %}")
CALL = '<tool_call>\n{"name": "get_weather", "arguments": {"city": "Tokyo"}}\n</tool_call>'
SCRIPT = (TURN[0], CALL, TURN[1], "It", " is", " sunny", " in", " Tokyo", ".")


@unittest.skipIf(MODEL, "the model is scripted")
class Agents(Programs):
    """A scripted model calls a tool, and tells its result."""

    @classmethod
    def arguments(cls):
        model = script_model(list(SCRIPT), TEMPLATE, defined=TURN, ends=(CALL,))
        return (cls.file("agent.gguf", model), "--any-model", "--log-level", "error")

    def test_agents(self):
        def check(text):
            lines = text.splitlines()
            self.assertGreater(len(lines), 1, text)
            self.assertEqual(set(lines), {"It is sunny in Tokyo."})
        self.each_program(os.path.join(PROGRAMS, "agents"), check)


if __name__ == "__main__":
    if not any(os.access(path, os.X_OK) for path in (PYTHON, OLDER_PYTHON)):
        print(f"skipped: there is neither {PYTHON} nor {OLDER_PYTHON}")
        sys.exit(SKIPPED)
    serving.main()
