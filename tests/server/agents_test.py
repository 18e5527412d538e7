#!/usr/bin/env python3
"""Tests requests as coding agents send them: a scripted model reads, edits and answers."""
import json

import serving
from script_model import script_model
from serving import ServerTest

# Replies begin behind a mark, which stands for the number of results before them. Behind the last
# mark the model says that something did not reach it.
MARKS = ("<turn0>", "<turn1>", "<turn2>", "<lost>")
MARK = ("{% if state.results == 0 %}<turn0>{% elif state.results == 1 %}<turn1>"
        "{% else %}<turn2>{% endif %}")
TEMPLATE = (
    # The model counts the tools, so some of them are enough.
    "{% for tool in (tools or [])[:2] %}{{ tool | tojson }}\n{% endfor %}"
    "{% set state = namespace(results=0, thoughts=0) %}"
    "{% for message in messages %}"
    "{% if message.role == 'tool' %}{% set state.results = state.results + 1 %}{% endif %}"
    "{{ message.role[0] }}:{% if message.role == 'assistant' %}" + MARK +
    "{% if message.reasoning_content %}{% set state.thoughts = state.thoughts + 1 %}"
    "<think>{{ message.reasoning_content }}</think>{% endif %}{% endif %}"
    "{{ message.content or '' }}"
    "{% for call in message.tool_calls or [] %}\n<tool_call>\n"
    "{\"name\": \"{{ call.function.name }}\", \"arguments\": "
    "{{ call.function.arguments | tojson }}}\n</tool_call>{% endfor %}\n{% endfor %}"
    "{% if add_generation_prompt %}a:{% if (tools or []) | length == TOOLS and "
    "(state.thoughts < state.results or messages[0].content | length < 400) %}<lost>"
    "{% else %}" + MARK + "{% endif %}{% endif %}")
PATCH = "*** Begin Patch\n*** Update File: a.py\n@@\n-x = 1\n+x = 2\n*** End Patch"
FILE = {"type": "object", "properties": {"file_path": {"type": "string", "description": "A path"}},
        "required": ["file_path"], "additionalProperties": False,
        "$schema": "https://json-schema.org/draft/2020-12/schema"}
EDIT = {**FILE, "properties": {**FILE["properties"], "old_string": {"type": "string"},
                               "new_string": {"type": "string"},
                               "replace_all": {"type": "boolean", "default": False}},
        "required": ["file_path", "old_string", "new_string"]}
LARK = """start: begin_patch hunk+ end_patch
begin_patch: "*** Begin Patch" LF
end_patch: "*** End Patch" LF?
hunk: "*** Update File: " filename LF change_line+
filename: /(.+)/
change_line: ("+" | "-" | " " | "@@") /(.*)/ LF
%import common.LF
"""
CACHED = {"cache_control": {"type": "ephemeral"}}


def call(name, arguments):
    return "<tool_call>\n" + json.dumps({"name": name, "arguments": arguments}) + "\n</tool_call>"


def edit_model(read, edit, tools):
    """A model that reads, edits and answers, each with one more result in the prompt, if it gets
    the instructions, the tools and its own reasoning."""
    calls = ("\n" + call(*read), "\n" + call(*edit))
    script = [MARKS[0], "<think>First", " look", "</think>\n\nI", " read", calls[0],
              MARKS[1], "<think>Only", " x", "</think>\n\nNow", " I edit", calls[1],
              MARKS[2], "<think>Well", "</think>\n\nChanged", " it.", MARKS[3], "Lost", "!"]
    return script_model(script, TEMPLATE.replace("TOOLS", str(tools)), defined=MARKS,
                        ends=(*calls, " it."))


THOUGHTS = ["First look", "Only x", "Well"]


