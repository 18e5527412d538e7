"""Cases for programs that judge JSON Schema: the official test suite, and real schemas with tests.

A case is (group, name, schema, tests), and a test is (document, is_valid, description).
"""
import json
import os
import subprocess

DRAFTS = {
    "draft7": "http://json-schema.org/draft-07/schema#",
    "draft2019-09": "https://json-schema.org/draft/2019-09/schema",
    "draft2020-12": "https://json-schema.org/draft/2020-12/schema",
}


def shared_json():
    """The folder of the shared JSON data."""
    for name in ("INGOT_SHARED", "INGOT_DEFAULT_SHARED"):
        if os.environ.get(name):
            return os.path.join(os.environ[name], "data", "json")
    return os.path.join("..", "shared", "data", "json")


def with_draft(schema, uri):
    """The suite's folder names the draft; a schema alone does not."""
    if isinstance(schema, dict) and "$schema" not in schema:
        return {"$schema": uri, **schema}
    return schema


def suite_cases(draft):
    root = os.path.join(shared_json(), "JSON-Schema-Test-Suite", "tests", draft)
    for folder, _, names in sorted(os.walk(root)):
        for name in sorted(names):
            path = os.path.join(folder, name)
            keyword = draft + "/" + os.path.relpath(path, root).removesuffix(".json")
            with open(path, encoding="utf-8") as file:
                groups = json.load(file)
            for group in groups:
                tests = [(t["data"], t["valid"], t["description"]) for t in group["tests"]]
                yield (keyword, group["description"],
                       with_draft(group["schema"], DRAFTS[draft]), tests)


def maskbench_cases():
    folder = os.path.join(shared_json(), "maskbench")
    for name in sorted(os.listdir(folder)):
        if not name.endswith(".jsonl"):
            continue
        with open(os.path.join(folder, name), encoding="utf-8") as file:
            for line in file:
                entry = json.loads(line)
                tests = [(t["data"], t["valid"], "") for t in entry["tests"]]
                yield ("maskbench", entry["name"], entry["schema"], tests)


def cases_of(sets):
    for name in sets:
        yield from maskbench_cases() if name == "maskbench" else suite_cases(name)


def run_lines(command, lines):
    """Gives a program one JSON line for each input; returns one parsed line for each."""
    text = "".join(json.dumps(line) + "\n" for line in lines)
    done = subprocess.run(command, input=text, capture_output=True, text=True, check=False)
    answers = [json.loads(line) for line in done.stdout.split("\n") if line]
    if done.returncode != 0 or len(answers) != len(lines):
        raise RuntimeError(f"{command[0]} ended with {done.returncode} at line {len(answers)}: "
                           + done.stderr[-500:])
    return answers
