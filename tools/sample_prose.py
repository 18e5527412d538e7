#!/usr/bin/env python3
"""Draws random comments of headers and paragraphs of documentation, for a reader to judge.

usage: sample_prose.py [--seed S] [--comments N] [--paragraphs M]

Prints N comments from the headers in src/ and include/, each with its declaration, and M
paragraphs from README.md, CONTRIBUTING.md and docs/, numbered, with file and line. Equal seeds and
equal trees give equal samples.
"""
import argparse
import os
import random
import re

HEADERS = (".h",)
COMMENT = re.compile(r"\s*//")
CODE_WITH_COMMENT = re.compile(r"\s*[^\s/].*\s///?<? \S")
DECLARATION_LINES_MAX = 4


def files(root, folders, endings):
    for folder in folders:
        place = os.path.join(root, folder)
        if os.path.isfile(place):
            yield folder
        for parent, names, found in os.walk(place):
            names.sort()
            for name in sorted(found):
                if name.endswith(endings):
                    yield os.path.relpath(os.path.join(parent, name), root)


def lines_of(root, path):
    with open(os.path.join(root, path), encoding="utf-8") as f:
        return f.read().split("\n")


def declaration(lines, at):
    """The lines from `at` to the end of the declaration, at most DECLARATION_LINES_MAX."""
    taken = []
    for line in lines[at:at + DECLARATION_LINES_MAX]:
        if not line.strip():
            break
        taken.append(line)
        if line.rstrip().endswith((";", "{", "}", ",")):
            break
    return taken


def comments(root):
    """(file, line, text) for each comment of the headers, with its declaration."""
    for path in files(root, ("src", "include"), HEADERS):
        lines = lines_of(root, path)
        begin = None
        for k, line in enumerate(lines):
            if COMMENT.match(line):
                begin = k if begin is None else begin
                continue
            if begin is not None:
                yield path, begin + 1, "\n".join(lines[begin:k] + declaration(lines, k))
                begin = None
            elif CODE_WITH_COMMENT.match(line) and not line.startswith(("}", "#")):
                yield path, k + 1, line


def paragraphs(root):
    """(file, line, text) for each paragraph outside of code and tables, of ten words or more."""
    for path in files(root, ("README.md", "CONTRIBUTING.md", "docs"), (".md",)):
        block, begin, fenced = [], 0, False
        for k, line in enumerate(lines_of(root, path) + [""]):
            if line.lstrip().startswith("```"):
                fenced = not fenced
                line = ""
            if fenced or not line.strip() or line.startswith(("#", "|", "    ")):
                if len(" ".join(block).split()) >= 10:
                    yield path, begin + 1, "\n".join(block)
                block = []
                continue
            begin = begin if block else k
            block.append(line)


def draw(generator, found, count):
    found = list(found)
    return generator.sample(found, min(count, len(found)))


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--comments", type=int, default=100)
    parser.add_argument("--paragraphs", type=int, default=10)
    options = parser.parse_args()
    root = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
    generator = random.Random(options.seed)
    drawn = draw(generator, comments(root), options.comments)
    drawn += draw(generator, paragraphs(root), options.paragraphs)
    for number, (path, line, text) in enumerate(drawn, 1):
        print(f"{number}. {path}:{line}\n{text}\n")


if __name__ == "__main__":
    main()
