#!/usr/bin/env python3
"""Measures a model's speed by format, batch, depth and type of keys and values; plots the results.

usage: sweep.py measure RESULTS.json [--shape qwen3-0.6b] [--formats Q4_K_M Q4_0 Q8_0 Q6_K F16]
                                     [--reps 5] [--parts formats depth batch]
       sweep.py report RESULTS.json [--plots FOLDER]

`measure` writes models with random weights (ingot synth) into a temporary folder, runs ingot bench
on them and stores its output with the machine and the commit. `report` prints tables in Markdown
and draws plots as SVG if matplotlib can be imported.
"""

import argparse
import json
import os
import pathlib
import platform
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parent.parent
BATCH_FORMAT = "Q4_K_M"  # which also stands for all in plots over depth


def machine():
    """What the numbers belong to."""
    model = platform.machine()
    cpus = pathlib.Path("/proc/cpuinfo")
    if cpus.exists():
        names = [line for line in cpus.read_text().splitlines() if line.startswith("model name")]
        model = names[0].split(":", 1)[1].strip() if names else model
    commit = subprocess.run(
        ["git", "-C", ROOT, "describe", "--always", "--dirty"], capture_output=True, text=True
    )
    return {"cpu": model, "cpus": os.cpu_count(), "commit": commit.stdout.strip()}


def parts_of(reps):
    """Part -> the options of its runs of `ingot bench`."""
    seldom = min(reps, 3)
    depth = []
    for kv in ("f16", "int8"):
        depth.append(f"--prefill 4096 --decode 0 --kv-type {kv} --reps {seldom}")
        depths = "0,1024,4096,8192"
        depth.append(f"--prefill 0 --decode 32 --depth {depths} --kv-type {kv} --reps {reps}")
    batch = [
        f"--prefill 0 --decode 16 --batch {batches} --depth {depth_of} --reps {seldom}"
        for depth_of, batches in ((0, "1,2,4,8,16,32"), (1024, "1,4,8,16,32"))
    ]
    return {
        "formats": [f"--prefill 512 --decode 64 --reps {reps}"],
        "depth": depth,
        "batch": batch,
    }


def bench(args, model, options):
    """What one run printed, as it is kept."""
    command = [args.ingot, "bench", model, "--json", "--log-level", "error", *options.split()]
    done = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True)
    out = json.loads(done.stdout)
    keys = ("kind", "tokens", "depth", "batch", "tok_s", "fraction", "digest")
    return {
        "options": options,
        "settings": out["settings"],
        "peaks": {k: round(v, 1) for k, v in out["peaks"].items() if isinstance(v, float)},
        "rows": [{key: row[key] for key in keys} for row in out["rows"]],
    }


def measure(args):
    results = {"machine": machine(), "shape": args.shape, "runs": []}
    with tempfile.TemporaryDirectory() as folder:
        for name in dict.fromkeys([*args.formats, BATCH_FORMAT]):
            model = os.path.join(folder, "model.gguf")
            synth = [args.ingot, "synth", args.shape, model, "--type", name, "--log-level", "error"]
            subprocess.run(synth, check=True, stdout=subprocess.DEVNULL)
            for part in args.parts:
                if name not in (args.formats if part == "formats" else [BATCH_FORMAT]):
                    continue
                for options in parts_of(args.reps)[part]:
                    print(name, options, file=sys.stderr)
                    run = bench(args, model, options)
                    results["runs"].append({"part": part, "format": name, **run})
                    # After each run, so that none is lost by the next.
                    text = json.dumps(results, indent=1) + "\n"
                    pathlib.Path(args.results).write_text(text)


def rows_of(results, part):
    """All rows of a part, each with the format and KV type of its run."""
    return [
        {**row, "format": run["format"], "kv": run["settings"]["kv_type"].upper()}
        for run in results["runs"]
        if run["part"] == part
        for row in run["rows"]
    ]


def print_table(columns, rows):
    if not rows:
        return
    print("| " + " | ".join(columns) + " |")
    print("|" + "---|" * len(columns))
    for row in rows:
        print("| " + " | ".join(row) + " |")
    print()


def speed(row):
    return f"{row['tok_s']:.0f}" if row["tok_s"] >= 100 else f"{row['tok_s']:.1f}"


def figures(row):
    return [speed(row), f"{row['fraction']:.2f}"]


