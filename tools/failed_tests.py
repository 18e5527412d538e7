#!/usr/bin/env python3
"""Prints the failed tests of a CTest run, for the end of a long log.

usage: failed_tests.py RESULTS

RESULTS is the file that `ctest --output-junit` wrote. Each failed test is printed with the end of
its output; all failed tests share LINES lines of output. GoogleTest's lines about passed tests are
left out.
"""

import re
import sys
import xml.etree.ElementTree
from pathlib import Path

LINES = 80
WIDTH = 400
PASSED = re.compile(r"\[( RUN +| +OK |-+|=+| +PASSED +| +SKIPPED +)\]")


def interesting(output):
    """The lines of a test's output that may say why it failed, each cut to WIDTH."""
    return [line[:WIDTH] for line in output.splitlines() if line and not PASSED.match(line)]


def failed_of(text):
    """The cases of a results file that failed, or could not be started."""
    return [case for case in xml.etree.ElementTree.fromstring(text).iter("testcase")
            if case.get("status") == "fail" or case.find("skipped[@message='Unable to find"
                                                         " executable']") is not None]


def report(text):
    """What to print for the contents of a results file."""
    failed = failed_of(text)
    share = max(1, LINES // max(1, len(failed)))
    lines = []
    for case in failed:
        lines.append(f"-- {case.get('name')}: failed after {float(case.get('time', 0)):.1f} s")
        lines += interesting(case.findtext("system-out") or "")[-share:]
    return "".join(line + "\n" for line in lines)


def main(args):
    if len(args) != 1:
        print("usage: failed_tests.py RESULTS", file=sys.stderr)
        return 64
    print(report(Path(args[0]).read_text(encoding="utf-8", errors="replace")), end="")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
