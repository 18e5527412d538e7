#!/usr/bin/env python3
"""Tests tools/tidy.py on a project of a few files."""

import contextlib
import io
import json
import sys
import tempfile
import unittest
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))
import tidy

CLEAN = "namespace { int local() { return %d; } }\nint %s() { return local(); }\n"
BAD = "#include <vector>\nbool %s(const std::vector<int>& v) { return v.size() == 0; }\n"


class Tidy(unittest.TestCase):
    def run_on(self, sources):
        """Exit status and output for sources given as {name: text}."""
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
            kept = tidy.ROOT, sys.argv
            tidy.ROOT, sys.argv = root, ["tidy.py", str(root / "build"), "--jobs", "1"]
            try:
                with contextlib.redirect_stdout(said), self.assertRaises(SystemExit) as ended:
                    tidy.main()
            finally:
                tidy.ROOT, sys.argv = kept
        return ended.exception.code, said.getvalue()

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


if __name__ == "__main__":
    unittest.main()
