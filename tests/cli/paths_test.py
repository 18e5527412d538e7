#!/usr/bin/env python3
"""Tests model paths that are no model: ingot refuses them without reading or waiting (K01).

Tests texts as users give them: files, pipes and stdin.
"""
import json
import os
import pty
import signal
import subprocess
import threading
import unittest

import chat_model
import ingot
import model_files
from ingot import COMMANDS, MODEL, USAGE, arguments, run


class Paths(ingot.CliTest):
    def refused(self, path, *says, shown=None, **how):
        """A run that reads or waits does not end by itself: the hang timeout finds it."""
        for command in COMMANDS:
            with self.subTest(command=command, path=path):
                result = run(*arguments(command, path, self.folder), **how)
                shown = os.fsdecode(path) if shown is None else shown
                self.assert_model_error(result, shown, *says)
                self.assertFalse(os.path.exists(self.path("out.npy")))

    def test_a_file_that_is_missing(self):
        self.refused(self.path("missing.gguf"), "no such file")
        self.refused(self.path("no/folder/here.gguf"))
        self.refused(os.path.join(self.model, "below-a-file"))
        self.refused("missing.gguf", "no such file")

    def test_a_folder_without_a_model(self):
        empty = self.path("empty")
        os.mkdir(empty)
        self.refused(empty, "no model found")
        self.refused(empty + "/", "no model found")
        self.file("pickle/pytorch_model.bin", b"\x80\x02")
        self.refused(self.path("pickle"), "pickle")

    def test_a_folder_of_special_files(self):
        folder = self.path("special")
        os.mkdir(folder)
        os.mkfifo(os.path.join(folder, "config.json"))
        os.mkfifo(os.path.join(folder, "model.safetensors"))
        for command in COMMANDS:
            self.assert_error(run(*arguments(command, folder, self.folder)), MODEL,
                              "not a regular file")
        only = self.path("fifo-gguf")
        os.mkdir(only)
        os.mkfifo(os.path.join(only, "model.gguf"))
        self.assert_error(run("inspect", only), MODEL, "not a regular file")

    def test_no_permission(self):
        path = self.file("secret.gguf", b"GGUF")
        os.chmod(path, 0)
        folder = self.path("secret-folder")
        os.mkdir(folder, 0)
        how = {}
        if os.geteuid() == 0:
            # For root nothing is forbidden: become `nobody`, if the program can run then.
            how = {"user": 65534, "group": 65534, "extra_groups": []}
            try:
                tried = run("--version", **how)
            except (PermissionError, subprocess.SubprocessError) as e:
                self.skipTest(f"needs a user other than root who may run the program: {e}")
            if tried.code != 0:
                self.skipTest(f"needs a user other than root who may run the program: {tried}")
        self.refused(path, "permission denied", **how)
        self.refused(folder, "permission denied", **how)
        self.refused(os.path.join(folder, "x.gguf"), "permission denied", **how)

    def test_links(self):
        dangling, loop, good = self.path("dangling"), self.path("loop"), self.path("good-link")
        os.symlink(self.path("nowhere"), dangling)
        os.symlink(loop, loop)
        os.symlink(self.model, good)
        self.refused(dangling, "no such file")
        self.refused(loop)
        self.assertEqual(self.generate(good)["digest"], self.generate()["digest"])
        folder = self.path("good-folder-link")
        os.symlink(self.hf_folder("hf"), folder)
        self.assert_done(run("run", folder, "--tokens", "1,2", "--print-ids", "--max-tokens", "2"))

    def test_fifo_and_socket(self):
        fifo = self.path("fifo.gguf")
        os.mkfifo(fifo)
        self.refused(fifo, "not a regular file")
        held = ingot.make_socket(self.path("socket.gguf"))
        self.addCleanup(held.close)
        self.refused(self.path("socket.gguf"), "not a regular file")
        linked = self.path("link-to-fifo")
        os.symlink(fifo, linked)
        self.refused(linked, "not a regular file")

    def test_devices_and_files_of_the_system(self):
        for path in ("/dev/zero", "/dev/random", "/dev/null", "/dev/tty", "/dev/stdin",
                     "/proc/self/mem", "/proc/self/maps", "/proc/version", "/proc/self/fd/0",
                     "/proc/kmsg", "/sys/kernel/uevent_seqnum", "/dev/fd/0"):
            if os.path.lexists(path) or path.startswith("/proc/self/"):
                self.refused(path)

    def test_folders_of_the_system(self):
        for path in ("/", "/proc", "/proc/self", "/dev", ".", "..", "/proc/self/task"):
            self.refused(path, shown=path)

    def test_names_that_are_no_names(self):
        self.refused("", shown="(empty path)")
        self.refused("a" * 5000, shown="a" * 4096 + "...")
        self.refused("a" * 300)
        self.refused("./" * 1500 + "x.gguf")

    def test_names_are_shown_escaped(self):
        self.refused(os.fsencode(self.folder) + b"/\xff\xfe.gguf",
                     shown=self.path("\\xff\\xfe.gguf"))
        self.refused(self.path("a\nerror: b\x1b[31m.gguf"),
                     shown=self.path("a\\x0aerror: b\\x1b[31m.gguf"))
        self.refused(self.path("\u202egguf"), shown=self.path("\\xe2\\x80\\xaegguf"))

    def test_names_outside_utf8_work(self):
        path = os.fsencode(self.folder) + b"/\xff\xfe \n.gguf"
        with open(path, "wb") as f:
            f.write(model_files.tiny_gguf().build())
        self.assertEqual(self.generate(path)["digest"], self.generate()["digest"])
        os.unlink(path)

    def test_a_name_relative_to_the_current_folder(self):
        self.assertEqual(self.generate("tiny.gguf", cwd=self.folder)["digest"],
                         self.generate()["digest"])
        self.assertEqual(self.generate("./tiny.gguf", cwd=self.folder)["digest"],
                         self.generate()["digest"])

    def test_a_sparse_file_of_enormous_size(self):
        path = self.path("sparse.gguf")
        with open(path, "wb") as f:
            f.write(model_files.tiny_gguf().build()[:64])
            for bits in range(62, 30, -1):
                try:
                    f.truncate(1 << bits)
                    break
                except OSError:
                    continue
        self.refused(path)

    def test_a_read_only_file(self):
        path = self.file("read-only.gguf", model_files.tiny_gguf().build())
        os.chmod(path, 0o444)
        self.assertEqual(self.generate(path)["digest"], self.generate()["digest"])

    def test_safetensors_are_named_by_their_folder(self):
        folder = self.hf_folder("by-folder")
        self.refused(os.path.join(folder, "model.safetensors"), "folder")

    def test_the_same_model_many_times_at_once(self):
        running = [ingot.start("run", self.model, "--tokens", "1,283,289", "--json",
                               "--max-tokens", "8") for _ in range(4)]
        digests = {self.one_json(self.assert_done(ingot.finish(p)))["digest"] for p in running}
        self.assertEqual(digests, {self.generate()["digest"]})