def print_tables(results):
    where = results["machine"]
    settings = results["runs"][0]["settings"]
    used = f"{settings['threads']} threads, table {settings['cpu_isa']}"
    print(f"{results['shape']}, {used}, {where['cpus']} CPUs ({where['cpu']}), {where['commit']}\n")
    by_format = {}
    for row in rows_of(results, "formats"):
        by_format.setdefault(row["format"], {})[row["kind"]] = row
    print_table(
        ["weights", "prefill 512, tok/s", "fraction", "decode, tok/s", "fraction"],
        [[k, *figures(r["prefill"]), *figures(r["decode"])] for k, r in by_format.items()],
    )
    print_table(
        ["keys and values", "what", "depth", "tok/s", "fraction"],
        [
            [r["kv"], f"{r['kind']} of {r['tokens']}", str(r["depth"]), *figures(r)]
            for r in rows_of(results, "depth")
        ],
    )
    print_table(
        ["sequences", "depth", "tok/s in all", "fraction"],
        [[str(r["batch"]), str(r["depth"]), *figures(r)] for r in rows_of(results, "batch")],
    )


def draw_formats(axes, rows):
    """Fractions of prefill and decode, a pair of bars for each format."""
    names = list(dict.fromkeys(row["format"] for row in rows))
    for i, kind in enumerate(("prefill", "decode")):
        values = [row["fraction"] for row in rows if row["kind"] == kind]
        axes.bar([at + 0.4 * i for at in range(len(names))], values, width=0.38, label=kind)
    axes.set_xticks([at + 0.2 for at in range(len(names))], names)
    axes.set(title="Prefill of 512 and decode, by format", ylim=(0, 1))
    axes.set_ylabel("fraction of the limit")
    axes.legend()


def draw(axes, rows, x, label_of):
    """Fractions over `x`, a line for each label."""
    lines = {}
    for row in rows:
        lines.setdefault(label_of(row), []).append((row[x], row["fraction"]))
    for label, points in lines.items():
        axes.plot(*zip(*sorted(points)), marker="o", label=label)
    axes.set(xlabel=x, ylabel="fraction of the limit", ylim=(0, 1))
    axes.grid(alpha=0.3)
    if lines:
        axes.legend()


def plot(results, folder):
    try:
        import matplotlib
    except ImportError:
        print("no plots: matplotlib is not installed (pip install matplotlib)", file=sys.stderr)
        return
    matplotlib.use("svg")
    import matplotlib.pyplot as pyplot

    matplotlib.rcParams["svg.hashsalt"] = "ingot"  # the same file for the same numbers
    figure, (left, middle, right) = pyplot.subplots(1, 3, figsize=(15, 4.5))
    draw_formats(left, rows_of(results, "formats"))
    decodes = [row for row in rows_of(results, "depth") if row["kind"] == "decode"]
    draw(middle, decodes, "depth", lambda r: f"{r['kv']} keys and values")
    middle.set_title("Decode of one sequence, by depth")
    draw(right, rows_of(results, "batch"), "batch", lambda r: f"depth {r['depth']}")
    right.set_title("Decode, by sequences at once")
    figure.tight_layout()
    pathlib.Path(folder).mkdir(parents=True, exist_ok=True)
    path = os.path.join(folder, "sweep.svg")
    figure.savefig(path, metadata={"Date": None})
    print(f"wrote {path}", file=sys.stderr)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    commands = parser.add_subparsers(dest="command", required=True)
    take = commands.add_parser("measure")
    take.add_argument("results")
    take.add_argument("--ingot", default=str(ROOT / "build/release/ingot"))
    take.add_argument("--shape", default="qwen3-0.6b")
    take.add_argument("--formats", nargs="+", default=["Q4_K_M", "Q4_0", "Q8_0", "Q6_K", "F16"])
    take.add_argument("--reps", type=int, default=5)
    parts = ["formats", "depth", "batch"]
    take.add_argument("--parts", nargs="+", default=parts, choices=parts)
    show = commands.add_parser("report")
    show.add_argument("results")
    show.add_argument("--plots", help="the folder to draw into")
    args = parser.parse_args()
    if args.command == "measure":
        measure(args)
        return
    results = json.loads(pathlib.Path(args.results).read_text())
    print_tables(results)
    if args.plots:
        plot(results, args.plots)


if __name__ == "__main__":
    main()
