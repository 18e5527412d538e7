#!/usr/bin/env python3
"""Tests LoRA adapters in a server: names in requests, loads and unloads by operators, the folder of
adapters, and what hostile requests and files get (L01 to L12)."""
import concurrent.futures
import json
import os
import shutil
import struct
import tempfile
import threading
import unittest

import server
from server import CHAT, TEXT, AdminWire, Wire, head, post

HERE = os.path.dirname(os.path.abspath(__file__))
PIRATE = os.path.join(HERE, "../../models/ingot-demo-pirate")
CONFIG, TENSORS = "adapter_config.json", "adapter_model.safetensors"
KEY, OPERATOR = "a-key-of-16-characters", "an-operator's-own-key"
LOAD, UNLOAD, LIST = "/v1/load_lora_adapter", "/v1/unload_lora_adapter", "/v1/lora_adapters"
HELLO = {"messages": [{"role": "user", "content": "Hello"}], "max_tokens": 12, "temperature": 0}
LONG = {"prompt": "Once upon a time", "max_tokens": 300, "temperature": 0, "ignore_eos": True,
        "return_token_ids": True}


def make_adapter(folder, **changes):
    """A copy of the pirate's folder. `changes` replace members of its configuration."""
    os.makedirs(folder)
    with open(os.path.join(PIRATE, CONFIG), encoding="utf-8") as f:
        config = json.load(f)
    with open(os.path.join(folder, CONFIG), "w", encoding="utf-8") as f:
        json.dump({**config, **changes}, f)
    shutil.copy(os.path.join(PIRATE, TENSORS), os.path.join(folder, TENSORS))
    return folder


class Answers:
    """Requests to a server, with the fields of a key."""

    def __init__(self, one, fields=()):
        self.one, self.fields = one, fields

    def post(self, path, body):
        return self.one.post(path, body, self.fields)

    def json(self, path, body):
        reply = self.post(path, body)
        if reply.status != 200:
            raise AssertionError(f"{path} {body!r:.300}: {reply}")
        return reply.json()

    def say(self, **more):
        return self.json(CHAT, {**HELLO, **more})["choices"][0]["message"]["content"]

    def ids(self, **more):
        return self.json(TEXT, {**LONG, **more})["choices"][0]["token_ids"]

    def print_of(self, **more):
        return self.json(CHAT, {**HELLO, **more, "max_tokens": 1})["system_fingerprint"]

    def models(self):
        return {m["id"]: m for m in self.one.get("/v1/models", self.fields).json()["data"]}


class Admin:
    """Requests to a server's admin socket."""

    def __init__(self, path):
        self.path = path

    def post(self, path, body):
        with AdminWire(self.path) as wire:
            return wire.send(post(path, body)).reply()

    def get(self, path):
        with AdminWire(self.path) as wire:
            return wire.send(head("GET", path)).reply()

    def load(self, name, path, **more):
        return self.post(LOAD, {"lora_name": name, "lora_path": path, **more})

    def unload(self, name):
        return self.post(UNLOAD, {"lora_name": name})

    def adapters(self):
        return {a["lora_name"]: a for a in self.get(LIST).json()["data"]}


class FolderTest(server.ServerTest):
    """Servers with a folder for sockets and adapters."""

    @classmethod
    def setUpClass(cls):
        folder = tempfile.TemporaryDirectory(prefix="ingot-adapters-")
        cls.addClassCleanup(folder.cleanup)
        cls.folder = folder.name
        cls.admin = Admin(os.path.join(cls.folder, "admin"))
        cls.fill()
        super().setUpClass()
        cls.ask = Answers(cls.server, cls.auth)

    @classmethod
    def fill(cls):
        """Makes files, and sets the arguments."""

    @classmethod
    def path(cls, *names):
        return os.path.join(cls.folder, *names)


