#!/usr/bin/env python3
"""Validates documents that compiled JSON Schemas allow, with an independent validator.

usage: random_walks.py WALKER [--schemas N] [--walks N] [--seed N] [--vocabulary [TOKENS ...]]
                       [--sets SET ...] [--engine INGOT [MODEL]]
WALKER is the program random_walk. The validator is the PyPI package jsonschema. Each schema gets N
random texts with each vocabulary: INGOT_FULL=1 takes more schemas and texts. TOKENS is 256 (bytes),
512 (a small model's), 2048 (the first of GPT-2) or 150000 (Qwen2); the last three by default. The
exit status is 1 if a document is not valid, if a walk met a dead end, if there are no documents, or
if more than REFUSED_MAX of the schemas are refused.

With --engine, MODEL (the model of 512 tokens by default) also writes as many texts for each schema
at temperature 2, all in one run of INGOT. None may end in an error, or for another reason than the
end of its document or --max-tokens.
"""
import argparse
import decimal
import json
import os
import random
import re
import subprocess
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


decimal.getcontext().prec = 2000  # digits of a remainder's quotient
FULL = bool(os.environ.get("INGOT_FULL"))
SPACES = "\t\n\v\f\r \xa0\u1680\u2000-\u200a\u2028\u2029\u202f\u205f\u3000\ufeff"


def python_pattern(pattern):
    """A pattern of ECMA-262, which JSON Schema uses, as one of Python.

    The two differ in what white space, the end of a text and any character are, and Python's
    digits and letters are not those of ASCII alone.
    """
    out, in_class, i = "(?a)", False, 0
    while i < len(pattern):
        char = pattern[i:i + 2] if pattern[i] == "\\" else pattern[i]
        i += len(char)
        if char in ("[", "]"):
            in_class = char == "["
        if char == "\\s":
            char = SPACES if in_class else f"[{SPACES}]"
        elif char == "\\S" and not in_class:
            char = f"[^{SPACES}]"
        elif char == "$" and not in_class:
            char = "\\Z"
        elif char == "." and not in_class:
            char = "[^\n\r\u2028\u2029]"
        out += char
    return out


def with_python_patterns(schema):
    """A schema with the patterns of Python."""
    if isinstance(schema, list):
        return [with_python_patterns(part) for part in schema]
    if not isinstance(schema, dict):
        return schema
    out = {}
    for key, value in schema.items():
        if key in ("const", "enum"):
            out[key] = value
        elif key == "pattern" and isinstance(value, str):
            out[key] = python_pattern(value)
        elif key == "patternProperties" and isinstance(value, dict):
            out[key] = {python_pattern(name): with_python_patterns(part)
                        for name, part in value.items()}
        else:
            out[key] = with_python_patterns(value)
    return out


def exact(text):
    """Reads JSON without rounding: as doubles, 33.33 is no multiple of 0.01."""
    return json.loads(text, parse_float=decimal.Decimal)


def validator_of(schema):
    kind = jsonschema.validators.validator_for(schema, jsonschema.Draft202012Validator)
    return kind(exact(json.dumps(with_python_patterns(schema))), format_checker=kind.FORMAT_CHECKER)


def fault_of(validator, text):
    """None if a text is valid, else what is wrong with it."""
    error = jsonschema.exceptions.best_match(validator.iter_errors(exact(text)))
    return None if error is None else (f"{text!r:.300}: {error.message:.200} at "
                                       f"{list(error.absolute_schema_path)}")


def judge(group, name, schema, answer, counts):
    """Validates the documents of a schema."""
    if "error" in answer:
        counts["refused"] += 1
        return
    counts["cut"] += answer["cut"]
    counts["stuck"] += answer["stuck"]
    if answer["stuck"]:
        print(f"stuck: {group}: {name}: {answer['stuck_at']!r}"[:600])
    if answer["notes"]:
        counts["noted"] += 1
        return
    validator = validator_of(schema)
    for text in answer["documents"]:
        try:
            fault = fault_of(validator, text)
        except (RecursionError, OverflowError, re.error,
                jsonschema.exceptions.SchemaError) as error:
            counts["not judged"] += 1
            print(f"not judged: {group}: {name}: {type(error).__name__}: {error}"[:300])
            continue
        counts["documents"] += 1
        if fault is not None:
            counts["invalid"] += 1
            print(f"invalid: {group}: {name}: {fault}")


