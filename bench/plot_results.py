#!/usr/bin/env python3
"""Draws the charts of docs/performance.md as SVG from the runs in bench/results.

usage: plot_results.py [--check]

A results file holds one machine's runs of one date: {machine, recorded, peaks, runs: [{id, command,
model, commit, statistic, rows: [...]}]}. `recorded` is the date of the commit that added the
figures. A figure is a number, or a list of several runs' numbers. `--check` writes nothing and
exits 1 if a chart in docs/figures differs from its rows.
"""

import json
import pathlib
import sys
from xml.sax.saxutils import escape

ROOT = pathlib.Path(__file__).resolve().parent.parent
RESULTS, FIGURES = ROOT / "bench/results", ROOT / "docs/figures"

COLOURS = {
    "EPYC": "#3465a4", "Zen 4": "#c4572c", "Xeon": "#4e9a06", "Xeon with AMX": "#75507b",
    "F16": "#3465a4", "INT8": "#c4572c",
    "ingot": "#3465a4", "OpenVINO": "#888", "llama.cpp": "#bbb",
}
WIDTH, LEFT, RIGHT, TOP, BAR, GAP = 720, 190, 60, 58, 11, 9

EPYC, EPYC_LINEAR = "amd-epyc-2026-11-22", "amd-epyc-2026-11-23"
ZEN4_27, ZEN4_25, ZEN4 = "amd-zen4-2026-11-27", "amd-zen4-2026-11-25", "amd-zen4-2026-11-28"
XEON, ZEN3 = "intel-xeon-2026-11-27", "amd-zen3-2026-11-25"
AMX_LINEAR, AMX = "intel-xeon-amx-2026-11-23", "intel-xeon-amx-2026-11-26"


def figure(file, run, field, **match):
    """(low, high) of `field` in a run's first row that has all of `match`; None without one."""
    runs = json.loads((RESULTS / f"{file}.json").read_text())["runs"]
    rows = next(r["rows"] for r in runs if r["id"] == run)
    for row in rows:
        if field in row and all(row.get(key) == value for key, value in match.items()):
            value = row[field]
            return (min(value), max(value)) if isinstance(value, list) else (value, value)
    return None


def ratio(file, run, field, over, under):
    """(low, high) of one row's figure over another's."""
    top, bottom = figure(file, run, field, **over), figure(file, run, field, **under)
    return (top[0] / bottom[1], top[1] / bottom[0])


def table(groups, series, of):
    """[(group's label, [(series, (low, high))])], without figures that are not there."""
    drawn = []
    for label, key in groups.items():
        bars = [(name, of(sources, key)) for name, sources in series.items()]
        drawn.append((label, [(name, value) for name, value in bars if value]))
    return drawn


def engines():
    kinds = {
        "OpenVINO, prefill of 512": dict(against="OpenVINO", what="prefill", tokens=512),
        "OpenVINO, decode": dict(against="OpenVINO", what="decode"),
        "OpenVINO, prefill of 4,096": dict(against="OpenVINO", tokens=4096, kv="INT8"),
        "OpenVINO, decode at 4,096": dict(against="OpenVINO", depth=4096, kv="INT8"),
        "llama.cpp, prefill of 512": dict(against="llama.cpp", what="prefill", tokens=512),
        "llama.cpp, decode": dict(against="llama.cpp", what="decode"),
    }
    machines = {"EPYC": EPYC, "Zen 4": ZEN4_27, "Xeon": XEON}
    return table(kinds, machines, lambda file, key: figure(file, "against", "ratio", **key))


def linear():
    machines = {"EPYC": EPYC_LINEAR, "Zen 4": ZEN4_27, "Xeon": XEON, "Xeon with AMX": AMX_LINEAR}
    formats = ("Q8_0", "Q4_0", "Q4_K", "Q5_K", "Q6_K", "Q3_K", "Q2_K", "F16", "BF16")
    return table(
        dict(zip(formats, formats)), machines,
        lambda file, key: figure(file, "linear", "share", weights=key, rows=512)
    )


def one_sequence():
    formats = ("Q8_0", "Q6_K", "Q4_0", "Q4_K_M", "BF16")
    machines = {"EPYC": (EPYC, "formats"), "Zen 4": (ZEN4, "one-sequence"),
                "Xeon": (XEON, "models"), "Xeon with AMX": (AMX, "models")}
    return table(
        dict(zip(formats, formats)), machines,
        lambda at, key: figure(*at, "fraction", what="decode", weights=key, sequences=1)
    )


def batches():
    machines = {"Zen 4": ZEN4, "Xeon": XEON, "Xeon with AMX": AMX}
    groups = {f"{weights}, {n} sequences": dict(weights=weights, sequences=n)
              for weights in ("Q8_0", "Q4_K_M") for n in (4, 8, 16, 32)}
    return table(groups, machines, lambda file, key: figure(file, "models", "fraction", **key))


def prefill():
    formats = ("Q8_0", "Q4_0", "Q4_K_M", "Q6_K", "F16", "BF16")
    machines = {"EPYC": (EPYC, "formats"), "Zen 4": (ZEN4, "models"), "Xeon": (XEON, "models"),
                "Xeon with AMX": (AMX, "models")}
    return table(
        dict(zip(formats, formats)), machines,
        lambda at, key: figure(*at, "fraction", what="prefill", tokens=512, weights=key)
    )


