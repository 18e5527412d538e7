#!/usr/bin/env python3
"""Tests the official clients of OpenAI and Anthropic from PyPI against a running server.

They are looked for in this interpreter, in INGOT_CLIENTS_PYTHON, and in the virtual environment
build/clients-venv, which scripts/test.sh --full makes. Without them the test is skipped.
"""
import os
import sys

SKIPPED = 77  # what ctest calls skipped
VENV = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "build/clients-venv")
PYTHON = os.environ.get("INGOT_CLIENTS_PYTHON") or os.path.join(VENV, "bin/python")

try:
    import anthropic
    import openai
except ImportError as missing:
    if os.access(PYTHON, os.X_OK) and not os.environ.get("INGOT_CLIENTS_TRIED"):
        os.environ["INGOT_CLIENTS_TRIED"] = "1"
        os.execv(PYTHON, [PYTHON, "-B", *sys.argv])
    print(f"skipped: {missing}, and {PYTHON} does not have it either")
    sys.exit(SKIPPED)

import json  # noqa: E402
import threading  # noqa: E402
import time  # noqa: E402
import typing  # noqa: E402
import unittest  # noqa: E402

try:
    import litellm  # a smoke test where it is installed
except ImportError:
    litellm = None

import serving  # noqa: E402
from serving import ServerTest  # noqa: E402

MODEL = "ingot-demo"
KEY = "a-key-of-many-letters"
CITIES = ["Paris", "Oslo"]
FUNCTION = {"name": "weather", "description": "The weather in a city",
            "parameters": {"type": "object", "properties": {"city": {"enum": CITIES}},
                           "required": ["city"], "additionalProperties": False}}
CHAT = {"model": MODEL, "messages": [{"role": "user", "content": "Hello"}], "temperature": 0,
        "max_tokens": 40}
# Takes as long as it may.
LONG = {"max_tokens": 900, "extra_body": {"ignore_eos": True}}


def openai_client(server, **how):
    return openai.OpenAI(base_url=f"{server.url}/v1", api_key=how.pop("api_key", "none"),
                         **{"max_retries": 0, **how})


def anthropic_client(server, **how):
    return anthropic.Anthropic(base_url=server.url, api_key=how.pop("api_key", "none"),
                               **{"max_retries": 0, **how})


