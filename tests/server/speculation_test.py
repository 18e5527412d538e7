#!/usr/bin/env python3
"""Tests speculation over HTTP: modes change no reply, predictions are counted, metrics add up, and
what the server cannot do is refused by its member."""
import os

import server
from server import CHAT, TEXT

RESPONSES, MESSAGES = "/v1/responses", "/v1/messages"
USER = {"role": "user", "content": "Tell me a story about a cat."}
# A fixed number of drafts: whether drafts pay depends on the machine.
FIXED = {"mode": "auto", "tokens": 8}
ASK = {"messages": [USER], "max_tokens": 40, "temperature": 0, "speculation": FIXED}
SAMPLED = {"temperature": 0.8, "seed": 11}
DRAFT = os.path.join(os.path.dirname(__file__), "..", "..", "models", "ingot-demo-draft.gguf")
COUNTS = "vllm:spec_decode_num_"


class SpeculationTest(server.ServerTest):
    def good(self, path, body):
        reply = self.server.post(path, body)
        self.assertEqual(reply.status, 200, reply)
        return reply.json()

    def content(self, **members):
        return self.good(CHAT, {**ASK, **members})["choices"][0]["message"]["content"]

    def predicted(self, **members):
        """(content, accepted, rejected) of a chat."""
        found = self.good(CHAT, {**ASK, **members})
        details = found["usage"]["completion_tokens_details"]
        return (found["choices"][0]["message"]["content"], details["accepted_prediction_tokens"],
                details["rejected_prediction_tokens"])

    def counts(self):
        """Lists, drafts and accepted drafts so far."""
        return [self.server.metric(f"{COUNTS}{name}_total")
                for name in ("drafts", "draft_tokens", "accepted_tokens")]

    def refused(self, speculation, param, path=CHAT):
        body = {**ASK, "speculation": speculation}
        self.assert_error(self.server.post(path, body), 400, param=param)


def prediction(content):
    return {"type": "content", "content": content}