class Requests(FolderTest):
    """Adapters of the command line, as requests name them."""

    @classmethod
    def fill(cls):
        weak = make_adapter(cls.path("weak"), lora_alpha=4)
        cls.args = ("--model-name", "base", "--model-name", "alias", "--lora", f"pirate={PIRATE}",
                    "--lora", f"half={PIRATE}:0.5", "--lora", weak, "--log-requests")

    def test_models_list_them_with_their_parent(self):
        models = self.ask.models()
        self.assertEqual(sorted(models), ["alias", "base", "half", "pirate", "weak"])
        for name in ("half", "pirate", "weak"):
            self.assertEqual((models[name]["parent"], models[name]["root"]), ("base", name))
            self.assertEqual(self.server.get(f"/v1/models/{name}").json(), models[name])
        self.assertIsNone(models["base"]["parent"])

    def test_the_model_s_name_chooses_one(self):
        reply = self.ask.json(CHAT, {**HELLO, "model": "pirate"})
        self.assertEqual(reply["model"], "pirate")
        self.assertNotEqual(reply["choices"][0]["message"]["content"], self.ask.say())
        self.assertEqual(self.ask.say(model="base"), self.ask.say(model="alias"))

    def test_lists_choose_them_too(self):
        pirate = self.ask.say(model="pirate")
        reply = self.ask.json(CHAT, {**HELLO, "lora": [{"name": "pirate"}]})
        self.assertEqual((reply["model"], reply["choices"][0]["message"]["content"]),
                         ("base", pirate))
        self.assertEqual(self.ask.say(lora=[{"id": 0, "scale": 1.0}]), pirate)
        self.assertEqual(self.ask.say(lora=[{"id": 0, "scale": 0}]), self.ask.say())
        self.assertEqual(self.ask.say(lora=[]), self.ask.say())
        self.assertEqual(self.ask.ids(lora=[{"name": "pirate", "scale": 0.5}]),
                         self.ask.ids(model="half"))
        both = [{"name": "pirate"}, {"name": "weak", "scale": -1}]
        self.assertNotEqual(self.ask.ids(lora=both), self.ask.ids(model="pirate"))

    def test_every_endpoint_takes_them(self):
        message = {"model": "pirate", "max_tokens": 12, "temperature": 0,
                   "messages": HELLO["messages"]}
        said = self.ask.json("/v1/messages", message)
        self.assertEqual(said["model"], "pirate")
        base = self.ask.json("/v1/messages", {**message, "model": "base"})
        self.assertNotEqual(said["content"], base["content"])
        response = {"model": "pirate", "input": "Hello", "temperature": 0, "max_output_tokens": 12}
        said = self.ask.json("/v1/responses", response)
        self.assertEqual(said["model"], "pirate")
        base = self.ask.json("/v1/responses", {**response, "model": "base"})
        self.assertNotEqual(said["output"][0]["content"], base["output"][0]["content"])
        vector = self.ask.json("/v1/embeddings", {"input": "Hello", "model": "pirate"})
        base = self.ask.json("/v1/embeddings", {"input": "Hello"})
        self.assertEqual(vector["model"], "pirate")
        self.assertNotEqual(vector["data"], base["data"])
        for path, body in (("/tokenize", {"prompt": "x"}), ("/detokenize", {"tokens": [5]}),
                           ("/apply-template", {"messages": HELLO["messages"]}),
                           ("/v1/messages/count_tokens", {"messages": HELLO["messages"]}),
                           ("/v1/responses/input_tokens", {"input": "x"})):
            for more in ({"model": "pirate"}, {"lora": [{"name": "weak"}]}):
                self.assertNotIn("warnings", self.ask.json(path, {**body, **more}), path)
            reply = self.ask.post(path, {**body, "model": "x"})
            self.assertEqual(reply.status, 404, reply)

    def test_choices_prompts_and_streams_of_a_batch_are_those_of_each_alone(self):
        bodies = [{**LONG, **more} for more in (
            {}, {"model": "pirate"}, {"model": "half"}, {"lora": [{"name": "weak"}]},
            {"model": "pirate", "n": 3, "temperature": 1, "seed": 7, "max_tokens": 60},
            {"model": "weak", "prompt": ["Hello", "One", "Two"], "max_tokens": 40})]

        def choices(body):
            return [(c["token_ids"], c["finish_reason"])
                    for c in self.ask.json(TEXT, body)["choices"]]
        alone = [choices(body) for body in bodies]
        self.assertEqual(len({str(one) for one in alone}), len(bodies))
        with concurrent.futures.ThreadPoolExecutor(12) as pool:
            together = list(pool.map(choices, bodies * 2))
        self.assertEqual(together, alone * 2)

    def test_fingerprints_differ_by_adapters_and_scales(self):
        pirate = self.ask.print_of(model="pirate")
        self.assertEqual(self.ask.print_of(lora=[{"name": "pirate"}]), pirate)
        self.assertEqual(self.ask.print_of(lora=[{"name": "pirate", "scale": 0.5}]),
                         self.ask.print_of(model="half"), "the same file at the same scale")
        self.assertEqual(self.ask.print_of(lora=[{"name": "pirate", "scale": 0}]),
                         self.ask.print_of())
        both = [{"name": "pirate"}, {"name": "weak"}]
        prints = {self.ask.print_of(), pirate, self.ask.print_of(model="half"),
                  self.ask.print_of(model="weak"), self.ask.print_of(lora=both),
                  self.ask.print_of(lora=both[::-1])}
        self.assertEqual(len(prints), 6)
        self.assertEqual(self.server.get("/props").json()["system_fingerprint"],
                         self.ask.print_of())

    def test_l11_prefixes_are_not_shared_between_adapters(self):
        body = {"prompt": list(range(100, 180)), "max_tokens": 1}

        def cached(**more):
            usage = self.ask.json(TEXT, {**body, **more})["usage"]
            return usage["prompt_tokens_details"]["cached_tokens"]
        for name in ("base", "pirate", "half"):
            self.assertEqual(cached(model=name), 0, name)
            self.assertGreater(cached(model=name), 0, name)
        self.assertEqual(cached(lora=[{"name": "pirate", "scale": 0.25}]), 0)

    def test_unknown_names_are_not_found(self):
        for name in ("", "x", "PIRATE", "pirate ", "../x", "none", ".", "pirate,half",
                     "x" * 100000):
            self.assert_error(self.ask.post(CHAT, {**HELLO, "model": name}), 404,
                              "model_not_found", "model")
            if len(name) <= 256:
                reply = self.ask.post(CHAT, {**HELLO, "lora": [{"name": name}]})
                self.assert_error(reply, 404, "model_not_found", "lora")
        self.assert_error(self.ask.post(CHAT, {**HELLO, "lora": [{"id": 3}]}), 404,
                          "model_not_found", "lora")
        self.assertEqual(self.server.get("/v1/models/x").status, 404)

    def test_wrong_lists_are_refused(self):
        one = {"name": "pirate"}
        for wrong in (True, 1, "pirate", {"name": "pirate"}, ["pirate"], [[]], [None], [{}],
                      [{"scale": 1}], [{"name": 1}], [{"name": "x" * 257}], [{"id": -1}],
                      [{"id": 0.5}], [{"id": "0"}], [{"id": 1e12}], [{"id": 0, "name": "pirate"}],
                      [{**one, "scale": "1"}], [{**one, "scale": True}], [{**one, "scale": 1e9}],
                      [{**one, "scale": -1001}], [one, one], [one, {"id": 0}], [one] * 9):
            self.assert_error(self.ask.post(CHAT, {**HELLO, "lora": wrong}), 400, "invalid_value",
                              "lora")
        reply = self.ask.post(CHAT, {**HELLO, "model": "pirate", "lora": [{"name": "half"}]})
        self.assert_error(reply, 400, "invalid_value", "lora")
        for text in (b"NaN", b"1e999", b"Infinity"):
            data = b'{"prompt":[1],"lora":[{"name":"pirate","scale":' + text + b"}]}"
            self.assertEqual(self.server.exchange(post(TEXT, data)).status, 400, text)
        warnings = self.ask.json(CHAT, {**HELLO, "lora": [{**one, "rank": 8}]})["warnings"]
        self.assertEqual([w["param"] for w in warnings], ["lora[0].rank"])

    def test_metrics_props_and_the_log_name_them(self):
        before = self.server.metric("ingot:lora_requests_total", lora_name="pirate")
        with Wire(self.server) as wire:
            body = {**LONG, "model": "pirate", "max_tokens": 1500, "stream": True}
            wire.send(post(TEXT, body)).until(b'"text"')
            self.assertEqual(self.server.metric("ingot:lora_requests_total", lora_name="pirate"),
                             before + 1)
            self.assertGreater(self.server.metric("vllm:lora_requests_info", max_lora="8",
                                                  running_lora_adapters="pirate",
                                                  waiting_lora_adapters=""), 1e9)
        server.eventually("none runs", lambda: self.server.metric(
            "vllm:lora_requests_info", running_lora_adapters="", waiting_lora_adapters=""))
        props = self.server.get("/props").json()
        self.assertEqual(props["adapters"], [{"name": "half", "scale": 0.5},
                                             {"name": "pirate", "scale": 1.0},
                                             {"name": "weak", "scale": 1.0}])
        self.assertEqual(props["capabilities"]["lora"], True)
        self.assertNotIn(self.folder, json.dumps(props))
        self.ask.json(CHAT, {**HELLO, "lora": [{"name": "weak"}, {"name": "half"}]})

        def logged():
            lines = [json.loads(l) for l in self.server.lines if l.startswith('{"time"')]
            return [l.get("adapters") for l in lines if l.get("route") == CHAT]
        server.eventually("a line of the log", lambda: "weak,half" in logged())
        self.assertIn(None, logged())

    def test_clients_of_llama_cpp_see_indices(self):
        self.assertEqual(self.server.get("/lora-adapters").json(),
                         [{"id": 0, "path": "pirate", "scale": 0.0},
                          {"id": 1, "path": "half", "scale": 0.0},
                          {"id": 2, "path": "weak", "scale": 0.0}])

    def test_operators_paths_are_not_there(self):
        for path in (LOAD, UNLOAD):
            self.assert_error(self.server.post(path, {"lora_name": "x"}), 404, "not_found")
            self.assert_error(self.server.get(path), 404, "not_found")
        self.assert_error(self.server.get(LIST), 404, "not_found")
        self.assertNotIn("lora_adapter", self.server.get("/").body.decode())


