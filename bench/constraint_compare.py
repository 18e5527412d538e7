#!/usr/bin/env python3
"""Compares masks of JSON schemas: ingot beside llguidance and xgrammar, on maskbench.

usage: constraint_compare.py [--every N] [--engines llguidance xgrammar] [--limit 10]
[--show] [--venv build/constraint-venv] [--results bench/results/MACHINE-DATE.json]

Makes the virtual environment if it is not there: pip installs the other engines from PyPI. All
engines have the 151,665 tokens of Qwen2.5, one process and one thread each. They take turns schema
by schema: ingot, whose tokenizer cuts the documents, then the others in changing order. Each makes
a mask before each token. Times are CPU times of the thread; what a call that does nothing costs is
subtracted. They are those of schemas that all engines compile, and of tokens before which all
engines made a mask; one row compares each engine with ingot alone, on more schemas.

Documents are JSON without white space, with their members in the order of the file. Where an engine
refuses a valid one, the script tries the schema's order and others; only a document that is refused
in each counts. All engines allow texts without white space. ingot is strict: a keyword that
it cannot enforce is an error. llguidance has its defaults, with which it is strict too, and the
slices that it offers for JSON. xgrammar has its defaults, but strict_mode off, which would forbid
all members that a schema does not name. A schema that takes an engine more than --limit seconds of
CPU time, or that ends its process, counts as refused.

Prints a table for docs/performance.md; after SIGTERM, one of the schemas so far. --results adds the
figures to a file of bench/results, or replaces them there. Build constraint_bench first:
cmake --preset release -DINGOT_BENCH=ON && cmake --build --preset release --target constraint_bench
"""

import argparse
import collections
import functools
import json
import os
import pathlib
import re
import select
import signal
import statistics
import subprocess
import sys
import time

ROOT = pathlib.Path(__file__).resolve().parent.parent
PACKAGES = {"llguidance": ["llguidance==1.9.1", "tokenizers==0.23.3", "numpy"],
            "xgrammar": ["xgrammar==0.2.9", "apache-tvm-ffi==0.1.15.post2", "numpy"]}
WAYS_MAX = 64  # orders that are tried at once
START_S = 600  # until an engine's process is ready
DATA = pathlib.Path(os.environ.get("INGOT_SHARED", ROOT / "../shared")) / "data"
# How Qwen2 cuts text into words, from its tokenizer's description.
WORDS = (r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n]*"
         r"|\s*[\r\n]+|\s+(?!\S)|\s+")


# The engines of PyPI, each in a process of its own.


def added_tokens():
    """Texts of the control tokens, by id."""
    config = json.loads((DATA / "tokenizers/configs/qwen2.5/tokenizer_config.json").read_text())
    return {int(i): token["content"] for i, token in config["added_tokens_decoder"].items()}


