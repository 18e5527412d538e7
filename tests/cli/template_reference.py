"""Renders chat templates with Python's Jinja2 and the settings of Hugging Face's transformers.

If the interpreter does not have jinja2, it looks for one that has it; see `require`.
"""
import datetime
import json
import os
import subprocess
import sys


def require(module="jinja2"):
    """Continues in an interpreter that has the module; else ends the test with a message."""
    try:
        __import__(module)
        return
    except ImportError:
        pass
    for python in ("/usr/bin/python3", "/usr/local/bin/python3"):
        known = os.path.realpath(python) == os.path.realpath(sys.executable)
        if known or not os.path.exists(python):
            continue
        if subprocess.run([python, "-c", f"import {module}"], capture_output=True).returncode == 0:
            os.execv(python, [python, "-B", *sys.argv])
    print(f"skipped: no Python here has {module} (Debian's package is python3-{module})")
    sys.exit(0)


def environment(now):
    """The environment that apply_chat_template compiles templates in."""
    import jinja2
    import jinja2.ext
    import jinja2.nodes
    from jinja2.sandbox import ImmutableSandboxedEnvironment

    class Generation(jinja2.ext.Extension):
        """{% generation %} blocks, which only mark a part of the text."""
        tags = {"generation"}

        def parse(self, parser):
            line = next(parser.stream).lineno
            body = parser.parse_statements(["name:endgeneration"], drop_needle=True)
            call = self.call_method("_body")
            return jinja2.nodes.CallBlock(call, [], [], body).set_lineno(line)

        def _body(self, caller):
            return caller()

    def raise_exception(message):
        raise jinja2.exceptions.TemplateError(message)

    def tojson(x, ensure_ascii=False, indent=None, separators=None, sort_keys=False):
        return json.dumps(x, ensure_ascii=ensure_ascii, indent=indent, separators=separators,
                          sort_keys=sort_keys)

    made = ImmutableSandboxedEnvironment(trim_blocks=True, lstrip_blocks=True,
                                         extensions=[Generation, jinja2.ext.loopcontrols])
    made.filters["tojson"] = tojson
    made.globals["raise_exception"] = raise_exception
    made.globals["strftime_now"] = now.strftime
    return made


NOW = datetime.datetime(2024, 7, 26)


def render(template, contexts):
    """For each context the text, or the error as an exception."""
    results = []
    try:
        compiled = environment(NOW).from_string(template)
    except Exception as error:
        return [error for _ in contexts]
    for context in contexts:
        try:
            results.append(compiled.render(**context))
        except Exception as error:
            results.append(error)
    return results


def render_ingot(binary, path, contexts):
    """The same by ingot: a text, or an exception with its message."""
    lines = "".join(json.dumps(c) + "\n" for c in contexts)
    done = subprocess.run([binary, "template", "--template", path, "--jsonl", "--now",
                           NOW.strftime("%Y-%m-%d")], input=lines.encode(), capture_output=True)
    if done.returncode == 2:
        return [ValueError(done.stderr.decode()) for _ in contexts]
    if done.returncode != 0:
        raise AssertionError(f"{path}: exit {done.returncode}: {done.stderr.decode()}")
    results = []
    for line in done.stdout.decode().split("\n")[:-1]:
        result = json.loads(line)
        results.append(result["text"] if "text" in result else ValueError(result["error"]))
    return results


def differences(theirs, ours):
    """Places where the two have different texts."""
    if len(theirs) != len(ours):
        raise AssertionError(f"{len(ours)} results for {len(theirs)} contexts")
    for i, (a, b) in enumerate(zip(theirs, ours)):
        failed = isinstance(a, Exception), isinstance(b, Exception)
        if failed[0] != failed[1] or (not failed[0] and a != b):
            yield i, a, b
