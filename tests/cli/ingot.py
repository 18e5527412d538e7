"""Runs the ingot program in tests, and checks what every command promises.

Environment: INGOT_BINARY, INGOT_FAULT_LIBRARY (the library to preload, see tests/faults),
INGOT_SANITIZE (the build's sanitizers, empty for none), INGOT_SHARED (test data).
"""
import atexit
import json
import os
import re
import resource
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
import unittest

import model_files

BINARY = os.environ.get("INGOT_BINARY", "")
FAULT_LIBRARY = os.environ.get("INGOT_FAULT_LIBRARY", "")
SANITIZERS = os.environ.get("INGOT_SANITIZE", "")
SHARED = os.environ.get("INGOT_SHARED") or os.environ.get("INGOT_DEFAULT_SHARED", "")

# Time that no run here may need: it only ends a test that would hang.
TIMEOUT_S = 120 if SANITIZERS else 30
# Memory that no run here may need; a sanitizer reserves address space beyond any limit.
MEMORY_BYTES = 4 << 30

# Exit codes, from the contract of the command line.
DONE, CHECK_FAILED, MODEL, USAGE, INTERNAL, DOES_NOT_FIT, IO = 0, 1, 2, 64, 70, 71, 74


# The user's cache in all runs, so that no test uses or fills the real one.
CACHE = tempfile.mkdtemp(prefix="ingot-cache-")
atexit.register(shutil.rmtree, CACHE, ignore_errors=True)


class Result:
    """How a run ended."""

    def __init__(self, args, code, out, err):
        self.args, self.code, self.out = args, code, out
        self.err = err.decode("utf-8", errors="surrogateescape")

    def __str__(self):
        shown = [a if len(a) < 200 else a[:200] + "..." for a in map(str, self.args)]
        return f"{shown} ended with {self.code}\nstdout: {self.out[:500]!r}\nstderr: " \
               f"{self.err[:2000]!r}"


def environment(extra=None):
    """The environment of a run: this one's, with `extra`, where None removes."""
    env = {k: v for k, v in os.environ.items() if not k.startswith("INGOT_")}
    env["XDG_CACHE_HOME"] = CACHE
    env["TERM"] = "vt100"  # some terminals of tests have none
    for key, value in (extra or {}).items():
        if value is None:
            env.pop(key, None)
        else:
            env[key] = value
    return env


def limited(limits, close, ignore):
    """What a run does before it becomes ingot: resource limits, descriptors, signals."""
    def apply():
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
        # As a person's shell has them, whatever started the tests.
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            signal.signal(number, signal.SIG_IGN if number in ignore else signal.SIG_DFL)
        signal.pthread_sigmask(signal.SIG_SETMASK, ())
        for name, value in limits.items():
            resource.setrlimit(name, (value, value))
        for number in close:
            os.close(number)
    return apply