def side_by_side(count, function):
    """What `count` calls at once return, or raise."""
    results = [None] * count
    barrier = threading.Barrier(count)

    def call(i):
        barrier.wait()
        try:
            results[i] = function()
        except Exception as error:  # whatever it is, the test looks at it
            results[i] = error

    threads = [threading.Thread(target=call, args=(i,)) for i in range(count)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return results


class OpenAi(ServerTest):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.client = openai_client(cls.server)
        cls.chat = cls.client.chat.completions
        cls.text = cls.chat.create(**CHAT).choices[0].message.content

    def test_chat(self):
        found = self.chat.create(**CHAT)
        self.assertEqual((found.object, found.model), ("chat.completion", MODEL))
        choice, = found.choices
        self.assertEqual((choice.finish_reason, choice.message.role), ("stop", "assistant"))
        self.assertEqual(choice.message.content, self.text)
        self.assertEqual(found.usage.total_tokens,
                         found.usage.prompt_tokens + found.usage.completion_tokens)

    def test_stream(self):
        chunks = list(self.chat.create(**CHAT, stream=True,
                                       stream_options={"include_usage": True}))
        self.assertEqual("".join(c.choices[0].delta.content or "" for c in chunks[:-1]), self.text)
        self.assertEqual([c.choices[0].delta.role for c in chunks[:-1] if c.choices[0].delta.role],
                         ["assistant"])
        self.assertEqual(chunks[-2].choices[0].finish_reason, "stop")
        self.assertEqual((chunks[-1].choices, len({c.id for c in chunks})), ([], 1))
        self.assertGreater(chunks[-1].usage.completion_tokens, 0)

    def test_choices_and_seed(self):
        how = {**CHAT, "temperature": 2, "n": 4, "seed": 7}
        texts = [c.message.content for c in self.chat.create(**how).choices]
        self.assertGreater(len(set(texts)), 1)
        self.assertEqual([c.message.content for c in self.chat.create(**how).choices], texts)
        streamed = [""] * 4
        for chunk in self.chat.create(**how, stream=True):
            choice, = chunk.choices
            streamed[choice.index] += choice.delta.content or ""
        self.assertEqual(streamed, texts)
        other = self.chat.create(**{**how, "seed": 8}).choices
        self.assertNotEqual([c.message.content for c in other], texts)

    def test_stop(self):
        found = self.chat.create(**CHAT, stop=[self.text[3:6], "never said"]).choices[0]
        self.assertEqual((found.message.content, found.finish_reason), (self.text[:3], "stop"))
        cut = self.chat.create(**{**CHAT, "max_tokens": 2}).choices[0]
        self.assertEqual(cut.finish_reason, "length")

    def test_logprobs(self):
        found = self.chat.create(**CHAT, logprobs=True, top_logprobs=3)
        entries = found.choices[0].logprobs.content
        self.assertEqual("".join(e.token for e in entries), self.text)
        for entry in entries:
            self.assertEqual(len(entry.top_logprobs), 3)
            self.assertEqual(bytes(entry.bytes).decode(), entry.token)
            # Temperature 0 takes the likeliest.
            self.assertEqual(entry.top_logprobs[0].token, entry.token)

    def test_completions(self):
        prompts = ["Once upon", "The"]
        found = self.client.completions.create(model=MODEL, prompt=prompts, max_tokens=5, n=2,
                                               echo=True, logprobs=1, temperature=0)
        self.assertEqual([c.index for c in found.choices], [0, 1, 2, 3])
        for choice in found.choices:
            self.assertTrue(choice.text.startswith(prompts[choice.index // 2]), choice)
            logprobs = choice.logprobs
            self.assertEqual("".join(logprobs.tokens), choice.text)
            self.assertIsNone(logprobs.token_logprobs[0])
            self.assertEqual(len(logprobs.token_logprobs), len(logprobs.tokens))
        only = self.client.completions.create(model=MODEL, prompt="Once upon", max_tokens=0,
                                              echo=True, logprobs=1).choices[0]
        self.assertEqual(only.text, "Once upon")

    def test_completion_stream(self):
        how = {"model": MODEL, "prompt": "Once upon", "max_tokens": 8, "temperature": 0}
        whole = self.client.completions.create(**how).choices[0]
        chunks = list(self.client.completions.create(**how, stream=True))
        self.assertEqual("".join(c.choices[0].text for c in chunks), whole.text)
        self.assertEqual(chunks[-1].choices[0].finish_reason, whole.finish_reason)

    def test_responses(self):
        how = {"model": MODEL, "input": "Hello", "temperature": 0, "max_output_tokens": 40}
        found = self.client.responses.create(**how)
        self.assertEqual((found.status, found.output_text), ("completed", self.text))
        events = list(self.client.responses.create(**how, stream=True))
        self.assertEqual([e.sequence_number for e in events], list(range(len(events))))
        deltas = [e.delta for e in events if e.type == "response.output_text.delta"]
        self.assertEqual("".join(deltas), self.text)
        self.assertEqual(events[-1].type, "response.completed")
        self.assertEqual(events[-1].response.output_text, self.text)
        with self.client.responses.stream(**how) as stream:
            self.assertEqual(stream.get_final_response().output_text, self.text)

    def test_calls(self):
        """A forced call, whole and streamed, whose result is sent back."""
        how = {**CHAT, "tools": [{"type": "function", "function": FUNCTION}],
               "tool_choice": "required", "parallel_tool_calls": False}
        choice = self.chat.create(**how).choices[0]
        call, = choice.message.tool_calls
        self.assertEqual((choice.finish_reason, call.function.name), ("tool_calls", "weather"))
        self.assertIn(json.loads(call.function.arguments)["city"], CITIES)
        with self.chat.stream(**how) as stream:
            final = stream.get_final_completion().choices[0].message.tool_calls[0]
        self.assertEqual(final.function.arguments, call.function.arguments)
        messages = [*CHAT["messages"], choice.message,
                    {"role": "tool", "tool_call_id": call.id, "content": "rain"}]
        again = self.chat.create(**{**how, "messages": messages, "tool_choice": "none"})
        self.assertIsNone(again.choices[0].message.tool_calls)

    def test_calls_of_responses(self):
        how = {"model": MODEL, "input": "Hello", "temperature": 0, "max_output_tokens": 60,
               "tools": [{"type": "function", "strict": True, **FUNCTION}],
               "tool_choice": "required", "parallel_tool_calls": False}
        found = self.client.responses.create(**how)
        call = found.output[-1]
        self.assertEqual((call.type, call.name), ("function_call", "weather"))
        self.assertIn(json.loads(call.arguments)["city"], CITIES)
        events = list(self.client.responses.create(**how, stream=True))
        done, = [e for e in events if e.type == "response.function_call_arguments.done"]
        self.assertEqual(done.arguments, call.arguments)
        with self.client.responses.stream(**how) as stream:
            self.assertEqual(stream.get_final_response().output[-1].arguments, call.arguments)
        sent = [{"role": "user", "content": "Hello"}, *found.output,
                {"type": "function_call_output", "call_id": call.call_id, "output": "rain"}]
        again = self.client.responses.create(**{**how, "input": sent, "tool_choice": "none"})
        self.assertEqual([item.type for item in again.output if item.type == "function_call"], [])

    def test_structured_output(self):
        """Types of pydantic as formats, in chats and responses."""
        import pydantic

        class Answer(pydantic.BaseModel):
            city: typing.Literal["Paris", "Oslo"]
            warm: bool

        found = self.chat.parse(**CHAT, response_format=Answer).choices[0].message.parsed
        self.assertIn(found.city, CITIES)
        found = self.client.responses.parse(model=MODEL, input="Hello", temperature=0,
                                            max_output_tokens=60, text_format=Answer)
        self.assertIn(found.output_parsed.city, CITIES)

    def test_models(self):
        model, = self.client.models.list().data
        self.assertEqual(model.id, MODEL)
        self.assertEqual(self.client.models.retrieve(MODEL).id, MODEL)
        with self.assertRaises(openai.NotFoundError):
            self.client.models.retrieve("other")

    def test_errors(self):
        with self.assertRaises(openai.NotFoundError) as raised:
            self.chat.create(**{**CHAT, "model": "other"})
        self.assertEqual((raised.exception.code, raised.exception.param),
                         ("model_not_found", "model"))
        with self.assertRaises(openai.BadRequestError) as raised:
            self.chat.create(**{**CHAT, "temperature": 900})
        self.assertEqual(raised.exception.param, "temperature")
        long = [{"role": "user", "content": "word " * 5000}]
        for stream in (False, True):
            with self.assertRaises(openai.BadRequestError) as raised:
                self.chat.create(**{**CHAT, "messages": long}, stream=stream)
            self.assertEqual(raised.exception.code, "context_length_exceeded")
            self.assertEqual(raised.exception.body["n_ctx"], 1024)
        with self.assertRaises(openai.BadRequestError):
            self.client.responses.create(model=MODEL, input="x", previous_response_id="resp_1")

    def generated(self):
        """Tokens that the server has generated, and requests that it runs."""
        text = self.server.request("GET", "/metrics")[2].decode()
        values = {line.split("{")[0].split(" ")[0]: float(line.rsplit(" ", 1)[1])
                  for line in text.splitlines() if not line.startswith("#")}
        return values["vllm:generation_tokens_total"], values["vllm:num_requests_running"]

    def test_cancelled_by_closing(self):
        """Closing a stream ends the work for it."""
        before, _ = self.generated()
        stream = self.chat.create(**{**CHAT, **LONG}, n=16, stream=True)
        next(iter(stream))
        stream.close()
        until = time.monotonic() + 10
        while self.generated()[1] > 0 and time.monotonic() < until:
            time.sleep(0.01)
        after, running = self.generated()
        self.assertEqual(running, 0)
        self.assertLess(after - before, 16 * LONG["max_tokens"])


class Anthropic(ServerTest):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.messages = anthropic_client(cls.server).messages
        cls.ask = {"model": MODEL, "messages": CHAT["messages"], "max_tokens": 40,
                   "extra_body": {"temperature": 0}}
        cls.text = openai_client(cls.server).chat.completions.create(
            **CHAT).choices[0].message.content

    def test_message(self):
        found = self.messages.create(**self.ask)
        self.assertEqual((found.content[0].text, found.stop_reason), (self.text, "end_turn"))
        self.assertEqual((found.type, found.role, found.model), ("message", "assistant", MODEL))
        self.assertEqual("msg_" + found._request_id, found.id)

    def test_stream(self):
        with self.messages.stream(**self.ask) as stream:
            self.assertEqual("".join(stream.text_stream), self.text)
            found = stream.get_final_message()
        self.assertEqual((found.content[0].text, found.stop_reason), (self.text, "end_turn"))
        self.assertGreater(found.usage.output_tokens, 0)
        events = list(self.messages.create(**self.ask, stream=True))
        self.assertEqual((events[0].type, events[-1].type), ("message_start", "message_stop"))

    def test_calls(self):
        """A forced call, whole and streamed, whose result is sent back."""
        tool = {"name": FUNCTION["name"], "description": FUNCTION["description"],
                "input_schema": FUNCTION["parameters"]}
        how = {**self.ask, "max_tokens": 80, "tools": [tool],
               "tool_choice": {"type": "any", "disable_parallel_tool_use": True}}
        found = self.messages.create(**how)
        call = found.content[-1]
        self.assertEqual((found.stop_reason, call.type, call.name),
                         ("tool_use", "tool_use", "weather"))
        self.assertIn(call.input["city"], CITIES)
        with self.messages.stream(**how) as stream:
            self.assertEqual(stream.get_final_message().content[-1].input, call.input)
        result = {"type": "tool_result", "tool_use_id": call.id, "content": "rain"}
        messages = [*how["messages"], {"role": "assistant", "content": found.content},
                    {"role": "user", "content": [result]}]
        again = self.messages.create(**{**how, "messages": messages,
                                        "tool_choice": {"type": "none"}})
        self.assertNotIn("tool_use", [block.type for block in again.content])
        self.assertGreater(
            self.messages.count_tokens(model=MODEL, messages=how["messages"],
                                       tools=[tool]).input_tokens,
            self.messages.count_tokens(model=MODEL, messages=how["messages"]).input_tokens)

    def test_output_format(self):
        form = {"type": "json_schema", "schema": FUNCTION["parameters"]}
        found = self.messages.create(**{**self.ask, "extra_body": {
            "temperature": 0, "output_config": {"format": form}}})
        self.assertIn(json.loads(found.content[-1].text)["city"], CITIES)

    def test_stop_sequence(self):
        found = self.messages.create(**self.ask, stop_sequences=["never said", self.text[3:6]])
        self.assertEqual((found.stop_reason, found.stop_sequence, found.content[0].text),
                         ("stop_sequence", self.text[3:6], self.text[:3]))

    def test_count(self):
        how = {"model": MODEL, "messages": CHAT["messages"]}
        count = self.messages.count_tokens(**how).input_tokens
        usage = self.messages.create(**self.ask).usage
        self.assertEqual(usage.input_tokens + usage.cache_read_input_tokens, count)
        self.assertGreater(self.messages.count_tokens(**how, system="Be kind").input_tokens, count)

    def test_errors(self):
        with self.assertRaises(anthropic.NotFoundError):
            self.messages.create(**{**self.ask, "model": "other"})
        with self.assertRaises(anthropic.BadRequestError) as raised:
            self.messages.create(**{**self.ask, "max_tokens": 0})
        self.assertEqual(raised.exception.body["error"]["type"], "invalid_request_error")


class Keys(ServerTest):
    @classmethod
    def arguments(cls):
        path = cls.file("keys", f"{KEY}\n".encode())
        os.chmod(path, 0o600)
        return ("--api-key-file", path)

    def test_keys(self):
        messages = {"model": MODEL, "messages": CHAT["messages"], "max_tokens": 2}
        openai_client(self.server, api_key=KEY).chat.completions.create(**CHAT)
        anthropic_client(self.server, api_key=KEY).messages.create(**messages)
        with self.assertRaises(openai.AuthenticationError):
            openai_client(self.server).models.list()
        with self.assertRaises(anthropic.AuthenticationError):
            anthropic_client(self.server).messages.create(**messages)


class FullQueue(ServerTest):
    """One request runs, one waits, and all others are told to come again."""

    CALLS = 6

    @classmethod
    def arguments(cls):
        return ("--queue", "1", "--sequences", "1")

    def test_refused(self):
        chat = openai_client(self.server).chat.completions
        messages = anthropic_client(self.server).messages
        ask = {"model": MODEL, "messages": CHAT["messages"], **LONG}
        results = side_by_side(self.CALLS, lambda: chat.create(**{**CHAT, **LONG}))
        refused = [r for r in results if isinstance(r, Exception)]
        self.assertTrue(0 < len(refused) < self.CALLS, results)
        self.assertEqual({type(r) for r in refused}, {openai.RateLimitError})
        self.assertEqual({r.code for r in refused}, {"server_overloaded"})
        results = side_by_side(self.CALLS, lambda: messages.create(**ask))
        refused = [r for r in results if isinstance(r, Exception)]
        self.assertEqual({type(r) for r in refused}, {anthropic.RateLimitError})

    def test_retried(self):
        chat = openai_client(self.server, max_retries=200).chat.completions.with_raw_response
        results = side_by_side(self.CALLS, lambda: chat.create(**{**CHAT, **LONG}))
        self.assertEqual([r for r in results if isinstance(r, Exception)], [])
        self.assertGreater(sum(r.retries_taken for r in results), 0)
        self.assertEqual({r.parse().choices[0].finish_reason for r in results}, {"length"})


@unittest.skipUnless(litellm, "litellm is not installed")
class LiteLlm(ServerTest):
    def test_a_chat_and_its_stream(self):
        ask = {**CHAT, "model": f"openai/{MODEL}", "api_base": f"{self.server.url}/v1",
               "api_key": "none"}
        whole = litellm.completion(**ask).choices[0].message.content
        self.assertTrue(whole)
        parts = [c.choices[0].delta.content or "" for c in litellm.completion(stream=True, **ask)]
        self.assertEqual("".join(parts), whole)


if __name__ == "__main__":
    serving.main()
