#!/usr/bin/env python3
"""Runs the quick-starts of client libraries against a server.

The programs in quick_starts/ make the calls of the libraries' pages. Environment variables name the
server. Replies are shorter than on the pages, and LangChain's embeddings send texts in place of
OpenAI's token ids.
The libraries are looked for in INGOT_CLIENTS_PYTHON and in build/clients-venv, which
scripts/test.sh --full makes. Without them the test is skipped.
"""
import os
import shutil
import subprocess
import sys
import tempfile

import serving
from serving import ServerTest

HERE = os.path.dirname(os.path.abspath(__file__))
PROGRAMS = os.path.join(HERE, "quick_starts")
PYTHON = (os.environ.get("INGOT_CLIENTS_PYTHON") or
          os.path.join(HERE, "..", "..", "build", "clients-venv", "bin", "python"))
SKIPPED = 77  # what ctest calls skipped
TIMEOUT_S = 300


class QuickStarts(ServerTest):
    """Clients name models of other makers, so the server takes any name."""

    @classmethod
    def arguments(cls):
        return ("--any-model", "--default-max-tokens", "100")

    def environment(self, home):
        kept = {name: value for name, value in os.environ.items() if "PROXY" not in name.upper()}
        return {**kept, "HOME": home, "LLM_USER_PATH": home,
                "PATH": os.path.dirname(os.path.abspath(PYTHON)) + ":" + kept["PATH"],
                "OPENAI_BASE_URL": f"{self.server.url}/v1", "OPENAI_API_KEY": "none",
                "ANTHROPIC_BASE_URL": self.server.url, "ANTHROPIC_API_KEY": "none",
                "ANTHROPIC_API_BASE": self.server.url,
                "OPENAI_AGENTS_DISABLE_TRACING": "1", "PYTHONDONTWRITEBYTECODE": "1"}

    def check(self, *command):
        with tempfile.TemporaryDirectory() as home:
            ended = subprocess.run(command, cwd=home, env=self.environment(home), check=False,
                                   capture_output=True, text=True, timeout=TIMEOUT_S)
        self.assertEqual(ended.returncode, 0, ended.stdout[-2000:] + ended.stderr[-3000:])
        self.assertTrue(ended.stdout.strip())

    def test_quick_starts(self):
        for name in sorted(os.listdir(PROGRAMS)):
            path = os.path.join(PROGRAMS, name)
            with self.subTest(name):
                if name.endswith(".java"):
                    if shutil.which("java") is None:
                        self.skipTest("no java")
                    self.check("java", path)
                elif name.endswith(".sh"):
                    self.check("bash", "-eu", path)
                else:
                    self.check(PYTHON, path)


if __name__ == "__main__":
    if not os.access(PYTHON, os.X_OK):
        print(f"skipped: there is no {PYTHON}")
        sys.exit(SKIPPED)
    serving.main()
