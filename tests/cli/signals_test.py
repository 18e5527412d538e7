#!/usr/bin/env python3
"""Tests SIGINT and SIGTERM: ingot exits soon with 130 and 143, and leaves no temporary file."""
import contextlib
import fcntl
import os
import signal

import faults
import ingot

SIGNALS = ((signal.SIGINT, 130), (signal.SIGTERM, 143))


class Ending(faults.FaultTest):
    """A run that misses its signal ends with 0, or works on until the hang timeout ends it."""

    def ends(self, process, code):
        result = ingot.finish(process)
        self.assertEqual(result.code, code, result)
        self.assertEqual(result.err, "", result)
        return result

    def stop_at(self, args, call, number, path, sent, code):
        with self.stopped(*args, at=number, path=path, call=call) as (process, go_on):
            self.assertIsNotNone(go_on, "the run had no such call")
            process.send_signal(sent)
            go_on()
            return self.ends(process, code)

    def test_while_loading(self):
        args = ("run", self.model, "--tokens", "1,283", "--json")
        for sent, code in SIGNALS:
            for call, number in (("stat", 1), ("mmap", 1), ("madvise", 1), ("madvise", 4)):
                with self.subTest(signal=sent, call=call, number=number):
                    result = self.stop_at(args, call, number, self.model, sent, code)
                    self.assertEqual(result.out, b"")

    def test_while_generating(self):
        args = ("run", self.model, "-p", "hello", "--ctx", "400000", "--max-tokens", "390000",
                "--ignore-eos", "--log-level", "error")
        for sent, code in SIGNALS:
            with self.subTest(signal=sent):
                process = ingot.start(*args, bufsize=0)
                self.addCleanup(ingot.stop, process)
                self.assertEqual(process.stdout.read(1), b"h")
                process.send_signal(sent)
                self.ends(process, code)

    def test_while_nobody_reads_the_output(self):
        args = ("run", self.model, "-p", "x" * 8000, "--ctx", "9000", "--max-tokens", "1",
                "--log-level", "error")
        for sent, code in SIGNALS:
            with self.subTest(signal=sent):
                # The prompt is written before the text: more than this pipe holds.
                process = ingot.start(*args, bufsize=0)
                self.addCleanup(ingot.stop, process)
                fcntl.fcntl(process.stdout, fcntl.F_SETPIPE_SZ, 4096)
                self.assertEqual(process.stdout.read(1), b"x")
                process.send_signal(sent)
                process.wait(ingot.TIMEOUT_S)
                self.ends(process, code)

    def test_json_is_not_half_printed(self):
        args = ("run", self.model, "-p", "hello", "--json", "--ctx", "400000", "--max-tokens",
                "390000", "--ignore-eos", "--log-level", "error")
        for sent, code in SIGNALS:
            # The last call of the load; after it comes nothing but generation.
            with self.stopped(*args, at=1, path=self.model, call="close") as (process, go_on):
                self.assertIsNotNone(go_on)
                go_on()
                process.send_signal(sent)
                result = self.ends(process, code)
                self.assertEqual(result.out, b"")

    def test_a_benchmark_ends_between_steps(self):
        self.ends_once_loaded("bench", self.model, "--prefill", "0", "--decode", "5000",
                              "--ctx", "5001", "--reps", "1000", "--json", "--log-level", "error")

    def test_a_serving_benchmark_ends_between_steps(self):
        self.ends_once_loaded("bench", "serve-inproc", self.model, "--requests", "100000",
                              "--concurrency", "2", "--json")

    def test_a_serving_benchmark_ends_while_nothing_has_arrived(self):
        self.ends_once_loaded("bench", "serve-inproc", self.model, "--requests", "2",
                              "--rate", "1e-6", "--json")

    def ends_once_loaded(self, *args):
        for sent, code in SIGNALS:
            # The last call of the load; after it come nothing but peaks and repetitions.
            with self.stopped(*args, at=1, path=self.model, call="close") as (process, go_on):
                self.assertIsNotNone(go_on)
                go_on()
                process.send_signal(sent)
                result = self.ends(process, code)
                self.assertEqual(result.out, b"")

    def test_while_writing_a_file(self):
        for sent, code in SIGNALS:
            for call, number in (("open", 1), ("write", 1)):
                with self.subTest(signal=sent, call=call):
                    folder = self.path(f"out-{code}-{call}")
                    os.mkdir(folder)
                    out = os.path.join(folder, "logits.npy")
                    # More steps than one, so that there is a safe point after this call.
                    args = ("logits", self.model, "--tokens", ",".join(["5"] * 256), "--split",
                            ",".join(["8"] * 32), "--out", out)
                    self.stop_at(args, call, number, out, sent, code)
                    self.assert_only([], folder)

    def test_a_file_that_is_nearly_done(self):
        folder = self.path("out-late")
        os.mkdir(folder)
        out = os.path.join(folder, "logits.npy")
        args = ("logits", self.model, "--tokens", "1,2,3", "--out", out)
        for call in ("fsync", "rename"):
            with self.stopped(*args, at=1, path=out, call=call) as (process, go_on):
                process.send_signal(signal.SIGINT)
                go_on()
                result = ingot.finish(process)
            self.assertIn(result.code, (0, 130), result)
            self.assert_only(["logits.npy"] if result.code == 0 else [], folder)

    def test_a_second_signal_ends_at_once(self):
        folder = self.path("out-second")
        os.mkdir(folder)
        out = os.path.join(folder, "logits.npy")
        for sent, code in SIGNALS:
            args = ("logits", self.model, "--tokens", "1,2,3", "--out", out)
            with self.stopped(*args, at=1, path=out, call="write") as (process, _):
                process.send_signal(sent)
                process.send_signal(sent)
                # It is held at the call and is never let go: only the handler can end it. The
                # system may join two signals that come together into one, so ask until it ends.
                while process.poll() is None:
                    process.send_signal(sent)
                    os.sched_yield()
                self.assertEqual(process.returncode, code)
                self.assert_only([], folder)


    def test_a_signal_that_the_parent_made_ignored(self):
        # As nohup does: the command continues.
        env = faults.fault_environment("stop@1", self.model, ("madvise",))
        notified, notify = os.pipe()
        resumed, resume = os.pipe()
        env.update({"INGOT_FAULT_NOTIFY": str(notify), "INGOT_FAULT_RESUME": str(resumed)})
        process = ingot.start("run", self.model, "--tokens", "1,283", "--print-ids", env=env,
                              ignore=(signal.SIGHUP, signal.SIGINT), pass_fds=(notify, resumed))
        self.addCleanup(ingot.stop, process)
        os.close(notify)
        self.assertEqual(os.read(notified, 1), b"x")
        process.send_signal(signal.SIGHUP)
        process.send_signal(signal.SIGINT)
        os.write(resume, b"x")
        self.assert_done(ingot.finish(process))
        for fd in (notified, resumed, resume):
            os.close(fd)


