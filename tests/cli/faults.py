"""Runs ingot with the fault library of tests/faults, so that a test can act at a system call."""
import contextlib
import os
import select
import unittest

import ingot


def skip_reason():
    """Why faults cannot be made here, or None."""
    if "thread" in ingot.SANITIZERS:
        return "the thread sanitizer's own interceptors do not bear a preloaded library"
    if not os.path.isfile(ingot.FAULT_LIBRARY):
        return f"INGOT_FAULT_LIBRARY names no file: {ingot.FAULT_LIBRARY!r}"
    return None


def fault_environment(fault, path, calls, log=None):
    """Variables that make `fault` happen to `calls` on files whose path begins with `path`."""
    env = {"LD_PRELOAD": ingot.FAULT_LIBRARY, "INGOT_FAULT": fault, "INGOT_FAULT_PATH": path,
           "INGOT_FAULT_CALLS": ",".join(calls), "INGOT_FAULT_LOG": log}
    # The library comes before the address sanitizer's, which would take that for a mistake.
    options = [os.environ.get("ASAN_OPTIONS"), "verify_asan_link_order=0"]
    env["ASAN_OPTIONS"] = ":".join(o for o in options if o)
    return env


class FaultTest(ingot.CliTest):
    """A test that needs the library."""

    @classmethod
    def setUpClass(cls):
        reason = skip_reason()
        if reason is not None:
            raise unittest.SkipTest(reason)
        super().setUpClass()

    def faulty(self, *args, fault, path, calls=(), **how):
        """The run's result; `self.hits` has the names of the calls that the fault was done to."""
        log = self.path("fault.log")
        with contextlib.suppress(FileNotFoundError):
            os.unlink(log)
        env = {**fault_environment(fault, path, calls, log), **how.pop("env", {})}
        result = ingot.run(*args, env=env, **how)
        self.hits = []
        with contextlib.suppress(FileNotFoundError), open(log, encoding="ascii") as f:
            self.hits = f.read().split()
        return result

    @contextlib.contextmanager
    def stopped(self, *args, at, path, call, **how):
        """A run that waits at its call number `at`; gives (process, go_on), or (process, None)
        when it ended without coming there."""
        notified, notify = os.pipe()
        resumed, resume = os.pipe()
        env = fault_environment(f"stop@{at}", path, (call,))
        env.update({"INGOT_FAULT_NOTIFY": str(notify), "INGOT_FAULT_RESUME": str(resumed)})
        env.update(how.pop("env", {}))
        process = ingot.start(*args, env=env, pass_fds=(notify, resumed), **how)
        os.close(notify)
        os.close(resumed)
        held = [resume]

        def go_on():
            with contextlib.suppress(BrokenPipeError):
                os.write(resume, b"x")
            os.close(held.pop())
        try:
            ready, _, _ = select.select([notified], [], [], ingot.TIMEOUT_S)
            self.assertTrue(ready, "the run neither stopped nor ended")
            came = os.read(notified, 1) == b"x"
            yield process, go_on if came else None
        finally:
            os.close(notified)
            for fd in held:
                os.close(fd)
            ingot.stop(process)
