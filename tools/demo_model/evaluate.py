#!/usr/bin/env python3
"""Scores a demo model on held-out questions, through the engine itself.

usage: evaluate.py --ingot build/release/ingot MODEL [--count 25 | --full] [--floor] [--json]
[--against OTHER --within POINTS]

Prints the share of exact answers of each domain; `free` are the questions of free_questions.txt,
which lie outside of the model's world and want an honest answer. Questions that the training text
may hold word for word in another domain are left out. With --floor it exits 1 where a domain falls
well short of what the model card says, with --against where MODEL falls more than POINTS short of
OTHER in a domain for which the model card has an aim.
"""

import argparse
import itertools
import json
import re
import subprocess
import sys
from pathlib import Path

import corpus
import talk

AIMED = "facts tools extraction copy reverse addition subtraction follow_up".split()
DOMAINS = AIMED + """two_calls no_tool after_result unknown simple case spelling joining sorting
comparison""".split()
# Five points below the model card's figures, ten for two calls: a sample scatters.
FLOORS = {"facts": 0.93, "tools": 0.88, "extraction": 0.94, "copy": 0.94, "reverse": 0.93} | {
    "addition": 0.95,
    "subtraction": 0.95,
    "follow_up": 0.94,
    "two_calls": 0.75,
    "no_tool": 0.91,
    "after_result": 0.95,
    "unknown": 0.9,
    "simple": 0.91,
    "case": 0.94,
    "spelling": 0.86,
    "joining": 0.92,
    "sorting": 0.92,
    "comparison": 0.95,
    "free": 0.94,
}
HONEST = ("i don't know", "sorry, i don't know", "none of my tools")
FULL = 400
CALLS = re.compile(r"<tool_call>\n(.*)\n</tool_call>\n?")


def may_be_trained(item):
    """Whether another domain's training text may hold the question with its answer: facts and sums
    begin follow-ups, where they are not held out, and days and months follow each other there."""
    asked = [m["content"] for m in item["messages"] if m["role"] == "user"]
    if item["domain"] == "facts":
        return asked[-1] in talk.first_asks()
    if item["domain"] == "addition":
        return all(int(n) < 50 for n in re.findall(r"\d+", asked[-1]))
    return item["domain"] == "follow_up" and asked[0].startswith(
        ("What day comes after", "What month comes after")
    )


def items(domain, count, seed):
    if domain == "free":
        path = Path(__file__).parent / "free_questions.txt"
        lines = path.read_text(encoding="utf-8").splitlines()
        chosen = [lines[i * len(lines) // count] for i in range(count)]
        chosen = lines if count >= len(lines) else chosen
        return [
            {"domain": "free", "messages": [{"role": "user", "content": q}], "expected": None}
            for q in chosen
        ]
    if domain == "facts" and count == FULL:
        found = corpus.all_fact_items()
    else:
        found = corpus.test_items(seed, domain, 4 * count)
    return list(itertools.islice((i for i in found if not may_be_trained(i)), count))


def answers(ingot, model, asked):
    """The model's greedy answers, all in one run."""
    lines = [
        json.dumps(
            {
                "messages": i["messages"],
                **({"tools": i["tools"]} if "tools" in i else {}),
                "max_tokens": 200,
                "temperature": 0,
            }
        )
        for i in asked
    ]
    command = [ingot, "run", *([model] if model else []), "--jsonl"]
    done = subprocess.run(command, input="\n".join(lines) + "\n", text=True, capture_output=True)
    if done.returncode not in (0, 1):  # 1: a line has an error, which is shown below
        sys.exit(f"{' '.join(command)}: exit {done.returncode}\n{done.stderr}")
    results = [json.loads(line) for line in done.stdout.splitlines()]
    for item, result in zip(asked, results, strict=True):
        if "error" in result:
            sys.exit(f"{' '.join(command)}: {item['messages']}: {result['error']}")
    return [result["text"] for result in results]


def parsed_calls(text):
    """The calls that a reply consists of, each as canonical JSON; None where there is more."""
    calls = CALLS.findall(text)
    if "".join(CALLS.sub("", text).split()):
        return None
    try:
        return [json.dumps(json.loads(call), sort_keys=True) for call in calls]
    except ValueError:
        return None


def is_right(item, answer):
    if item["expected"] is None or item["domain"] == "unknown":
        return answer.strip().lower().startswith(HONEST)
    if item["domain"] in ("tools", "two_calls"):
        return parsed_calls(answer) == parsed_calls(item["expected"])
    if item["domain"] == "extraction":
        try:
            return list(json.loads(answer).items()) == list(json.loads(item["expected"]).items())
        except (ValueError, AttributeError):
            return False
    return answer.strip() == item["expected"]


def shares_of(ingot, model, asked, show):
    """{domain: share of right answers}, and how many there were."""
    scores, total = {}, {}
    for item, answer in zip(asked, answers(ingot, model, asked), strict=True):
        right = is_right(item, answer)
        scores[item["domain"]] = scores.get(item["domain"], 0) + right
        total[item["domain"]] = total.get(item["domain"], 0) + 1
        if show and not right:
            print(
                f"{item['domain']}: {item['messages'][-1]['content']!r}: {answer!r}, "
                f"expected {item['expected']!r}"
            )
    return {domain: scores[domain] / total[domain] for domain in scores}, total


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("model", nargs="?", help="the built-in one when left out")
    parser.add_argument("--ingot", default="build/release/ingot")
    parser.add_argument("--count", type=int, default=25, help="questions of each domain")
    parser.add_argument("--full", action="store_true", help=f"{FULL} of each")
    parser.add_argument("--seed", type=int, default=11)
    parser.add_argument("--floor", action="store_true")
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--show", action="store_true", help="print what was answered wrongly")
    parser.add_argument("--against", help="another model, with which this one is compared")
    parser.add_argument("--within", type=float, default=5.0, help="points that it may fall short")
    args = parser.parse_args()
    count = FULL if args.full else args.count
    asked = [item for domain in [*DOMAINS, "free"] for item in items(domain, count, args.seed)]
    shares, total = shares_of(args.ingot, args.model, asked, args.show)
    other = shares_of(args.ingot, args.against, asked, False)[0] if args.against else {}
    if args.json:
        print(json.dumps(shares))
    for domain, share in shares.items() if not args.json else ():
        beside = f", {other[domain]:6.1%} of the other" if other else ""
        print(f"{domain:12s} {share:6.1%} of {total[domain]}{beside}")
    short = [d for d, floor in FLOORS.items() if shares[d] < floor]
    if args.floor and short:
        sys.exit(f"well short of what the model card says: {', '.join(short)}")
    within = args.within / 100
    short = [d for d in [*AIMED, "free"] if other and shares[d] < other[d] - within]
    if short:
        sys.exit(f"more than {args.within:g} points below {args.against}: {', '.join(short)}")


if __name__ == "__main__":
    main()
