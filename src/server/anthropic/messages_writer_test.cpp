// Responses of POST /v1/messages: a stream builds the message that a whole response has.
#include "server/anthropic/messages_writer.h"

#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

#include "base/text.h"
#include "server/common/reply_reader_test_util.h"
#include "server/common/thinking_signature.h"

namespace ingot {
namespace {

using testing::plain_format;

Outcome ended(FinishReason reason) {
  Outcome outcome;
  outcome.finish = reason;
  return outcome;
}

/// Writes a reply that comes in pieces of `piece` bytes, with an event for each piece.
std::string write(const std::string& text, FinishReason reason, bool stream, std::size_t piece,
                  std::vector<std::string> stops = {}) {
  const ReplyFormat format = plain_format(stops);
  const auto writer =
      messages_writer({.id = "x", .stream = stream, .stops = std::move(stops)}, format);
  std::string out;
  for (std::size_t i = 0; i < text.size() && !writer->wants_end(0); i += piece) {
    writer->add_delta(0, {.ids = {1}, .text = text.substr(i, piece), .logprobs = {}});
    if (stream) writer->flush(0, out);
  }
  writer->end_choice(0, ended(reason), out);
  writer->finish(out);
  return out;
}

Json parse(std::string_view text) { return parse_json(text, "reply", "json"); }

/// Replaces the random ids of calls.
std::string without_ids(const Json& blocks) {
  std::string out;
  for (const Json& block : *blocks.as_array()) {
    for (const auto& [name, value] : *block.as_object()) {
      out += cat(name, "=", name == "id" ? "?" : value.dump(), " ");
    }
    out += "| ";
  }
  return out;
}

/// Builds the message of a stream, as clients do. Checks the order of events.
class StreamReader {
 public:
  void read(const std::string& events) {
    std::size_t at = 0;
    while (at < events.size()) {
      const std::size_t end = events.find("\n\n", at);
      const std::size_t data = events.find("data: ", at);
      ASSERT_LT(data, end);
      add(parse(std::string_view(events).substr(data + 6, end - data - 6)));
      at = end + 2;
    }
  }

  std::string content() const {
    Json all = Json::array();
    for (const Built& block : blocks_) all.push(block.json());
    return without_ids(all);
  }
  const std::string& stop_reason() const { return stop_reason_; }

 private:
  struct Built {
    Json begin;
    std::string text;
    std::string signature;

    Json json() const {
      Json j = Json::object();
      for (const auto& [name, value] : *begin.as_object()) {
        if (name == "text" || name == "thinking") {
          j.set(name, text);
        } else if (name == "signature") {
          j.set(name, signature);
        } else if (name == "input") {
          j.set(name, text.empty() || text.back() != '}' ? Json::object() : parse(text));
        } else {
          j.set(name, value);
        }
      }
      return j;
    }
  };

  void add(const Json& event) {
    const std::string& type = *event.find_string("type");
    if (type == "content_block_start") {
      ASSERT_FALSE(is_open_);
      is_open_ = true;
      ASSERT_EQ(*event.find("index")->as_int(), std::ssize(blocks_));
      blocks_.push_back({.begin = *event.find("content_block"), .text = {}, .signature = {}});
    } else if (type == "content_block_delta") {
      ASSERT_TRUE(is_open_);
      const Json& delta = *event.find("delta");
      for (const auto& [name, value] : *delta.as_object()) {
        if (name == "signature") blocks_.back().signature = *value.as_string();
        if (name == "text" || name == "thinking" || name == "partial_json") {
          blocks_.back().text += *value.as_string();
        }
      }
    } else if (type == "content_block_stop") {
      ASSERT_TRUE(std::exchange(is_open_, false));
    } else if (type == "message_delta") {
      ASSERT_FALSE(is_open_);
      stop_reason_ = *event.find("delta")->find_string("stop_reason");
    }
  }

  std::vector<Built> blocks_;
  bool is_open_ = false;
  std::string stop_reason_;
};

TEST(MessagesWriter, WholeReplies) {
  const Json found = parse(write("(hm)Hi[f:{\"a\":1}]", FinishReason::kStop, false, 3));
  EXPECT_EQ(*found.find_string("stop_reason"), "tool_use");
  const Json::Array& blocks = *found.find("content")->as_array();
  ASSERT_EQ(blocks.size(), 3U);
  EXPECT_EQ(*blocks[0].find_string("thinking"), "hm");
  EXPECT_EQ(ThinkingSigner::of_process().check("hm", *blocks[0].find_string("signature")),
            SignatureCheck::kGenuine);
  EXPECT_EQ(*blocks[1].find_string("text"), "Hi");
  EXPECT_EQ(*blocks[2].find_string("type"), "tool_use");
  EXPECT_EQ(*blocks[2].find_string("name"), "f");
  EXPECT_TRUE(blocks[2].find_string("id")->starts_with("toolu_"));
  EXPECT_EQ(blocks[2].find("input")->dump(), R"({"a":1})");
}

TEST(MessagesWriter, StreamsBuildWholeReplies) {
  const std::string text = "(hm)Hi[f:{\"a\":1}][g:{}]there(more)[h:{\"b\":[2]}]";
  for (std::size_t length = 0; length <= text.size(); ++length) {
    const std::string cut = text.substr(0, length);
    const auto reason = length == text.size() ? FinishReason::kStop : FinishReason::kLength;
    const Json whole = parse(write(cut, reason, false, 5));
    for (const std::size_t piece : {1U, 4U, 100U}) {
      StreamReader reader;
      reader.read(write(cut, reason, true, piece));
      EXPECT_EQ(reader.content(), without_ids(*whole.find("content"))) << cut;
      EXPECT_EQ(reader.stop_reason(), *whole.find_string("stop_reason")) << cut;
      // A limit on tokens wins over calls.
      EXPECT_EQ(reader.stop_reason(), length == text.size() ? "tool_use" : "max_tokens");
    }
  }
}

TEST(MessagesWriter, DeepArgumentsAreWhole) {
  // The test's parser ends a call at ']', so these have objects.
  std::string deep = "1";
  for (int i = 0; i < 2000; ++i) deep = cat("{\"a\":", deep, "}");
  const std::string found = write(cat("[f:", deep, "]"), FinishReason::kStop, false, 100);
  EXPECT_NE(found.find(cat("\"input\":", deep, "}")), found.npos);
  const std::string cut = write(cat("[f:", deep), FinishReason::kLength, false, 100);
  EXPECT_NE(cut.find("\"input\":{}}"), cut.npos);
}

TEST(MessagesWriter, StopStringsEndContent) {
  const Json found =
      parse(write("(STOP)ab[f:{}]cSTOPd", FinishReason::kStop, false, 2, {"never", "STOP"}));
  EXPECT_EQ(*found.find_string("stop_reason"), "stop_sequence");
  EXPECT_EQ(*found.find_string("stop_sequence"), "STOP");
  EXPECT_EQ(found.find("content")->as_array()->size(), 4U);
}

}  // namespace
}  // namespace ingot