BYTE_ORDER_MARK = b"\xef\xbb\xbf"


class TextInputs(ingot.CliTest):
    """Every option that takes a text takes a file, a pipe, a process substitution and stdin."""

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.chat = cls.file("chat.gguf", chat_model.chat_model().build())
        chat = json.dumps([{"role": "user", "content": "hello"}]).encode()
        cls.messages = cls.file("messages.json", chat)
        template = chat_model.TEMPLATE.encode()
        context = b'{"messages": [{"role": "user", "content": "hi"}]}'
        story = b"Once upon a time there was a fox. " * 20
        short = ("--max-tokens", "4", "--temperature", "0")
        os.mkdir(cls.path("out"))
        model, chat_path = cls.model, cls.chat
        # The text, the command before the path, and whether a byte order mark is passed over.
        cls.inputs = (
            (b"hello there", ("run", model, *short, "-f"), True),
            (chat, ("run", chat_path, *short, "--messages"), True),
            (template, ("run", chat_path, *short, "--messages", cls.messages, "--template"), True),
            (b'{"enum": ["a", "b"]}', ("run", model, *short, "-p", "a", "--json-schema"), True),
            (b'root ::= "a" | "b"', ("run", model, *short, "-p", "a", "--grammar"), True),
            (b'root ::= "a" | "b"', ("run", chat_path, *short, "--messages", cls.messages,
                                     "--grammar"), True),
            (b"hello there", ("chat", chat_path, *short, "-f"), True),
            (template, ("chat", chat_path, *short, "-p", "hi", "--template"), True),
            (b'{"enum": ["a", "b"]}', ("chat", chat_path, *short, "-p", "a", "--json-schema"),
             True),
            (b"hello\r\n", ("tokenize", model, "--file"), False),
            (template, ("template", "--context", cls.file("context.json", context), "--template"),
             True),
            (context, ("template", chat_path, "--context"), True),
            (story, ("perplexity", model, "--ctx", "32", "--file"), False),
            (story, ("imatrix", model, "--ctx", "32", "--out", cls.path("out/imatrix"), "--file"),
             False))

    def outcome(self, args, **how):
        """What a command prints, or writes in place of it."""
        out = self.assert_done(run(*args, **how)).out
        if args[0] == "imatrix":
            with open(self.path("out/imatrix"), "rb") as written:
                # It stores the name of the text.
                return written.read()[-1000:]
        return out

    def in_pipe(self, content, use):
        """The outcome of `use` with the reading end of a pipe that holds this content."""
        read, write = os.pipe()
        feeder = threading.Thread(target=lambda: self.feed(write, content))
        feeder.start()
        try:
            return use(read)
        finally:
            os.close(read)
            feeder.join()

    @staticmethod
    def feed(write, content):
        with os.fdopen(write, "wb") as pipe:
            try:
                pipe.write(content)
            except BrokenPipeError:
                pass

    def test_files_pipes_and_stdin_are_one(self):
        fifo = self.path("fifo")
        os.mkfifo(fifo)
        names = ("-", "/dev/stdin", "/dev/fd/0", "/proc/self/fd/0")
        for i, (content, args, _) in enumerate(self.inputs):
            with self.subTest(args=args):
                expected = self.outcome((*args, self.file("text", content)))
                self.assertTrue(expected)
                for name in names if i == 0 else names[:1]:
                    self.assertEqual(self.in_pipe(content, lambda read, n=name: self.outcome(
                        (*args, n), stdin=read)), expected)
                substituted = self.in_pipe(content, lambda read: self.outcome(
                    (*args, f"/dev/fd/{read}"), pass_fds=(read,)))
                self.assertEqual(substituted, expected)
                # Opening waits for a reader; as a daemon it does not outlive a test that fails.
                writer = threading.Thread(daemon=True, target=lambda c=content: self.feed(
                    os.open(fifo, os.O_WRONLY), c))
                writer.start()
                self.assertEqual(self.outcome((*args, fifo)), expected)
                writer.join()
                with open(self.path("text"), "rb") as stdin:
                    self.assertEqual(self.outcome((*args, "-"), stdin=stdin), expected)

    def test_a_byte_order_mark_is_passed_over(self):
        for content, args, passes in self.inputs:
            if not passes:
                continue
            with self.subTest(args=args):
                expected = self.outcome((*args, self.file("text", content)))
                marked = self.file("text", BYTE_ORDER_MARK + content)
                self.assertEqual(self.outcome((*args, marked)), expected)

    def test_files_of_a_model_may_begin_with_a_byte_order_mark(self):
        folder = self.hf_folder("plain")
        config, _ = model_files.tiny_hf()
        marked = self.hf_folder("marked", BYTE_ORDER_MARK + json.dumps(config).encode())
        self.assertEqual(self.generate(marked)["digest"], self.generate(folder)["digest"])

    def test_stdin_has_one_reader(self):
        chat = ("run", self.chat, "--max-tokens", "1")
        for args, first, second in (
                ((*chat, "-f", "-", "--grammar", "/dev/stdin"), "--grammar", "--file"),
                ((*chat, "-", "--json-schema", "-"), "--json-schema", "-"),
                ((*chat, "--messages", "-", "--template", "/dev/fd/0"), "--messages", "--template"),
                ((*chat, "--jsonl", "--template", "-"), "--template", "--jsonl"),
                (("chat", self.chat, "--template", "-"), "--template", "the chat"),
                (("template", "--template", "-", "--context", "-"), "--template", "--context"),
                (("template", "--template", "-", "--jsonl"), "--template", "--jsonl")):
            with self.subTest(args=args):
                last = self.assert_error(run(*args), USAGE, "both read standard input")
                self.assertTrue(first in last and second in last, last)

    def test_what_is_no_text(self):
        held = ingot.make_socket(self.path("socket"))
        self.addCleanup(held.close)
        paths = (self.path("none"), "/dev/zero", self.folder, self.path("socket"),
                 "/proc/self/mem", "")
        for i, (_, args, _) in enumerate(self.inputs):
            for path in paths if i == 0 else paths[:2]:
                with self.subTest(args=args, path=path):
                    self.assert_error(run(*args, path), MODEL, "file @0: ")
            self.assert_error(run(*args, "-", stdin=None, close=(0,)), ingot.IO, "stdin: cannot")

    def test_a_pipe_has_the_limits_of_a_file(self):
        content = b"#" * ((4 << 20) + 1)
        args = ("run", self.model, "-p", "a", "--grammar")
        for name, says in (("-", "stdin: file @0: it has more than the 4194304 bytes"),
                           (self.file("large", content), "at most 4194304 are allowed")):
            result = self.in_pipe(content, lambda read, n=name: run(*args, n, stdin=read))
            self.assert_error(result, MODEL, says)

    def test_a_wait_for_data_ends_with_a_signal(self):
        fifo = self.path("silent")
        os.mkfifo(fifo)
        process = ingot.start("run", self.model, "-f", fifo)
        self.addCleanup(ingot.stop, process)
        # Opening succeeds once the command has opened the other end; then it waits for data.
        held = []
        threading.Thread(daemon=True,
                         target=lambda: held.append(os.open(fifo, os.O_WRONLY))).start()
        ingot.eventually("the command reads or ends", lambda: held or process.poll() is not None)
        process.send_signal(signal.SIGINT)
        self.assertEqual(process.wait(ingot.TIMEOUT_S), 130)
        os.close(held[0])