class Options(unittest.TestCase):
    """Command lines that are refused."""

    def test_wrong_adapters(self):
        for words, args in (
                ("--max-loras", ("--max-loras", "1", "--lora", f"a={PIRATE}", "--lora",
                                 f"b={PIRATE}")),
                ("is the model's", ("--model-name", "m", "--lora", f"m={PIRATE}")),
                ("has a ,", ("--lora", f"a,b={PIRATE}")),
                ("--any-model", ("--any-model", "--lora", PIRATE)),
                ("--any-model", ("--any-model", "--lora-dir", PIRATE)),
                ("--max-loras", ("--max-loras", "257")),
                ("--max-loras", ("--max-loras", "0"))):
            result = server.ingot.run("serve", "--port", "0", *args)
            self.assertEqual(result.code, server.ingot.USAGE, result)
            self.assertIn(words, result.err)
        result = server.ingot.run("serve", "--port", "0", "--lora-dir", "/nothing/here")
        self.assertEqual(result.code, server.ingot.MODEL, result)


def changed_tensors(folder, change):
    """Changes the header of an adapter's tensors, a dictionary."""
    path = os.path.join(folder, TENSORS)
    with open(path, "rb") as f:
        size = struct.unpack("<Q", f.read(8))[0]
        header, rest = json.loads(f.read(size)), f.read()
    rest = change(header, rest) or rest
    text = json.dumps(header).encode()
    with open(path, "wb") as f:
        f.write(struct.pack("<Q", len(text)) + text + rest)
    return folder


