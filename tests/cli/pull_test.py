#!/usr/bin/env python3
"""Tests ingot pull against a server that behaves like the Hugging Face hub, or misbehaves."""
import errno
import json
import os
import pty
import re
import signal
import socket
import threading

import faults
import hub_server
import ingot
import model_files
from hub_server import COMMIT, Repo
from ingot import DONE, IO, MODEL, USAGE

UNAVAILABLE = 69
ATTEMPTS = 5  # at one thing before a pull gives up
SMALL = {"config.json": b'{"a": 1}', "tokenizer.json": b"{}", "README.md": b"# read",
         "model.safetensors": bytes(range(256)) * 40}
NOW = {"Retry_After": "0"}  # from a server that may be asked again at once


class HubTest(ingot.CliTest):
    """A hub, and a cache that is empty before each test."""

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.hub = hub_server.Hub()
        cls.gguf = model_files.tiny_gguf().build()

    @classmethod
    def tearDownClass(cls):
        cls.hub.close()
        super().tearDownClass()

    def setUp(self):
        self.hub.clear()
        self.cache = self.path(self.id().rsplit(".", 1)[-1])

    def env(self, **more):
        env = {name: None for name in os.environ if name.startswith(("HF_", "HUGGING"))}
        env.update({"HF_ENDPOINT": self.hub.endpoint, "HF_HUB_CACHE": self.cache,
                    "HF_HOME": self.cache + "-home", "NO_PROXY": "*"})
        env.update(more)
        return env

    def ingot(self, *args, **how):
        return ingot.run(*args, env=self.env(**how.pop("env", {})), **how)

    def pull(self, name, **env):
        return self.ingot("pull", name, env=env)

    def add(self, name="user/name", files=None, **how):
        self.hub.repos[name] = Repo(SMALL if files is None else files, **how)
        return self.hub.repos[name]

    def add_gguf(self, name="user/gguf", *files):
        return self.add(name, {file: self.gguf for file in files or ("m-Q4_0.gguf",)})

    def repo_path(self, name, *below):
        return os.path.join(self.cache, "models--" + name.replace("/", "--"), *below)

    def snapshot(self, name="user/name", commit=COMMIT):
        return self.repo_path(name, "snapshots", commit)

    def assert_pulled(self, name="user/name", paths=None, result=None, commit=COMMIT):
        """The files are there as the hub's own client would have put them, and nothing is besides.
        """
        repo = self.hub.repos[name]
        paths = sorted(paths or (p for p in repo.files if p != "README.md"))
        if result is not None:
            self.assertEqual(result.code, DONE, result)
        found = []
        top = self.snapshot(name, commit)
        for folder, _, files in os.walk(top):
            for file in files:
                full = os.path.join(folder, file)
                path = os.path.relpath(full, top)
                found.append(path)
                up = "../" * path.count("/")
                self.assertEqual(os.readlink(full), f"../../{up}blobs/{repo.blob(path)}")
                with open(full, "rb") as f:
                    self.assertEqual(f.read(), repo.files[path])
        self.assertEqual(sorted(found), paths)
        self.assert_only({repo.blob(path) for path in paths}, self.repo_path(name, "blobs"))

    def assert_nothing_half_made(self, name="user/name", blobs=()):
        """No snapshot names what is not there, no reference was written."""
        self.assertFalse(os.path.exists(self.repo_path(name, "refs", "main")))
        there = os.listdir(self.repo_path(name, "blobs")) if os.path.isdir(
            self.repo_path(name, "blobs")) else []
        self.assertEqual(sorted(there), sorted(blobs))


