#!/usr/bin/env python3
"""Scores the built-in model's tool calls on the server, where they are constrained, and in
`ingot run`, where they are free.

The questions are the held-out ones of tools/demo_model/evaluate.py. INGOT_FULL=1 asks as many of
each kind as the model card.
"""
import concurrent.futures
import json
import os
import sys

import serving
from serving import ServerTest, ingot

sys.dont_write_bytecode = True
HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "..", "tools", "demo_model"))
import evaluate  # noqa: E402

PATH = "/v1/chat/completions"
KINDS = ("tools", "two_calls", "no_tool", "after_result")
COUNT = evaluate.FULL if os.environ.get("INGOT_FULL") == "1" else 3 if ingot.SANITIZERS else 20
SEED = 11
SIDE_BY_SIDE = 8
TYPES = {"string": str, "integer": int}


def with_call_objects(messages):
    """The messages as clients send them: a call is a member, and its result names it."""
    out = []
    for message in messages:
        calls = evaluate.parsed_calls(message["content"])
        if message["role"] == "assistant" and calls:
            message = {"role": "assistant", "content": None, "tool_calls": [
                {"id": f"call_{i}", "type": "function", "function": {
                    "name": json.loads(call)["name"],
                    "arguments": json.dumps(json.loads(call)["arguments"])}}
                for i, call in enumerate(calls)]}
        elif message["role"] == "tool":
            message = {**message, "tool_call_id": "call_0"}
        out.append(message)
    return out


def misfit(tools, name, arguments):
    """The error of a call; None for a good one."""
    tool = next((t["function"] for t in tools if t["function"]["name"] == name), None)
    if tool is None:
        return f"{name} is no tool"
    try:
        values = json.loads(arguments)
    except ValueError as error:
        return f"{arguments!r}: {error}"
    schema = tool["parameters"]
    absent = set(schema["required"]) - set(values)
    wrong = [key for key, value in values.items() if key in schema["properties"]
             and type(value) is not TYPES[schema["properties"][key]["type"]]]
    return f"{arguments}: absent {absent}, of a wrong type {wrong}" if absent or wrong else None


class DemoTools(ServerTest):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.items = [i for kind in KINDS for i in evaluate.items(kind, COUNT, SEED)]

    @staticmethod
    def body(item):
        return {"messages": with_call_objects(item["messages"]), "tools": item["tools"],
                "tool_choice": "auto", "temperature": 0, "max_tokens": 200}

    def whole(self, item):
        """(content, [(name, arguments)], finish reason) of a reply."""
        choice, = self.ask(PATH, self.body(item))["choices"]
        message = choice["message"]
        calls = [(c["function"]["name"], c["function"]["arguments"])
                 for c in message.get("tool_calls", [])]
        return message["content"] or "", calls, choice["finish_reason"]

    def streamed(self, item):
        """What `whole` gives, out of a stream."""
        status, _, body = self.server.request("POST", PATH, {**self.body(item), "stream": True})
        self.assertEqual(status, 200, body)
        content, calls, finish = "", [], None
        for frame in body.decode().split("\n\n"):
            if not frame.startswith("data: {"):
                continue
            choice, = json.loads(frame.removeprefix("data: "))["choices"]
            content += choice["delta"].get("content") or ""
            for part in choice["delta"].get("tool_calls", []):
                if "name" in part["function"]:
                    calls.append([part["function"]["name"], ""])
                calls[part["index"]][1] += part["function"]["arguments"]
            finish = choice["finish_reason"] or finish
        return content, [tuple(call) for call in calls], finish

    def all_of(self, ask):
        with concurrent.futures.ThreadPoolExecutor(SIDE_BY_SIDE) as pool:
            return list(pool.map(ask, self.items))

    @staticmethod
    def is_right(item, content, calls):
        if item["domain"] not in ("tools", "two_calls"):
            return not calls and content.strip() == item["expected"]
        said = [json.dumps({"name": name, "arguments": json.loads(arguments)}, sort_keys=True)
                for name, arguments in calls]
        return not content.strip() and said == evaluate.parsed_calls(item["expected"])

    def test_constraints_cost_no_score(self):
        free = evaluate.answers(ingot.BINARY, None, self.items)
        whole, streamed = self.all_of(self.whole), self.all_of(self.streamed)
        scores = {kind: [0, 0] for kind in KINDS}
        counts = {"calls": 0, "cut": 0}
        for item, text, reply, other in zip(self.items, free, whole, streamed):
            self.assertEqual(reply, other, item)
            content, calls, finish = reply
            if finish == "length":  # the last call may be cut
                counts["cut"] += 1
                calls = calls[:-1]
            counts["calls"] += len(calls)
            for name, arguments in calls:
                self.assertIsNone(misfit(item["tools"], name, arguments), item)
            was_right = evaluate.is_right(item, text)
            is_right = finish != "length" and self.is_right(item, content, calls)
            scores[item["domain"]][0] += was_right
            scores[item["domain"]][1] += is_right
        print(f"of {COUNT} of each kind, right without constraints and with them: {scores}; "
              f"{counts['calls']} calls, {counts['cut']} replies cut", file=sys.stderr)
        self.assertGreater(counts["calls"], COUNT)
        for kind, (without, with_constraints) in scores.items():
            self.assertGreaterEqual(with_constraints, without, kind)


if __name__ == "__main__":
    serving.main()
