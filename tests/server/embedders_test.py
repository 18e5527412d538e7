#!/usr/bin/env python3
"""Tests the endpoints of encoders and rerankers with the reference models."""
import json
import math
import os
import shutil
import tempfile
import unittest

import server
import serving
import model_files  # found through the line above
from serving import ingot

REFERENCES = os.path.join(ingot.SHARED, "references")
EMBEDDER = os.path.join(REFERENCES, "embeddings", "bert-mean-norm")
RERANKER = os.path.join(REFERENCES, "rerank", "bert-cross")


@unittest.skipUnless(os.path.isdir(EMBEDDER), "there are no reference embedders")
class Embedder(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.server = serving.Server(EMBEDDER)

    @classmethod
    def tearDownClass(cls):
        cls.server.stop()

    def embedded(self, inputs, **more):
        status, reply = self.server.post("/v1/embeddings", {"input": inputs, **more})
        self.assertEqual(status, 200, reply)
        return [entry["embedding"] for entry in reply["data"]], reply

    def refused(self, path, body, status=400):
        found, reply = self.server.post(path, body)
        self.assertEqual(found, status, reply)
        return reply["error"]

    def test_as_ingot_embed(self):
        texts = ["the hand and the line", "no", ""]
        vectors, reply = self.embedded(texts)
        self.assertNotIn("warnings", reply)
        lines = "".join(json.dumps({"text": t}) + "\n" for t in texts)
        process = ingot.start("embed", EMBEDDER, "--jsonl", stdin=ingot.subprocess.PIPE)
        out, _ = process.communicate(lines.encode(), timeout=ingot.TIMEOUT_S)
        found = [json.loads(line) for line in out.splitlines()]
        self.assertEqual(vectors, [line["embedding"] for line in found])
        self.assertEqual(reply["usage"]["prompt_tokens"], sum(line["tokens"] for line in found))

    def test_dimensions(self):
        (short,), _ = self.embedded("no", dimensions=5)
        self.assertEqual(len(short), 5)
        self.assertTrue(math.isclose(sum(v * v for v in short), 1, abs_tol=1e-6))
        error = self.refused("/v1/embeddings", {"input": "no", "dimensions": 4096})
        self.assertEqual(error["param"], "dimensions")

    def test_too_long_inputs_are_refused_or_cut(self):
        text = "hand " * 500
        error = self.refused("/v1/embeddings", {"input": ["no", text]})
        self.assertEqual((error["code"], error["param"]), ("context_length_exceeded", "input[1]"))
        for more in ({"truncate": True}, {"truncate": "END"}, {"truncate_prompt_tokens": -1}):
            (_, cut), reply = self.embedded(["no", text], **more)
            self.assertEqual([w["code"] for w in reply["warnings"]], ["truncated"])
            self.assertEqual(self.embedded([text], truncate=True)[0], [cut])
        self.refused("/v1/embeddings", {"input": text, "truncate": "NONE"})
        self.refused("/v1/embeddings", {"input": text, "truncate": "START"})
        (_,), reply = self.embedded("the hand and the line", truncate_prompt_tokens=4)
        self.assertEqual(reply["usage"]["prompt_tokens"], 4)

    def test_prompts_that_the_model_does_not_have(self):
        _, reply = self.embedded("no", input_type="query")
        self.assertEqual(reply["warnings"][0]["param"], "input_type")
        error = self.refused("/v1/embeddings", {"input": "no", "prompt_name": "query"})
        self.assertEqual(error["param"], "prompt_name")

    def test_members_that_contradict_each_other_are_refused(self):
        for more, param in (({"truncate": False, "truncation": True}, "truncation"),
                            ({"truncate": "NONE", "truncate_prompt_tokens": 4},
                             "truncate_prompt_tokens")):
            error = self.refused("/v1/embeddings", {"input": "no", **more})
            self.assertEqual(error["param"], param)

    def test_other_work_is_refused(self):
        for path, body in (("/v1/chat/completions", {"messages": []}),
                           ("/v1/completions", {"prompt": "a"}),
                           ("/v1/responses", {"input": "a"}),
                           ("/v1/rerank", {"query": "a", "documents": ["b"]})):
            error = self.refused(path, body)
            self.assertEqual(error["code"], "not_supported", path)
            self.assertIn("/v1/embeddings", error["message"])

    def test_what_it_says_it_can_do(self):
        status, _, content = self.server.request("GET", "/props")
        can = json.loads(content)["capabilities"]
        self.assertEqual((status, [name for name, able in can.items() if able]),
                         (200, ["embeddings"]))
        _, _, paths = self.server.request("GET", "/")
        self.assertIn("POST /v1/embeddings\n", paths.decode())
        for path in ("/v1/completions", "/v1/chat/completions", "/v1/rerank", "/v1/score"):
            self.assertNotIn(f"POST {path}\n", paths.decode())

    def test_many_at_once(self):
        texts = [f"the line {i} is said " * (i % 9 + 1) for i in range(100)]
        together, _ = self.embedded(texts)
        for i in (0, 8, 99):
            self.assertEqual(self.embedded(texts[i])[0], [together[i]])


@unittest.skipUnless(os.path.isdir(RERANKER), "there are no reference rerankers")
class Reranker(unittest.TestCase):
    DOCUMENTS = ["The tower is 324 metres tall.", "April brings rain.", ""]
    QUERY = "how tall is the tower?"

    @classmethod
    def setUpClass(cls):
        cls.server = serving.Server(RERANKER)

    @classmethod
    def tearDownClass(cls):
        cls.server.stop()

    def post(self, path, body, status=200):
        found, reply = self.server.post(path, body)
        self.assertEqual(found, status, reply)
        return reply

    def scores(self, **more):
        body = {"text_1": self.QUERY, "text_2": self.DOCUMENTS, **more}
        return [entry["score"] for entry in self.post("/v1/score", body)["data"]]

    def test_rerank(self):
        body = {"model": "bert-cross", "query": self.QUERY, "documents": self.DOCUMENTS}
        for path in ("/v1/rerank", "/rerank", "/v2/rerank"):
            reply = self.post(path, body)
            results = reply["results"]
            scores = [entry["relevance_score"] for entry in results]
            self.assertEqual(scores, sorted(scores, reverse=True))
            self.assertEqual(sorted(entry["index"] for entry in results), [0, 1, 2])
            for entry in results:
                self.assertEqual(entry["document"], {"text": self.DOCUMENTS[entry["index"]]})
            by_index = sorted(results, key=lambda entry: entry["index"])
            self.assertEqual([e["relevance_score"] for e in by_index], self.scores())
            self.assertEqual(reply["usage"]["total_tokens"], reply["usage"]["prompt_tokens"])

    def test_forms(self):
        objects = [{"text": text} for text in self.DOCUMENTS]
        reply = self.post("/rerank", {"query": {"text": self.QUERY}, "documents": objects,
                                      "top_n": 2, "return_documents": False, "raw_scores": True})
        self.assertEqual(len(reply["results"]), 2)
        everything = self.post("/rerank", {"query": "a", "documents": objects, "top_n": 0})
        self.assertEqual(len(everything["results"]), 3)
        self.assertNotIn("document", reply["results"][0])
        raw = self.scores(raw_scores=True)
        self.assertEqual(reply["results"][0]["relevance_score"], max(raw))
        for score, value in zip(self.scores(), raw):
            self.assertTrue(math.isclose(score, 1 / (1 + math.exp(-value)), rel_tol=1e-5))
        self.assertEqual(self.scores(use_activation=False), raw)
        pair = self.post("/v1/score", {"text_1": [self.QUERY, "no"],
                                       "text_2": self.DOCUMENTS[:2]})
        self.assertEqual([entry["object"] for entry in pair["data"]], ["score", "score"])
        self.assertEqual(pair["data"][0]["score"], self.scores()[0])

    def test_wrong_requests(self):
        for path, body, param in (
                ("/v1/rerank", {"documents": ["a"]}, "query"),
                ("/v1/rerank", {"query": "a"}, "documents"),
                ("/v1/rerank", {"query": "a", "documents": []}, "documents"),
                ("/v1/rerank", {"query": "a", "documents": [5]}, "documents[0]"),
                ("/v1/rerank", {"query": "a", "documents": 5}, "documents"),
                ("/v1/rerank", {"query": "a", "documents": "c " * 500}, "documents"),
                ("/v1/rerank", {"query": "a", "documents": {"text": "c " * 500}}, "documents"),
                ("/v1/score", {"text_1": "a", "text_2": "c " * 500}, "text_2"),
                ("/v1/score", {"text_1": ["c " * 500], "text_2": "a"}, "text_1[0]"),
                ("/v1/rerank", {"query": "a", "documents": ["b", "c " * 500]}, "documents[1]"),
                ("/v1/rerank", {"query": "a", "documents": ["b"], "top_n": -1}, "top_n"),
                ("/v1/score", {"text_1": "a", "text_2": "b", "raw_scores": True,
                               "use_activation": True}, "raw_scores"),
                ("/v1/score", {"text_1": ["a", "b"], "text_2": ["c", "d", "e"]}, "text_1")):
            error = self.post(path, body, 400)["error"]
            self.assertEqual(error["param"], param, body)
        error = self.post("/v1/embeddings", {"input": "a"}, 400)["error"]
        self.assertIn("/v1/rerank", error["message"])

    def test_what_it_says_it_can_do(self):
        _, _, content = self.server.request("GET", "/props")
        found = json.loads(content)
        self.assertEqual([name for name, able in found["capabilities"].items() if able],
                         ["rerank"])
        self.assertIsNone(found["tool_calls"])

    def test_what_is_not_honoured_is_refused(self):
        for member, value in (("instruction", "be kind"), ("chat_template_kwargs", {"a": 1}),
                              ("rank_fields", ["text"]), ("max_chunks_per_doc", 2),
                              ("max_tokens_per_query", 5), ("return_embeddings", True),
                              ("max_tokens_per_doc", -1)):
            body = {"query": "a", "documents": ["b"], member: value}
            self.assertEqual(self.post("/v1/rerank", body, 400)["error"]["param"], member)
        self.post("/v1/rerank", {"query": "a", "documents": ["b"], "max_tokens_per_query": 0,
                                 "max_tokens_per_doc": 0, "return_embeddings": False})

    def test_documents_are_cut_one_by_one(self):
        text = "the tower is old and tall"
        counts = [self.post("/v1/rerank", {"query": "a", "documents": [text[:length]]})
                  ["usage"]["total_tokens"] for length in (len("the tower"), len(text))]
        self.assertGreater(counts[1], counts[0])
        empty = self.post("/v1/rerank", {"query": "a", "documents": ["the"]})
        one = empty["usage"]["total_tokens"]
        short = self.post("/v1/rerank", {"query": "a", "documents": ["the tower"]})
        cut = self.post("/v1/rerank", {"query": "a", "documents": [text, text + " no" * 999],
                                       "max_tokens_per_doc": counts[0] - one + 1})
        self.assertEqual([w["param"] for w in cut["warnings"]], ["documents[0]", "documents[1]"])
        for result in cut["results"]:
            self.assertEqual(result["relevance_score"], short["results"][0]["relevance_score"])

    def test_a_long_query_is_bounded_by_its_documents(self):
        body = {"query": "a " * 40000, "documents": ["b"] * 2048, "truncate": True}
        error = self.post("/v1/rerank", body, 400)["error"]
        self.assertEqual(error["param"], "query")
        self.assertIn("16384 with 2048 documents", error["message"])
        error = self.post("/v1/score", {"text_1": body["query"], "text_2": body["documents"],
                                        "truncate": True}, 400)["error"]
        self.assertEqual(error["param"], "text_1")
        for query in (body["query"], "a " * 500):
            error = self.post("/v1/rerank", {"query": query, "documents": ["b"]}, 400)["error"]
            self.assertEqual((error["param"], error["code"]), ("query", "context_length_exceeded"))
        body["documents"] = body["documents"][:3]
        warnings = self.post("/v1/rerank", body)["warnings"]
        self.assertEqual([(w["param"], w["code"]) for w in warnings], [("query", "truncated")])
        body = {"query": "a " * 500, "documents": ["b " * 500, "b"], "truncate": True}
        warnings = self.post("/v1/rerank", body)["warnings"]
        self.assertEqual([w["param"] for w in warnings], ["query", "documents[0]"])

    def test_long_documents_are_cut_where_asked(self):
        reply = self.post("/v1/rerank", {"query": self.QUERY, "documents": ["b", "c " * 500],
                                         "truncate": True})
        self.assertEqual([(w["param"], w["code"]) for w in reply["warnings"]],
                         [("documents[1]", "truncated")])


class Decoder(unittest.TestCase):
    """The built-in model, which was not made for embeddings."""

    def test_as_ingot_embed(self):
        texts = ["Hello, how are you?", "good bye " * 40]
        served = serving.Server()
        self.addCleanup(served.stop)
        status, reply = served.post("/v1/embeddings", {"input": texts})
        self.assertEqual(status, 200, reply)
        lines = "".join(json.dumps({"text": text}) + "\n" for text in texts)
        process = ingot.start("embed", "--jsonl", stdin=ingot.subprocess.PIPE)
        out, _ = process.communicate(lines.encode(), timeout=ingot.TIMEOUT_S)
        self.assertEqual([entry["embedding"] for entry in reply["data"]],
                         [json.loads(line)["embedding"] for line in out.splitlines()])


MESSAGE = {"role": "user", "content": "a"}
# A list of each endpoint. The last entry is wrong: a request that reads it gets the status 400.
LISTS = (("/v1/embeddings", {"input": ["a", "b", 5]}),
         (server.TEXT, {"prompt": ["a", "b", 5]}),
         (server.CHAT, {"messages": [MESSAGE, 5]}),
         ("/tokenize", {"messages": [MESSAGE, 5]}),
         ("/apply-template", {"messages": [MESSAGE, 5]}),
         ("/v1/responses", {"input": [MESSAGE, 5]}),
         ("/v1/responses/input_tokens", {"input": [MESSAGE, 5]}),
         ("/v1/messages", {"messages": [MESSAGE, 5], "max_tokens": 1}),
         ("/v1/messages/count_tokens", {"messages": [MESSAGE, 5]}),
         ("/infill", {"input_prefix": "a", "input_suffix": "b", "input_extra": [{"text": "c"}, 5]}))


class Interruptions(unittest.TestCase):
    """Reading many inputs ends early. The last input is wrong, which would be found otherwise."""

    def serve(self, *args):
        served = server.Server(*args)
        self.addCleanup(served.kill)
        return served

    def wire(self, served):
        wire = server.Wire(served)
        self.addCleanup(wire.socket.close)
        return wire

    def refusals(self, served):
        """(event, status, code) of the log's lines about errors."""
        lines = [json.loads(line) for line in served.lines if line.startswith("{")]
        return [(line["event"], line["status"], line["code"]) for line in lines if "code" in line]

    def left(self, served, path, body):
        """The error for a client that closes its side of the connection behind the request."""
        reply = self.wire(served).send(server.post(path, body)).end_writing().reply()
        self.assertEqual(reply.status, 499, reply)
        server.eventually("it is counted", lambda: served.metric(
            "ingot:http_responses_total", status="499") == 1)
        return reply.error()["code"]

    def test_a_client_that_leaves_ends_reading(self):
        served = self.serve()
        body = {"input": ["it is said that the line is long " * 20] * 2000 + [5]}
        self.assertEqual(self.left(served, "/v1/embeddings", body), "client_left")
        self.assertEqual(served.metric("vllm:num_requests_running"), 0)
        server.eventually("it is logged", lambda: self.refusals(served))
        self.assertEqual(self.refusals(served), [("left", 499, "client_left")])

    @unittest.skipUnless(os.path.isdir(RERANKER), "there are no reference rerankers")
    def test_a_client_that_leaves_ends_reading_of_documents(self):
        served = self.serve(RERANKER)
        documents = ["the tower is tall " * 20] * 2000 + ["a " * 9999]
        self.assertEqual(self.left(served, "/v1/rerank", {"query": "a", "documents": documents}),
                         "client_left")

    def expected(self, served, path, body):
        """A connection whose request is admitted and whose body is still to come."""
        wire = self.wire(served).send(server.head("POST", path, [
            ("Content-Type", "application/json"), ("Content-Length", len(body)),
            ("Expect", "100-continue")]))
        self.assertEqual(wire.reply().status, 100, path)
        return wire

    def test_a_drain_ends_reading_of_every_list(self):
        lists = [(path, json.dumps(body).encode()) for path, body in LISTS]
        with tempfile.TemporaryDirectory(prefix="ingot-admin-") as folder:
            admin = os.path.join(folder, "admin")
            served = self.serve("--admin-socket", admin, "--ctx", "8192")
            running = self.wire(served).send(server.post(server.TEXT, {
                "prompt": "x", "max_tokens": 8000, "ignore_eos": True, "stream": True}))
            running.until(b'"text"')
            wires = [self.expected(served, path, body) for path, body in lists]
            with server.AdminWire(admin) as other:
                drain = server.head("POST", "/admin/drain", [("Content-Length", "0")])
                self.assertEqual(other.send(drain).reply().status, 200)
            server.eventually("it drains", lambda: served.get("/health").status == 503)
            for wire, (path, body) in zip(wires, lists):
                reply = wire.send(body).reply()
                self.assertEqual(reply.status, 503, (path, reply))
                self.assertIn("the server is being stopped", reply.error()["message"], path)


@unittest.skipUnless(os.path.isdir(EMBEDDER), "there are no reference embedders")
class Starts(ingot.CliTest):
    """Servers of models and settings that are no class's own."""

    def copied(self, source, name):
        folder = self.path(name)
        shutil.copytree(source, folder)
        return folder

    def edit(self, folder, name, change):
        path = os.path.join(folder, name)
        content = {}
        if os.path.exists(path):
            with open(path, encoding="utf-8") as file:
                content = json.load(file)
            os.chmod(path, 0o644)
        os.chmod(folder, 0o755)
        change(content)
        with open(path, "w", encoding="utf-8") as file:
            json.dump(content, file)

    def test_a_stated_context_is_not_lowered(self):
        refused = ingot.run("serve", EMBEDDER, "--ctx", "100000", "--memory-limit", "16M")
        self.assertEqual(refused.code, 71, refused.err)
        self.assertIn("for 100000 tokens", refused.err)

    def wide_model(self, hidden):
        """A model of one layer whose embeddings have `hidden` floats, all 0."""
        config, tensors = model_files.tiny_hf()
        config.update(hidden_size=hidden, head_dim=4, num_hidden_layers=1,
                      tie_word_embeddings=True)
        wide = []
        for name, dtype, shape, _ in tensors:
            if "layers.1." in name or name == "lm_head.weight":
                continue
            shape = [hidden if size == model_files.HF_HIDDEN else size for size in shape]
            if "q_proj" in name:
                shape[0] = model_files.HF_HIDDEN
            if "o_proj" in name:
                shape[1] = model_files.HF_HIDDEN
            wide.append((name, dtype, shape, bytes(4 * math.prod(shape))))
        os.mkdir(self.path("wide"))
        self.file("wide/config.json", json.dumps(config).encode())
        self.file("wide/model.safetensors", model_files.safetensors(wide))
        return self.path("wide")

    def test_the_size_of_a_response_is_checked_before_inputs_are_read(self):
        served = serving.Server(self.wide_model(16384))
        self.addCleanup(served.stop)
        wrong = [300]  # the vocabulary's size
        for inputs, param in (([wrong] + [[1]] * 1023, "input[0][0]"),
                              ([wrong] + [[1]] * 1024, "input")):
            status, reply = served.post("/v1/embeddings", {"input": inputs})
            self.assertEqual((status, reply["error"]["param"]), (400, param), reply)

    def test_prompts(self):
        folder = self.copied(EMBEDDER, "prompts")
        self.edit(folder, "config_sentence_transformers.json", lambda content: content.update(
            {"prompts": {"query": "the line ", "document": "hand "}}))
        served = serving.Server(folder + "/")
        self.addCleanup(served.stop)
        _, _, models = served.request("GET", "/v1/models")
        self.assertEqual(json.loads(models)["data"][0]["id"], "prompts")

        def embedded(text, **more):
            status, reply = served.post("/v1/embeddings", {"input": text, **more})
            return reply if status == 200 else (status, reply["error"]["param"])

        plain = embedded("the line no")["data"]
        for more in ({"prompt_name": "query"}, {"input_type": "query"}, {"task": "query"},
                     {"prompt_name": "query", "input_type": "search_query"}):
            reply = embedded("no", **more)
            self.assertEqual(reply["data"], plain, more)
            self.assertNotIn("warnings", reply)
        self.assertEqual(embedded("no", prompt_name="document", input_type="query"),
                         (400, "input_type"))
        self.assertEqual(embedded("no", input_type="query", task="retrieval.passage"),
                         (400, "task"))
        reply = embedded([5, 6], prompt_name="query")
        self.assertEqual([w["code"] for w in reply["warnings"]], ["no_prompt"])

    def test_token_types_of_pairs_are_checked(self):
        folder = self.copied(RERANKER, "types")

        def change(content):
            for part in content["post_processor"]["pair"]:
                next(iter(part.values()))["type_id"] = 7

        self.edit(folder, "tokenizer.json", change)
        for command in (("rerank", folder, "--query", "a", "--jsonl"), ("serve", folder)):
            self.assert_error(ingot.run(*command), ingot.MODEL, "token type 7")


if __name__ == "__main__":
    serving.main()
