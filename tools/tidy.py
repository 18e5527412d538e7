#!/usr/bin/env python3
"""Runs clang-tidy over the sources of a build, several per translation unit: headers take three
quarters of its time, and are then parsed once for all.

usage: tidy.py BUILD [--jobs N] [--batch N] [--changed]

A unit has sources of one folder with equal flags. If it has findings, or does not compile because
two sources have the same local name, its sources are checked one by one, and only these findings
count. Left out are tests, and kernels that others instantiate or that another processor's compiler
builds. The exit status is 1 if there is a finding.

--changed checks only the files that differ from the last clean commit: sources, and headers with
the flags of a source beside them. A commit is clean if its message has the line "Tidy: clean",
which records that the run without --changed, or a run with it, found nothing. Without a clean
commit, only uncommitted changes count.
"""

import argparse
import itertools
import json
import os
import re
import shlex
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
LEFT_OUT = ("_test.cpp", "_novnni.cpp", "neon.cpp")
OTHERS = ("neon",)  # another processor's compiler builds these
INCLUDED = re.compile(r'^#include "([^"]+)"$', re.MULTILINE)
HEADERS = (".h", ".inl")
NOT_HERE = ("neon_lanes.h",)  # another processor's compiler reads it
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


def git(*words):
    """What a git command in ROOT prints; None when it fails."""
    done = subprocess.run(["git", *words], cwd=ROOT, capture_output=True, text=True)
    return done.stdout if done.returncode == 0 else None


def last_clean():
    """The commit that --changed compares with; HEAD if no commit is recorded as clean."""
    return (git("log", "-1", "--format=%H", "--grep=^Tidy: clean$") or "").strip() or "HEAD"


def changed_files(base):
    """Paths that differ from a commit, including files that git does not know yet. A file that only
    moved does not differ."""
    names = git("diff", "--name-status", "-z", "--find-renames", base)
    unknown = git("ls-files", "-z", "--others", "--exclude-standard")
    if names is None or unknown is None:
        sys.exit(f"tidy: git cannot compare with {base}")
    changed = [ROOT / name for name in unknown.split("\0") if name]
    words = iter(names.split("\0"))
    for status in words:
        if not status:
            break
        name = next(words)
        if status[0] in "RC":
            name = next(words)
        if status[0] != "D" and status != "R100":
            changed.append(ROOT / name)
    return set(changed)


def compiled_files(entry):
    """The files that an entry compiles: CMake's unity sources include several."""
    file = Path(entry["file"])
    if not file.name.startswith("unity_"):
        return [file]
    return [Path(name) for name in INCLUDED.findall(file.read_text())]


def sources_of(build):
    """The sources to check, each with its flags. Every tracked source must have some."""
    sources = {}
    for entry in json.loads((build / "compile_commands.json").read_text()):
        for source in compiled_files(entry):
            if source.is_relative_to(ROOT / "src") and not source.name.endswith(LEFT_OUT):
                sources.setdefault(source, flags_of(entry))
    names = (git("ls-files", "-z", "src/*.cpp") or "").split("\0")
    tracked = [ROOT / name for name in names if name]
    missing = [str(source) for source in tracked if source not in sources and source.exists()
               and not source.name.endswith(LEFT_OUT) and not source.name.startswith(OTHERS)]
    if missing:
        sys.exit(f"tidy: {build}/compile_commands.json lacks {', '.join(missing)}")
    return sources


def flags_near(header, sources):
    """The flags of the source that is nearest to a header: by folder, then by name."""
    if header.is_relative_to(ROOT / "include"):
        header = ROOT / "src" / "api" / header.name  # where the public headers are implemented

    def nearness(source):
        folders = len(os.path.commonpath([source, header]))
        return folders, -len(source.parts), len(os.path.commonprefix([source.name, header.name]))

    return sources[max(sorted(sources), key=nearness)]


def only_changed(sources, changed):
    """The sources that changed, and the headers that did."""
    kept = {source: flags for source, flags in sources.items() if source in changed}
    for header in sorted(changed):
        ours = header.is_relative_to(ROOT / "src") or header.is_relative_to(ROOT / "include")
        if (ours and header.suffix in HEADERS and "_test" not in header.stem
                and header.name not in NOT_HERE):
            kept[header] = flags_near(header, sources)
    return kept


def groups(entries, size):
    """Lists of up to `size` sources of one folder and one set of flags, each with the flags."""
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


def check_together(name, flags, sources, build):
    """The findings in one unit that includes the sources."""
    unit = build / "tidy" / f"{name}.cpp"
    unit.write_text("".join(f'#include "{source}"\n' for source in sources))
    return tidy(unit, flags, build, ["--checks=-bugprone-suspicious-include"])


def check(number, flags, sources, build):
    """The findings in a group's sources."""
    if len(sources) > 1 and not check_together(number, flags, sources, build):
        return ""
    return "".join(
        check_together(f"{number}_{source.stem}", flags, [source], build)
        if source.suffix in HEADERS else tidy(source, flags, build)
        for source in sources)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("build", type=Path)
    parser.add_argument("--jobs", type=int, default=os.cpu_count())
    parser.add_argument("--batch", type=int, default=8, metavar="N")
    parser.add_argument("--changed", action="store_true")
    args = parser.parse_args()
    build = args.build.resolve()
    (build / "tidy").mkdir(exist_ok=True)
    sources = sources_of(build)
    if not sources:
        sys.exit(f"tidy: no sources of {ROOT}/src in {build}/compile_commands.json")
    base = last_clean() if args.changed else None
    if base:
        sources = only_changed(sources, changed_files(base))
        print(f"tidy: {len(sources)} sources and headers changed since {base}")
    work = list(groups(sources, args.batch))
    with ThreadPoolExecutor(args.jobs) as pool:
        reports = pool.map(lambda item: check(item[0], *item[1], build), enumerate(work))
        findings = "".join(reports)
    print(findings, end="")
    count = sum(len(sources) for _, sources in work)
    print(f"tidy: {count} sources in {len(work)} units, {'FINDINGS' if findings else 'no finding'}")
    sys.exit(1 if findings else 0)


if __name__ == "__main__":
    main()
