// Responses of chats: chunks and whole messages have equal parts, wherever the text is cut.
#include "server/openai/chat_writer.h"

#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

#include "base/text.h"
#include "server/common/reply_reader_test_util.h"

namespace ingot {
namespace {

using testing::plain_format;

Json json(const std::string& text) { return parse_json(text, "test", "json"); }

/// What a client gets: texts, calls as "name(arguments)", and the reason for the end.
struct SeenReply {
  std::string reasoning;
  std::string content;
  std::vector<std::string> calls;
  std::string finish;
  bool operator==(const SeenReply&) const = default;
};

Outcome ended(FinishReason reason) {
  Outcome outcome;
  outcome.finish = reason;
  return outcome;
}

/// The body of a response to `text`, which comes in pieces of this many bytes.
std::string body_of(const std::string& text, std::size_t piece, FinishReason reason, ChatForm form,
                    const ReplyFormat& format) {
  const bool is_stream = form.stream.stream;
  auto writer = chat_writer(std::move(form), "{\"id\":1", "", format);
  std::string out;
  for (std::size_t i = 0; i < text.size(); i += piece) {
    writer->add_delta(0, {.ids = {1}, .text = text.substr(i, piece), .logprobs = {}});
    if (is_stream) writer->flush(0, out);
  }
  writer->end_choice(0, ended(reason), out);
  writer->finish(out);
  return out;
}

std::string text_in(const Json& object, std::string_view name) {
  const std::string* text = object.find_string(name);
  return text == nullptr ? "" : *text;
}

SeenReply whole(const std::string& text, FinishReason reason) {
  const Json body = json(body_of(text, 3, reason, {}, plain_format()));
  const Json& choice = (*body.find("choices")->as_array())[0];
  const Json& message = *choice.find("message");
  SeenReply reply{text_in(message, "reasoning"),
                  text_in(message, "content"),
                  {},
                  text_in(choice, "finish_reason")};
  EXPECT_EQ(text_in(message, "reasoning_content"), reply.reasoning);
  if (const Json* calls = message.find("tool_calls")) {
    for (const Json& call : *calls->as_array()) {
      const Json& function = *call.find("function");
      EXPECT_TRUE(text_in(call, "id").starts_with("call_"));
      reply.calls.push_back(cat(text_in(function, "name"), "(", text_in(function, "arguments")));
    }
  }
  return reply;
}

/// Joins the chunks of a stream, and checks their form.
SeenReply streamed(const std::string& text, std::size_t piece, FinishReason reason) {
  const std::string body =
      body_of(text, piece, reason, {.stream = {.stream = true}}, plain_format());
  SeenReply reply;
  std::size_t chunks = 0;
  for (std::size_t at = 0; at < body.size();) {
    const std::size_t end = body.find("\n\n", at);
    const std::string data = body.substr(at + 6, end - at - 6);
    at = end + 2;
    if (data == "[DONE]") break;
    const Json chunk = json(data);
    const Json& choice = (*chunk.find("choices")->as_array())[0];
    const Json& delta = *choice.find("delta");
    EXPECT_EQ(delta.find("role") != nullptr, chunks++ == 0);
    EXPECT_EQ(reply.finish, "");
    reply.finish = text_in(choice, "finish_reason");
    reply.reasoning += text_in(delta, "reasoning");
    reply.content += text_in(delta, "content");
    const Json* calls = delta.find("tool_calls");
    if (calls == nullptr) continue;
    EXPECT_EQ(calls->as_array()->size(), 1u);
    const Json& call = calls->as_array()->front();
    const Json& function = *call.find("function");
    const auto index = static_cast<std::size_t>(*call.find("index")->as_int());
    if (call.find("id") != nullptr) {
      EXPECT_EQ(index, reply.calls.size());
      EXPECT_EQ(function.dump(),
                cat(R"({"name":")", text_in(function, "name"), R"(","arguments":""})"));
      reply.calls.push_back(cat(text_in(function, "name"), "("));
    } else {
      EXPECT_EQ(call.as_object()->size(), 2u);
      EXPECT_EQ(function.as_object()->size(), 1u);
      reply.calls[index] += text_in(function, "arguments");
    }
  }
  return reply;
}

constexpr std::string_view kText = "(hm, so)Let me see.[f:{\"a\":1}]and[g:{}] then";

TEST(ChatWriter, AStreamHasThePartsOfTheWhole) {
  for (std::size_t size = 0; size <= kText.size(); ++size) {
    const std::string text(kText.substr(0, size));
    for (const FinishReason reason : {FinishReason::kStop, FinishReason::kLength}) {
      const SeenReply expected = whole(text, reason);
      for (const std::size_t piece : {1U, 2U, 7U, 100U}) {
        EXPECT_EQ(streamed(text, piece, reason), expected) << text << " in pieces of " << piece;
      }
    }
  }
}

TEST(ChatWriter, WholeReply) {
  const SeenReply reply = whole(std::string(kText), FinishReason::kStop);
  EXPECT_EQ(reply.reasoning, "hm, so");
  EXPECT_EQ(reply.content, "Let me see.and then");
  EXPECT_EQ(reply.calls, (std::vector<std::string>{"f({\"a\":1}", "g({}"}));
  EXPECT_EQ(reply.finish, "tool_calls");
}

TEST(ChatWriter, ReasoningThatWasSwitchedOffIsShownIfItComes) {
  ReplyFormat format = plain_format();
  format.begin.can_reason = false;
  const std::string body = body_of("(hm)so", 1, FinishReason::kStop, {}, format);
  EXPECT_NE(body.find(R"("reasoning_content":"hm")"), body.npos) << body;
  const std::string none = body_of("so", 1, FinishReason::kStop, {}, format);
  EXPECT_EQ(none.find("reasoning_content"), none.npos) << none;
}

TEST(ChatWriter, ACallThatIsCutIsKept) {
  const SeenReply reply = whole("[f:{\"a\":", FinishReason::kLength);
  EXPECT_EQ(reply.calls, std::vector<std::string>{"f({\"a\":"});
  EXPECT_EQ(reply.finish, "length");
}

TEST(ChatWriter, ContentIsNullBesideCallsAlone) {
  const std::string calls = body_of("[f:{}]", 1, FinishReason::kStop, {}, plain_format());
  EXPECT_NE(calls.find(R"("content":null)"), calls.npos) << calls;
  const std::string nothing = body_of("", 1, FinishReason::kStop, {}, plain_format());
  EXPECT_NE(nothing.find(R"("content":"")"), nothing.npos) << nothing;
}

TEST(ChatWriter, OlderCalls) {
  const ChatForm form{.has_function_call = true};
  const std::string body = body_of("[f:{}]", 1, FinishReason::kStop, form, plain_format());
  EXPECT_NE(body.find(R"("function_call":{"name":"f","arguments":"{}"})"), body.npos) << body;
  EXPECT_NE(body.find(R"("finish_reason":"function_call")"), body.npos) << body;
  const std::string stream =
      body_of("[f:{}]", 10, FinishReason::kStop,
              {.stream = {.stream = true}, .has_function_call = true}, plain_format());
  EXPECT_NE(stream.find(R"({"function_call":{"name":"f","arguments":""}})"), stream.npos);
  EXPECT_NE(stream.find(R"({"function_call":{"arguments":"{}"}})"), stream.npos);
}

TEST(ChatWriter, CallsOfCustomTools) {
  ReplyFormat format = plain_format();
  format.tools = std::make_shared<const std::vector<Tool>>(
      std::vector<Tool>{{.kind = Tool::Kind::kCustom, .name = "f"}});
  const std::string body = body_of("[f:x]", 1, FinishReason::kStop, {}, format);
  EXPECT_NE(body.find(R"("type":"custom","custom":{"name":"f","input":"x"})"), body.npos) << body;
  const std::string stream =
      body_of("[f:x]", 10, FinishReason::kStop, {.stream = {.stream = true}}, format);
  EXPECT_NE(stream.find(R"("type":"custom","custom":{"name":"f","input":""})"), stream.npos);
  EXPECT_NE(stream.find(R"("custom":{"input":"x"})"), stream.npos);
}

TEST(ChatWriter, WantsTheEndBehindAStopString) {
  auto writer = chat_writer({.choices = 2}, "{", "", plain_format({"END"}));
  writer->add_delta(0, {.ids = {1}, .text = "aEND", .logprobs = {}});
  EXPECT_TRUE(writer->wants_end(0));
  EXPECT_FALSE(writer->wants_end(1));
}

TEST(ChatWriter, LogprobsOfAllTokens) {
  ChatForm form{.stream = {.stream = true}};
  form.logprob = [](const TokenLogprobs& one) { return Json(std::int64_t{one.token.id}); };
  auto writer = chat_writer(std::move(form), "{", "", plain_format());
  std::string out;
  for (const std::int32_t id : {1, 2, 3}) {
    constexpr std::string_view kPieces[] = {"[f", ":x", "]"};
    Delta delta{.ids = {id}, .text = std::string(kPieces[id - 1]), .logprobs = {}};
    delta.logprobs.push_back({.token = {.id = id}, .top = {}});
    writer->add_delta(0, delta);
    writer->flush(0, out);
  }
  for (const char* expected : {R"("content":[1])", R"("content":[2])", R"("content":[3])"}) {
    EXPECT_NE(out.find(expected), out.npos) << out;
  }
}

}  // namespace
}  // namespace ingot