def depth():
    groups = {f"at {n:,}": n for n in (0, 1024, 4096, 8192)}
    return table(
        groups, {"F16": "F16", "INT8": "INT8"},
        lambda kv, n: figure(EPYC, "depth", "fraction", what="decode", depth=n, kv=kv)
    )


def kv_types():
    epyc = {
        "prefill": ratio(EPYC, "depth", "tok_s", dict(what="prefill", kv="INT8"),
                         dict(what="prefill", kv="F16")),
        "decode": ratio(EPYC, "depth", "tok_s", dict(depth=4096, kv="INT8"),
                        dict(depth=4096, kv="F16")),
    }
    names = {"prefill": "INT8 beside F16", "decode": "INT8 beside F16, decode at 4,096"}

    def of(file, key):
        return figure(file, "prefill-4096", "ratio", what=names[key]) if file else epyc[key]

    groups = {"prefill of 4,096": "prefill", "decode at 4,096": "decode"}
    return table(groups, {"EPYC": None, "Zen 4": ZEN4_27, "Xeon": XEON}, of)


def served():
    def of(key, file):
        field, match = key
        return figure(file, "served", field, **match)

    llama = "llama.cpp server, eight slots"
    series = {"ingot": ("ingot_tok_s", {}), "OpenVINO": ("other_tok_s", dict(against="OpenVINO")),
              "llama.cpp": ("other_tok_s", dict(against=llama))}
    machines = {"Xeon": XEON, "Xeon with AMX": AMX, "Zen 4": ZEN4_25, "Zen 3": ZEN3}
    return table(machines, series, of)


# Name -> title, what the axis shows, where a line marks "equal" or the limit, and the bars.
CHARTS = {
    "engines": ("ingot beside other engines", "times as fast", 1, engines),
    "limit": ("Linears of 512 rows", "share of the compute peak", 1, linear),
    "one-sequence": ("Decode of one sequence", "fraction of the limit", 1, one_sequence),
    "batches": ("Decode of several sequences", "fraction of the limit", 1, batches),
    "prefill": ("Prefill of 512 tokens", "fraction of the limit", 1, prefill),
    "depth": ("Decode behind a context, Q4_K_M on the EPYC", "fraction of the limit", 1, depth),
    "kv-types": ("INT8 beside F16 keys and values", "times as fast", 1, kv_types),
    "load": ("Eight requests at once, 256 tokens in, 48 out", "tokens per second", 0, served),
}


def text(x, y, content, anchor="start", size=11, weight="normal"):
    return (f'<text x="{x:.1f}" y="{y:.1f}" font-size="{size}" font-weight="{weight}" '
            f'text-anchor="{anchor}">{escape(content)}</text>')


def box(x, y, width, height, colour, opacity=1):
    return (f'<rect x="{x:.1f}" y="{y:.1f}" width="{width:.1f}" height="{height}" '
            f'fill="{colour}" opacity="{opacity}"/>')


def label_of(low, high):
    low, high = (f"{value:.2f}" if value < 10 else f"{value:.0f}" for value in (low, high))
    return low if low == high else f"{low} to {high}"


def legend(names):
    parts, x = [], LEFT
    for name in names:
        parts += [box(x, 36, 10, 10, COLOURS[name]), text(x + 14, 45, name)]
        x += 32 + 7 * len(name)
    return parts


def draw(title, unit, mark, groups):
    """The chart's SVG: a bar to the low figure, a lighter one on to the high figure."""
    names = list(dict.fromkeys(name for _, bars in groups for name, _ in bars))
    largest = max([mark, *(high for _, bars in groups for _, (_, high) in bars)])
    scale = (WIDTH - LEFT - RIGHT) / largest
    body, y = [], TOP
    for label, bars in groups:
        middle = y + BAR * max(1, len(bars)) / 2 + 4
        body.append(text(LEFT - 8, middle, label, "end"))
        for name, (low, high) in bars:
            colour = COLOURS[name]
            body.append(box(LEFT, y, low * scale, BAR - 2, colour))
            if high > low:
                width = (high - low) * scale
                body.append(box(LEFT + low * scale, y, width, BAR - 2, colour, 0.45))
            body.append(text(LEFT + high * scale + 4, y + BAR - 3, label_of(low, high), size=9))
            y += BAR
        y += GAP
    if mark:
        x = LEFT + mark * scale
        body.append(f'<path d="M{x:.1f} {TOP - 4}V{y - GAP + 4}" stroke="#555" '
                    'stroke-dasharray="3 3"/>')
    head = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {y + 4}" '
        'font-family="sans-serif">',
        box(0, 0, WIDTH, y + 4, "#fff"),
        text(LEFT, 20, f"{title}: {unit}", size=14, weight="bold"),
    ]
    return "\n".join([*head, *legend(names), *body, "</svg>"]) + "\n"


def main():
    if sys.argv[1:] not in ([], ["--check"]):
        sys.exit(__doc__.split("\n\n")[1])
    stale = []
    FIGURES.mkdir(exist_ok=True)
    for name, (title, unit, mark, groups) in CHARTS.items():
        svg = draw(title, unit, mark, groups())
        path = FIGURES / f"{name}.svg"
        if not sys.argv[1:]:
            path.write_text(svg)
        elif not path.exists() or path.read_text() != svg:
            stale.append(path.name)
    if stale:
        sys.exit(f"{', '.join(stale)}: run bench/plot_results.py")


if __name__ == "__main__":
    main()
