// Answers as servers give them, at times that the tests say.
#include "bench/client/timeline.h"

#include <gtest/gtest.h>

namespace ingot {
namespace {

std::string event(const std::string& data) { return "data: " + data + "\n\n"; }

std::string piece(const std::string& text) {
  return event(R"({"choices":[{"index":0,"text":")" + text + R"(","finish_reason":null}]})");
}

const std::string kEnd = event(R"({"choices":[{"text":"","finish_reason":"length"}]})");
const std::string kUsage =
    event(R"({"choices":[],"usage":{"prompt_tokens":9,"completion_tokens":4,)"
          R"("prompt_tokens_details":{"cached_tokens":3}}})");
const std::string kDone = event("[DONE]");

TEST(AnswerEvents, AreReadInEverySpelling) {
  EXPECT_EQ(read_answer_event(R"({"choices":[{"text":"a"}]})").text, "a");
  EXPECT_EQ(read_answer_event(R"({"choices":[{"delta":{"content":"b"}}]})").text, "b");
  EXPECT_EQ(read_answer_event(R"({"choices":[{"message":{"content":"c"}}]})").text, "c");
  EXPECT_EQ(read_answer_event(R"({"choices":[{"delta":{"role":"x","content":null}}]})").text, "");
  EXPECT_EQ(read_answer_event(R"({"choices":[{"delta":{"reasoning":"d"}}]})").text, "d");
  EXPECT_EQ(
      read_answer_event(R"({"choices":[{"delta":{"reasoning":"e","reasoning_content":"e"}}]})")
          .text,
      "e");
  EXPECT_TRUE(read_answer_event("[DONE]").is_done);
}

TEST(AnswerEvents, HaveErrorsInEverySpelling) {
  EXPECT_EQ(read_answer_event(R"({"error":{"message":"m"}})").error, "m");
  EXPECT_EQ(read_answer_event(R"({"error":"n"})").error, "n");
  EXPECT_EQ(read_answer_event(R"({"error":null,"choices":[]})").error, "");
  for (const char* text : {"", "{", "[]", "1", "{\"a\":1,\"a\":2}"}) {
    EXPECT_NE(read_answer_event(text).error, "") << text;
  }
  EXPECT_EQ(error_message(R"({"message":"flat"})"), "flat");
  EXPECT_EQ(error_message(""), "no message");
  EXPECT_EQ(error_message("<html>\n"), "<html>\\x0a");
}

TEST(AnswerEvents, TakeNoMembersOfOtherKinds) {
  const AnswerEvent odd = read_answer_event(
      R"({"choices":[3,{"text":5,"delta":7,"finish_reason":8}],"usage":{"prompt_tokens":-4}})");
  EXPECT_EQ(odd.text, "");
  EXPECT_EQ(odd.error, "");
  EXPECT_EQ(odd.usage->prompt_tokens, 0);
  EXPECT_FALSE(read_answer_event(R"({"usage":null})").usage);
}

TEST(AnswerEvents, TokensNeedNoText) {
  EXPECT_TRUE(read_answer_event(R"({"choices":[{"text":"","finish_reason":null}]})").has_token);
  EXPECT_TRUE(read_answer_event(R"({"choices":[{"delta":{"content":""}}]})").has_token);
  EXPECT_TRUE(read_answer_event(R"({"choices":[{"delta":{"role":"a","content":"x"}}]})").has_token);
  EXPECT_TRUE(read_answer_event(R"({"choices":[{"text":"x","finish_reason":"stop"}]})").has_token);
  for (const char* none : {R"({"choices":[{"delta":{"role":"a","content":""}}]})",
                           R"({"choices":[{"text":"","finish_reason":"stop"}]})",
                           R"({"choices":[{"delta":{},"finish_reason":null}]})",
                           R"({"choices":[],"usage":{"completion_tokens":3}})"}) {
    EXPECT_FALSE(read_answer_event(none).has_token) << none;
  }
}

TEST(AnswerEvents, SayWhetherThereIsACache) {
  EXPECT_TRUE(read_answer_event(
                  R"({"usage":{"prompt_tokens":9,"prompt_tokens_details":{"cached_tokens":0}}})")
                  .usage->says_cached);
  EXPECT_FALSE(read_answer_event(R"({"usage":{"prompt_tokens":9}})").usage->says_cached);
}

TEST(AnswerEvents, NameTheFirstModel) {
  EXPECT_EQ(first_model(R"({"data":[{"id":"a"},{"id":"b"}]})"), "a");
  for (const char* text : {"", "{}", R"({"data":[]})", R"({"data":[{"id":1}]})"}) {
    EXPECT_EQ(first_model(text), "") << text;
  }
}

TEST(Timeline, KeepsTheTimesOfPieces) {
  Timeline timeline(1, /*keep_text=*/true);
  timeline.head(200, /*is_stream=*/true, 1.25);
  EXPECT_TRUE(timeline.body(": ping\n\n", 1.3));
  EXPECT_TRUE(timeline.body(piece("a"), 1.5));
  EXPECT_TRUE(timeline.body(piece("b") + piece("c"), 2));
  EXPECT_TRUE(timeline.body(kEnd + kUsage, 2.5));
  EXPECT_TRUE(timeline.body(kDone, 3));
  timeline.end("", 3);
  const CallResult& r = timeline.result();
  EXPECT_EQ(r.error, "");
  EXPECT_EQ(r.sent, 1);
  EXPECT_EQ(r.answer, 1.25);
  EXPECT_EQ(r.first, 1.5);
  EXPECT_EQ(r.last, 2) << "usage and the end are no text";
  EXPECT_EQ(r.gaps, (std::vector<double>{0.5, 0}));
  EXPECT_EQ(r.text, "abc");
  EXPECT_EQ(r.finish_reason, "length");
  EXPECT_EQ(r.output_tokens(), 4) << "as the server counts";
  EXPECT_EQ(r.usage->prompt_tokens, 9);
  EXPECT_EQ(r.usage->cached_tokens, 3);
}

TEST(Timeline, CountsPiecesWhereTheServerDoesNotCount) {
  Timeline timeline(0, /*keep_text=*/false);
  timeline.head(200, true, 1);
  EXPECT_TRUE(timeline.body(piece("a") + piece("b") + kEnd + kDone, 1));
  timeline.end("", 1);
  EXPECT_EQ(timeline.result().output_tokens(), 2);
  EXPECT_EQ(timeline.result().text, "");
}

TEST(Timeline, OfTokensWithoutTextEndsWithItsAnswer) {
  Timeline timeline(0, false);
  timeline.head(200, true, 1);
  EXPECT_TRUE(timeline.body(kEnd + kUsage + kDone, 2));
  timeline.end("", 3);
  EXPECT_EQ(timeline.result().error, "");
  EXPECT_EQ(timeline.result().first, 3);
  EXPECT_EQ(timeline.result().last, 3);
}

TEST(Timeline, TakesAnAnswerThatIsNoStream) {
  Timeline timeline(0, true);
  timeline.head(200, /*is_stream=*/false, 1);
  EXPECT_TRUE(timeline.body(R"({"choices":[{"text":"ab","finish)", 1));
  EXPECT_TRUE(timeline.body(R"(_reason":"stop"}]})", 2));
  timeline.end("", 2);
  EXPECT_EQ(timeline.result().error, "");
  EXPECT_EQ(timeline.result().text, "ab");
  EXPECT_EQ(timeline.result().first, 2);
}

TEST(Timeline, SaysWhatWasRefused) {
  Timeline timeline(0, false);
  timeline.head(429, false, 0.5);
  EXPECT_TRUE(timeline.body(R"({"error":{"message":"busy"}})", 0.5));
  timeline.end("", 0.5);
  EXPECT_TRUE(timeline.result().is_rejected());
  EXPECT_EQ(timeline.result().error, "status 429: busy");
}

TEST(Timeline, SaysWhatEndedItEarly) {
  const auto error = [](const std::string& body, const std::string& problem) {
    Timeline timeline(0, false);
    timeline.head(200, true, 1);
    (void)timeline.body(body, 1);
    timeline.end(problem, 2);
    return timeline.result().error;
  };
  EXPECT_EQ(error(piece("a") + event(R"({"error":{"message":"lost"}})") + kDone, ""), "lost");
  EXPECT_EQ(error(piece("a"), "cut"), "cut");
  EXPECT_EQ(error(piece("a"), ""), "the answer ended without a finish_reason");
  EXPECT_EQ(error(event("nonsense"), "").substr(0, 26), "an event is no JSON object");
  Timeline never(0, false);
  never.end("refused", 1);
  EXPECT_EQ(never.result().error, "refused");
  EXPECT_EQ(never.result().status, 0);
}

}  // namespace
}  // namespace ingot
