#!/usr/bin/env python3
"""The demo model's training text: a seeded stream of documents, and held-out questions for its
evaluation.

usage: corpus.py [--seed N] [--count N] [--test] [--domain NAME]     prints documents, for reading
"""

import argparse
import json
import random

import calls
import stories
import talk
import tasks
import unknown
import world
from document import Chat, held_out, story

FACTS = [(key, ask, answer) for key, asks, answer in world.facts() for ask in asks]
TRAIN_FACTS = [fact for fact in FACTS if not held_out("fact", fact[1])]
TEST_FACTS = [fact for fact in FACTS if held_out("fact", fact[1])]

# Shares of the training tokens.
SHARES = {
    "tools": 27,
    "unknown": 12,
    "addition": 6,
    "extraction": 14,
    "follow_up": 7,
    "reverse": 11,
    "facts": 13,
    "subtraction": 9,
    "copy": 4,
    "spelling": 3,
    "story": 4,
    "story_chat": 3,
    "simple": 3,
    "case": 2,
    "joining": 6,
    "sorting": 2,
    "comparison": 1,
}

# Shares of the later parts of a training: whole documents with many similar tools, from which a
# model of this size learns to choose among them, and more documents of the domains that would
# suffer from the tools' share.
LATER_SHARES = SHARES | {"tools": 90, "story": 10, "story_chat": 6, "facts": 20}


def fact(rng, test):
    _, ask, answer = rng.choice(TEST_FACTS if test else TRAIN_FACTS)
    if not test and rng.random() < 0.1:
        ask = ask.rstrip("?.") if rng.random() < 0.5 else ask[0].lower() + ask[1:]
    return ask, answer


def unknown_turn(rng, test):
    return unknown.question(rng, test), unknown.answer(rng)


ONE_TURN = {
    **tasks.ARITHMETIC,
    **tasks.WORDS,
    **tasks.JSON,
    "facts": fact,
    "unknown": unknown_turn,
    "simple": talk.simple,
}


def _chat(rng, domain, turns):
    chat = Chat(domain)
    if rng.random() < 0.25:
        chat.system(rng.choice(talk.SYSTEMS))
    for ask, answer in turns:
        chat.user(ask).assistant(answer)
    return chat.done()


def document(rng, domain, test=False, part=0):
    """One document of a domain. A test scores its last answer."""
    if domain == "story":
        return story(stories.story(rng))
    if domain == "tools":
        return calls.tool_chat(rng, test, Chat, unknown.question, part)
    if domain in calls.MORE_TESTS:
        return calls.more_test(rng, domain, Chat, unknown.question)
    if domain == "story_chat":
        return _chat(rng, domain, talk.story_turns(rng, test))
    if domain == "follow_up":
        return _chat(rng, domain, talk.follow_up(rng, test))
    turns = [ONE_TURN[domain](rng, test)]
    if not test:
        while rng.random() < 0.35 and len(turns) < 6:
            turns.append(
                ONE_TURN[rng.choice([domain, "simple", "facts", "unknown", "addition"])](rng, False)
            )
    return _chat(rng, domain, turns)


def training(seed, part=0):
    """Documents without end for this part of a training (0, 1, 2), each of the domain that is
    furthest below its share of the characters."""
    rng = random.Random(seed)
    shares = LATER_SHARES if part else SHARES
    written = dict.fromkeys(shares, 0)
    while True:
        domain = min(shares, key=lambda d: written[d] / shares[d])
        made = document(rng, domain, part=part)
        written[domain] += (
            sum(len(piece) for piece, learned in made.pieces if learned) + len(made.text()) // 8
        )
        yield made


def test_documents(seed, domain, count):
    """Held-out documents of a domain."""
    rng = random.Random(f"{seed} {domain}")
    for _ in range(count):
        yield document(rng, domain, test=True)


def all_fact_items():
    """Every held-out fact, once."""
    for _, ask, answer in TEST_FACTS:
        yield {
            "domain": "facts",
            "messages": [{"role": "user", "content": ask}],
            "expected": answer,
        }


def test_items(seed, domain, count):
    """Held-out questions: {"domain", "messages", "tools"?, "expected"}."""
    for made in test_documents(seed, domain, count):
        item = {
            "domain": domain,
            "messages": made.messages[:-1],
            "expected": made.messages[-1]["content"],
        }
        if made.tools:
            item["messages"] = [m for m in item["messages"] if m["role"] != "system"]
            item["tools"] = made.tools
        yield item


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--count", type=int, default=20)
    parser.add_argument("--test", action="store_true", help="held-out questions, as JSON lines")
    parser.add_argument("--domain", choices=sorted(SHARES))
    args = parser.parse_args()
    if args.test:
        for domain in [args.domain] if args.domain else sorted(set(SHARES) - {"story"}):
            for item in test_items(args.seed, domain, args.count):
                print(json.dumps(item))
        return
    documents = training(args.seed)
    while args.count > 0:
        made = next(documents)
        if args.domain in (None, made.domain):
            args.count -= 1
            print(f"--- {made.domain}\n{made.text()}")


if __name__ == "__main__":
    main()
