#!/usr/bin/env python3
"""Plots latencies and throughput by load, as `ingot bench serve --sweep ... --json` printed them.

usage: bench/serve/plot.py RESULTS.json OUT.svg     (pip install matplotlib)

RESULTS.json is one JSON object with `rows`, one row per load; a run without --sweep is one row.
"""
import json
import sys


def load_of(row):
    """The load of a row: its concurrency, else its request rate."""
    return row["max_concurrency"] or row["request_rate"]


def main():
    if len(sys.argv) != 3:
        sys.exit(__doc__.strip())
    try:
        import matplotlib
    except ImportError:
        sys.exit("error: matplotlib is not installed (pip install matplotlib)")
    matplotlib.use("svg")
    import matplotlib.pyplot as pyplot

    matplotlib.rcParams["svg.hashsalt"] = "ingot"  # equal figures give equal files
    with open(sys.argv[1], encoding="utf-8") as f:
        results = json.load(f)
    rows = results.get("rows", [results])
    loads = [str(load_of(row)) for row in rows]
    figure, axes = pyplot.subplots(1, 3, figsize=(15, 4.5))
    for at, (name, title) in enumerate((("ttft", "Time to first token"),
                                        ("tpot", "Time per output token"))):
        for percentile in ("p50", "p90", "p99"):
            axes[at].plot(loads, [row[f"{percentile}_{name}_ms"] for row in rows], marker="o",
                          label=percentile)
        axes[at].set(title=title, ylabel="ms")
        axes[at].legend()
    axes[2].plot(loads, [row["output_throughput"] for row in rows], marker="o")
    axes[2].set(title="Output throughput", ylabel="tokens/s")
    unit = "requests at once" if rows[0]["max_concurrency"] else "requests/s"
    for ax in axes:
        ax.set(xlabel=unit)
        ax.set_ylim(bottom=0)
        ax.grid(alpha=0.3)
    figure.tight_layout()
    figure.savefig(sys.argv[2], metadata={"Date": None})


if __name__ == "__main__":
    main()