class AdminSocket(FolderTest):
    """Loads, replacements and unloads on the admin socket."""

    @classmethod
    def fill(cls):
        make_adapter(cls.path("weak"), lora_alpha=4)
        make_adapter(cls.path("strong"), lora_alpha=24)
        cls.args = ("--admin-socket", cls.admin.path, "--model-name", "base", "--max-loras", "3")

    def setUp(self):
        super().setUp()
        self.assertEqual(self.admin.adapters(), {})

    def tearDown(self):
        for name in self.admin.adapters():
            self.assertEqual(self.admin.unload(name).status, 200)
        super().tearDown()

    def load(self, name, path, **more):
        reply = self.admin.load(name, path, **more)
        self.assertEqual(reply.status, 200, reply)
        return reply

    def test_an_adapter_comes_and_goes(self):
        self.assertEqual(self.ask.post(CHAT, {**HELLO, "model": "a"}).status, 404)
        reply = self.load("a", PIRATE)
        self.assertEqual(reply.body, b"Success: LoRA adapter 'a' added successfully.")
        pirate = self.ask.say(model="a")
        self.assertNotEqual(pirate, self.answer)
        self.assertEqual(self.ask.models()["a"]["parent"], "base")
        listed = self.admin.adapters()["a"]
        self.assertEqual((listed["scale"], listed["requests"], listed["warnings"]), (1.0, 1, []))
        self.assertGreater(listed["bytes"], 100000)
        reply = self.admin.unload("a")
        self.assertEqual(reply.body, b"Success: LoRA adapter 'a' removed successfully.")
        self.assertEqual(self.ask.post(CHAT, {**HELLO, "model": "a"}).status, 404)
        self.assert_error(self.admin.unload("a"), 404, "adapter_not_found", "lora_name")

    def test_a_name_is_replaced_in_one_call(self):
        self.load("a", PIRATE)
        first = self.ask.ids(model="a")
        self.assert_error(self.admin.load("a", self.path("weak")), 400, "invalid_value",
                          "lora_name")
        self.assertEqual(self.ask.ids(model="a"), first)
        self.load("a", self.path("weak"), load_inplace=True)
        self.assertNotEqual(self.ask.ids(model="a"), first)
        self.load("a", PIRATE, load_inplace=True)
        self.assertEqual(self.ask.ids(model="a"), first)
        self.load("b", PIRATE, scale=0.5)
        self.assertEqual(self.ask.ids(model="b"),
                         self.ask.ids(lora=[{"name": "a", "scale": 0.5}]))

    def test_l10_requests_end_on_the_adapter_with_which_they_began(self):
        self.load("a", PIRATE)
        self.load("b", self.path("strong"))
        body = {**LONG, "model": "a", "max_tokens": 1200, "stream": True}
        expected = [self.ask.ids(model=name, max_tokens=1200) for name in ("a", "b")]
        with Wire(self.server) as first, Wire(self.server) as second:
            first.send(post(TEXT, body)).until(b'"text"')
            self.load("a", self.path("strong"), load_inplace=True)
            second.send(post(TEXT, body)).until(b'"text"')
            self.admin.unload("a")
            self.assertEqual(self.ask.post(CHAT, {**HELLO, "model": "a"}).status, 404)
            for wire, ids in zip((first, second), expected):
                said = rest_of(wire)
                self.assertGreater(len(said), 0)
                self.assertEqual(said, ids[-len(said):])

    def test_places_are_limited(self):
        for name in ("a", "b", "c"):
            self.load(name, PIRATE)
        self.assert_error(self.admin.load("d", PIRATE), 400, "too_many_adapters", "lora_name")
        self.load("c", self.path("weak"), load_inplace=True)
        self.admin.unload("a")
        self.load("d", PIRATE)

    def test_l07_wrong_names(self):
        for name in ("", "../x", "a/b", ".", "..", "none", "a,b", "x" * 257, "x" * 100000, "a\nb",
                     "base"):
            reply = self.admin.load(name, PIRATE)
            self.assert_error(reply, 400, "invalid_value", "lora_name")
        for body in ({}, {"lora_path": PIRATE}, {"lora_name": 1, "lora_path": PIRATE},
                     {"lora_name": None, "lora_path": PIRATE}):
            self.assert_error(self.admin.post(LOAD, body), 400, "invalid_value", "lora_name")
        for body in ({"lora_name": "a"}, {"lora_name": "a", "lora_path": 5},
                     {"lora_name": "a", "lora_path": "x" * 5000}):
            self.assert_error(self.admin.post(LOAD, body), 400, "invalid_value", "lora_path")
        for scale in ("1", True, 1e9, [1]):
            self.assert_error(self.admin.load("a", PIRATE, scale=scale), 400, "invalid_value",
                              "scale")
        self.assert_error(self.admin.load("a", "/nothing/here"), 404, "adapter_not_found",
                          "lora_path")

    def refused(self, words, folder):
        """A folder that is refused in words that name the reason, and changes nothing."""
        reply = self.admin.load("a", folder)
        self.assert_error(reply, 400, "invalid_adapter", "lora_path")
        for word in words.split():
            self.assertIn(word, reply.error()["message"], folder)
        self.assertEqual(self.admin.adapters(), {})

    def test_l01_l02_l12_wrong_configurations(self):
        number = 0
        for words, changes in (
                ("r", {"r": 0}), ("r", {"r": -1}), ("r", {"r": 1.5}), ("r", {"r": 10**9}),
                ("rank", {"r": 4}), (CONFIG, {"lora_alpha": float("nan")}),
                ("lora_alpha", {"lora_alpha": "16"}), ("use_dora", {"use_dora": True}),
                ("bias", {"bias": "all"}), ("peft_type", {"peft_type": "LOHA"})):
            number += 1
            self.refused(words, make_adapter(self.path(f"config{number}"), **changes))
        deep = make_adapter(self.path("deep"))
        with open(os.path.join(deep, CONFIG), "w", encoding="utf-8") as f:
            f.write("[" * 100000)
        self.refused(CONFIG, deep)
        twice = make_adapter(self.path("twice"))
        with open(os.path.join(twice, CONFIG), "w", encoding="utf-8") as f:
            f.write('{"peft_type": "LORA", "r": 8, "r": 8}')
        self.refused(CONFIG, twice)

    def test_l03_l05_wrong_tensors(self):
        name = "base_model.model.model.layers.{}.self_attn.q_proj.lora_{}.weight"
        a, b = name.format(0, "A"), name.format(0, "B")

        def one(folder, change):
            return changed_tensors(make_adapter(self.path(folder)), change)

        def not_finite(header, rest):
            at = header[b]["data_offsets"][0]
            return rest[:at] + struct.pack("<f", float("nan")) + rest[at + 4:]
        self.refused("q_proj", one("turned", lambda h, _: h[a]["shape"].reverse()))
        self.refused("99", one("layer", lambda h, _: h.update(
            {name.format(99, x): h.pop(name.format(0, x)) for x in "AB"})))
        self.refused("self_attn", one("module", lambda h, _: h.update(
            {key.replace("q_proj", "z_proj"): h.pop(key) for key in (a, b)})))
        self.refused("I32", one("type", lambda h, _: h[a].update(dtype="I32")))
        self.refused("finite", one("nan", not_finite))

    def test_l08_odd_files(self):
        os.mkfifo(self.path("fifo"))
        self.refused("file", self.path("fifo"))
        folder = make_adapter(self.path("fifo-inside"))
        os.unlink(os.path.join(folder, TENSORS))
        os.mkfifo(os.path.join(folder, TENSORS))
        self.refused("adapter", folder)
        os.makedirs(self.path("empty"))
        self.refused("adapter_config.json", self.path("empty"))
        cut = make_adapter(self.path("cut"))
        os.truncate(os.path.join(cut, TENSORS), 1000)
        self.refused(TENSORS, cut)

    def test_another_base_is_a_warning(self):
        reply = self.load("a", make_adapter(self.path("other"),
                                            base_model_name_or_path="meta-llama/Llama-9"))
        self.assertIn("warning: ", reply.body.decode())
        self.assertIn("Llama-9", self.admin.adapters()["a"]["warnings"][0])

    def test_l10_one_thousand_clients_of_changing_adapters(self):
        churn(self, loads=1000 if FULL else 24, streams=32 if FULL else 4)


