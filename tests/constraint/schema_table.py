#!/usr/bin/env python3
"""Judges the JSON Schema compiler keyword by keyword.

usage: schema_table.py JUDGE [--lenient] [--show] [--markdown] [--part=I/N] [SET...]
JUDGE is the program schema_judge. SET is draft7, draft2019-09, draft2020-12 or maskbench; all but
the second by default. --show prints wrong verdicts of every column, and undecided and refused
schemas of maskbench. --markdown prints the table of docs/constraints.md, and nothing else.
--part=1/3 judges every third schema, from the first on.

For each file of the suite, and for maskbench, prints how many schemas are enforced (each verdict is
right), wider (the compiler's notes say what is not enforced, and only invalid documents have a
wrong verdict), narrower (a valid document of a format cannot be written), refused, undecided (the
search for the order of members took too long), and wrong. The exit status is 1 if any is wrong, if
more than REFUSED_MAX are refused, or if fewer than ENFORCED_MIN are enforced.
"""
import collections
import sys

from schema_cases import cases_of, run_lines

# The suite says that formats and contents are annotations here; the compiler asserts formats. Where
# a format is not regular, the compiler has a regular subset of it.
ANNOTATIONS = ("/format", "/optional/content", "/vocabulary")
COLUMNS = ("enforced", "wider", "narrower", "refused", "undecided", "wrong")
REFUSED_MAX = 0.15
ENFORCED_MIN = 0.75


def verdict(group, tests, answer):
    """The column of a schema, and its tests with a wrong verdict."""
    if "error" in answer:
        is_right = "allows no text" in answer["error"] and not any(t[1] for t in tests)
        return ("enforced" if is_right else "refused"), []
    missed = [(is_valid, description or document)
              for (document, is_valid, description), accepted in zip(tests, answer["accepted"])
              if accepted is not None and accepted is not is_valid]
    if not missed and any(accepted is None and test[1]
                          for test, accepted in zip(tests, answer["accepted"])):
        return "undecided", []
    if not missed:
        return ("wider" if answer["notes"] else "enforced"), []
    is_format = "/format" in group or group.endswith(ANNOTATIONS)
    if all(is_valid for is_valid, _ in missed):
        return ("narrower" if is_format else "wrong"), missed
    is_wider = answer["notes"] or group.endswith("/optional/content")
    if is_wider and not any(is_valid for is_valid, _ in missed):
        return "wider", missed
    return "wrong", missed


def row_name(group):
    """The row of docs/constraints.md, which joins the drafts."""
    if group == "maskbench":
        return "maskbench (3,000 real schemas)"
    _, *folders, name = group.split("/")
    return f"{folders[-1]}: {name}" if folders else name


def print_markdown(table):
    rows = collections.defaultdict(collections.Counter)
    for group, counts in table.items():
        rows[row_name(group)].update(counts)
    kinds = ("format: ", "optional: ", "maskbench ")
    names = sorted(rows, key=lambda name: ([name.startswith(kind) for kind in kinds[::-1]], name))
    print("| keyword, both drafts | " + " | ".join(COLUMNS) + " |")
    print("|---" * (len(COLUMNS) + 1) + "|")
    for name in names:
        print(f"| {name} | " + " | ".join(str(rows[name][column]) for column in COLUMNS) + " |")


def part_of(flags):
    """Which schemas are judged: those of a part, by default of the only one."""
    part = next((flag for flag in flags if flag.startswith("--part=")), "--part=1/1")
    index, parts = map(int, part.removeprefix("--part=").split("/"))
    return slice(index - 1, None, parts)


def main(arguments):
    flags = {a for a in arguments if a.startswith("--")}
    judge, *sets = [a for a in arguments if not a.startswith("--")]
    cases = list(cases_of(sets or ["draft7", "draft2020-12", "maskbench"]))[part_of(flags)]
    lines = [{"schema": schema, "tests": [{"data": t[0], "valid": t[1]} for t in tests]}
             for _, _, schema, tests in cases]
    answers = run_lines([judge] + ([] if "--lenient" in flags else ["strict"]), lines)
    table = collections.defaultdict(collections.Counter)
    reasons = collections.Counter()
    times = sorted(answer["ms"] for answer in answers)
    for (group, name, _, tests), answer in zip(cases, answers):
        column, missed = verdict(group, tests, answer)
        table[group][column] += 1
        if column == "refused":
            reasons[answer["error"].split(": ", 1)[-1]] += 1
        if column == "wrong" or (missed and "--show" in flags):
            print(f"{column}: {group}: {name}: {missed[:2]}"[:600])
        elif "--show" in flags and group == "maskbench" and column in ("refused", "undecided"):
            print(f"{column}: {name}: {answer.get('error', '')}")
    if "--markdown" in flags:
        print_markdown(table)
        return 0
    print(f"{'':50}" + "".join(f"{column:>10}" for column in COLUMNS))
    for group, counts in table.items():
        print(f"{group:50}" + "".join(f"{counts[column]:10}" for column in COLUMNS))
    total = sum(table.values(), collections.Counter())
    print(f"{'all':50}" + "".join(f"{total[column]:10}" for column in COLUMNS))
    for reason, count in reasons.most_common(12):
        print(f"refused {count:4}: {reason}")
    print("compile ms: " + ", ".join(f"p{p} {times[len(times) * p // 100]:.1f}"
                                     for p in (50, 90, 99)) + f", max {times[-1]:.1f}")
    schemas = sum(total.values())
    limits = {f"more than {REFUSED_MAX:.0%} are refused": total["refused"] > schemas * REFUSED_MAX,
              f"fewer than {ENFORCED_MIN:.0%} are enforced":
                  total["enforced"] < max(1, schemas * ENFORCED_MIN)}
    for fault in (name for name, is_broken in limits.items() if is_broken):
        print(fault)
    return 1 if total["wrong"] or any(limits.values()) else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