def start(*args, env=None, limits=None, close=(), ignore=(), **how):
    """A running ingot, with pipes for stdout and stderr unless `how` says otherwise."""
    bounds = {} if SANITIZERS else {resource.RLIMIT_AS: MEMORY_BYTES}
    bounds.update(limits or {})
    streams = {"stdin": subprocess.DEVNULL, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    streams.update(how)
    return subprocess.Popen([BINARY, *args], env=environment(env),
                            preexec_fn=limited(bounds, close, ignore), **streams)


def finish(process, timeout=TIMEOUT_S):
    """Waits for the end, and kills what does not end."""
    try:
        out, err = process.communicate(timeout=timeout)
    except subprocess.TimeoutExpired:
        process.kill()
        out, err = process.communicate()
        raise AssertionError(f"{process.args} did not end in {timeout} s; stdout {out!r:.500}, "
                             f"stderr {err!r:.500}") from None
    return Result(process.args, process.returncode, out or b"", err or b"")


def eventually(what, holds, limit_s=TIMEOUT_S):
    """Asks until it holds: no sleep decides anything, time only ends a test that would hang."""
    until = time.monotonic() + limit_s
    while not holds():
        if time.monotonic() > until:
            raise AssertionError(f"it never came to this: {what}")
        time.sleep(0.005)


def run(*args, timeout=TIMEOUT_S, **how):
    return finish(start(*args, **how), timeout)


class CliTest(unittest.TestCase):
    """A test with a folder of its own, a small model, and the promises as assertions."""

    longMessage = True

    @classmethod
    def setUpClass(cls):
        if not BINARY or not os.access(BINARY, os.X_OK):
            raise AssertionError(f"INGOT_BINARY names no program: {BINARY!r}")
        cls.folder = tempfile.mkdtemp(prefix="ingot-cli-")
        os.chmod(cls.folder, 0o755)
        cls.model = cls.file("tiny.gguf", model_files.tiny_gguf().build())

    @classmethod
    def tearDownClass(cls):
        shutil.rmtree(cls.folder)

    @classmethod
    def path(cls, name):
        return os.path.join(cls.folder, name)

    @classmethod
    def file(cls, name, content):
        """Writes a file into the test's folder; returns its path."""
        path = cls.path(name)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "wb") as f:
            f.write(content)
        return path

    @classmethod
    def hf_folder(cls, name, config=None, tensors=None):
        """A folder with config.json and model.safetensors, by default those of a good model."""
        good_config, good_tensors = model_files.tiny_hf()
        config = good_config if config is None else config
        if not isinstance(config, bytes):
            config = json.dumps(config).encode()
        tensors = good_tensors if tensors is None else tensors
        if not isinstance(tensors, bytes):
            tensors = model_files.safetensors(tensors)
        cls.file(f"{name}/config.json", config)
        cls.file(f"{name}/model.safetensors", tensors)
        return cls.path(name)

    def lines(self, result):
        """The lines of stderr, which must be plain text."""
        self.assertTrue(result.err == "" or result.err.endswith("\n"), result)
        lines = result.err.split("\n")[:-1]
        for line in lines:
            self.assertTrue(line.isprintable(), f"{line!r} of {result}")
        return lines

    def assert_done(self, result):
        self.assertEqual(result.code, DONE, result)
        for line in self.lines(result):
            self.assertTrue(line.startswith("warning: "), result)
        return result

    def assert_error(self, result, code, *says, out=b""):
        """One line of error after any warnings, this code, and nothing else anywhere."""
        self.assertEqual(result.code, code, result)
        self.assertEqual(result.out, out, result)
        *before, last = self.lines(result) or [""]
        for line in before:
            self.assertTrue(line.startswith("warning: "), result)
        self.assertTrue(last.startswith("error: "), result)
        for text in says:
            self.assertIn(text, last, result)
        return last

    def assert_model_error(self, result, file, *says):
        """error: <file>: <section> @<offset>: <reason>, where the file's name may be escaped."""
        last = self.assert_error(result, MODEL, *says)
        self.assertRegex(last, f"^error: {re.escape(file)}: [^:@]+ @[0-9]+: .", result)
        return last

    def assert_clean(self, result, codes, *says):
        """Success, or one of these codes with its one line."""
        if result.code == DONE:
            self.assert_done(result)
        else:
            self.assertIn(result.code, codes, result)
            self.assert_error(result, result.code, *says)

    def assert_only(self, names, folder=None):
        """Nothing but these names is in a folder: no temporary file was left."""
        self.assertEqual(sorted(os.listdir(folder or self.folder)), sorted(names))

    def generate(self, model=None, *more, **how):
        """The JSON of a short run."""
        result = self.assert_done(run("run", model or self.model, "--tokens", "1,283,289", "--json",
                                      "--max-tokens", "8", *more, **how))
        return self.one_json(result)

    def one_json(self, result):
        """stdout as one JSON object on one line."""
        self.assertEqual(result.out.count(b"\n"), 1, result)
        self.assertTrue(result.out.endswith(b"}\n"), result)
        return json.loads(result.out)


# What git leaves in place of a large file that was not downloaded.
LFS_POINTER = (b"version https://git-lfs.github.com/spec/v1\noid sha256:" + b"0f" * 32 +
               b"\nsize 4368439584\n")

WITHOUT_TOKENIZER = ("run", "inspect", "logits", "bench")  # they need none
COMMANDS = (*WITHOUT_TOKENIZER, "embed", "perplexity", "chat")
# What a sweep over damaged models runs: starting takes long under a sanitizer, and every command
# loads models in the same way.
SWEPT = ("run", "chat") if SANITIZERS else COMMANDS
TEXT = os.path.abspath(__file__)  # some text that is there


def arguments(command, model, folder, *more):
    """A short use of a command."""
    by_name = {
        "run": ("run", model, "--tokens", "1,283", "--max-tokens", "2", "--print-ids"),
        "inspect": ("inspect", model, "--json"),
        "logits": ("logits", model, "--tokens", "1,283", "--out",
                   os.path.join(folder, "out.npy")),
        "bench": ("bench", model, "--prefill", "2", "--decode", "2", "--reps", "1", "--json"),
        "embed": ("embed", model, "-p", "a"),
        "perplexity": ("perplexity", model, "--file", TEXT, "--json"),
        "chat": ("chat", model, "--template", "chatml"),
    }
    return (*by_name[command], *more)


def make_socket(path):
    """A socket in the file system; it lives as long as the object."""
    held = socket.socket(socket.AF_UNIX)
    held.bind(path)
    return held


def stop(process):
    """Ends a run that a failing test left behind."""
    if process.poll() is None:
        process.send_signal(signal.SIGKILL)
    process.wait()
    for stream in (process.stdout, process.stderr):
        if stream is not None:
            stream.close()


def main():
    """Runs the tests of the calling module and prints the reason of each that was skipped."""
    unittest.main(module="__main__", verbosity=2, argv=[sys.argv[0], *sys.argv[1:]])