FULL = os.environ.get("INGOT_FULL") == "1"


def rest_of(wire):
    """The tokens of a stream from its next chunk on."""
    wire.until(b"\n\n\r\n")
    wire.got = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n" + wire.got
    return [i for event in wire.reply().events() if isinstance(event, dict)
            for choice in event["choices"] for i in choice.get("token_ids", [])]


def churn(test, loads, streams):
    """Loads, replaces and unloads adapters under running streams, each of which says what it says
    alone."""
    paths = [PIRATE, test.path("weak"), test.path("strong")]
    for i, path in enumerate(paths):
        test.load(f"still{i}", path)
    bodies = [{**LONG, "max_tokens": 80}] + [
        {**LONG, "max_tokens": 80, "model": f"still{i}"} for i in range(len(paths))]

    def ids(body):
        return test.ask.json(TEXT, body)["choices"][0]["token_ids"]
    alone = [ids(body) for body in bodies]
    for i in range(1, len(paths)):
        test.admin.unload(f"still{i}")
    one = test.admin.adapters()["still0"]["bytes"]
    test.load("hot", paths[0])
    done, wrong = threading.Event(), []

    def stream(number):
        while not done.is_set():
            kind = number % 3
            body = (bodies[0], bodies[1], {**bodies[1], "model": "hot"})[kind]
            reply = test.ask.post(TEXT, body)
            number += 1
            if kind == 2 and reply.status == 404:
                continue
            if reply.status != 200:
                wrong.append(str(reply))
                continue
            said = reply.json()["choices"][0]["token_ids"]
            if said not in (alone[kind:kind + 1] if kind < 2 else alone[1:]):
                wrong.append((kind, said))
    threads = [threading.Thread(target=stream, args=(i,)) for i in range(streams)]
    for thread in threads:
        thread.start()
    for i in range(loads):
        if i % 5 == 4:
            test.assertEqual(test.admin.unload("hot").status, 200)
        test.load("hot", paths[i % 3], load_inplace=True)
    done.set()
    for thread in threads:
        thread.join()
    test.assertEqual(wrong, [])
    # Loads that are in use count against the memory of adapters; all but the named ones are gone.
    test.admin.unload("hot")
    server.eventually("the bytes of one adapter", lambda: test.server.metric(
        "ingot:lora_bytes") == one)