@unittest.skipUnless(os.path.isdir(os.path.join(ingot.SHARED, "data", "models")),
                     f"no models under {ingot.SHARED or 'INGOT_SHARED'}")
class Terminal(ingot.CliTest):
    def shown(self, *args):
        """What a run writes to stderr that is a terminal, and what into a pipe."""
        master, slave = pty.openpty()
        done = ingot.run(*args, stderr=slave)
        os.close(slave)
        shown = os.read(master, 4096).decode().replace("\r\n", "\n")
        os.close(master)
        piped = ingot.run(*args)
        self.assertEqual((done.code, piped.code), (MODEL, MODEL))
        return shown, piped.err

    def test_an_error_without_an_offset_has_none_on_a_terminal(self):
        none, broken = self.path("none.gguf"), self.file("broken.gguf", b"GGUX")
        self.assertEqual(self.shown("run", none, "-p", "a", "--log-level", "error"),
                         (f"error: {none}: file: no such file\n",
                          f"error: {none}: file @0: no such file\n"))
        at_begin = f"error: {broken}: header @0: not a GGUF file: it begins with 'GGUX'\n"
        self.assertEqual(self.shown("run", broken, "-p", "a", "--log-level", "error"),
                         (at_begin, at_begin))


class Hints(ingot.CliTest):
    """Values that change no result do not refuse a file."""

    COMMAND = ("--tokens", "1,2,3", "--max-tokens", "4", "--json")

    def digest(self, model, *warnings, options=()):
        result = self.assert_done(ingot.run("run", model, *self.COMMAND, *options))
        lines = self.lines(result)
        self.assertEqual(len(lines), len(warnings), result)
        for line, text in zip(lines, warnings):
            self.assertIn(text, line)
            self.assertNotIn("@", line)
        return json.loads(result.out)["digest"]

    def test_wrong_hints_are_warnings(self):
        plain = self.digest(self.model)
        model = model_files.tiny_gguf()
        model.set("general.sampling.temp", model_files.STRING, "warm")
        model.set("general.sampling.top_k", model_files.FLOAT64, 20.0)
        model.set("general.sampling.top_p", model_files.INT32, 7)
        model.set("tokenizer.ggml.padding_token_id", model_files.UINT32, 99_999)
        model.set("tokenizer.ggml.bos_token_id", model_files.UINT32, 1 << 31)
        odd = self.file("odd.gguf", model.build() + bytes(1000))
        self.assertEqual(plain, self.digest(odd, "1000 bytes behind the last tensor", "temp",
                                            "top_p", "bos_token_id = 2147483648",
                                            "padding_token_id = 99999"))

    def test_rows_without_a_token_are_never_drawn(self):
        model = model_files.tiny_gguf()
        tokens = list(model.get("tokenizer.ggml.tokens"))
        types = list(model.get("tokenizer.ggml.token_type"))
        rows, first = len(tokens), len(tokens) - 30
        for i in range(first, rows):
            tokens[i], types[i] = f"[PAD{i}]", 5  # as converters fill rows
        model.set("tokenizer.ggml.tokens", (model_files.ARRAY, model_files.STRING), tokens)
        model.set("tokenizer.ggml.token_type", (model_files.ARRAY, model_files.INT32), types)
        padded = self.file("padded.gguf", model.build())
        draws = ("--temperature", "5", "--top-k", "0", "--top-p", "1", "--seed", "3",
                 "--ignore-eos", "--max-tokens", "64")

        def largest(path):
            result = ingot.run("run", path, "--tokens", f"1,{rows - 1}", "--json", *draws)
            return max(self.one_json(self.assert_done(result))["ids"])

        self.assertGreaterEqual(largest(self.model), first)
        self.assertLess(largest(padded), first)
        result = ingot.run("run", padded, "-p", "a", "--logit-bias", f"{first}=1")
        self.assert_error(result, ingot.USAGE, f"possible are tokens from 0 to {first - 1}")

    def test_an_unknown_key_can_be_accepted(self):
        architecture = model_files.tiny_gguf().get("general.architecture")
        key = f"{architecture}.new_feature"
        model = self.file("key.gguf", model_files.tiny_gguf().set(key, model_files.UINT32,
                                                                  1).build())
        line = self.assert_model_error(ingot.run("run", model, *self.COMMAND), model,
                                       "this key is not known")
        self.assertIn(f"(--accept-unknown {key} ", line)
        plain = self.digest(self.model)
        self.assertEqual(plain, self.digest(model, f"{key} = 1 is not applied",
                                            options=("--accept-unknown", key)))
        self.digest(self.model, "no file of the model has this key",
                    options=("--accept-unknown", key))
        for command in (("inspect", model, "--json"), ("template", model, "--jsonl")):
            self.assert_model_error(ingot.run(*command), model, "this key is not known")
            result = ingot.run(*command, "--accept-unknown", key)
            self.assertNotIn("this key is not known", result.err)

    def test_what_nobody_can_act_on_is_in_inspect_alone(self):
        model = self.file("pre.gguf", model_files.tiny_gguf().without("tokenizer.ggml.pre").build())
        self.digest(model)
        facts = json.loads(self.assert_done(ingot.run("inspect", model, "--json")).out)
        self.assertEqual(facts["warnings"], [])
        self.assertEqual(len(facts["details"]), 1, facts["details"])
        self.assertIn("no tokenizer.ggml.pre, using default", facts["details"][0])
        self.assertIn("no tokenizer.ggml.pre, using default",
                      self.assert_done(ingot.run("inspect", model)).out.decode())


class SharedModels(ingot.CliTest):
    def test_every_shared_gguf_gives_one_digest_for_any_threads(self):
        tried = 0
        for folder, _, names in sorted(os.walk(os.path.join(ingot.SHARED, "data", "models"))):
            for name in sorted(names):
                path = os.path.join(folder, name)
                if not name.endswith(".gguf") or run("inspect", path).code != 0:
                    continue
                tried += 1
                with self.subTest(path=path):
                    digests = {self.generate(path, "--threads", n)["digest"] for n in "123"}
                    self.assertEqual(len(digests), 1)
        if tried == 0:
            self.skipTest("no GGUF file there opens")


if __name__ == "__main__":
    ingot.main()