class Pulling(HubTest):
    def test_a_folder_model(self):
        self.add()
        result = self.assert_done(self.pull("user/name"))
        self.assertEqual(result.out.decode(), self.snapshot() + "\n")
        self.assert_pulled()
        with open(self.repo_path("user/name", "refs", "main"), encoding="ascii") as f:
            self.assertEqual(f.read(), COMMIT)
        locks = os.listdir(os.path.join(self.cache, ".locks", "models--user--name"))
        self.assertEqual(len(locks), 3)

    def test_a_second_pull_downloads_nothing(self):
        self.add()
        self.pull("user/name")
        before = len(self.hub.requests)
        self.assert_done(self.pull("user/name"))
        self.assertEqual(len(self.hub.requests), before + 1)  # the listing
        self.assert_pulled()

    def test_a_new_commit_shares_what_is_the_same(self):
        self.add()
        self.pull("user/name")
        new = "d1" * 20
        repo = self.add(files={**SMALL, "config.json": b'{"a": 2}'}, commit=new)
        before = len(self.hub.requests)
        self.assert_done(self.pull("user/name"))
        self.assertEqual(len(self.hub.requests), before + 2)
        with open(os.path.join(self.snapshot(commit=new), "config.json"), "rb") as f:
            self.assertEqual(f.read(), repo.files["config.json"])
        with open(os.path.join(self.snapshot(), "config.json"), "rb") as f:
            self.assertEqual(f.read(), SMALL["config.json"])
        self.assertEqual(len(os.listdir(self.repo_path("user/name", "blobs"))), 4)

    def test_a_sharded_model(self):
        files = {"config.json": b"{}", "part-b.safetensors": b"b" * 100,
                 "part-a.safetensors": b"a" * 100, "consolidated.safetensors": b"c" * 100,
                 "model.safetensors.index.json": json.dumps(
                     {"weight_map": {"x": "part-a.safetensors", "y": "part-b.safetensors"}}
                 ).encode()}
        self.add(files=files)
        result = self.pull("user/name")
        self.assert_pulled(paths=[p for p in files if p != "consolidated.safetensors"],
                           result=result)

    def test_an_index_that_names_what_is_not_there(self):
        for name in ("gone.safetensors", "../../x.safetensors", "/etc/passwd"):
            index = json.dumps({"weight_map": {"x": name}}).encode()
            self.add(files={"config.json": b"{}", "model.safetensors.index.json": index})
            self.assert_error(self.pull("user/name"), MODEL)

    def test_gguf_models(self):
        repo = self.add_gguf("user/gguf", "m-Q4_0.gguf", "m-Q8_0.gguf", "mmproj-F16.gguf")
        result = self.assert_done(self.pull("user/gguf:q8_0"))
        self.assertEqual(result.out.decode(), self.snapshot("user/gguf") + "/m-Q8_0.gguf\n")
        self.assert_pulled("user/gguf", ["m-Q8_0.gguf"])
        self.assert_error(self.pull("user/gguf:Q6_K"), MODEL, "Q4_0, Q8_0")
        self.assertEqual(len(repo.files), 3)

    def test_the_default_of_several_quantisations(self):
        self.add_gguf("user/gguf", "m-Q4_0.gguf", "m-Q4_K_M.gguf", "m-Q8_0.gguf", "imatrix.gguf")
        result = self.pull("user/gguf")
        self.assertEqual(result.code, DONE, result)
        self.assertEqual(result.out.decode(), self.snapshot("user/gguf") + "/m-Q4_K_M.gguf\n")
        self.assertEqual(result.err, "info: user/gguf has 3 quantisations, taking Q4_K_M; "
                                     "user/gguf:Q4_0 names another: Q4_0, Q8_0\n")
        self.assert_pulled("user/gguf", ["m-Q4_K_M.gguf"])
        # A command chooses among the cached models in the same order, and says so too.
        self.assert_done(self.pull("user/gguf:Q8_0"))
        self.assertIn("taking Q4_K_M; user/gguf:Q8_0", self.ingot("inspect", "user/gguf").err)
        offline = self.pull("user/gguf", HF_HUB_OFFLINE="1")
        self.assertIn("taking Q4_K_M", offline.err)
        self.assertTrue(offline.out.endswith(b"/m-Q4_K_M.gguf\n"))

    def test_different_models_are_listed(self):
        self.add_gguf("user/gguf", "a-Q4_0.gguf", "b-Q8_0.gguf")
        self.assert_error(self.pull("user/gguf"), USAGE, "user/gguf:Q4_0", "Q8_0")
        self.assertEqual(self.hub.count("resolve"), 0)

    def test_addresses(self):
        self.add_gguf("user/gguf", "m-Q4_0.gguf", "m-Q8_0.gguf")
        own = self.hub.endpoint.removeprefix("http://")
        q8 = self.snapshot("user/gguf") + "/m-Q8_0.gguf\n"
        for name in ("hf.co/user/gguf:q8_0", "https://huggingface.co/user/gguf/tree/main:Q8_0",
                     "https://huggingface.co/user/gguf/resolve/main/m-Q8_0.gguf?download=true",
                     own + "/user/gguf/blob/main/m-Q8_0.gguf",
                     self.hub.endpoint + "/user/gguf:Q8_0/"):
            result = self.assert_done(self.pull(name))
            self.assertEqual(result.out.decode(), q8, name)
        for name in ("hf.co/user/gguf", "https://hf.co/user/gguf/", own + "/gguf"):
            self.assert_done(self.ingot("inspect", name))
        line = self.assert_error(self.ingot("inspect", "hf.co/user/none:Q8_0"), MODEL)
        self.assertIn("ingot pull user/none:Q8_0", line)
        asked = len(self.hub.requests)
        for name in ("https://example.com/user/gguf", "ftp://hf.co/user/gguf", "hf.co/datasets/a/b",
                     "https://huggingface.co/a/b/discussions/1"):
            for command in ("pull", "inspect", "rm"):
                self.assert_error(self.ingot(command, name), USAGE, name)
        self.assertEqual(len(self.hub.requests), asked)
        self.assert_done(self.ingot("rm", "https://hf.co/user/gguf/blob/main/m-Q8_0.gguf", "--yes"))
        self.assert_error(self.ingot("inspect", "user/gguf"), MODEL, "no model of this name")

    def test_one_gguf_model_needs_no_name(self):
        self.add_gguf()
        result = self.assert_done(self.pull("user/gguf"))
        self.assertEqual(result.out.decode(), self.snapshot("user/gguf") + "/m-Q4_0.gguf\n")

    def test_a_split_model_in_a_folder(self):
        parts = model_files.split_gguf(model_files.tiny_gguf(), 3)
        names = [f"Q4_0/{model_files.part_name('m', i, 3)}" for i in range(3)]
        self.add("user/split", {n: p.build() for n, p in zip(names, parts)})
        result = self.assert_done(self.pull("user/split"))
        self.assertEqual(result.out.decode(), f"{self.snapshot('user/split')}/{names[0]}\n")
        self.assert_pulled("user/split", names)
        self.assertEqual(self.generate("user/split", env=self.env())["digest"],
                         self.generate()["digest"])

    def test_revisions(self):
        self.add(revisions=("main", "v1.0", "refs/pr/1"))
        for revision in ("v1.0", "refs/pr/1"):
            self.assert_done(self.pull("user/name@" + revision))
            with open(self.repo_path("user/name", "refs", revision), encoding="ascii") as f:
                self.assertEqual(f.read(), COMMIT)
        self.assertIn("/revision/refs%2Fpr%2F1?", self.hub.requests[-1][1])
        self.assertFalse(os.path.exists(self.repo_path("user/name", "refs", "main")))
        self.assert_done(self.pull("user/name@" + COMMIT))
        self.assert_error(self.pull("user/name@v2"), MODEL, "no revision 'v2'")
        other = "ee" * 20
        self.hub.script("api", hub_server.changed(lambda listing: None))
        self.assert_error(self.pull("user/name@" + other), MODEL, "answered with commit")

    def test_an_empty_file_and_awkward_names(self):
        files = {"config.json": b"", "model.safetensors": b"x", "tokenizer.json": b""}
        self.add(files=files)
        self.assert_pulled(result=self.pull("user/name"))
        odd = "sub folder/m?x#y%20\u00e4 + &.gguf"
        self.add("user/odd", {odd: self.gguf})
        self.assert_pulled("user/odd", [odd], self.pull("user/odd"))

    def test_names_that_are_none(self):
        for name in ("", "a/b/c", "../x", "a/b:../c", "a b", "a\x1b"):
            self.assert_error(self.pull(name), USAGE, "NAME")
        self.assertEqual(self.hub.requests, [])

    def test_progress_on_a_terminal(self):
        self.add()
        master, slave = pty.openpty()
        self.addCleanup(os.close, master)
        result = self.ingot("pull", "user/name", stderr=slave)
        os.close(slave)
        self.assertEqual(result.code, DONE)
        shown = os.read(master, 1 << 16).decode()
        self.assertIn("pulling user/name [", shown)
        self.assertIn("100 %", shown)
        # Bar and result on one terminal: the bar is cleared before the result begins.
        master, slave = pty.openpty()
        self.addCleanup(os.close, master)
        self.ingot("pull", "user/name", stdout=slave, stderr=slave)
        os.close(slave)
        last = os.read(master, 1 << 16).decode().rpartition("\r\x1b[J")
        self.assertIn("100 %", last[0])
        self.assertEqual(last[2], self.snapshot() + "\r\n")

    def test_speed_and_time_on_a_terminal(self):
        self.add_gguf()
        arrived, go_on = threading.Event(), threading.Event()
        self.addCleanup(go_on.set)
        self.hub.script("cdn", hub_server.held(len(self.gguf) // 2, arrived, go_on))
        master, slave = pty.openpty()
        self.addCleanup(os.close, master)
        process = ingot.start("pull", "user/gguf", env=self.env(), stderr=slave)
        os.close(slave)
        shown = ""
        while not re.search(r"% \d+(\.\d+)? k?B/s, (\d+ h )?(\d+ min )?(\d+ s )?left", shown):
            shown += os.read(master, 1 << 16).decode()
        go_on.set()
        self.assertEqual(ingot.finish(process, ingot.TIMEOUT_S).code, DONE)


class Interrupted(HubTest):
    """Connections that break, servers that stumble."""

    def test_a_broken_download_is_continued(self):
        repo = self.add_gguf()
        third = len(self.gguf) // 3
        self.hub.script("cdn", hub_server.cut(third), hub_server.cut(third))
        result = self.pull("user/gguf")
        self.assertEqual(result.code, DONE, result)
        self.assert_pulled("user/gguf")
        ranges = [r[2].get("Range") for r in self.hub.requests if r[0] == "cdn"]
        self.assertEqual(ranges, [None, f"bytes={third}-", f"bytes={2 * third}-"])
        self.assertEqual(result.err.count("trying again"), 2)
        self.assertEqual(len(repo.files), 1)

    def unfinished(self, repo, content, path="m-Q4_0.gguf"):
        os.makedirs(self.repo_path("user/gguf", "blobs"))
        with open(self.repo_path("user/gguf", "blobs", repo.blob(path) + ".incomplete"), "wb") as f:
            f.write(content)

    def test_an_earlier_download_is_continued(self):
        repo = self.add_gguf()
        self.unfinished(repo, self.gguf[:5000])
        self.assert_done(self.pull("user/gguf"))
        self.assert_pulled("user/gguf")
        self.assertEqual(self.hub.requests[-1][2]["Range"], "bytes=5000-")

    def test_one_that_only_lacked_its_name(self):
        repo = self.add_gguf()
        self.unfinished(repo, self.gguf)
        self.assert_done(self.pull("user/gguf"))
        self.assert_pulled("user/gguf")
        self.assertEqual(self.hub.count("cdn"), 0)

    def test_damaged_beginnings_start_over(self):
        for damaged in (b"x" * 5000, b"x" * len(self.gguf), self.gguf + b"x"):
            self.setUp()
            repo = self.add_gguf()
            self.cache += str(len(damaged))
            self.unfinished(repo, damaged)
            result = self.pull("user/gguf")
            self.assert_pulled("user/gguf", result=result)
            self.assertEqual("starting over" in result.err, len(damaged) <= len(self.gguf))

    def test_servers_that_do_not_continue(self):
        for action in (hub_server.whole, hub_server.status(416, **NOW),
                       hub_server.body(b"xy", 206, Content_Range="bytes 0-1/2", **NOW),
                       hub_server.body(b"xy", 206, **NOW), hub_server.body(b"", 206, **NOW)):
            self.setUp()
            repo = self.add_gguf()
            self.cache += str(id(action))
            self.unfinished(repo, self.gguf[:5000])
            self.hub.script("cdn", action)
            self.assert_pulled("user/gguf", result=self.pull("user/gguf"))

    def test_statuses_that_pass(self):
        for code in (429, 500, 502, 503, 504):
            self.setUp()
            self.add()
            self.cache += str(code)
            for place in ("api", "resolve", "cdn"):
                self.hub.script(place, hub_server.status(code, **NOW))
            result = self.pull("user/name")
            self.assert_pulled(result=result)
            self.assertEqual(result.err.count(f"the server answered {code}, trying again"), 3)

    def test_giving_up(self):
        self.add_gguf()
        self.hub.script("cdn", *[hub_server.status(503, **NOW)] * 99)
        line = self.assert_error(self.pull("user/gguf"), UNAVAILABLE)
        self.assertIn("m-Q4_0.gguf: the server answered 503", line)
        self.assertEqual(self.hub.count("cdn"), ATTEMPTS)
        self.hub.script("api", *[hub_server.status(429, **NOW)] * 99)
        line = self.assert_error(self.pull("user/gguf"), UNAVAILABLE)
        self.assertIn("429", line)
        self.assertEqual(self.hub.count("api"), 1 + ATTEMPTS)
        self.assert_nothing_half_made("user/gguf", [self.hub.repos["user/gguf"].blob(
            "m-Q4_0.gguf") + ".incomplete"])

    def test_a_server_that_wants_too_much_patience(self):
        self.add()
        self.hub.script("api", hub_server.status(429, Retry_After="3600"))
        self.assert_error(self.pull("user/name"), UNAVAILABLE, "429")
        self.assertEqual(self.hub.count("api"), 1)

    def test_a_server_that_says_nothing(self):
        self.add()
        event = threading.Event()
        self.addCleanup(event.set)
        self.hub.script("api", hub_server.silent(event))
        result = self.pull("user/name", HF_HUB_DOWNLOAD_TIMEOUT="1")
        self.assert_pulled(result=result)
        self.assertIn("trying again", result.err)

    def test_a_download_that_stands_still(self):
        self.add_gguf()
        arrived, go_on = threading.Event(), threading.Event()
        self.addCleanup(go_on.set)
        self.hub.script("cdn", hub_server.held(1000, arrived, go_on))
        result = self.pull("user/gguf", HF_HUB_DOWNLOAD_TIMEOUT="1")
        self.assert_pulled("user/gguf", result=result)
        self.assertEqual(self.hub.requests[-1][2]["Range"], "bytes=1000-")

    def start_held(self, *args, **env):
        """A pull that has the first bytes and waits for the rest: (process, event to continue)."""
        arrived, go_on = threading.Event(), threading.Event()
        self.addCleanup(go_on.set)
        self.hub.script("cdn", hub_server.held(1000, arrived, go_on))
        process = ingot.start("pull", *args, env=self.env(**env))
        self.addCleanup(ingot.stop, process)
        self.assertTrue(arrived.wait(ingot.TIMEOUT_S))
        return process, go_on

    def test_signals_keep_what_is_there(self):
        repo = self.add_gguf()
        part = self.repo_path("user/gguf", "blobs", repo.blob("m-Q4_0.gguf") + ".incomplete")
        for sent, code in ((signal.SIGINT, 130), (signal.SIGTERM, 143)):
            process, _ = self.start_held("user/gguf")
            process.send_signal(sent)
            result = ingot.finish(process)
            self.assertEqual((result.code, result.err), (code, ""), result)
            self.assertTrue(os.path.exists(part))
            self.hub.script("cdn")
        self.assert_done(self.pull("user/gguf"))
        self.assert_pulled("user/gguf")

    def test_two_at_once_download_once(self):
        self.add_gguf()
        first, go_on = self.start_held("user/gguf")
        read, write = os.pipe()
        second = ingot.start("pull", "user/gguf", env=self.env(), stderr=write)
        self.addCleanup(ingot.stop, second)
        os.close(write)
        said = os.read(read, 4096).decode()
        self.assertIn("waiting for another process", said)
        go_on.set()
        self.assert_done(ingot.finish(first))
        self.assertEqual(ingot.finish(second).code, DONE)
        os.close(read)
        self.assertEqual(self.hub.count("cdn"), 1)
        self.assert_pulled("user/gguf")

    def test_removing_meanwhile(self):
        self.add_gguf()
        first, go_on = self.start_held("user/gguf")
        self.assert_error(self.ingot("rm", "user/gguf", "--yes"), MODEL, "not in the cache")
        go_on.set()
        self.assert_done(ingot.finish(first))
        self.assert_pulled("user/gguf")


class Access(HubTest):
    """Tokens: where they come from, and where they go."""

    TOKEN = "hf_secret"

    def tokens(self, place):
        return {r[2].get("Authorization") for r in self.hub.requests if r[0] == place}

    def test_the_token_goes_to_the_hub_alone(self):
        self.add(token=self.TOKEN)
        self.assert_pulled(result=self.pull("user/name", HF_TOKEN=self.TOKEN + "\n"))
        self.assertEqual(self.tokens("api"), {"Bearer " + self.TOKEN})
        self.assertEqual(self.tokens("resolve"), {"Bearer " + self.TOKEN})
        self.assertEqual(self.tokens("cdn"), {None})

    def test_where_the_token_comes_from(self):
        self.add(token=self.TOKEN)
        home = self.cache + "-home"
        os.makedirs(home)
        for name, path in (("HF_HOME", os.path.join(home, "token")),
                           ("HF_TOKEN_PATH", os.path.join(home, "other"))):
            with open(path, "w", encoding="ascii") as f:
                f.write(self.TOKEN)
            value = home if name == "HF_HOME" else path
            self.assert_done(self.pull("user/name", **{name: value}))
            os.unlink(path)
        self.assert_done(self.pull("user/name", HUGGING_FACE_HUB_TOKEN=self.TOKEN))
        self.assert_error(self.pull("user/name", HF_TOKEN=self.TOKEN,
                                    HF_HUB_DISABLE_IMPLICIT_TOKEN="1"), MODEL, "set HF_TOKEN")

    def test_tokens_that_are_none(self):
        for token in ("a b", "a\r\nX-Evil: 1", "\u00e4", "x" * 5000):
            self.assert_error(self.pull("user/name", HF_TOKEN=token), USAGE, "HF_TOKEN")
        self.assertEqual(self.hub.requests, [])

    def test_private_or_missing(self):
        self.add("user/private", token=self.TOKEN)
        self.assert_error(self.pull("user/private"), MODEL, "set HF_TOKEN")
        self.assert_error(self.pull("user/private", HF_TOKEN="hf_other"), MODEL, "may not read it")
        self.assert_error(self.pull("user/missing"), MODEL, "no such model")

    def test_gated(self):
        self.add("user/gated", token=self.TOKEN, gated="manual")
        line = self.assert_error(self.pull("user/gated"), MODEL)
        self.assertIn(f"accept its terms at {self.hub.endpoint}/user/gated", line)
        self.assertIn("HF_TOKEN", line)
        self.assert_error(self.pull("user/gated", HF_TOKEN="hf_other"), MODEL, "accept its terms")
        self.assert_done(self.pull("user/gated", HF_TOKEN=self.TOKEN))

    def test_a_file_that_has_gone(self):
        self.add()
        self.hub.script("resolve", hub_server.status(404, X_Error_Code="EntryNotFound"))
        self.assert_error(self.pull("user/name"), MODEL, "config.json", "not there")


class Offline(HubTest):
    def closed_port(self):
        with socket.socket() as s:
            s.bind(("127.0.0.1", 0))
            return f"http://127.0.0.1:{s.getsockname()[1]}"

    def test_what_is_cached_works(self):
        self.add_gguf()
        self.assert_done(self.pull("user/gguf"))
        path = self.snapshot("user/gguf") + "/m-Q4_0.gguf\n"
        result = self.assert_done(self.pull("user/gguf", HF_ENDPOINT=self.closed_port()))
        self.assertEqual(result.out.decode(), path)
        self.assertIn("using the cache", result.err)
        before = len(self.hub.requests)
        result = self.assert_done(self.pull("user/gguf", HF_HUB_OFFLINE="1"))
        self.assertEqual((result.out.decode(), result.err), (path, ""))
        self.assertEqual(len(self.hub.requests), before)

    def test_what_is_not_cached_does_not(self):
        self.assert_error(self.pull("user/none", HF_ENDPOINT=self.closed_port()), UNAVAILABLE,
                          "connect")
        self.assert_error(self.pull("user/none", HF_HUB_OFFLINE="TRUE"), UNAVAILABLE,
                          "HF_HUB_OFFLINE")

    def test_a_server_that_goes_away(self):
        self.add_gguf()
        self.hub.script("resolve", hub_server.redirect(self.closed_port()))
        result = self.pull("user/gguf")
        self.assert_pulled("user/gguf", result=result)
        self.assertIn("connect", result.err)
        self.assertIn("trying again", result.err)


class Settings(HubTest):
    def test_where_the_cache_is(self):
        self.add()
        home = self.path("a-home")
        for env, place in (({"HF_HUB_CACHE": None, "HF_HOME": home}, f"{home}/hub"),
                           ({"HF_HUB_CACHE": None, "HF_HOME": None, "XDG_CACHE_HOME": home},
                            f"{home}/huggingface/hub"),
                           ({"HF_HUB_CACHE": None, "HF_HOME": None, "XDG_CACHE_HOME": None,
                             "HOME": home}, f"{home}/.cache/huggingface/hub"),
                           ({"HF_HUB_CACHE": None, "HUGGINGFACE_HUB_CACHE": f"{home}/old"},
                            f"{home}/old"),
                           ({"HF_HUB_CACHE": "~/mine", "HOME": home}, f"{home}/mine")):
            result = self.assert_done(self.pull("user/name", **env))
            self.assertEqual(result.out.decode(),
                             f"{place}/models--user--name/snapshots/{COMMIT}\n")
        none = {"HF_HUB_CACHE": None, "HF_HOME": None, "XDG_CACHE_HOME": None, "HOME": None}
        self.assert_error(self.pull("user/name", **none), USAGE, "HF_HUB_CACHE")

    def test_values_that_are_none(self):
        for env in ({"HF_ENDPOINT": "ftp://x"}, {"HF_ENDPOINT": "huggingface.co"},
                    {"HF_ENDPOINT": "http://\x1b"}, {"HF_HUB_DOWNLOAD_TIMEOUT": "0"},
                    {"HF_HUB_DOWNLOAD_TIMEOUT": "soon"}):
            self.assert_error(self.pull("user/name", **env), USAGE, *env)

    def test_a_wrong_endpoint_hinders_only_what_needs_it(self):
        self.add_gguf()
        self.assert_done(self.pull("user/gguf"))
        wrong = {"HF_ENDPOINT": "mirror.example"}
        for model in (self.snapshot("user/gguf") + "/m-Q4_0.gguf", "user/gguf"):
            self.assert_done(self.ingot("inspect", model, env=wrong))
        for name in ("https://hf.co/user/gguf", "mirror.example/user/gguf"):
            self.assert_error(self.ingot("inspect", name, env=wrong), USAGE, "HF_ENDPOINT")
        self.assert_error(self.ingot("inspect", "user/none", env=wrong), MODEL, "no such file")
        self.assert_error(self.pull("user/none", **wrong), USAGE, "HF_ENDPOINT")
        self.assert_done(self.ingot("rm", "user/gguf", "--yes", env=wrong))

    def test_an_endpoint_with_a_slash_at_its_end(self):
        self.add()
        self.assert_done(self.pull("user/name", HF_ENDPOINT=self.hub.endpoint + "//"))


class Hostile(HubTest):
    """Servers that lie. The cache holds none of their bytes afterwards."""

    def refused(self, *says, name="user/name", code=MODEL, blobs=()):
        line = self.assert_error(self.pull(name), code, *says)
        self.assert_nothing_half_made(name, blobs)
        return line

    def test_answers_that_are_no_listing(self):
        for answer in (b"", b"<html>sign in</html>", b"[" * 100000, b"\xff", b'{"sha": 1}',
                       b"null", b'{"sha": "' + b"a" * 40 + b'", "siblings": 5}'):
            self.hub.script("api", hub_server.body(answer))
            self.refused("user/name: hub @")

    def test_a_huge_answer(self):
        def endless(handler):
            handler.send_response(200)
            handler.end_headers()
            while True:
                handler.wfile.write(b" " * 65536)
        self.hub.script("api", endless)
        self.refused("more than 33554432 bytes")

    def test_endless_headers(self):
        def endless(handler):
            handler.send_response(200)
            while True:
                handler.wfile.write(b"X-Header: " + b"a" * 8000 + b"\r\n")
        self.hub.script("api", endless)
        self.refused(code=UNAVAILABLE)

    def test_endless_redirects(self):
        self.hub.script("api", *[hub_server.redirect("/api/models/again", 307)] * 99)
        self.refused("redirect", code=UNAVAILABLE)
        self.assertLess(len(self.hub.requests), 20)

    def test_redirects_to_other_protocols(self):
        for url in ("file:///etc/passwd", "ftp://127.0.0.1/x", "gopher://127.0.0.1:1/x", "dict://x"):
            self.hub.script("api", hub_server.redirect(url))
            self.refused(code=UNAVAILABLE)

    def changed(self, **members):
        """A listing whose file config.json has these members."""
        self.add()
        self.hub.script("api", hub_server.changed(
            lambda listing: listing["siblings"][0].update(members)))

    def test_paths_that_lead_outside(self):
        for path in ("../../../evil", "/evil", "a/../../b", "", ".", "a\0b", "a//b", "a\\b",
                     "\x1b[2J", "x" * 300, "/".join("abcdefghij")):
            self.changed(rfilename=path)
            self.refused("not a path inside")

    def test_absurd_sizes(self):
        for size in (-1, 1 << 60, 1e300, "5", None, (1 << 63) - 1):
            self.changed(size=size)
            self.refused("the size of 'config.json'")
        self.changed(size=1 << 44)
        self.refused("no space", code=IO)
        self.assertEqual(self.hub.count("resolve"), 0)

    def test_sizes_that_are_wrong(self):
        self.changed(size=3)
        self.refused("more than the 3 bytes")
        self.changed(size=9)
        self.hub.script("resolve", *[hub_server.body(SMALL["config.json"], **NOW)] * 99)
        blob = hub_server.git_sha1(SMALL["config.json"]) + ".incomplete"
        self.refused("sent 8 of 9 bytes", code=UNAVAILABLE, blobs=[blob])

    def test_checksums_that_are_wrong(self):
        self.changed(blobId="0" * 40)
        self.refused("checksum", hub_server.git_sha1(SMALL["config.json"]), "0" * 40)
        self.changed(blobId="../../../../../../evil")
        self.refused("no checksum")
        self.add_gguf()
        self.hub.script("cdn", hub_server.body(b"x" * len(self.gguf)))
        self.refused("checksum", name="user/gguf")

    def test_more_than_was_promised(self):
        def endless(handler):
            handler.send_response(200)
            handler.end_headers()
            while True:
                handler.wfile.write(b"x" * 65536)
        self.add_gguf()
        self.hub.script("cdn", endless)
        self.refused("sent more than the", name="user/gguf")

    def test_compressed_content_is_not_decoded(self):
        self.add()
        self.hub.script("resolve", hub_server.body(b"\x1f\x8b" + b"x" * 6, Content_Encoding="gzip"))
        self.refused("checksum")

    def test_control_characters_are_not_shown(self):
        self.hub.script("api", hub_server.status(404, X_Error_Code="\x1b[31mRevisionNotFound"))
        self.assertTrue(self.refused().isprintable())


class Disk(HubTest, faults.FaultTest):
    """A cache that cannot be written: 74, and nothing is half made."""

    def test_a_full_disk(self):
        self.add_gguf()
        reached = 0
        for number in range(1, 200):
            result = self.faulty("pull", "user/gguf", fault=f"errno:{errno.ENOSPC}@{number}",
                                 path=self.cache, calls=("write", "fsync", "rename"),
                                 env=self.env())
            if not self.hits:
                break
            reached += 1
            refs = os.path.join(self.repo_path("user/gguf"), "refs", "main")
            self.assert_error(result, IO)
            self.assertFalse(os.path.exists(refs))
            self.assertFalse([b for b in os.listdir(self.repo_path("user/gguf", "blobs"))
                              if b.endswith(".incomplete")])
        self.assertEqual(result.code, DONE, result)
        self.assertGreaterEqual(reached, 4)
        self.assert_pulled("user/gguf")

    def test_short_and_interrupted_writes(self):
        for fault in ("short", "eintr"):
            self.setUp()
            self.cache += fault
            self.add_gguf()
            result = self.faulty("pull", "user/gguf", fault=fault, path=self.cache,
                                 calls=("write", "read", "open", "fsync"), env=self.env())
            self.assert_pulled("user/gguf", result=result)
            self.assertIn("write", self.hits)

    def test_a_cache_that_is_no_folder(self):
        self.add_gguf()
        self.file(os.path.basename(self.cache), b"x")
        self.assert_error(self.pull("user/gguf"), IO)

    def test_special_files_in_the_cache(self):
        repo = self.add_gguf()
        os.makedirs(self.repo_path("user/gguf", "blobs"))
        part = self.repo_path("user/gguf", "blobs", repo.blob("m-Q4_0.gguf") + ".incomplete")
        outside = self.file("outside", b"precious")
        os.mkfifo(part)
        self.assert_error(self.pull("user/gguf"), IO)
        if os.path.lexists(part):
            os.unlink(part)
        os.symlink(outside, part)
        self.assert_error(self.pull("user/gguf"), IO)
        with open(outside, "rb") as f:
            self.assertEqual(f.read(), b"precious")


if __name__ == "__main__":
    ingot.main()