class Folder(FolderTest):
    """--lora-dir: adapters that requests load, and operators' keys."""

    auth = (("Authorization", f"Bearer {KEY}"),)
    operator = (("Authorization", f"Bearer {OPERATOR}"),)

    @classmethod
    def fill(cls):
        os.mkdir(cls.path("loras"))
        outside = make_adapter(cls.path("outside"))
        for i, alpha in enumerate((4, 8, 12)):
            make_adapter(cls.path("loras", f"a{i}"), lora_alpha=alpha)
        make_adapter(cls.path("loras", ".hidden"))
        make_adapter(cls.path("loras", "broken"), use_dora=True)
        for name in ("base", "none", "a,b", "a\nb"):
            make_adapter(cls.path("loras", name))
        os.mkdir(cls.path("loras", "empty"))
        os.symlink(outside, cls.path("loras", "link"))
        with open(cls.path("loras", "file"), "w", encoding="utf-8") as f:
            f.write("x")
        with open(cls.path("keys"), "w", encoding="utf-8") as f:
            f.write(f"user:{KEY}\nboss:{OPERATOR}\n")
        os.chmod(cls.path("keys"), 0o600)
        cls.args = ("--lora-dir", cls.path("loras"), "--max-loras", "3", "--lora",
                    f"pinned={PIRATE}", "--model-name", "base", "--api-key-file",
                    cls.path("keys"), "--operator-key", "boss")

    @classmethod
    def is_quiet(cls):
        return cls.server.descriptors() <= cls.base["descriptors"]

    def loaded(self):
        reply = self.server.get(LIST, self.operator)
        return sorted(a["lora_name"] for a in reply.json()["data"])

    def operate(self, path, body):
        return self.server.post(path, body, self.operator)

    def tearDown(self):
        for name in self.loaded():
            if name != "pinned":
                self.assertEqual(self.operate(UNLOAD, {"lora_name": name}).status, 200)
        super().tearDown()

    def test_requests_load_them_and_the_least_recently_used_goes(self):
        said = {}
        for name in ("a0", "a1"):
            said[name] = self.ask.ids(model=name)
        self.assertEqual(self.loaded(), ["a0", "a1", "pinned"])
        self.ask.ids(model="a0")
        said["a2"] = self.ask.ids(lora=[{"name": "a2"}])
        self.assertEqual(self.loaded(), ["a0", "a2", "pinned"])
        self.assertEqual(self.ask.ids(model="a1"), said["a1"])
        self.assertEqual(self.loaded(), ["a1", "a2", "pinned"])
        self.assertEqual(len({str(ids) for ids in said.values()}), 3)

    def test_memory_is_kept_for_the_places_that_are_left(self):
        self.ask.ids(model="a0")
        one = self.server.get(LIST, self.operator).json()["data"][0]["bytes"]
        kept = self.server.get("/props", self.operator).json()["settings"]["later_adapter_bytes"]
        self.assertEqual(kept, 2 * one, "--max-loras 3, of which --lora has one")
        self.assertTrue([line for line in self.server.lines if "memory is kept for 2 more" in line])

    def test_idle_ones_go_first(self):
        with Wire(self.server) as wire:
            body = {**LONG, "model": "a0", "max_tokens": 1500, "stream": True}
            wire.send(post(TEXT, body, self.auth)).until(b'"text"')
            self.ask.ids(model="a1")
            self.ask.ids(model="a2")
            self.assertEqual(self.loaded(), ["a0", "a2", "pinned"])

    def test_many_requests_at_once_load_each_once(self):
        expected = {name: self.ask.ids(model=name) for name in ("a0", "a1", "a2")}
        names = ["a0", "a1", "a2"] * 6
        with concurrent.futures.ThreadPoolExecutor(9) as pool:
            found = list(pool.map(lambda name: self.ask.ids(model=name), names))
        self.assertEqual(found, [expected[name] for name in names])

    def test_loads_of_one_key_leave_places_to_others(self):
        others = Answers(self.server, self.operator)
        def flood(worker):
            return [self.ask.post(TEXT, {**LONG, "model": f"x{worker}-{i}"}).status
                    for i in range(20)]
        with concurrent.futures.ThreadPoolExecutor(16) as pool:
            floods = [pool.submit(flood, worker) for worker in range(16)]
            statuses = {others.post(TEXT, {**LONG, "model": f"y{i}"}).status for i in range(40)}
            statuses_of_flood = {status for flood in floods for status in flood.result()}
        self.assertEqual(statuses, {404}, "the key's only request at a time")
        self.assertLessEqual(statuses_of_flood, {404, 429})

    def test_what_is_no_adapter_there_is_not_found(self):
        for name in (".hidden", "link", "file", "x", "none", "a,b", "a\nb",
                     "../outside", "..", ".", "a0/", "/etc", "loras/a0", "a0\0", ""):
            reply = self.ask.post(CHAT, {**HELLO, "model": name})
            self.assert_error(reply, 404, "model_not_found", "model")
        self.assertEqual(self.loaded(), ["pinned"])
        self.assertEqual(self.ask.say(model="base"), self.answer, "the model's own name")

    def test_texts_are_counted_without_a_load(self):
        self.ask.json("/tokenize", {"prompt": "x", "model": "a0"})
        self.assertEqual(self.server.get("/v1/models/a0", self.auth).json()["parent"], "base")
        self.assertEqual(self.loaded(), ["pinned"])

    def test_a_broken_one_tells_the_log_alone(self):
        reply = self.ask.post(CHAT, {**HELLO, "model": "broken"})
        self.assert_error(reply, 500, "adapter_error", "model")
        self.assertNotIn("dora", reply.error()["message"])

        def logged():
            return [line for line in self.server.lines if "use_dora" in line]
        server.eventually("the reason in the log", logged)
        self.assertNotIn(self.folder, logged()[0])
        self.assertEqual(self.ask.post(CHAT, {**HELLO, "model": "empty"}).status, 500)
        self.assertEqual(self.loaded(), ["pinned"])

    def test_a_failure_is_remembered_for_its_folder_alone(self):
        folder = make_adapter(self.path("loras", "mended"), use_dora=True)
        self.addCleanup(shutil.rmtree, folder)
        for _ in range(3):
            self.assertEqual(self.ask.post(CHAT, {**HELLO, "model": "mended"}).status, 500)
        shutil.rmtree(folder)
        make_adapter(folder)
        self.assertNotEqual(self.ask.say(model="mended"), self.answer)

    def test_a_wrong_shape_is_named_as_the_user_knows_it(self):
        name = "base_model.model.model.layers.{}.self_attn.q_proj.lora_{}.weight"
        folder = changed_tensors(make_adapter(self.path("loras", "shape")), lambda h, _: h.update(
            {name.format(99, x): h.pop(name.format(0, x)) for x in "AB"}))
        self.addCleanup(shutil.rmtree, folder)
        reply = self.operate(LOAD, {"lora_name": "shape"})
        self.assert_error(reply, 400, "invalid_adapter", "lora_path")
        self.assertTrue(reply.error()["message"].startswith("shape/" + TENSORS), reply)
        self.assertNotIn("/proc", reply.error()["message"])

    def test_unknown_members_are_warned_about(self):
        for path, body in ((LOAD, {"lora_name": "a0", "rank": 8}),
                           (UNLOAD, {"lora_name": "a0", "rank": 8})):
            reply = self.operate(path, body)
            self.assertEqual(reply.status, 200, reply)
            self.assertIn("warning: rank: ", reply.body.decode())

    def test_only_operators_load(self):
        body = {"lora_name": "b", "lora_path": "a0"}
        for fields in ((), self.auth):
            for path in (LOAD, UNLOAD):
                reply = self.server.post(path, body, fields)
                self.assertEqual(reply.status, 404 if fields else 401, reply)
            self.assertEqual(self.server.get(LIST, fields).status, 404 if fields else 401)
        reply = self.operate(LOAD, body)
        self.assertEqual((reply.status, reply.body),
                         (200, b"Success: LoRA adapter 'b' added successfully."))
        self.assertEqual(self.ask.ids(model="b"), self.ask.ids(model="a0"))
        self.assertEqual(self.operate(LOAD, {"lora_name": "a1"}).status, 200)
        self.assertEqual(self.operate(UNLOAD, {"lora_name": "b"}).status, 200)

    def test_l08_l09_operators_name_nothing_outside(self):
        for path in (PIRATE, self.path("outside"), "../outside", "a0/../../outside", "..", ".",
                     "/proc/self", "a0/"):
            reply = self.operate(LOAD, {"lora_name": "b", "lora_path": path})
            self.assert_error(reply, 400, "invalid_value", "lora_path")
        for path in ("link", "file", ".hidden", "x", "", "a0\0"):
            reply = self.operate(LOAD, {"lora_name": "b", "lora_path": path})
            self.assert_error(reply, 404, "adapter_not_found", "lora_path")
        reply = self.operate(LOAD, {"lora_name": "b", "lora_path": "broken"})
        self.assert_error(reply, 400, "invalid_adapter", "lora_path")
        self.assertIn("use_dora", reply.error()["message"])
        self.assertNotIn("/proc", reply.error()["message"])
        self.assertNotIn(self.folder, reply.error()["message"])

    def test_pinned_ones_stay(self):
        """An operator's own name or scale is not what the folder has under the name."""
        self.ask.ids(model="a1")
        for name, more in (("p", {"lora_path": "a0"}), ("pinned", {"lora_path": "a0"}),
                           ("a1", {"scale": 0.5})):
            body = {"lora_name": name, "load_inplace": True, **more}
            self.assertEqual(self.operate(LOAD, body).status, 200)
        half = self.ask.ids(model="a1")
        reply = self.ask.post(TEXT, {**LONG, "model": "a2"})
        self.assert_error(reply, 503, "adapters_full", "model")
        self.assertIsNone(reply.field("Retry-After"))
        self.assertEqual(self.loaded(), ["a1", "p", "pinned"])
        self.assertEqual(self.ask.ids(model="a1"), half)
        server.eventually("the reason in the log", lambda: [
            line for line in self.server.lines if "none makes room" in line])
        self.assertEqual(self.operate(UNLOAD, {"lora_name": "p"}).status, 200)
        self.ask.ids(model="a2")
        self.assertEqual(self.loaded(), ["a1", "a2", "pinned"])


