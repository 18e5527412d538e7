#!/usr/bin/env python3
"""Tests tidy.py on a project of a few files."""

import contextlib
import io
import json
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))
import tidy

CLEAN = "namespace { int local() { return %d; } }\nint %s() { return local(); }\n"
BAD = "#include <vector>\nbool %s(const std::vector<int>& v) { return v.size() == 0; }\n"


class Tidy(unittest.TestCase):
    def run_on(self, sources, changes=None, commits=()):
        """Exit status and output for sources given as {name: text}. With `changes`, a dictionary
        of later texts, the first texts are committed, then empty commits of the subjects
        `commits` follow, and only what changed is checked."""
        with tempfile.TemporaryDirectory() as folder:
            root = Path(folder).resolve()
            (root / "src" / "base").mkdir(parents=True)
            (root / "build").mkdir()
            (root / ".clang-tidy").write_text((tidy.ROOT / ".clang-tidy").read_text())
            entries = []
            for name, text in sources.items():
                path = root / "src" / "base" / name
                path.write_text(text)
                command = f"ccache c++ -O2 -std=c++20 -o {name}.o -c {path}"
                entries.append({"directory": folder, "command": command, "file": str(path)})
            (root / "build" / "compile_commands.json").write_text(json.dumps(entries))
            said = io.StringIO()
            words = ["tidy.py", str(root / "build"), "--jobs", "1"]
            if changes is not None:
                self.commit(root, commits)
                for name, text in changes.items():
                    (root / "src" / "base" / name).write_text(text)
                words.append("--changed")
            kept = tidy.ROOT, sys.argv
            tidy.ROOT, sys.argv = root, words
            try:
                with contextlib.redirect_stdout(said), self.assertRaises(SystemExit) as ended:
                    tidy.main()
            finally:
                tidy.ROOT, sys.argv = kept
        return ended.exception.code, said.getvalue()

    def commit(self, root, subjects):
        """Commits everything in a new repository, then one empty commit for each subject."""
        def git(*words):
            user = ["-c", "user.name=t", "-c", "user.email=t@localhost"]
            subprocess.run(["git", *user, *words], cwd=root, check=True, capture_output=True)

        git("init", "--quiet")
        git("add", ".")
        git("commit", "--quiet", "-m", "Begin")
        for subject in subjects:
            git("commit", "--quiet", "--allow-empty", "-m", subject)

    def test_clean_sources_go_together(self):
        code, said = self.run_on({"a.cpp": "int a() { return 1; }\n", "b.cpp": "int b();\n"})
        self.assertEqual(code, 0, said)
        self.assertIn("2 sources in 1 units, no finding", said)

    def test_a_finding_is_shown_with_its_file(self):
        sources = {"a.cpp": "int a();\n", "b.cpp": BAD % "b", "c_test.cpp": BAD % "c"}
        code, said = self.run_on(sources)
        self.assertEqual(code, 1)
        self.assertRegex(said, r"b\.cpp:2:.*readability-container-size-empty")
        self.assertNotIn("c_test.cpp", said)

    def test_the_same_local_name_in_two_sources_is_no_finding(self):
        code, said = self.run_on({"a.cpp": CLEAN % (1, "a"), "b.cpp": CLEAN % (2, "b")})
        self.assertEqual(code, 0, said)

    def test_only_what_changed_since_the_clean_commit_is_checked(self):
        sources = {"a.cpp": "int a();\n", "b.cpp": BAD % "b", "c.cpp": "int c();\n"}
        changes = {"a.cpp": "int a(int);\n", "new.h": "#pragma once\n" + BAD % "n"}
        code, said = self.run_on(sources, changes, ["Merge\n\nTidy: clean", "After it"])
        self.assertEqual(code, 1, said)
        self.assertIn("2 sources and headers changed", said)
        self.assertRegex(said, r"new\.h:3:.*readability-container-size-empty")
        self.assertNotIn("b.cpp", said)

    def test_nothing_changed(self):
        code, said = self.run_on({"b.cpp": BAD % "b"}, {}, ["Begin\n\nTidy: clean"])
        self.assertEqual(code, 0, said)
        self.assertIn("0 sources", said)

    def test_without_a_clean_commit_only_uncommitted_changes_are_checked(self):
        code, said = self.run_on({"b.cpp": BAD % "b"}, {}, ["Tidy: clean is only a line"])
        self.assertEqual(code, 0, said)
        code, said = self.run_on({"b.cpp": "int b();\n"}, {"b.cpp": BAD % "b"}, ["A change"])
        self.assertEqual(code, 1, said)
        self.assertRegex(said, r"b\.cpp:2:")

    def test_sources_of_a_unity_source_are_checked_one_by_one(self):
        with tempfile.TemporaryDirectory() as folder:
            root = Path(folder).resolve()
            sources = [root / "src" / "base" / name for name in ("a.cpp", "b.cpp", "b_test.cpp")]
            unity = root / "build" / "unity_in__0_cxx.cxx"
            unity.parent.mkdir()
            unity.write_text("".join(f'/* {s} */\n#include "{s}"\n' for s in sources))
            entry = {"command": f"c++ -O2 -o u.o -c {unity}", "file": str(unity)}
            (root / "build" / "compile_commands.json").write_text(json.dumps([entry]))
            kept, tidy.ROOT = tidy.ROOT, root
            try:
                found = tidy.sources_of(root / "build")
            finally:
                tidy.ROOT = kept
            self.assertEqual(found, {sources[0]: ("-O2",), sources[1]: ("-O2",)})

    def test_a_source_without_a_command_is_an_error(self):
        with tempfile.TemporaryDirectory() as folder:
            root = Path(folder).resolve()
            (root / "src").mkdir()
            (root / "build").mkdir()
            (root / "src" / "a.cpp").write_text("int a();\n")
            (root / "build" / "compile_commands.json").write_text("[]")
            self.commit(root, ())
            kept, tidy.ROOT = tidy.ROOT, root
            try:
                with self.assertRaisesRegex(SystemExit, "lacks .*src/a.cpp"):
                    tidy.sources_of(root / "build")
            finally:
                tidy.ROOT = kept

    def test_flags_come_from_the_nearest_source(self):
        base = tidy.ROOT / "src" / "base"
        sources = {base / "a.cpp": "a", base / "avx2.cpp": "2", base / "in" / "b.cpp": "b",
                   tidy.ROOT / "src" / "api" / "c.cpp": "c"}
        for header, flags in [(base / "avx2_lanes.h", "2"), (base / "in" / "x.h", "b"),
                              (base / "other" / "a.inl", "a"),
                              (tidy.ROOT / "include" / "ingot" / "x.h", "c")]:
            self.assertEqual(tidy.flags_near(header, sources), flags, header)


if __name__ == "__main__":
    unittest.main()
