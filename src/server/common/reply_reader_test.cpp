// ReplyReader: events of a reply, stop strings, and how a reply ends.
#include "server/common/reply_reader.h"

#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

#include "base/text.h"
#include "server/common/reply_reader_test_util.h"

namespace ingot {
namespace {

using testing::plain_format;
using EventKind = ReplyEvent::Kind;

std::string shown_events(const std::vector<ReplyEvent>& events) {
  std::string out;
  for (const ReplyEvent& event : events) {
    constexpr std::string_view kNames[] = {"r:", "c:", "begin:", "args:", "end:"};
    out += cat(out.empty() ? "" : " ", kNames[static_cast<std::size_t>(event.kind)]);
    const bool is_call = event.kind >= EventKind::kCallBegin;
    out += is_call ? cat(event.call, event.text.empty() ? "" : ":", event.text) : event.text;
  }
  return out;
}

Delta delta_of(std::string text) { return {.ids = {1}, .text = std::move(text), .logprobs = {}}; }

/// The events of a whole reply, which comes in pieces of this many bytes.
std::string read_events(const std::string& text, const ReplyFormat& format, std::size_t piece) {
  ReplyReader reader(format);
  for (std::size_t i = 0; i < text.size(); i += piece) reader.add(delta_of(text.substr(i, piece)));
  reader.finish();
  return shown_events(reader.take());
}

Outcome ended_by(FinishReason reason) {
  Outcome outcome;
  outcome.finish = reason;
  return outcome;
}

TEST(ReplyReader, JoinsTextsOfOneKind) {
  for (const std::size_t piece : {1U, 2U, 3U, 100U}) {
    EXPECT_EQ(read_events("(hm)Let me[f:{}]ok[g:12]", plain_format(), piece),
              "r:hm c:Let me begin:0:f args:0:{} end:0 c:ok begin:1:g args:1:12 end:1");
  }
}

TEST(ReplyReader, CountsTokensOfReasoning) {
  ReplyReader reader(plain_format());
  for (const char* text : {"(", "a", "b)", "c"}) reader.add(delta_of(text));
  EXPECT_EQ(reader.reasoning_tokens(), 3);
  EXPECT_FALSE(reader.was_reasoning());
}

TEST(ReplyReader, HidesReasoning) {
  ReplyFormat format = plain_format();
  format.hides_reasoning = true;
  EXPECT_EQ(read_events("(hm)a", format, 1), "c:a");
  ReplyReader reader(format);
  EXPECT_FALSE(reader.shows_reasoning());
  reader.add(delta_of("(a"));
  EXPECT_EQ(reader.reasoning_tokens(), 1);
}

TEST(ReplyReader, StopStringsEndContentAlone) {
  for (const std::size_t piece : {1U, 2U, 3U, 100U}) {
    EXPECT_EQ(read_events("a(STOP)b[f:STOP]cSTOPd[g:1]", plain_format({"STOP"}), piece),
              "c:a r:STOP c:b begin:0:f args:0:STOP end:0 c:c");
    // A call ends what might be the beginning of a stop string.
    EXPECT_EQ(read_events("aST[f:1]OPb", plain_format({"STOP"}), piece),
              "c:aST begin:0:f args:0:1 end:0 c:OPb");
  }
}

TEST(ReplyReader, TellsWhichStringStopped) {
  ReplyFormat format = plain_format({"x", "END"});
  format.include_stop = true;
  ReplyReader reader(format);
  reader.add(delta_of("aEN"));
  EXPECT_FALSE(reader.has_stopped());
  reader.add(delta_of("Db"));
  EXPECT_TRUE(reader.has_stopped());
  EXPECT_EQ(reader.stop(), 1);
  reader.add(delta_of("[f:1]"));
  reader.finish();
  EXPECT_EQ(shown_events(reader.take()), "c:aEND");
  EXPECT_EQ(reader.finish_reason(ended_by(FinishReason::kLength)), "stop");
}

TEST(ReplyReader, StopStringsWaitForMinTokens) {
  ReplyFormat format = plain_format({"x"});
  format.min_tokens = 3;
  ReplyReader reader(format);
  for (const char* text : {"x", "y", "x", "z"}) reader.add(delta_of(text));
  reader.finish();
  EXPECT_EQ(shown_events(reader.take()), "c:xy");
}

TEST(ReplyReader, FinishReasons) {
  const auto reason = [](const char* text, FinishReason finish) {
    ReplyReader reader(plain_format());
    reader.add(delta_of(text));
    reader.finish();
    return std::string(reader.finish_reason(ended_by(finish)));
  };
  EXPECT_EQ(reason("a", FinishReason::kStop), "stop");
  EXPECT_EQ(reason("a[f:1]", FinishReason::kStop), "tool_calls");
  EXPECT_EQ(reason("[f:1]a", FinishReason::kStop), "tool_calls");
  // The limit wins, also behind a complete call.
  EXPECT_EQ(reason("[f:1]", FinishReason::kLength), "length");
  EXPECT_EQ(reason("[f:1", FinishReason::kLength), "length");
  EXPECT_EQ(reason("[f:1][g:", FinishReason::kStop), "stop");
}

TEST(ReplyReader, CallIdsAreRandom) {
  const std::string first = new_call_id();
  EXPECT_EQ(first.size(), 29u);
  EXPECT_TRUE(first.starts_with("call_"));
  EXPECT_NE(first, new_call_id());
  EXPECT_TRUE(new_call_id("toolu_").starts_with("toolu_"));
}

}  // namespace
}  // namespace ingot