class FewLoads(FolderTest):
    """An operator whose key has one place for loads."""

    auth = (("Authorization", f"Bearer {OPERATOR}"),)
    other_keys, queue = [f"user:{KEY}"], "3"

    @classmethod
    def fill(cls):
        make_adapter(cls.path("loras", "a"))
        with open(cls.path("keys"), "w", encoding="utf-8") as f:
            f.write("\n".join([f"boss:{OPERATOR}", *cls.other_keys, ""]))
        os.chmod(cls.path("keys"), 0o600)
        cls.args = ("--lora-dir", cls.path("loras"), "--queue", cls.queue, "--api-key-file",
                    cls.path("keys"), "--operator-key", "boss")

    def load(self, i=0):
        body = {"lora_name": f"b{i}", "lora_path": "a", "load_inplace": True}
        return self.server.post(LOAD, body, self.auth)

    def test_an_operator_s_key_has_half_of_the_queue(self):
        def flood():
            with concurrent.futures.ThreadPoolExecutor(8) as pool:
                return {reply.status for reply in pool.map(self.load, range(8))}
        server.eventually("a refused load", lambda: 429 in flood())
        for i in range(8):
            self.assertEqual(self.load(i).status, 200, "its place is free again")


class TheOnlyKey(FewLoads):
    """An operator whose key is the only one."""

    other_keys, queue = [], "8"

    def test_an_operator_s_key_has_half_of_the_queue(self):
        """It has all places."""
        for _ in range(4):
            with concurrent.futures.ThreadPoolExecutor(8) as pool:
                replies = list(pool.map(self.load, range(8)))
            self.assertEqual({reply.status for reply in replies}, {200}, replies)


@unittest.skipIf(server.ingot.SANITIZERS, "a sanitizer opens files of its own")
class Sandbox(unittest.TestCase):
    def test_only_the_folder_is_read(self):
        with tempfile.TemporaryDirectory(prefix="ingot-adapters-") as folder:
            loras, admin = os.path.join(folder, "loras"), Admin(os.path.join(folder, "admin"))
            os.mkdir(loras)
            make_adapter(os.path.join(loras, "a"))
            one = server.Server("--sandbox", "--lora-dir", loras, "--admin-socket", admin.path)
            self.addCleanup(one.kill)
            ask = Answers(one)
            self.assertNotEqual(ask.say(model="a"), ask.say())
            self.assertEqual(admin.load("b", os.path.join(loras, "a")).status, 200)
            if not any("no Landlock" in line for line in one.lines):
                self.assertIn(admin.load("c", PIRATE).status, (400, 404))
            self.assertEqual(one.stop(), 0)


if __name__ == "__main__":
    server.main()