def new_counts():
    return dict.fromkeys(("documents", "cut", "stuck", "refused", "noted", "not judged",
                          "invalid"), 0)


def is_right(cases, options, tokens):
    """Walks with one vocabulary."""
    answers = run_lines([options.walker, str(options.walks), str(options.seed)]
                        + vocabulary_arguments(tokens), [{"schema": case[2]} for case in cases])
    counts = new_counts()
    for (group, name, schema, _), answer in zip(cases, answers):
        judge(group, name, schema, answer, counts)
    print(f"{tokens} tokens, {len(cases)} schemas, {options.walks} walks each: {counts}")
    is_idle = counts["documents"] == 0 or counts["refused"] > len(cases) * REFUSED_MAX
    if is_idle:
        print(f"too few documents, or more than {REFUSED_MAX:.0%} of {len(cases)} schemas refused")
    return not (counts["invalid"] or counts["stuck"] or is_idle)


def engine_answers(cases, options):
    """What a model writes, in the form of the walker's answers, and the reasons of other ends."""
    model = options.engine[1:] or [vocabulary_arguments(512)[1]]
    lines = [json.dumps({"prompt": "Once", "json_schema": schema, "temperature": 2,
                         "max_tokens": 250, "seed": seed})
             for _, _, schema, _ in cases for seed in range(options.walks)]
    done = subprocess.run([options.engine[0], "run", *model, "--jsonl", "--log-level", "error"],
                          input="\n".join(lines) + "\n", stdout=subprocess.PIPE, text=True,
                          check=False)
    replies = [json.loads(line) for line in done.stdout.split("\n") if line]
    assert len(replies) == len(lines), (len(replies), len(lines))
    answers, others = [], []
    for i in range(0, len(replies), options.walks):
        answer = {"cut": 0, "stuck": 0, "notes": [], "documents": []}
        for reply in replies[i:i + options.walks]:
            end = reply.get("finish_reason")
            if end == "stop":
                answer["documents"].append(reply["text"])
            elif end == "length":
                answer["cut"] += 1
            elif str(reply.get("error")).startswith("json_schema"):  # refused before the start
                answer["error"] = reply["error"]
            else:
                others.append(str(reply)[:300])
        answers.append(answer)
    return answers, others


def engine_is_right(cases, options):
    """Writes texts with a model."""
    cases = [case for case in cases if isinstance(case[2], dict)]
    answers, others = engine_answers(cases, options)
    counts = new_counts()
    for (group, name, schema, _), answer in zip(cases, answers):
        judge(group, name, schema, answer, counts)
    print(f"engine, {len(cases)} schemas, {options.walks} texts each: {counts}")
    for other in others[:8]:
        print("ended otherwise:", other)
    return counts["documents"] > 0 and not (counts["invalid"] or others)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("walker")
    parser.add_argument("--sets", nargs="+", default=["maskbench"])
    parser.add_argument("--schemas", type=int, default=200 if FULL else 60)
    parser.add_argument("--walks", type=int, default=100 if FULL else 12)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--vocabulary", type=int, nargs="*", choices=sorted(VOCABULARIES),
                        default=[512, 2048, 150_000])
    parser.add_argument("--engine", nargs="+", metavar=("INGOT", "MODEL"))
    options = parser.parse_args()
    cases = list(cases_of(options.sets))
    random.Random(options.seed).shuffle(cases)
    results = [is_right(cases[:options.schemas], options, tokens)
               for tokens in options.vocabulary]
    if options.engine:
        results.append(engine_is_right(cases[:options.schemas], options))
    return 0 if all(results) else 1


if __name__ == "__main__":
    sys.exit(main())
