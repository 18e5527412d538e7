#!/usr/bin/env python3
"""Scores a demo model on held-out questions, through the engine itself.

usage: evaluate.py --ingot build/release/ingot MODEL [--count 25 | --full] [--floor] [--json]

Prints the share of exact answers of each domain; `free` are the questions of free_questions.txt,
which lie outside of the model's world and want an honest answer. With --floor it exits 1 where a
domain falls well short of what the model card says.
"""

import argparse
import json
import subprocess
import sys
from pathlib import Path

import corpus

DOMAINS = [
    "facts",
    "tools",
    "extraction",
    "copy",
    "reverse",
    "addition",
    "subtraction",
    "follow_up",
]
# Five points below the model card's figures: a sample scatters.
FLOORS = {"facts": 0.92, "tools": 0.85, "extraction": 0.93, "copy": 0.94, "reverse": 0.92} | {
    "addition": 0.95,
    "subtraction": 0.95,
    "follow_up": 0.94,
    "free": 0.93,
}
HONEST = ("i don't know", "sorry, i don't know", "none of my tools")
FULL = 400


def items(domain, count, seed):
    if domain == "free":
        lines = (
            (Path(__file__).parent / "free_questions.txt").read_text(encoding="utf-8").splitlines()
        )
        chosen = lines if count >= len(lines) else lines[:: max(1, len(lines) // count)]
        return [
            {"domain": "free", "messages": [{"role": "user", "content": q}], "expected": None}
            for q in chosen
        ]
    return list(corpus.test_items(seed, domain, count))


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
    if done.returncode != 0:
        sys.exit(f"{' '.join(command)}: exit {done.returncode}\n{done.stderr}")
    return [json.loads(line)["text"] for line in done.stdout.splitlines()]


def parsed_calls(text):
    """The calls in a reply, or None when one of them is no JSON."""
    calls = []
    for part in text.split("<tool_call>")[1:]:
        try:
            calls.append(json.loads(part.split("</tool_call>")[0]))
        except ValueError:
            return None
    return calls


def is_right(item, answer):
    if item["expected"] is None:
        return answer.strip().lower().startswith(HONEST)
    if item["domain"] == "tools":
        return parsed_calls(answer) == parsed_calls(item["expected"])
    if item["domain"] == "extraction":
        try:
            return list(json.loads(answer).items()) == list(json.loads(item["expected"]).items())
        except (ValueError, AttributeError):
            return False
    return answer.strip() == item["expected"]


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
    args = parser.parse_args()
    count = FULL if args.full else args.count
    asked = [item for domain in [*DOMAINS, "free"] for item in items(domain, count, args.seed)]
    scores, total = {}, {}
    for item, answer in zip(asked, answers(args.ingot, args.model, asked), strict=True):
        right = is_right(item, answer)
        scores[item["domain"]] = scores.get(item["domain"], 0) + right
        total[item["domain"]] = total.get(item["domain"], 0) + 1
        if args.show and not right:
            print(
                f"{item['domain']}: {item['messages'][-1]['content']!r}: {answer!r}, "
                f"expected {item['expected']!r}"
            )
    shares = {domain: scores[domain] / total[domain] for domain in scores}
    print(
        json.dumps(shares)
        if args.json
        else "\n".join(f"{d:12s} {s:6.1%} of {total[d]}" for d, s in shares.items())
    )
    short = [d for d, s in shares.items() if s < FLOORS[d]]
    if args.floor and short:
        sys.exit(f"well short of what the model card says: {', '.join(short)}")


if __name__ == "__main__":
    main()
