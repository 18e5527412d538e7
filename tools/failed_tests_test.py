#!/usr/bin/env python3
"""Tests failed_tests.py on result files that CTest itself wrote."""

import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))
import failed_tests

PROJECT = r"""
add_test(good sh -c "echo fine")
add_test(bad sh -c "echo '[ RUN      ] A.b'; echo '[       OK ] A.b (0 ms)'; \
echo 'x.cpp:1: Failure'; printf 'a\\001<&\\n'; exit 3")
add_test(long sh -c "seq 1000; exit 1")
add_test(skipped sh -c "echo not here; exit 77")
set_tests_properties(skipped PROPERTIES SKIP_RETURN_CODE 77)
add_test(absent /nowhere/absent)
"""


class FailedTests(unittest.TestCase):
    def run_on(self, project):
        with tempfile.TemporaryDirectory() as folder:
            Path(folder, "CTestTestfile.cmake").write_text(project)
            subprocess.run(["ctest", "--output-junit", "results.xml"], cwd=folder,
                           capture_output=True, check=False)
            return failed_tests.report(Path(folder, "results.xml").read_text(encoding="utf-8"))

    def test_those_that_failed_are_named_with_what_they_said(self):
        found = self.run_on(PROJECT)
        for present in ("-- bad: failed after ", "x.cpp:1: Failure", "<&", "-- long: ",
                        "\n1000\n", "-- absent: ", "/nowhere/absent"):
            self.assertIn(present, found)
        for absent in ("good", "fine", "skipped", "not here", "A.b", "\n1\n"):
            self.assertNotIn(absent, found)
        self.assertLess(found.count("\n"), failed_tests.LINES + 4)

    def test_each_of_many_has_its_last_line(self):
        count = failed_tests.LINES + 10
        found = self.run_on("".join(f'add_test(t{i} sh -c "seq 9; exit 1")\n'
                                    for i in range(count)))
        self.assertEqual(found.count("\n9\n"), count)
        self.assertEqual(found.count("\n"), 2 * count)

    def test_without_failures_there_is_nothing_to_say(self):
        self.assertEqual(self.run_on('add_test(good sh -c "echo fine")'), "")


if __name__ == "__main__":
    unittest.main()