class Lookup(SpeculationTest):
    def test_no_mode_changes_a_reply(self):
        for sampling in ({}, SAMPLED):
            plain = self.content(**sampling, speculation={"mode": "off"})
            for speculation in ({}, FIXED, {"mode": "lookup"}, {"mode": "lookup", "tokens": 32},
                                {"mode": "auto", "tokens": 0}, None):
                self.assertEqual(self.content(**sampling, speculation=speculation), plain)

    def test_all_endpoints_take_it(self):
        before = self.counts()
        self.good(TEXT, {"prompt": "The cat sat on the mat. " * 6, "max_tokens": 60,
                         "temperature": 0, "ignore_eos": True, "speculation": FIXED})
        self.assertGreater(self.counts()[1], before[1])
        self.good(RESPONSES, {"input": "Hi", "max_output_tokens": 4, "speculation": FIXED})
        self.good(MESSAGES, {"messages": [USER], "max_tokens": 4, "speculation": FIXED})

    def test_wrong_members_are_named(self):
        for mode in ("on", "", "LOOKUP", 5, [], True):
            self.refused({"mode": mode}, "speculation.mode")
        for tokens in (-1, 33, 1.5, "4", True, 2 ** 40):
            self.refused({"tokens": tokens}, "speculation.tokens")
        for value in ("lookup", 4, [], True):
            self.refused(value, "speculation")
        # There is no draft model.
        for path in (CHAT, RESPONSES, MESSAGES, TEXT):
            text = {CHAT: "messages", MESSAGES: "messages", RESPONSES: "input", TEXT: "prompt"}
            value = [USER] if text[path] == "messages" else "a"
            reply = self.server.post(path, {text[path]: value, "max_tokens": 2,
                                            "speculation": {"mode": "draft"}})
            self.assertEqual(reply.status, 400, reply)
            self.assertEqual(reply.error()["param"], "speculation.mode")
        found = self.good(CHAT, {**ASK, "speculation": {"mode": "off", "depth": 3}})
        self.assertEqual([w["param"] for w in found["warnings"]], ["speculation.depth"])

    def test_predictions_are_counted(self):
        plain, *none = self.predicted(speculation={"mode": "off"})
        self.assertEqual(none, [0, 0])
        same, accepted, _ = self.predicted(prediction=prediction(plain))
        self.assertEqual(same, plain)
        self.assertGreater(accepted, 8)
        half = plain[:len(plain) // 2]
        same, accepted, rejected = self.predicted(
            prediction=prediction([{"type": "text", "text": half + " zebra zebra zebra"}]))
        self.assertEqual(same, plain)
        self.assertGreater(accepted, 4)
        self.assertGreater(rejected, 0)
        self.assertEqual(self.predicted(prediction=prediction(plain),
                                        speculation={"mode": "off"}), (plain, 0, 0))

    def test_predictions_of_streams_and_choices(self):
        plain = self.content(speculation={"mode": "off"})
        body = {**ASK, "prediction": prediction(plain), "stream": True,
                "stream_options": {"include_usage": True}}
        events = self.server.post(CHAT, body).events()
        details = events[-2]["usage"]["completion_tokens_details"]
        self.assertGreater(details["accepted_prediction_tokens"], 8)
        found = self.good(CHAT, {**ASK, "prediction": prediction(plain), "n": 2})
        self.assertEqual([c["message"]["content"] for c in found["choices"]], [plain, plain])
        self.assertGreater(found["usage"]["completion_tokens_details"]
                           ["accepted_prediction_tokens"], 16)

    def test_wrong_predictions_are_named(self):
        for value, param in ((5, "prediction"), ("text", "prediction"), ({}, "prediction.type"),
                             ({"type": "image", "content": "x"}, "prediction.type"),
                             ({"type": "content"}, "prediction.content"),
                             (prediction(5), "prediction.content"),
                             (prediction([]), "prediction.content"),
                             (prediction([{"type": "image_url"}]), "prediction.content[0]"),
                             (prediction("word " * 100_000), "prediction.content")):
            reply = self.server.post(CHAT, {**ASK, "prediction": value})
            self.assertEqual(reply.status, 400, reply)
            self.assertEqual(reply.error()["param"], param)
        found = self.good(TEXT, {"prompt": "a", "max_tokens": 1, "prediction": prediction("b")})
        self.assertEqual([(w["param"], w["code"]) for w in found["warnings"]],
                         [("prediction", "ignored")])

    def test_metrics_add_up(self):
        plain = self.content(speculation={"mode": "off"})
        lists, drafts, accepted = self.counts()
        _, taken, lost = self.predicted(prediction=prediction(plain))
        after = self.counts()
        self.assertGreater(after[0], lists)
        self.assertGreaterEqual(after[1] - drafts, taken + lost)
        self.assertGreaterEqual(after[2] - accepted, taken)
        name = f"{COUNTS}accepted_tokens_per_pos_total"
        self.assertEqual(self.server.metric(name), after[2])
        self.assertGreaterEqual(self.server.metric(name, position="0"),
                                self.server.metric(name, position="7"))
        self.assertEqual(self.server.metric(name, position="31"), 0)

    def test_the_settings_name_it(self):
        settings = self.server.get("/props").json()["settings"]
        self.assertEqual((settings["draft"], settings["draft_tokens"]), ("lookup", "auto"))


class Off(SpeculationTest):
    args = ("--draft", "off")

    def test_asking_for_drafts_is_refused(self):
        for mode in ("lookup", "draft"):
            self.refused({"mode": mode}, "speculation.mode")
        for mode in ("auto", "off"):
            self.content(speculation={"mode": mode, "tokens": 4})

    def test_predictions_count_nothing(self):
        plain = self.content()
        self.assertEqual(self.predicted(prediction=prediction(plain)), (plain, 0, 0))
        self.assertNotIn(COUNTS, self.server.get("/metrics").body.decode())


class Model(SpeculationTest):
    args = ("--draft", DRAFT, "--draft-tokens", "5")

    def test_a_draft_model_changes_no_reply(self):
        for sampling in ({}, SAMPLED):
            plain = self.content(**sampling, speculation={"mode": "off"})
            before = self.counts()
            self.assertEqual(self.content(**sampling, speculation={"mode": "draft"}), plain)
            after = self.counts()
            self.assertGreater(after[2], before[2])
            self.assertEqual(self.content(**sampling, speculation={"mode": "auto"}), plain)

    def test_the_settings_do_not_show_the_path(self):
        body = self.server.get("/props").body.decode()
        self.assertNotIn("ingot-demo-draft", body)
        self.assertIn('"draft":"model"', body)


if __name__ == "__main__":
    server.main()
