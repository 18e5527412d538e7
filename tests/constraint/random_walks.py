#!/usr/bin/env python3
"""Validates documents that compiled JSON Schemas allow, with an independent validator.

usage: random_walks.py WALKER [--schemas N] [--walks N] [--seed N] [--vocabulary TOKENS]
                       [SET...]
WALKER is the program random_walk. The validator is the PyPI package jsonschema. Each schema
gets N random texts. TOKENS is 256 (bytes, the default), 512 (a small model's), 2048 (the first
of GPT-2) or 150000 (Qwen2). The exit status is 1 if a document is not valid, if a walk met a dead
end, if there are no documents, or if more than REFUSED_MAX of the schemas are refused.
"""
import argparse
import json
import os
import random
import sys

try:
    import jsonschema
except ImportError:
    print("skipped: the package jsonschema is not installed")
    sys.exit(77)

from schema_cases import cases_of, run_lines, shared_json


GPT2 = ("tokenizers/gpt2/vocab.json", "tokenizers/gpt2/merges.txt")
QWEN2 = ("tokenizers/qwen2/vocab.json", "tokenizers/qwen2/merges.txt",
         "tokenizers/configs/qwen2.5/tokenizer_config.json")
VOCABULARIES = {256: (), 512: ("models/stories260K/stories260K.gguf",), 2048: GPT2, 150_000: QWEN2}


def vocabulary_arguments(tokens):
    """What the walker needs to read a vocabulary."""
    data = os.path.dirname(shared_json())
    files = [os.path.join(data, name) for name in VOCABULARIES[tokens]]
    return [str(tokens)] + files if files else []


REFUSED_MAX = 0.15


def is_valid(validator, text):
    document = json.loads(text)
    try:
        return validator.is_valid(document)
    except (RecursionError, OverflowError, jsonschema.exceptions.SchemaError) as error:
        print("not judged:", type(error).__name__)
        return True


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("walker")
    parser.add_argument("sets", nargs="*", default=["maskbench"])
    parser.add_argument("--schemas", type=int, default=200)
    parser.add_argument("--walks", type=int, default=20)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--vocabulary", type=int, choices=sorted(VOCABULARIES), default=256)
    options = parser.parse_args()
    cases = list(cases_of(options.sets))
    random.Random(options.seed).shuffle(cases)
    cases = cases[:options.schemas]
    answers = run_lines([options.walker, str(options.walks), str(options.seed)]
                        + vocabulary_arguments(options.vocabulary),
                        [{"schema": schema} for _, _, schema, _ in cases])
    counts = {"documents": 0, "cut": 0, "stuck": 0, "refused": 0, "noted": 0, "invalid": 0}
    for (group, name, schema, _), answer in zip(cases, answers):
        if "error" in answer:
            counts["refused"] += 1
            continue
        counts["cut"] += answer["cut"]
        counts["stuck"] += answer["stuck"]
        if answer["stuck"]:
            print(f"stuck: {group}: {name}: {answer['stuck_at']!r}"[:600])
        if answer["notes"]:
            counts["noted"] += 1
            continue
        kind = jsonschema.validators.validator_for(schema, jsonschema.Draft202012Validator)
        validator = kind(schema, format_checker=kind.FORMAT_CHECKER)
        for text in answer["documents"]:
            counts["documents"] += 1
            if not is_valid(validator, text):
                counts["invalid"] += 1
                error = next(validator.iter_errors(json.loads(text)))
                print(f"invalid: {group}: {name}: {text!r:.300}: {error.message:.200} at "
                      f"{list(error.absolute_schema_path)}")
    print(counts)
    is_idle = counts["documents"] == 0 or counts["refused"] > len(cases) * REFUSED_MAX
    if is_idle:
        print(f"too few documents, or more than {REFUSED_MAX:.0%} of {len(cases)} schemas refused")
    return 1 if counts["invalid"] or counts["stuck"] or is_idle else 0


if __name__ == "__main__":
    sys.exit(main())
