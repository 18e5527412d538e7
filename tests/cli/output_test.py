#!/usr/bin/env python3
"""Tests output: the form of JSON and .npy files, and errors if a file cannot be written."""
import os
import re
import struct
import subprocess
import tempfile
import termios
import unittest

import chat_model
import ingot
import model_files
from ingot import COMMANDS, DONE, IO, MODEL, USAGE, arguments, run
from screen import Screen

VOCAB, HIDDEN = 320, 64


def read_npy(path):
    """(shape, floats) of a .npy file, read without any of the code under test."""
    with open(path, "rb") as f:
        content = f.read()
    assert content[:8] == b"\x93NUMPY\x01\x00", content[:8]
    length, = struct.unpack("<H", content[8:10])
    header = content[10:10 + length].decode()
    assert (10 + length) % 64 == 0 and header.endswith("\n")
    assert "'descr': '<f4'" in header and "'fortran_order': False" in header
    shape = tuple(int(n) for n in re.search(r"'shape': \((\d+), (\d+)\)", header).groups())
    values = struct.unpack(f"<{shape[0] * shape[1]}f", content[10 + length:])
    return shape, values


class Fields(ingot.CliTest):
    def test_run_json(self):
        result = run("run", self.model, "-p", "the hand", "--json", "--max-tokens", "5")
        found = self.one_json(self.assert_done(result))
        self.assertEqual(set(found), {"prompt_ids", "ids", "text", "finish_reason", "digest",
                                      "seed", "prefill_tok_s", "decode_tok_s", "drafted",
                                      "accepted"})
        self.assertRegex(found["digest"], "^[0-9a-f]{16}$")
        self.assertIn(found["finish_reason"], ("stop", "length"))
        self.assertEqual(len(found["ids"]), 5)
        self.assertTrue(all(isinstance(i, int) and 0 <= i < VOCAB for i in found["ids"]))
        self.assertIsInstance(found["text"], str)
        self.assertGreater(found["prefill_tok_s"], 0)
        self.assertGreater(found["decode_tok_s"], 0)

    def test_print_ids_text_and_json_agree(self):
        args = ("run", self.model, "-p", "the hand", "--max-tokens", "20")
        found = self.one_json(run(*args, "--json"))
        ids = self.assert_done(run(*args, "--print-ids")).out
        self.assertEqual(ids.decode(), ",".join(map(str, found["ids"])) + "\n")
        text = self.assert_done(run(*args)).out
        self.assertEqual(text.decode(errors="replace"), "the hand" + found["text"] + "\n")

    def test_without_a_tokenizer_text_is_null(self):
        folder = self.hf_folder("hf")
        found = self.one_json(self.assert_done(
            run("run", folder, "--tokens", "1,2", "--json", "--max-tokens", "3")))
        self.assertIsNone(found["text"])
        self.assertEqual(len(found["ids"]), 3)
        for args in (("--tokens", "1,2"), ("-p", "a", "--json")):
            self.assert_error(run("run", folder, *args), MODEL, "tokenizer")

    def test_the_same_digest_for_any_threads_and_another_for_another_kv_type(self):
        by_type = {}
        for kv in ("f16", "f32", "bf16"):
            digests = {self.generate(None, "--kv-type", kv, "--threads", n)["digest"]
                       for n in ("1", "2", "5")}
            self.assertEqual(len(digests), 1)
            by_type[kv] = digests.pop()
        self.assertEqual(len(set(by_type.values())), 3)

    def test_seeds(self):
        def ids(*more):
            return self.generate(None, "--temperature", "1", *more)["ids"]
        self.assertEqual(ids("--seed", "5"), ids("--seed", "5"))
        self.assertGreater(len({tuple(ids("--seed", str(s))) for s in range(5)}), 1)
        ids("--seed", "18446744073709551615")

    def test_inspect_json(self):
        found = self.one_json(self.assert_done(run("inspect", self.model, "--json")))
        self.assertEqual(found["architecture"], "llama")
        tensors = {t["name"]: t for t in found["tensors"]}
        self.assertEqual(tensors["token_embd.weight"],
                         {"name": "token_embd.weight", "shape": [VOCAB, HIDDEN], "format": "F32",
                          "bytes": VOCAB * HIDDEN * 4})
        self.assertEqual(found["parameters"], sum(t["bytes"] for t in found["tensors"]) // 4)
        self.assertEqual(found["metadata"]["llama.block_count"], 2)
        self.assertLess(len(str(found["metadata"]["tokenizer.ggml.tokens"])), 1000)
        plan = found["plan"]
        self.assertLessEqual({"weights_bytes", "kv_bytes_per_token", "scratch_bytes",
                              "max_context", "fits"}, set(plan))
        self.assertEqual(plan["kv_bytes_per_token"], 2 * 2 * 32 * 2)  # K, V; layers; row; F16
        self.assertTrue(plan["fits"])
        self.assertEqual(plan["max_context"], 256)

    def test_logits_shapes(self):
        out = self.path("shapes.npy")
        args = ("logits", self.model, "--tokens", "1,2,3", "--out", out)
        for more, shape in (((), (3, VOCAB)), (("--hidden", "all"), (3, HIDDEN)),
                            (("--hidden", "last"), (1, HIDDEN)),
                            (("--hidden", "last", "--norm", "pre"), (1, HIDDEN)),
                            (("--layers", "0:1"), (3, HIDDEN)),
                            (("--layers", "0:2", "--norm", "post"), (3, HIDDEN))):
            with self.subTest(more=more):
                result = self.assert_done(run(*args, *more))
                self.assertEqual(result.out, b"")
                self.assertEqual(read_npy(out)[0], shape)

    def test_stages_give_what_the_whole_gives(self):
        first, second, whole = (self.path(n) for n in ("s1.npy", "s2.npy", "s.npy"))
        self.assert_done(run("logits", self.model, "--tokens", "1,2,3", "--layers", "0:1", "--out",
                             first))
        self.assert_done(run("logits", self.model, "--embeds", first, "--layers", "1:2", "--norm",
                             "post", "--out", second))
        self.assert_done(run("logits", self.model, "--tokens", "1,2,3", "--hidden", "all", "--out",
                             whole))
        self.assertEqual(read_npy(second), read_npy(whole))


class Files(ingot.CliTest):
    def logits(self, out, *more, **how):
        return run("logits", self.model, "--tokens", "1,2,3", "--out", out, *more, **how)

    def test_places_where_no_file_can_be(self):
        folder = self.path("folder")
        os.mkdir(folder)
        loop = self.path("loop")
        os.symlink(loop, loop)
        for out in (folder, folder + "/", "/", self.path("no/such/folder.npy"),
                    self.model + "/below.npy", "", "a" * 5000, loop, "/proc/nothing.npy",
                    "/dev/full", "."):
            with self.subTest(out=out):
                self.assert_error(self.logits(out, cwd=self.folder), IO, "cannot write")
                self.assert_only([], folder)
        self.assertFalse([n for n in os.listdir(self.folder) if ".tmp" in n])

    def test_a_folder_that_may_not_be_written(self):
        folder = self.path("read-only")
        os.mkdir(folder)
        os.chmod(folder, 0o555)
        how = {}
        if os.geteuid() == 0:
            how = {"user": 65534, "group": 65534, "extra_groups": []}
            try:
                tried = run("--version", **how)
            except PermissionError as e:
                self.skipTest(f"needs a user other than root who may run the program: {e}")
            if tried.code != DONE:
                self.skipTest(f"needs a user other than root who may run the program: {tried}")
        self.assert_error(self.logits(folder + "/o.npy", **how), IO, "permission denied")
        self.assert_only([], folder)

    def test_a_file_that_may_not_be_written(self):
        out = self.file("kept.npy", b"kept")
        os.chmod(out, 0o444)
        if os.geteuid() == 0:
            self.skipTest("root may write any file")
        self.assert_error(self.logits(out), IO, "permission denied")
        with open(out, "rb") as f:
            self.assertEqual(f.read(), b"kept")

    def test_special_files_take_the_bytes(self):
        self.assert_done(self.logits("/dev/null"))
        fifo = self.path("fifo")
        os.mkfifo(fifo)
        process = ingot.start("logits", self.model, "--tokens", "1,2,3", "--out", fifo)
        self.addCleanup(ingot.stop, process)
        with open(fifo, "rb") as f:
            piped = f.read()
        self.assert_done(ingot.finish(process))
        out = self.path("plain.npy")
        self.assert_done(self.logits(out))
        with open(out, "rb") as f:
            self.assertEqual(f.read(), piped)

    def test_a_target_is_replaced_whole_and_keeps_its_mode(self):
        out = self.file("mode.npy", b"old")
        os.chmod(out, 0o640)
        link = self.path("link.npy")
        os.symlink(out, link)
        self.assert_done(self.logits(link))
        self.assertTrue(os.path.islink(link))
        self.assertEqual(os.stat(out).st_mode & 0o777, 0o640)
        self.assertEqual(read_npy(out)[0], (3, VOCAB))

    def test_a_refused_run_leaves_the_target_alone(self):
        out = self.file("stays.npy", b"stays")
        self.assert_error(self.logits(out, "--split", "9"), USAGE)
        self.assert_error(run("logits", self.path("none"), "--tokens", "1", "--out", out), MODEL)
        with open(out, "rb") as f:
            self.assertEqual(f.read(), b"stays")

    def test_a_full_disk(self):
        folder = tempfile.mkdtemp(dir=self.folder)
        mounted = subprocess.run(["mount", "-t", "tmpfs", "-o", "size=64k", "tmpfs", folder],
                                 capture_output=True, check=False) if _has("mount") else None
        if mounted is None or mounted.returncode != 0:
            self.skipTest("a small file system cannot be mounted here: "
                          f"{mounted.stderr if mounted else 'no mount'}")
        try:
            out = os.path.join(folder, "o.npy")
            result = run("logits", self.model, "--tokens", ",".join(["5"] * 200), "--out", out)
            self.assert_error(result, IO, "no space left")
            self.assert_only([], folder)
            subprocess.run(["mount", "-o", "remount,ro", folder], check=True)
            self.assert_error(self.logits(out), IO, "read-only")
        finally:
            subprocess.run(["umount", folder], check=True)

    def test_the_model_itself_as_the_target(self):
        model = model_files.tiny_gguf().build()
        path = self.file("both.gguf", model)
        link = path + ".link"
        os.link(path, link)
        for target in (path, link):
            line = self.assert_error(run("logits", path, "--tokens", "1", "--out", target), USAGE)
            self.assertIn("a file that this command reads", line)
        with open(path, "rb") as f:
            self.assertEqual(f.read(), model)

    def test_a_part_of_a_split_model_as_the_target(self):
        contents = {}
        for i, part in enumerate(model_files.split_gguf(model_files.tiny_gguf(), 3)):
            contents[self.file("split/" + model_files.part_name("m", i, 3), part.build())] = i
        first, *others = contents
        kept = {path: os.stat(path).st_size for path in contents}
        for target in others:
            line = self.assert_error(run("logits", first, "--tokens", "1", "--out", target), USAGE)
            self.assertIn("a file that this command reads", line)
        self.assertEqual({path: os.stat(path).st_size for path in contents}, kept)

    def test_a_target_that_cannot_be_written_is_said_before_the_weights_are_read(self):
        model = model_files.tiny_gguf()
        norm = model.tensor("output_norm.weight")
        norm[3] = model_files.NAN + norm[3][4:]
        path = self.file("nan.gguf", model.build())
        args = ("logits", path, "--tokens", "1", "--check-tensors", "--out")
        self.assert_error(run(*args, self.path("fine.npy")), MODEL, "output_norm")
        self.assert_error(run(*args, self.path("no/such/o.npy")), IO, "cannot write")
        self.assertFalse([n for n in os.listdir(self.folder) if ".tmp" in n or n == "fine.npy"])


def _has(program):
    return any(os.access(os.path.join(p, program), os.X_OK)
               for p in os.environ.get("PATH", "").split(":"))


class Streams(ingot.CliTest):
    def uses(self):
        for command in ("run", "inspect"):
            yield arguments(command, self.model, self.folder)
        yield ("run", self.model, "-p", "hello", "--max-tokens", "20")
        yield ("run", self.model, "-p", "hello", "--max-tokens", "20", "--json")
        yield ("inspect", self.model)
        yield ("--help",)
        yield ("--version",)
        yield ("run", "--help")

    def test_a_full_stdout(self):
        for args in self.uses():
            with self.subTest(args=args), open("/dev/full", "wb") as full:
                self.assert_error(run(*args, stdout=full), IO, "stdout", "no space left")

    def test_a_stdout_that_nobody_reads(self):
        for args in self.uses():
            read_end, write_end = os.pipe()
            os.close(read_end)
            with self.subTest(args=args):
                self.assert_error(run(*args, stdout=write_end), IO, "stdout")
            os.close(write_end)

    def test_a_closed_stdout(self):
        for args in self.uses():
            with self.subTest(args=args):
                self.assert_error(run(*args, stdout=None, close=(1,)), IO, "stdout")

    def test_a_reader_that_leaves_half_way(self):
        process = ingot.start("run", self.model, "-p", " the" * 2000, "--ctx", "4000",
                              "--max-tokens", "5", "--log-level", "error", bufsize=0)
        self.addCleanup(ingot.stop, process)
        self.assertEqual(process.stdout.read(1), b" ")
        process.stdout.close()
        err = process.stderr.read().decode()
        self.assertEqual((process.wait(ingot.TIMEOUT_S), err[:16]), (IO, "error: stdout: c"), err)

    def test_a_stdout_that_may_only_be_read(self):
        with open(self.model, "rb") as f:
            self.assert_error(run(*arguments("run", self.model, self.folder), stdout=f), IO)

    def test_without_stderr(self):
        digest = self.generate()["digest"]
        args = ("run", self.model, "--tokens", "1,283,289", "--json", "--max-tokens", "8")
        for how in ({"stderr": None, "close": (2,)}, {"stderr": subprocess.DEVNULL},
                    {"stdin": None, "stderr": None, "close": (0, 2)}):
            with self.subTest(how=how):
                # With a warning, which has nowhere to go.
                result = run(*args, "--ctx", "300", **how)
                self.assertEqual(self.one_json(self.assert_done(result))["digest"], digest)
        with open("/dev/full", "wb") as full:
            self.assertEqual(self.generate(None, stderr=full)["digest"], digest)
            self.assertEqual(run("inspect", "/no/such", stderr=full).code, MODEL)
        self.assertEqual(run("inspect", "/no/such", stderr=None, close=(2,)).code, MODEL)

    def test_closed_streams_do_not_become_files(self):
        # Bytes written to a closed stream must not land in a file that got its number.
        clean, odd = self.path("clean.npy"), self.path("odd.npy")
        ids = ",".join(["5"] * 20)
        self.assert_done(run("logits", self.model, "--tokens", ids, "--out", clean))
        for close in ((2,), (1, 2), (0, 1, 2), (0,)):
            with self.subTest(close=close):
                streams = {("stdin", "stdout", "stderr")[n]: None for n in close}
                result = run("logits", self.model, "--tokens", ids, "--ctx", "300", "--out", odd,
                             close=close, **streams)
                self.assertEqual(result.code, DONE, result)
                self.assertEqual(read_npy(odd), read_npy(clean))
                with open(odd, "rb") as a, open(clean, "rb") as b:
                    self.assertEqual(a.read(), b.read())

    def test_log_levels(self):
        args = ("run", self.model, "--tokens", "1", "--print-ids", "--ctx", "300")
        for level, shown in (("debug", True), ("info", True), ("warning", True), ("error", False)):
            result = self.assert_done(run(*args, "--log-level", level))
            self.assertEqual("warning: --ctx 300" in result.err, shown, result)
        result = run("run", self.path("none"), "--tokens", "1", "--log-level", "error")
        self.assert_error(result, MODEL)

    def test_stdin_is_left_alone(self):
        with open(self.model, "rb") as f:
            self.assert_done(run("run", self.model, "--tokens", "1", "--print-ids", stdin=f))
            self.assertEqual(f.tell(), 0)


class Embeddings(ingot.CliTest):
    """--embeds with files that are no float32 matrix of the model's width."""

    def embeds(self, content, *more):
        path = content if isinstance(content, str) else self.file("e.npy", content)
        return run("logits", self.model, "--embeds", path, "--out", self.path("out.npy"), *more)

    def test_good_files(self):
        good = model_files.npy(3, HIDDEN)
        self.assert_done(self.embeds(good))
        self.assertEqual(read_npy(self.path("out.npy"))[0], (3, VOCAB))
        version2 = good[:6] + b"\x02\x00" + good[8:10] + b"\0\0" + good[10:]
        self.assert_done(self.embeds(version2))
        self.assert_done(self.embeds(model_files.npy(257, HIDDEN), "--ctx", "257"))

    def test_files_that_are_cut_at_every_byte(self):
        good = model_files.npy(1, HIDDEN)
        step = 7 if ingot.SANITIZERS else 3
        for size in (*range(0, 140, step), len(good) - 4, len(good) - 1):
            with self.subTest(size=size):
                self.assert_error(self.embeds(good[:size]), MODEL, "e.npy")
        self.assert_error(self.embeds(good + b"\0"), MODEL, "e.npy")

    def test_headers_that_lie(self):
        bad = {
            "descr": ("'<f8'", "'>f4'", "'<i4'", "'|O'", "'<f2'", "'f4'", "[('a', '<f4')]", None),
            "fortran_order": ("True", "1", "None", None),
            "shape": (f"({HIDDEN},)", f"(3, {HIDDEN}, 1)", "()", f"(4, {HIDDEN})", "(-1, 64)",
                      "(3, 64", "3, 64", "(3.0, 64)", "(18446744073709551615, 64)",
                      "(9223372036854775808, 2)", "(4294967296, 4294967296)",
                      "(99999999999999999999, 64)", "('3', 64)", "(0x3, 64)", None),
        }
        for key, values in bad.items():
            for value in values:
                with self.subTest(key=key, value=value):
                    content = model_files.npy(3, HIDDEN, **{key: value})
                    self.assert_error(self.embeds(content), MODEL, "e.npy")

    def test_bytes_that_are_no_npy(self):
        good = model_files.npy(3, HIDDEN)
        for content in (b"", b"\x93NUMPY", b"x" + good[1:], good[:6] + b"\x09\x00" + good[8:],
                        good[:8] + b"\xff\xff" + good[10:], good[:8] + b"\0\0" + good[10:],
                        b"\x80\x04\x95" + good[3:], b"\0" * 1000, os.urandom(4096)):
            with self.subTest(content=content[:16]):
                self.assert_error(self.embeds(content), MODEL, "e.npy")

    def test_the_wrong_number_of_columns_or_rows(self):
        for rows, cols in ((3, HIDDEN - 1), (3, HIDDEN + 1), (HIDDEN, 3), (3, 1), (0, HIDDEN)):
            with self.subTest(rows=rows, cols=cols):
                self.assert_clean(self.embeds(model_files.npy(rows, cols)), (USAGE, MODEL))
                self.assertNotEqual(self.embeds(model_files.npy(rows, cols)).code, DONE)
        line = self.assert_error(self.embeds(model_files.npy(257, HIDDEN)), USAGE)
        self.assertIn("257", line)
        self.assertIn("256", line)

    def test_paths(self):
        fifo = self.path("fifo.npy")
        os.mkfifo(fifo)
        for path in (self.path("missing.npy"), self.folder, fifo, "/dev/zero", "/proc/self/mem",
                     self.model):
            with self.subTest(path=path):
                self.assert_error(self.embeds(path), MODEL, os.path.basename(path))

    def test_rows_that_are_not_finite(self):
        content = model_files.NAN * HIDDEN + struct.pack("<f", 1) * HIDDEN
        result = self.embeds(model_files.npy(2, HIDDEN, content))
        self.assert_clean(result, (1, MODEL))

    def test_commands_do_not_share_files(self):
        for command in COMMANDS:
            self.assertIn(run(*arguments(command, self.model, self.folder)).code, (DONE,))


@unittest.skipUnless(hasattr(os, "openpty"), "no pseudo terminals here")
class Terminal(ingot.CliTest):
    """On a terminal: progress goes, and a model cannot command the terminal."""

    def on_terminal(self, *args, columns=80, term="vt100"):
        master, slave = os.openpty()
        termios.tcsetwinsize(slave, (24, columns))
        process = ingot.start(*args, stdout=slave, stderr=slave, env={"TERM": term})
        os.close(slave)
        shown = b""
        while True:
            try:
                block = os.read(master, 65536)
            except OSError:  # the other side is closed
                break
            if not block:
                break
            shown += block
        os.close(master)
        self.assertEqual(process.wait(ingot.TIMEOUT_S), DONE, shown)
        return shown

    def test_progress_fits_the_terminal_and_leaves_nothing(self):
        for columns in (8, 20, 40, 72):
            for command, *more in (("run", "-p", "the hand", "--max-tokens", "4"),
                                   ("quantize", self.path("out.gguf"), "--type", "Q8_0")):
                args = (command, self.model, *more)
                shown = self.on_terminal(*args, columns=columns).decode(errors="replace")
                bars = re.findall(r"\x1b\[[KJ]([^\r\n]* %[^\r\n]*)\r(?!\n)", shown)
                self.assertGreater(len(bars), 0, (command, shown))
                for bar in bars:
                    self.assertLess(len(bar), columns, command)
                    self.assertIn("[#" if columns >= 40 and bar.endswith("100 %") else "%", bar)
                rows = Screen(columns).write(shown).lines()
                self.assertNotEqual(rows[0], "", (command, rows))
                for row in rows:
                    self.assertNotRegex(row, r"\[#|# *\]|100 %", command)

    def test_a_terminal_without_sequences_gets_none(self):
        for term in ("dumb", "", None):
            shown = self.on_terminal("run", self.model, "-p", "the hand", "--max-tokens", "4",
                                     term=term)
            self.assertNotIn(b"\x1b", shown)
            self.assertNotIn(b" %", shown)

    def test_a_bar_on_a_terminal_that_became_narrower_leaves_nothing(self):
        shown = self.on_terminal("run", self.model, "-p", "the hand", "--max-tokens", "4")
        bars = [m.end() for m in re.finditer(rb"\x1b\[J[^\r\n]* %[^\r\n]*\r", shown)]
        last = bars[-1]
        screen = Screen(10).write(shown[:last].decode())
        screen.row = 0  # the terminal breaks the line anew, and keeps the cursor at its start
        rows = screen.write(shown[last:].decode()).lines()
        self.assertNotIn("%", "".join(rows))
        self.assertNotIn("#", "".join(rows))

    def test_replies_wrap_at_words(self):
        path = self.file("chat.gguf", chat_model.chat_model().build())
        args = ("run", path, "-p", "the hand of the clock on the old tower goes on and on " * 8,
                "--max-tokens", "60", "--ctx", "4000", "--log-level", "error")
        text = self.assert_done(run(*args)).out.decode().strip()
        self.assertNotIn("\n", text)
        for columns in (20, 40, 72):
            shown = self.on_terminal(*args, columns=columns).decode()
            rows = Screen(columns).write(shown).lines()
            self.assertEqual("".join(rows).replace(" ", ""), text.replace(" ", ""))
            for row, following in zip(rows, rows[1:-1]):
                if len(row) == columns:
                    continue  # full: a word may be longer than a row
                self.assertGreater(len(row) + 1 + len(following.split()[0]), columns, rows)
                self.assertIn(row.split()[-1], text.split(), rows)

    def test_control_characters_of_the_model_are_escaped(self):
        # A model with one output: escape, then "]52;c;" piece by piece is enough.
        model = model_files.tiny_gguf()
        tokens = list(model.get("tokenizer.ggml.tokens"))
        for i in range(259, 320):
            tokens[i] = f"\x1b]52;c;{i}\x07\x9b"
        model.set("tokenizer.ggml.tokens", (model_files.ARRAY, model_files.STRING), tokens)
        path = self.file("escape.gguf", model.build())
        args = ("run", path, "--tokens", "1,283", "--max-tokens", "20")
        raw = self.assert_clean(run(*args), (MODEL,)) or run(*args)
        if raw.code != DONE:
            return
        self.assertIn(b"\x1b]52", raw.out)
        shown = self.on_terminal(*args)
        # The progress bar clears its line with the one sequence that is there.
        shown = shown.replace(b"\r\x1b[J", b"")
        self.assertNotIn(b"\x1b", shown)
        self.assertNotIn(b"\x07", shown)
        self.assertIn(b"\\x1b]52", shown)


if __name__ == "__main__":
    ingot.main()
