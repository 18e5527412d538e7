#!/usr/bin/env python3
"""Runs clang-tidy over the sources of a build, several in one translation unit: three quarters of
its time go into headers, which are then read once.

usage: tidy.py BUILD [--jobs N] [--batch N]

Sources of one folder with the same flags go together. Where such a unit has findings, or does not
compile because two sources have the same local name, its sources are looked at one by one, and only
what is found then counts. Tests, and kernels that others instantiate or that another processor's
compiler builds, are left out. Exit status 1 when there is a finding.
"""

import argparse
import itertools
import json
import os
import shlex
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
LEFT_OUT = ("_test.cpp", "_novnni.cpp", "neon.cpp")
QUIET = "-Wno-unknown-warning-option"  # flags that only GCC knows


def flags_of(entry):
    """The compiler's arguments that change what a source means."""
    words = shlex.split(entry["command"])
    begin = next(i for i, word in enumerate(words) if word.startswith("-"))
    words = words[begin : words.index("-c")]
    for option in ("-o", "-include"):
        if option in words:
            at = words.index(option)
            del words[at : at + 2]
    return tuple(words)


def groups(build, size):
    """Lists of up to `size` sources of one folder and one set of flags, each with the flags."""
    entries = {}
    for entry in json.loads((build / "compile_commands.json").read_text()):
        source = Path(entry["file"])
        if source.is_relative_to(ROOT / "src") and not source.name.endswith(LEFT_OUT):
            entries.setdefault(source, flags_of(entry))
    def key(item):
        return item[0].parent, item[1]

    for (_, flags), members in itertools.groupby(sorted(entries.items(), key=key), key):
        sources = [source for source, _ in members]
        for first in range(0, len(sources), size):
            yield flags, sources[first : first + size]


def tidy(source, flags, build, options=()):
    """What clang-tidy says of one file; empty when it is content."""
    command = ["clang-tidy", "--quiet", f"--config-file={ROOT}/.clang-tidy", *options, str(source)]
    done = subprocess.run(
        [*command, "--", *flags, QUIET], cwd=build, capture_output=True, text=True
    )
    if done.returncode == 0:
        return ""
    said = done.stdout + done.stderr
    return said or f"{source}: clang-tidy ended with {done.returncode}\n"


def check(number, flags, sources, build):
    """The findings in a group's sources."""
    if len(sources) > 1:
        unit = build / "tidy" / f"{number}.cpp"
        unit.write_text("".join(f'#include "{source}"\n' for source in sources))
        if not tidy(unit, flags, build, ["--checks=-bugprone-suspicious-include"]):
            return ""
    return "".join(tidy(source, flags, build) for source in sources)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("build", type=Path)
    parser.add_argument("--jobs", type=int, default=os.cpu_count())
    parser.add_argument("--batch", type=int, default=8, metavar="N")
    args = parser.parse_args()
    build = args.build.resolve()
    (build / "tidy").mkdir(exist_ok=True)
    work = list(groups(build, args.batch))
    if not work:
        sys.exit(f"tidy: no sources of {ROOT}/src in {build}/compile_commands.json")
    with ThreadPoolExecutor(args.jobs) as pool:
        reports = pool.map(lambda item: check(item[0], *item[1], build), enumerate(work))
        findings = "".join(reports)
    print(findings, end="")
    count = sum(len(sources) for _, sources in work)
    print(f"tidy: {count} sources in {len(work)} units, {'FINDINGS' if findings else 'no finding'}")
    sys.exit(1 if findings else 0)


if __name__ == "__main__":
    main()