class Messages(ServerTest):
    """The agent that talks to POST /v1/messages."""

    OLD = {"file_path": "/w/a.py", "old_string": "x = 1", "new_string": "x = 2"}
    WARNINGS = {("context_management", "ignored")}

    @classmethod
    def arguments(cls):
        model = edit_model(("Read", {"file_path": "/w/a.py"}), ("Edit", cls.OLD), 16)
        return (cls.file("agent.gguf", model), "--ctx", "32768", "--log-level", "error")

    def body(self, messages):
        names = ("Task", "Bash", "Glob", "Grep", "LS", "MultiEdit", "Write", "NotebookEdit",
                 "WebFetch", "TodoWrite", "WebSearch", "BashOutput", "KillShell", "ExitPlanMode")
        tools = [{"name": name, "description": f"{name} does its work. " * 4, "input_schema": FILE}
                 for name in names]
        tools += [{"name": "Read", "description": "Reads a file", "input_schema": FILE},
                  {"name": "Edit", "description": "Edits", "input_schema": EDIT, **CACHED}]
        return {"model": "agent", "max_tokens": 2000, "temperature": 1, "messages": messages,
                "system": [{"type": "text", "text": "You are an agent.", **CACHED},
                           {"type": "text", "text": "Edit files with tools. " * 20, **CACHED}],
                "tools": tools, "metadata": {"user_id": "user_1_account__session_2"},
                "thinking": {"type": "enabled", "budget_tokens": 1024},
                "context_management": {"edits": [
                    {"type": "clear_thinking_20251015", "keep": "all"}]}}

    def said(self, messages):
        """(blocks, usage, stop reason) of a streamed reply."""
        blocks, stop, usage = [], None, {}
        for name, event in self.server.events("/v1/messages?beta=true", self.body(messages)):
            if name == "message_start":
                usage.update(event["message"]["usage"])
                self.assertEqual({(w["param"], w["code"]) for w in event["message"]["warnings"]},
                                 self.WARNINGS)
            elif name == "content_block_start":
                blocks.append(event["content_block"])
                if blocks[-1]["type"] == "tool_use":
                    blocks[-1]["input"] = ""
            elif name == "content_block_delta":
                delta = event["delta"]
                kind = delta.pop("type")
                member = "input" if kind == "input_json_delta" else kind.removesuffix("_delta")
                text, = delta.values()
                blocks[-1][member] += text
            elif name == "message_delta":
                stop = event["delta"]["stop_reason"]
        for block in blocks:
            if block["type"] == "tool_use":
                block["input"] = json.loads(block["input"])
        return blocks, usage, stop

    def test_file_edit(self):
        user = {"role": "user", "content": [
            {"type": "text", "text": "<system-reminder>\nBe brief.\n</system-reminder>"},
            {"type": "text", "text": "Set x to 2", **CACHED}]}
        messages, file, uses, thoughts = [user], "x = 1\n", [], []
        while True:
            blocks, usage, stop = self.said(messages)
            self.assertEqual([b["type"] for b in blocks][:2], ["thinking", "text"], blocks)
            thoughts.append(blocks[0]["thinking"])
            self.assertEqual(usage["cache_read_input_tokens"] > 0, len(messages) > 1)
            if stop != "tool_use":
                break
            use = blocks[-1]
            uses.append((use["name"], use["input"]))
            self.assertLess(len(uses), 3, uses)
            if use["name"] == "Edit":
                file = file.replace(use["input"]["old_string"], use["input"]["new_string"])
            messages += [{"role": "assistant", "content": blocks}, {"role": "user", "content": [
                {"type": "tool_result", "tool_use_id": use["id"], "content": file, **CACHED}]}]
        self.assertEqual(uses, [("Read", {"file_path": "/w/a.py"}), ("Edit", self.OLD)])
        self.assertEqual((file, stop, blocks[-1]["text"]), ("x = 2\n", "end_turn", "Changed it."))
        self.assertEqual(thoughts, THOUGHTS)
        count = {k: v for k, v in self.body(messages).items() if k != "max_tokens"}
        found = self.ask("/v1/messages/count_tokens", count)
        self.assertEqual(found["input_tokens"],
                         usage["input_tokens"] + usage["cache_read_input_tokens"])

    def test_the_model_notices_what_is_lost(self):
        """So that the test above fails if something is."""
        user = {"role": "user", "content": "Set x to 2"}
        body = {**self.body([user]), "stream": False}
        found = self.ask("/v1/messages", {k: v for k, v in body.items() if k != "system"})
        self.assertEqual(found["content"][0]["text"], "Lost!")
        found = self.ask("/v1/messages", {k: v for k, v in body.items() if k != "tools"})
        self.assertEqual(found["stop_reason"], "end_turn")


