#!/usr/bin/env python3
"""Draws docs/figures/terminal.svg: some ingot commands and their output.

usage: terminal_figure.py PROGRAM [OUT]     PROGRAM is a built ingot, OUT the SVG file

Needs curl, jq and the free port 8080. The picture leaves out stderr, except the line with the
server's address.
"""
import html
import os
import subprocess
import sys
import tempfile
import textwrap

COLUMNS = 92
CHARACTER_PX, LINE_PX, MARGIN_PX = 8, 19, 16
COLORS = {"command": "#7ee787", "output": "#e6edf3", "note": "#8b949e"}

STORY = 'ingot run -p "Once upon a time" --max-tokens 59'
QUESTION = 'echo "What is the capital of France?" | ingot chat'
SERVER = "ingot serve &"
REQUEST = ("curl -s localhost:8080/v1/chat/completions -H 'Content-Type: application/json' "
           "-d '{\"messages\": [{\"role\": \"user\", \"content\": \"What is 17 plus 25?\"}]}' "
           "| jq -c '.choices[0].message.content, .usage.total_tokens'")


def wrapped(text, indent=""):
    """The text's lines, none longer than COLUMNS."""
    lines = []
    for line in text.split("\n"):
        lines += textwrap.wrap(line, COLUMNS, subsequent_indent=indent,
                               break_on_hyphens=False) or [""]
    return lines


def command_lines(command):
    """A command as it is typed, with a backslash where it continues."""
    lines = wrapped("$ " + command, "    ")
    return [("command", line + (" \\" if line is not lines[-1] else "")) for line in lines]


def output_of(command, folder):
    """What `command` writes to stdout, run by a shell that finds `ingot` in `folder`."""
    environment = dict(os.environ, PATH=folder + os.pathsep + os.environ["PATH"])
    done = subprocess.run(["bash", "-c", command], env=environment, capture_output=True,
                          text=True, check=True)
    return [("output", line) for line in wrapped(done.stdout.strip())]


def session(program):
    """(kind, line) of all commands and their output."""
    with tempfile.TemporaryDirectory() as folder:
        os.symlink(os.path.abspath(program), os.path.join(folder, "ingot"))
        lines = []
        for command in (STORY, QUESTION):
            lines += command_lines(command) + output_of(command, folder)
        server = subprocess.Popen([os.path.join(folder, "ingot"), "serve"],
                                  stderr=subprocess.PIPE, text=True)
        try:
            address = next(line for line in server.stderr if line.startswith("listening"))
            lines += command_lines(SERVER) + [("note", address.strip())]
            lines += command_lines(REQUEST) + output_of(REQUEST, folder)
        finally:
            server.terminate()
            server.wait()
        return lines


def svg(lines):
    """The lines as a picture of a terminal."""
    width = COLUMNS * CHARACTER_PX + 4 * MARGIN_PX
    height = len(lines) * LINE_PX + 2 * MARGIN_PX
    out = [f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" '
           f'font-family="ui-monospace, DejaVu Sans Mono, Menlo, Consolas, monospace" '
           f'font-size="13">',
           f'<rect width="{width}" height="{height}" rx="8" fill="#0d1117"/>']
    for number, (kind, line) in enumerate(lines, 1):
        y = MARGIN_PX + number * LINE_PX - 5
        out.append(f'<text x="{MARGIN_PX}" y="{y}" fill="{COLORS[kind]}" xml:space="preserve">'
                   f"{html.escape(line, quote=False)}</text>")
    return "\n".join(out + ["</svg>", ""])


def main():
    if len(sys.argv) not in (2, 3):
        sys.exit(__doc__.strip())
    default = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "docs", "figures",
                           "terminal.svg")
    with open(sys.argv[2] if len(sys.argv) == 3 else default, "w", encoding="utf-8") as out:
        out.write(svg(session(sys.argv[1])))


if __name__ == "__main__":
    main()