class LongSteps(faults.FaultTest):
    """A step cannot be stopped half way; a command that was asked to end must end all the same."""

    @contextlib.contextmanager
    def reading(self, length, command="run", more=("--print-ids",), **how):
        """A run that has loaded its model, and reads a prompt of this length."""
        args = (command, self.model, "--threads", "1", "--tokens", ",".join(["5"] * length),
                "--ctx", str(length + 1), "--log-level", "error", *more)
        # The file is closed when its weights are packed: then the prompt is next.
        with self.stopped(*args, at=1, path=self.model, call="close", **how) as (process, go_on):
            self.assertIsNotNone(go_on)
            go_on()
            yield process

    def test_while_reading_a_long_prompt(self):
        for command, more in (("run", ("--print-ids",)), ("logits", ("--out", "long.npy"))):
            folder = self.path("long-" + command)
            os.mkdir(folder)
            for sent, code in SIGNALS:
                with (self.reading(40000) as shorter,
                      self.reading(60000, command, more, cwd=folder) as process):
                    process.send_signal(sent)
                    result = ingot.finish(process)
                    # It ends before a shorter prompt that another run began before is read.
                    self.assertIsNone(shorter.poll())
                self.assertEqual(result.code, code, result)
                self.assertEqual(result.out, b"")
                self.assert_only([], folder)


if __name__ == "__main__":
    ingot.main()