class Llguidance:
    def __init__(self):
        import llguidance
        import numpy
        from tokenizers import AddedToken, Regex, Tokenizer, decoders, models, pre_tokenizers

        folder = DATA / "tokenizers/qwen2"
        files = [str(folder / name) for name in ("vocab.json", "merges.txt")]
        tokenizer = Tokenizer(models.BPE.from_file(*files))
        tokenizer.pre_tokenizer = pre_tokenizers.Sequence([
            pre_tokenizers.Split(Regex(WORDS), "isolated"),
            pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)])
        tokenizer.decoder = decoders.ByteLevel()
        tokenizer.add_tokens([AddedToken(text, special=True, normalized=False)
                              for _, text in sorted(added_tokens().items())])
        self.matcher_of = llguidance.LLMatcher
        self.tokenizer = llguidance.LLTokenizer(
            tokenizer.to_str(), slices=llguidance.LLTokenizer.json_slices())
        self.bits = numpy.zeros((self.tokenizer.vocab_size + 31) // 32, dtype=numpy.int32)
        self.at = self.bits.ctypes.data, self.bits.nbytes
        self.compile('{"type": "object"}')
        self.nothing = self.matcher.is_stopped

    schema = None  # the one that is compiled

    def compile(self, schema):
        grammar = self.matcher_of.grammar_from_json_schema(schema)
        self.matcher = self.matcher_of(self.tokenizer, grammar, log_level=0)
        if self.matcher.is_error():
            raise ValueError(self.matcher.get_error())

    def begin(self):
        self.matcher.reset()
        self.accept = self.matcher.consume_token
        self.is_complete = self.matcher.is_accepting
        self.fill = self.matcher.unsafe_compute_mask_ptr

    def mask(self):
        self.fill(*self.at)


class Xgrammar:
    def __init__(self):
        import importlib.util
        import types

        import numpy
        import tvm_ffi

        # The package's own modules also load torch and transformers, but masks do not need them.
        package = types.ModuleType("xgrammar")
        package.__path__ = list(importlib.util.find_spec("xgrammar").submodule_search_locations)
        sys.modules["xgrammar"] = package
        import xgrammar.load_binding  # noqa: F401  (before base)
        from xgrammar.base import _core

        vocabulary = json.loads((DATA / "tokenizers/qwen2/vocab.json").read_text())
        texts = [""] * (1 + max(added_tokens()))  # a text of nothing makes a control token
        for text, i in vocabulary.items():
            texts[i] = text
        byte_level = 2
        ends = [i for i, text in added_tokens().items() if text == "<|im_end|>"]
        info = _core.TokenizerInfo(texts, byte_level, len(texts), ends, False)
        threads, is_cached, cache_bytes, is_dynamic = 1, False, -1, False
        self.compiler = _core.GrammarCompiler(info, threads, is_cached, cache_bytes, is_dynamic)
        self.matcher_of = _core.GrammarMatcher
        self.bits = numpy.zeros((len(texts) + 31) // 32, dtype=numpy.int32)
        self.tensor = tvm_ffi.from_dlpack(self.bits)
        self.compile('{"type": "object"}')
        self.begin()
        self.nothing = self.matcher.is_terminated

    schema = None

    def compile(self, schema):
        any_white_space, indent, separators, is_strict, white_max, any_order = (
            True, None, None, False, None, False)
        self.grammar = self.compiler.compile_json_schema(
            schema, any_white_space, indent, separators, is_strict, white_max, any_order)

    def begin(self):
        self.matcher = self.matcher_of(self.grammar, None, False, -1, None)
        self.is_complete = self.matcher.is_completed
        self.fill = self.matcher.fill_next_token_bitmask

    def mask(self):
        self.fill(self.tensor, 0, False)

    def accept(self, token):
        return self.matcher.accept_token(token, False)


CLASSES = {"llguidance": Llguidance, "xgrammar": Xgrammar}


def walk(engine, ids):
    """What constraint_bench prints of a document."""
    clock = time.thread_time_ns
    out = {"mask_us": [], "accept_us": [], "taken": False}
    engine.begin()
    for token in ids:
        start = clock()
        engine.mask()
        out["mask_us"].append((clock() - start) / 1000)
        if not int(engine.bits[token >> 5]) >> (token & 31) & 1:
            return out
        start = clock()
        is_taken = engine.accept(token)
        out["accept_us"].append((clock() - start) / 1000)
        if not is_taken:
            return out
    out["taken"] = bool(engine.is_complete())
    return out


def answer(engine, line):
    schema = json.dumps(line["schema"], ensure_ascii=False)
    start = time.thread_time_ns()
    try:
        if schema != engine.schema:  # else these are more documents of it
            engine.schema = None
            engine.compile(schema)
            engine.schema = schema
    except Exception as error:  # whatever an engine throws
        return {"refused": str(error)[:300], "documents": []}
    compile_us = (time.thread_time_ns() - start) / 1000
    return {"compile_us": compile_us, "documents": [walk(engine, ids) for ids in line["ids"]]}


def serve(name):
    """Answers lines of the standard input, as constraint_bench does."""
    engine = CLASSES[name]()
    clock, times = time.thread_time_ns, []
    for _ in range(1000):
        start = clock()
        engine.nothing()
        times.append((clock() - start) / 1000)
    print(json.dumps({"clock_us": statistics.median(times)}), flush=True)
    for line in sys.stdin:
        print(json.dumps(answer(engine, json.loads(line))), flush=True)


# The comparison.


class Worker:
    """An engine's process."""

    def __init__(self, name, command, limit_s):
        self.name, self.command, self.limit_s = name, command, limit_s
        self.start()

    def start(self):
        self.process = subprocess.Popen(self.command, stdin=subprocess.PIPE,
                                        stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
        first = self.read(START_S)
        if first is None:
            sys.exit(f"{self.name} does not start: {' '.join(self.command)}")
        self.clock_us = first["clock_us"]

    def cpu_s(self):
        """CPU seconds of the process so far."""
        text = pathlib.Path(f"/proc/{self.process.pid}/stat").read_text()
        fields = text.rsplit(")", 1)[1].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")

    def read(self, limit_s):
        """The next line; None if the process ends before or takes too long."""
        end, got = self.cpu_s() + limit_s, b""
        while not got.endswith(b"\n"):
            if not select.select([self.process.stdout], [], [], 1)[0]:
                if self.cpu_s() > end:
                    return None
                continue
            part = os.read(self.process.stdout.fileno(), 1 << 20)
            if not part:
                self.process.wait()
                return None
            got += part
        return json.loads(got)

    def ask(self, line):
        try:
            self.process.stdin.write(json.dumps(line).encode() + b"\n")
            self.process.stdin.flush()
            got = self.read(self.limit_s)
        except BrokenPipeError:
            got = None
        if got is not None:
            return got
        has_ended = self.process.poll() is not None
        self.stop()
        self.start()
        why = "ends the process" if has_ended else f"takes more than {self.limit_s} s"
        return {"refused": why, "documents": []}

    def stop(self):
        self.process.kill()
        self.process.communicate()


def python_of(venv, engines):
    """The interpreter that has the other engines."""
    python = venv / "bin/python"
    if not python.exists():
        subprocess.run([sys.executable, "-m", "venv", str(venv)], check=True)
    pip = [str(python), "-m", "pip", "install", "--quiet"]
    have = subprocess.run([str(python), "-m", "pip", "freeze"], stdout=subprocess.PIPE, text=True,
                          check=True).stdout.split()
    for name in engines:
        if all(any(line.startswith(wanted) for line in have) for wanted in PACKAGES[name]):
            continue
        # xgrammar's requirements would bring torch, which is not used.
        alone = ["--no-deps"] if name == "xgrammar" else []
        subprocess.run([*pip, *alone, *PACKAGES[name]], check=True)
    return str(python)


def text_of(value, separators=(",", ":")):
    return json.dumps(value, ensure_ascii=False, separators=separators)


def expanded(schemas, root):
    """These schemas and all schemas that apply to the same value, in order."""
    found, left = [], list(schemas)
    while left:
        schema = left.pop(0)
        if not isinstance(schema, dict) or any(schema is other for other in found):
            continue
        found.append(schema)
        more = [schema[key] for key in ("if", "then", "else") if key in schema]
        for key in ("allOf", "anyOf", "oneOf"):
            more += schema.get(key, [])
        target = schema.get("$ref")
        if isinstance(target, str) and target.startswith("#"):
            more.append(at_pointer(root, target))
        left = more + left
    return found


def at_pointer(root, pointer):
    for name in pointer.lstrip("#").split("/")[1:]:
        if not isinstance(root, dict):
            return None
        root = root.get(name.replace("~1", "/").replace("~0", "~"))
    return root


def in_order(value, schemas, root):
    """The value with its members in the order in which the schemas declare them."""
    schemas = expanded(schemas, root)
    if isinstance(value, list):
        return [in_order(item, of_item(schemas, i), root) for i, item in enumerate(value)]
    if not isinstance(value, dict):
        return value
    declared = collections.defaultdict(list)
    for schema in schemas:
        for key, of in schema.get("properties", {}).items():
            declared[key].append(of)
    others = [of for schema in schemas for of in schema.get("patternProperties", {}).values()]
    others += [schema.get("additionalProperties") for schema in schemas]
    keys = [key for key in declared if key in value] + [key for key in value if key not in declared]
    return {key: in_order(value[key], declared.get(key, others), root) for key in keys}


def of_item(schemas, i):
    """The schemas of a list's item i."""
    found = []
    for schema in schemas:
        items = schema.get("items")
        first = items if isinstance(items, list) else schema.get("prefixItems", [])
        rest = schema.get("additionalItems") if isinstance(items, list) else items
        found.append(first[i] if i < len(first) else rest)
    return found


def members_at(value, offset):
    """(path of an object, number of its member) for each member in which this byte of the compact
    text lies, the outermost first."""
    found, path = [], ()
    while isinstance(value, (dict, list)) and value and offset >= 0:
        items = value.items() if isinstance(value, dict) else enumerate(value)
        begin = 1
        for index, (key, child) in enumerate(items):
            head = len(text_of(key).encode()) + 1 if isinstance(value, dict) else 0
            end = begin + head + len(text_of(child).encode()) + 1
            if offset < end or index + 1 == len(value):
                break
            begin = end
        if isinstance(value, dict):
            found.append((path, index))
        path, value, offset = (*path, key), child, offset - begin - head
    return found


def moved(value, path, index, to):
    """The value with a member of the object at `path` at another place."""
    if path:
        first, *rest = path
        items = value.items() if isinstance(value, dict) else enumerate(value)
        new = {key: moved(child, rest, index, to) if key == first else child
               for key, child in items}
        return new if isinstance(value, dict) else list(new.values())
    items = list(value.items())
    items.insert(to, items.pop(index))
    return dict(items)


def is_taken_in_some_order(workers, name, schema, document):
    """Whether the engine takes the document with other orders of members: moves a member where the
    engine refuses a token, as long as it then takes more of the text."""
    def tried(documents):
        answers = ask_all({"ingot": workers["ingot"], name: workers[name]}, schema,
                          [text_of(one) for one in documents], 0)
        out = []
        for one, cut, walked in zip(documents, answers["ingot"]["cuts"],
                                    answers[name]["documents"]):
            taken = len(walked["mask_us"]) - 1  # before the token that is refused
            out.append((walked["taken"], sum(cut[:taken]), one))
        return max(out, key=lambda way: way[:2], default=(False, 0, document))

    best = tried([document, in_order(document, [schema], schema)])
    while not best[0]:
        _, size, one = best
        ways = []
        for path, index in members_at(one, size):
            parent = one
            for key in path:
                parent = parent[key]
            ways += [moved(one, path, index, to) for to in range(index)]
            ways += [moved(one, path, later, index) for later in range(index + 1, len(parent))]
        best = tried(ways[-WAYS_MAX:])
        if best[1] <= size and not best[0]:
            return False
    return True


def run_schema(workers, entry, number):
    """Engine -> its answer for a schema of maskbench. `taken` also says so of valid documents that
    the engine takes in another way."""
    schema, tests = entry["schema"], entry["tests"]
    answers = ask_all(workers, schema, [text_of(test["data"]) for test in tests], number)
    for name, got in answers.items():
        for test, walked in zip(tests, got["documents"]):
            if test["valid"] and not walked["taken"]:
                walked["taken"] = is_taken_in_some_order(workers, name, schema, test["data"])
    return answers


def ask_all(workers, schema, texts, number):
    """Engine -> its answer. That of ingot also has `cuts`: the bytes of each document's tokens."""
    first, *others = workers.values()
    answer = first.ask({"schema": schema, "strict": True, "documents": texts})
    ids = [walked["ids"] for walked in answer["documents"]]
    if len(ids) < len(texts):
        sys.exit(f"ingot {answer['refused']}: {json.dumps(schema)[:1000]}")
    answer["cuts"] = [[token_sizes().get(i, 0) for i in of_one] for of_one in ids]
    if "refused" in answer:
        answer["documents"] = []
    got = {first.name: answer}
    for worker in others if number % 2 else others[::-1]:
        got[worker.name] = worker.ask({"schema": schema, "ids": ids})
    return got


@functools.cache
def token_sizes():
    vocabulary = json.loads((DATA / "tokenizers/qwen2/vocab.json").read_text())
    return {i: len(text) for text, i in vocabulary.items()}  # one character for each byte


class Totals:
    """The figures of one engine."""

    def __init__(self, worker):
        self.clock_us = worker.clock_us
        self.counts = collections.Counter()
        self.times = collections.defaultdict(list)

    def count(self, got, tests):
        self.counts["refused"] += "refused" in got
        for test, walked in zip(tests, got["documents"]):
            kind = "valid" if test["valid"] else "invalid"
            self.counts[f"{kind}_taken" if walked["taken"] else f"{kind}_refused"] += 1

    def add(self, kind, times, clock_us=None):
        clock_us = self.clock_us if clock_us is None else clock_us
        self.times[kind] += [max(0, us - clock_us) for us in times]

    def row(self):
        out = {name: self.counts[name] for name in ("refused", "valid_taken", "valid_refused",
                                                    "invalid_taken", "invalid_refused")}
        for kind, times in self.times.items():
            times.sort()
            out[kind] = {"count": len(times), "mean": round(statistics.fmean(times), 1)}
            for name, share in (("p50", 0.5), ("p99", 0.99), ("p99.9", 0.999), ("max", 1)):
                out[kind][name] = round(times[int(share * (len(times) - 1))], 1)
        return out


def add_times(totals, answers):
    """Adds the masks of each engine beside those of ingot, and what all engines did, each for the
    schemas that these engines compile."""
    ingot = answers["ingot"]["documents"]
    for name, got in answers.items():
        for own, walked in zip(ingot, got["documents"]):
            count = min(len(own["mask_us"]), len(walked["mask_us"]))
            totals[name].add("pair_mask_us", walked["mask_us"][:count])
            totals[name].add("pair_ingot_us", own["mask_us"][:count], totals["ingot"].clock_us)
    if any("refused" in got for got in answers.values()):
        return
    places = [min(len(walked["mask_us"]) for walked in of_all)
              for of_all in zip(*(got["documents"] for got in answers.values()))]
    for name, got in answers.items():
        totals[name].add("compile_us", [got["compile_us"]])
        for number, (walked, count) in enumerate(zip(got["documents"], places)):
            totals[name].add("mask_us", walked["mask_us"][:count])
            totals[name].add("accept_us", walked["accept_us"][:count])
            if number == 0 and count:
                first = walked["mask_us"][0]
                totals[name].add("first_mask_us", [first])
                totals[name].add("schema_to_mask_us", [got["compile_us"] + first])


def measure(args, workers):
    """Engine -> its row, from all schemas."""
    totals = {name: Totals(worker) for name, worker in workers.items()}
    with open(DATA / "json/maskbench/sample.jsonl", encoding="utf-8") as lines:
        entries = [json.loads(line) for line in lines][::args.every]
    number = 0
    try:
        for number, entry in enumerate(entries):
            answers = run_schema(workers, entry, number)
            for name, got in answers.items():
                totals[name].count(got, entry["tests"])
                if args.show:
                    show(name, entry, got)
            add_times(totals, answers)
            if sys.stderr.isatty():
                print(f"\r{number + 1} of {len(entries)}", end="", file=sys.stderr)
        number += 1
    except KeyboardInterrupt:
        print(f"stopped after {number} of {len(entries)} schemas")
    if any(not times for total in totals.values() for times in total.times.values()):
        sys.exit("no schema that all engines compile: there is no table")
    return number, {name: total.row() for name, total in totals.items()}


def show(name, entry, got):
    if "refused" in got:
        print(f"{name}: {entry['name']}: {got['refused'][:200]}")
    for test, walked in zip(entry["tests"], got["documents"]):
        if test["valid"] != walked["taken"]:
            print(f"{name}: {entry['name']}: {'takes' if walked['taken'] else 'refuses'} "
                  f"{text_of(test['data'])[:200]}")


def short(value):
    return f"{value:,.0f}" if value >= 100 else f"{value:.2g}" if value < 10 else f"{value:.3g}"


def print_table(schemas, rows):
    def line(label, cell):
        print(f"| {label} | {' | '.join(cell(row) for row in rows.values())} |")

    def times(kind, unit, *names):
        return lambda row: ", ".join(short(row[kind][name] / unit) for name in names)

    heads = [" ".join(filter(None, (engine, version_of(engine)))) for engine in rows]
    print(f"| {schemas:,} schemas | {' | '.join(heads)} |\n|---|{'---|' * len(rows)}")
    line("schemas refused", lambda row: f"{row['refused']:,}")
    line("valid documents refused", lambda row: f"{row['valid_refused']:,}")
    line("invalid documents taken", lambda row: f"{row['invalid_taken']:,}")
    line("compile, ms: mean, p99, max", times("compile_us", 1000, "mean", "p99", "max"))
    line("first mask, ms: mean, p99, max", times("first_mask_us", 1000, "mean", "p99", "max"))
    line("from schema to first mask, ms: mean, p99",
         times("schema_to_mask_us", 1000, "mean", "p99"))
    line("mask, us: mean, p50, p99, p99.9", times("mask_us", 1, "mean", "p50", "p99", "p99.9"))
    line("mask, ms: max", times("mask_us", 1000, "max"))
    line("mask beside ingot alone, us: mean, ingot's mean", lambda row: ", ".join(
        short(row[kind]["mean"]) for kind in ("pair_mask_us", "pair_ingot_us")))
    line("taking a token, us: mean, p99", times("accept_us", 1, "mean", "p99"))


def layout(file):
    """The text of a results file: one line for each row."""
    def members(of, indent):
        return [f"{indent}{json.dumps(key)}: {json.dumps(value)}," for key, value in of.items()
                if key not in ("runs", "rows")]

    runs = []
    for run in file["runs"]:
        rows = ",\n".join(f"    {json.dumps(row)}" for row in run["rows"])
        runs.append("\n".join(["  {", *members(run, "   "), '   "rows": [', rows, "   ]", "  }"]))
    return "\n".join(["{", *members(file, " "), ' "runs": [', ",\n".join(runs), " ]", "}"]) + "\n"


def version_of(engine):
    return PACKAGES[engine][0].split("==")[1] if engine in PACKAGES else None


def save(args, schemas, rows):
    """Adds the run to a file of bench/results, or replaces it there."""
    path, found = args.results, []
    for engine, row in rows.items():
        version = version_of(engine)
        found.append({"engine": engine, **({"version": version} if version else {}), **row})
    names = re.findall("model name\\s*: (.*)", pathlib.Path("/proc/cpuinfo").read_text())
    file = {"machine": names[0] if names else "", "recorded": time.strftime("%Y-%m-%d"),
            "peaks": {}, "runs": []}
    if path.exists():
        file = json.loads(path.read_text())
    commit = subprocess.run(["git", "-C", str(ROOT), "rev-parse", "--short", "HEAD"],
                            stdout=subprocess.PIPE, text=True).stdout.strip()
    every = f" --every {args.every}" if args.every > 1 else ""
    engines = "" if len(rows) > len(CLASSES) else f" --engines {' '.join(list(rows)[1:])}"
    run = {"id": "-".join(["constraints", *list(rows)[1:]]),
           "command": f"bench/constraint_compare.py{every}{engines} --limit {args.limit:g}",
           "model": "vocabulary of Qwen2.5", "commit": commit,
           "statistic": "one run, CPU times of one thread",
           "notes": f"{schemas} schemas of maskbench", "rows": found}
    file["runs"] = [other for other in file["runs"] if other["id"] != run["id"]] + [run]
    path.write_text(layout(file))


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--every", type=int, default=1, help="only each Nth schema")
    parser.add_argument("--engines", nargs="+", choices=list(CLASSES), default=list(CLASSES),
                        help="beside ingot")
    parser.add_argument("--bench", default=ROOT / "build/release/bench/constraint_bench",
                        type=pathlib.Path)
    parser.add_argument("--venv", default=ROOT / "build/constraint-venv", type=pathlib.Path)
    parser.add_argument("--results", type=pathlib.Path)
    parser.add_argument("--limit", type=float, default=10, help="CPU seconds of a schema")
    parser.add_argument("--show", action="store_true", help="what is refused or wrong")
    args = parser.parse_args()
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    python = python_of(args.venv, args.engines)
    commands = {"ingot": [str(args.bench), "--json"]}
    for name in args.engines:
        commands[name] = [python, __file__, "--worker", name]
    workers = {name: Worker(name, command, args.limit) for name, command in commands.items()}
    try:
        schemas, rows = measure(args, workers)
    finally:
        for worker in workers.values():
            worker.stop()
    print_table(schemas, rows)
    if args.results:
        save(args, schemas, rows)


if __name__ == "__main__":
    if sys.argv[1:2] == ["--worker"]:
        serve(sys.argv[2])
    else:
        main()