class Responses(ServerTest):
    """The agent that talks to POST /v1/responses."""

    WARNINGS = {("prompt_cache_key", "ignored"), ("reasoning.effort", "ignored"),
                ("reasoning.summary", "ignored"), ("text.verbosity", "ignored"),
                ("tools[3]", "not_available")}

    @classmethod
    def arguments(cls):
        model = edit_model(("shell", {"command": ["cat", "a.py"]}), ("apply_patch",
                                                                     {"input": PATCH}), 3)
        return (cls.file("agent.gguf", model), "--ctx", "32768", "--log-level", "error")

    def body(self, items):
        shell = {"type": "object", "required": ["command"], "additionalProperties": False,
                 "properties": {"command": {"type": "array", "items": {"type": "string"}},
                                "workdir": {"type": "string"},
                                "timeout_ms": {"type": "number"}}}
        plan = {"type": "object", "required": ["plan"], "additionalProperties": False,
                "properties": {"explanation": {"type": "string"}, "plan": {
                    "type": "array", "items": {"type": "object", "properties": {
                        "step": {"type": "string"}, "status": {"type": "string"}},
                        "required": ["step", "status"], "additionalProperties": False}}}}
        return {"model": "agent", "instructions": "You are a coding agent. " * 20, "input": items,
                "tools": [
                    {"type": "function", "name": "shell", "description": "Runs a command",
                     "strict": False, "parameters": shell},
                    {"type": "function", "name": "update_plan", "description": "Plans",
                     "strict": False, "parameters": plan},
                    {"type": "custom", "name": "apply_patch", "description": "Edits files",
                     "format": {"type": "grammar", "syntax": "lark", "definition": LARK}},
                    {"type": "web_search"}],
                "tool_choice": "auto", "parallel_tool_calls": False, "store": False,
                "reasoning": {"effort": "medium", "summary": "auto"},
                "include": ["reasoning.encrypted_content"], "text": {"verbosity": "low"},
                "prompt_cache_key": "0199a213-81c0-7800-8aa1-bbab2a035a53"}

    def sent_back(self, item):
        """An item as this agent keeps it: it has no ids, and reasoning without its content."""
        if item["type"] == "reasoning":
            return {"type": "reasoning", "summary": item["summary"], "content": None,
                    "encrypted_content": item["encrypted_content"]}
        return {k: v for k, v in item.items() if k not in ("id", "status")}

    def said(self, items):
        """(output items, usage) of a streamed reply."""
        events = self.server.events("/v1/responses", self.body(items))
        name, last = events[-1]
        self.assertEqual(name, "response.completed")
        response = last["response"]
        self.assertEqual({(w["param"], w["code"]) for w in response["warnings"]}, self.WARNINGS)
        output = [e["item"] for name, e in events if name == "response.output_item.done"]
        self.assertEqual(output, response["output"])
        return output, response["usage"]

    def test_file_edit(self):
        items = [{"type": "message", "role": "developer", "content": [
            {"type": "input_text", "text": "<permissions>all</permissions>"}]},
                 {"type": "message", "role": "user", "content": [
                     {"type": "input_text", "text": "Set x to 2"}]}]
        calls, thoughts = [], []
        while True:
            output, usage = self.said(items)
            self.assertEqual([item["type"] for item in output][:2], ["reasoning", "message"])
            thoughts.append(output[0]["content"][0]["text"])
            self.assertEqual(usage["input_tokens_details"]["cached_tokens"] > 0, len(items) > 2)
            last = output[-1]
            if last["type"] == "message":
                break
            calls.append((last["name"], last.get("arguments", last.get("input"))))
            self.assertLess(len(calls), 3, calls)
            result = {"type": f"{last['type']}_output", "call_id": last["call_id"],
                      "output": "x = 1\n"}
            items = [*items, *map(self.sent_back, output), result]
        self.assertEqual(calls[1], ("apply_patch", PATCH))
        self.assertEqual((calls[0][0], json.loads(calls[0][1])),
                         ("shell", {"command": ["cat", "a.py"]}))
        self.assertEqual(last["content"][0]["text"], "Changed it.")
        self.assertEqual(thoughts, THOUGHTS)


if __name__ == "__main__":
    serving.main()
