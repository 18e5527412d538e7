#!/usr/bin/env python3
"""Tests requests as coding agents send them: a scripted model reads, edits and answers."""
import json

import serving
from script_model import script_model
from serving import ServerTest

# Replies begin behind a mark, which stands for the number of results before them.
MARKS = ("<turn0>", "<turn1>", "<turn2>")
MARK = ("{% if state.results == 0 %}<turn0>{% elif state.results == 1 %}<turn1>"
        "{% else %}<turn2>{% endif %}")
TEMPLATE = (
    "{% for tool in tools or [] %}{{ tool | tojson }}\n{% endfor %}"
    "{% set state = namespace(results=0) %}"
    "{% for message in messages %}"
    "{% if message.role == 'tool' %}{% set state.results = state.results + 1 %}{% endif %}"
    "{{ message.role[0] }}:{% if message.role == 'assistant' %}" + MARK + "{% endif %}"
    "{{ message.content or '' }}"
    "{% for call in message.tool_calls or [] %}\n<tool_call>\n"
    "{\"name\": \"{{ call.function.name }}\", \"arguments\": "
    "{{ call.function.arguments | tojson }}}\n</tool_call>{% endfor %}\n{% endfor %}"
    "{% if add_generation_prompt %}a:" + MARK + "{% endif %}")
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


def edit_model(read, edit):
    """A model that reads, edits and answers, each with one more result in the prompt."""
    last = ("\n" + call(*read), "\n" + call(*edit), " it.")
    script = [MARKS[0], "I", " read", last[0], MARKS[1], "Now", " I edit", last[1],
              MARKS[2], "Changed", last[2]]
    return script_model(script, TEMPLATE, defined=MARKS, ends=last)


class Messages(ServerTest):
    """The agent that talks to POST /v1/messages."""

    OLD = {"file_path": "/w/a.py", "old_string": "x = 1", "new_string": "x = 2"}

    @classmethod
    def arguments(cls):
        model = edit_model(("Read", {"file_path": "/w/a.py"}), ("Edit", cls.OLD))
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
        """(blocks, stop reason) of a streamed reply."""
        blocks, texts, stop = [], [], None
        for name, event in self.server.events("/v1/messages?beta=true", self.body(messages)):
            if name == "content_block_start":
                blocks.append(event["content_block"])
                texts.append("")
            elif name == "content_block_delta":
                delta = event["delta"]
                texts[-1] += delta.get("text", delta.get("partial_json", ""))
            elif name == "message_delta":
                stop = event["delta"]["stop_reason"]
        for block, text in zip(blocks, texts):
            if block["type"] == "tool_use":
                block["input"] = json.loads(text)
            else:
                block["text"] = text
        return blocks, stop

    def test_file_edit(self):
        user = {"role": "user", "content": [
            {"type": "text", "text": "<system-reminder>\nBe brief.\n</system-reminder>"},
            {"type": "text", "text": "Set x to 2", **CACHED}]}
        messages, file, uses = [user], "x = 1\n", []
        while True:
            blocks, stop = self.said(messages)
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


class Responses(ServerTest):
    """The agent that talks to POST /v1/responses."""

    @classmethod
    def arguments(cls):
        model = edit_model(("shell", {"command": ["cat", "a.py"]}), ("apply_patch",
                                                                     {"input": PATCH}))
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

    def test_file_edit(self):
        items = [{"type": "message", "role": "developer", "content": [
            {"type": "input_text", "text": "<permissions>all</permissions>"}]},
                 {"type": "message", "role": "user", "content": [
                     {"type": "input_text", "text": "Set x to 2"}]}]
        calls = []
        while True:
            events = self.server.events("/v1/responses", self.body(items))
            output = [e["item"] for name, e in events if name == "response.output_item.done"]
            self.assertEqual(events[-1][0], "response.completed")
            last = output[-1]
            if last["type"] == "message":
                break
            calls.append((last["name"], last.get("arguments", last.get("input"))))
            self.assertLess(len(calls), 3, calls)
            result = {"type": f"{last['type']}_output", "call_id": last["call_id"],
                      "output": "x = 1\n"}
            items = [*items, *output, result]
        self.assertEqual(calls[1], ("apply_patch", PATCH))
        self.assertEqual((calls[0][0], json.loads(calls[0][1])),
                         ("shell", {"command": ["cat", "a.py"]}))
        self.assertEqual(last["content"][0]["text"], "Changed it.")


if __name__ == "__main__":
    serving.main()
