#!/usr/bin/env python3
"""Counts the lines of the files that a chat request passes, by folder.

usage: chat_path.py

The list is the block under "A chat request, file by file" in docs/structure.md: folders, each with
names without endings. Exit status 1 if the list names something that has no file.
"""

import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
HEADING = "## A chat request, file by file"


def files(text):
    """Pairs of a folder and a name."""
    folder = ""
    for word in text.split(HEADING)[1].split("```")[1].split():
        if word.endswith("/"):
            folder = word
        else:
            yield folder, word


def lines_of(folder, name):
    found = [path for path in (ROOT / folder).glob(name + ".*") if path.suffix in (".h", ".cpp")]
    return sum(path.read_text().count("\n") for path in found)


def main():
    totals = {}
    missing = []
    for folder, name in files((ROOT / "docs/structure.md").read_text()):
        lines = lines_of(folder, name)
        totals[folder] = totals.get(folder, 0) + lines
        if lines == 0:
            missing.append(folder + name)
    for folder, lines in totals.items():
        print(f"{lines:6} {folder}")
    print(f"{sum(totals.values()):6} in all")
    for name in missing:
        print(f"docs/structure.md names {name}, which is no file", file=sys.stderr)
    return 1 if missing else 0


if __name__ == "__main__":
    sys.exit(main())
