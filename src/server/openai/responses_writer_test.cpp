// Responses of POST /v1/responses: log-probabilities belong to the text of messages.
#include "server/openai/responses_writer.h"

#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

#include "base/text.h"
#include "load/json_object.h"
#include "server/common/reply_reader_test_util.h"

namespace ingot {
namespace {

using testing::plain_format;

/// Makes an entry of a token whose id is its place among `tokens`.
ScoredReader::Entry entry_of(const std::vector<std::string>& tokens) {
  return [&tokens](const TokenLogprobs& one) {
    const std::string& text = tokens[static_cast<std::size_t>(one.token.id)];
    Json bytes = Json::array();
    for (const char c : text) bytes.push(static_cast<int>(c));
    return json_object({{"token", text}, {"bytes", std::move(bytes)}});
  };
}

std::string joined(const Json* logprobs) {
  std::string text;
  if (logprobs == nullptr || logprobs->as_array() == nullptr) return text;
  for (const Json& entry : *logprobs->as_array()) text += *entry.find_string("token");
  return text;
}

/// The messages of a response as "text/tokens;".
std::string messages_in(const Json& response) {
  std::string seen;
  for (const Json& item : *response.find("output")->as_array()) {
    if (*item.find_string("type") != "message") continue;
    const Json& part = item.find("content")->as_array()->front();
    seen += cat(*part.find_string("text"), "/", joined(part.find("logprobs")), ";");
  }
  return seen;
}

/// What a client sees: the messages of the response, and of the deltas of a stream.
struct Seen {
  std::string whole;
  std::string deltas{};
};

/// Writes a reply token by token, and flushes a stream after each `every` of them.
Seen write(const std::vector<std::string>& tokens, bool stream, std::size_t every,
           const ReplyFormat& format) {
  auto writer =
      responses_writer({.id = "1", .stream = stream, .logprob = entry_of(tokens)}, format);
  std::string out;
  for (std::size_t i = 0; i < tokens.size(); ++i) {
    const auto id = static_cast<std::int32_t>(i);
    Delta delta{.ids = {id}, .text = tokens[i], .logprobs = {}};
    delta.logprobs.push_back({.token = {.id = id}, .top = {}});
    writer->add_delta(0, delta);
    if (stream && (i + 1) % every == 0) writer->flush(0, out);
  }
  writer->end_choice(0, {}, out);
  writer->finish(out);
  if (!stream) return {messages_in(parse_json(out, "test", "json"))};
  Seen seen;
  for (std::size_t at = out.find("data: "); at != out.npos; at = out.find("data: ", at + 1)) {
    const Json event = parse_json(out.substr(at + 6, out.find('\n', at) - at - 6), "test", "json");
    const std::string& type = *event.find_string("type");
    if (type == "response.output_text.delta") seen.deltas += joined(event.find("logprobs"));
    if (const Json* response = event.find("response")) seen.whole = messages_in(*response);
  }
  return seen;
}

std::vector<std::string> pieces_of(const std::string& text, std::size_t size) {
  std::vector<std::string> pieces;
  for (std::size_t i = 0; i < text.size(); i += size) pieces.push_back(text.substr(i, size));
  return pieces;
}

TEST(ResponsesWriter, LogprobsAreThoseOfTheMessages) {
  const std::string text = "(hm)Let me see.[f:{\"a\":1}]and[g:{}] then";
  EXPECT_EQ(write(pieces_of(text, 1), false, 1, plain_format()).whole,
            "Let me see./Let me see.;and/and; then/ then;");
}

TEST(ResponsesWriter, AStreamHasTheLogprobsOfTheWholeAtEveryCut) {
  const std::string text = "(hm)Let me see.[f:{\"a\":1}]and[g:{}] then";
  for (const ReplyFormat& format : {plain_format(), plain_format({"see.X", "nd["})}) {
    for (std::size_t size = 0; size <= text.size(); ++size) {
      for (const std::size_t piece : {1U, 2U, 7U}) {
        const auto tokens = pieces_of(text.substr(0, size), piece);
        const Seen whole = write(tokens, false, 1, format);
        for (const std::size_t every : {1U, 3U, 100U}) {
          EXPECT_EQ(write(tokens, true, every, format).whole, whole.whole) << size << " " << every;
        }
      }
    }
  }
}

TEST(ResponsesWriter, DeltasHaveTheirLogprobs) {
  const auto tokens = pieces_of("(hm)Let me see.[f:{\"a\":1}]and", 1);
  for (const std::size_t every : {1U, 4U}) {
    EXPECT_EQ(write(tokens, true, every, plain_format()).deltas, "Let me see.and");
  }
}

/// The stop string "see.X" holds "see." back until the call has begun.
TEST(ResponsesWriter, MarksOfACallBelongToNoMessage) {
  const auto tokens = pieces_of("Let me see.[f:{}]]", 1);
  EXPECT_EQ(write(tokens, false, 1, plain_format({"see.X"})).whole, "Let me see./Let me see.;]/];");
}

}  // namespace
}  // namespace ingot
