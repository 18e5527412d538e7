// Tests of StreamWriter: what one write holds, its framing, and how generations end.
#include "server/http/stream_writer.h"

#include <gtest/gtest.h>

#include <memory>
#include <string>

#include "base/text.h"

namespace ingot {
namespace {

/// Writes "<choice:text>" for deltas, "[choice]" at a choice's end and "." at the end of all.
class PlainWriter final : public ResponseWriter {
 public:
  void add_delta(std::size_t choice, const Delta& delta) override {
    text_.resize(std::max(text_.size(), choice + 1));
    text_[choice] += delta.text;
    done_.resize(text_.size());
    if (delta.text == "!") done_[choice] = true;
  }
  bool wants_end(std::size_t choice) const override {
    return choice < done_.size() && done_[choice];
  }
  void flush(std::size_t choice, std::string& out) override {
    out += cat("<", choice, ":", std::exchange(text_[choice], {}), ">");
  }
  void end_choice(std::size_t choice, const Outcome& outcome, std::string& out) override {
    out += cat("[", choice, "]");
    if (wants_end(choice)) out += cat(to_string(outcome.finish), outcome.generated_tokens);
  }
  void finish(std::string& out) override { out += "."; }
  void write_error(const ApiError&, std::string&) override {}

 private:
  std::vector<std::string> text_;
  std::vector<bool> done_;  ///< whether the choice's text had a "!" of its own
};

class StreamWriterTest : public ::testing::Test {
 protected:
  static constexpr std::size_t kDeltasMax = 64;

  /// Begins a generation with this number of choices.
  StreamWriter begin(std::size_t choices, bool stream, bool is_chunked = false) {
    for (std::size_t i = 0; i < choices; ++i) running_.streams.push_back(new_stream());
    running_.writer = std::make_unique<PlainWriter>();
    running_.stream = stream;
    return {running_, end_, "HEAD\n", is_chunked, 8};
  }
  Stream new_stream() {
    channels_.push_back(std::make_shared<Channel>(kDeltasMax, bell_, clock_));
    return {channels_.size(), channels_.back()};
  }
  std::vector<Stream> one_stream() {
    std::vector<Stream> streams;
    streams.push_back(new_stream());
    return streams;
  }
  void push(std::size_t choice, std::string text) {
    EXPECT_TRUE(channels_[choice]->push({.ids = {1}, .text = std::move(text), .logprobs = {}}));
  }
  void end(std::size_t choice, FinishReason finish) {
    Outcome& outcome = channels_[choice]->outcome;
    outcome.finish = finish;
    outcome.is_first_choice = choice == 0;
    outcome.prompt_tokens = 7;
    outcome.computed_tokens = 3;
    outcome.generated_tokens = 2;
    outcome.queue_seconds = 1;
    outcome.prefill_seconds = choice == 0 ? 4 : 2;
    channels_[choice]->close();
  }

  std::shared_ptr<Doorbell> bell_ = std::make_shared<Doorbell>();
  std::shared_ptr<const Clock> clock_ = std::make_shared<const Clock>([] { return 0.0; });
  std::vector<std::shared_ptr<Channel>> channels_;
  RunningGeneration running_;
  RequestEnd end_;
};

TEST_F(StreamWriterTest, DeltasThatCameTogetherAreOneEventOfEachChoice) {
  StreamWriter writer = begin(2, true);
  EXPECT_FALSE(writer.collect());
  push(0, "a");
  push(0, "b");
  push(1, "c");
  EXPECT_TRUE(writer.collect());
  EXPECT_FALSE(writer.has_begun());
  EXPECT_EQ(writer.take(false), "HEAD\n<0:ab><1:c>");
  EXPECT_TRUE(writer.has_begun());
  EXPECT_FALSE(writer.collect());
  EXPECT_FALSE(writer.has_events());
}

TEST_F(StreamWriterTest, LongDeltasAreSeveralEvents) {
  StreamWriter writer = begin(1, true);
  for (int i = 0; i < 3; ++i) push(0, std::string(10'000, 'x'));
  EXPECT_TRUE(writer.collect());
  const std::string bytes = writer.take(false);
  EXPECT_EQ(std::count(bytes.begin(), bytes.end(), '<'), 2);
}

TEST_F(StreamWriterTest, AWriteIsBounded) {
  StreamWriter writer = begin(1, true);
  for (int i = 0; i < 30; ++i) push(0, std::string(10'000, 'x'));
  EXPECT_TRUE(writer.collect());
  const std::size_t first = writer.take(false).size();
  EXPECT_LT(first, std::size_t{100'000});
  EXPECT_TRUE(writer.collect());
  EXPECT_TRUE(writer.has_events());
}

TEST_F(StreamWriterTest, AChoiceEndsOnceAllItsDeltasAreTaken) {
  StreamWriter writer = begin(2, true);
  push(0, "a");
  end(0, FinishReason::kStop);
  EXPECT_TRUE(writer.collect());
  EXPECT_FALSE(writer.has_ended());
  end(1, FinishReason::kLength);
  EXPECT_TRUE(writer.collect());
  EXPECT_TRUE(writer.has_ended());
  writer.finish();
  EXPECT_EQ(writer.take(true), "HEAD\n<0:a>[0][1].");
  EXPECT_EQ(end_.status, 200);
  EXPECT_EQ(end_.prompt_tokens, 7);
  EXPECT_EQ(end_.computed_tokens, 6);
  EXPECT_EQ(end_.generated_tokens, 4);
  EXPECT_EQ(end_.first_token_seconds, 3);
  EXPECT_EQ(end_.response.text, "<0:a>[0]") << "of a response the first bytes are logged";
  EXPECT_TRUE(end_.response.is_cut);
}

TEST_F(StreamWriterTest, AWriterCanEndAChoice) {
  StreamWriter writer = begin(2, true);
  push(0, "a");
  push(0, "!");
  push(0, "late");
  EXPECT_TRUE(writer.collect());
  EXPECT_TRUE(channels_[0]->is_cancelled());
  EXPECT_FALSE(channels_[1]->is_cancelled());
  EXPECT_EQ(writer.take(false), "HEAD\n<0:a!>");
  end(0, FinishReason::kCancelled);
  EXPECT_TRUE(writer.collect());
  EXPECT_EQ(writer.failed(), nullptr);
  // One of its two tokens was dropped.
  EXPECT_EQ(writer.take(false), "[0]stop1");
}

TEST_F(StreamWriterTest, EachWriteIsAChunkWhereTheConnectionStays) {
  StreamWriter writer = begin(1, true, true);
  push(0, "a");
  EXPECT_TRUE(writer.collect());
  EXPECT_EQ(writer.take(false), "HEAD\n5\r\n<0:a>\r\n");
  writer.write_ping();
  EXPECT_EQ(writer.take(false), "11\r\n: still at work\n\n\r\n");
  writer.finish();
  EXPECT_EQ(writer.take(true), "1\r\n.\r\n0\r\n\r\n");
}

TEST_F(StreamWriterTest, AFailureEndsTheGeneration) {
  StreamWriter writer = begin(2, true);
  end(0, FinishReason::kError);
  push(1, "b");
  EXPECT_TRUE(writer.collect());
  ASSERT_NE(writer.failed(), nullptr);
  EXPECT_EQ(writer.failed()->finish, FinishReason::kError);
  EXPECT_FALSE(writer.has_events()) << "nothing comes of the other choice";
  writer.events() += "oh";
  EXPECT_EQ(writer.take(true), "HEAD\noh");
}

TEST_F(StreamWriterTest, ACutGenerationCountsWhatItTook) {
  StreamWriter writer = begin(2, true);
  end(0, FinishReason::kCancelled);
  EXPECT_TRUE(writer.collect());
  push(1, "b");
  EXPECT_FALSE(writer.drop_rest()) << "the engine has not ended the other choice";
  push(1, "c");
  end(1, FinishReason::kCancelled);
  EXPECT_TRUE(writer.drop_rest());
  EXPECT_TRUE(writer.drop_rest()) << "each choice counts once";
  EXPECT_EQ(end_.prompt_tokens, 7);
  EXPECT_EQ(end_.computed_tokens, 6);
  EXPECT_EQ(end_.generated_tokens, 4);
  EXPECT_FALSE(writer.has_events());
  EXPECT_EQ(end_.status, kClientLeft);
}

TEST_F(StreamWriterTest, LaterChoicesBeginWhereOthersEnd) {
  running_.later_choices = 2;
  std::vector<std::size_t> under_way;
  running_.submit_later = [&](std::size_t count) {
    under_way.push_back(count);
    return one_stream();
  };
  StreamWriter writer = begin(2, true);
  EXPECT_FALSE(writer.collect());
  EXPECT_TRUE(under_way.empty());
  end(1, FinishReason::kStop);
  EXPECT_TRUE(writer.collect());
  EXPECT_EQ(under_way, (std::vector<std::size_t>{1}));
  end(0, FinishReason::kStop);
  end(2, FinishReason::kStop);
  EXPECT_TRUE(writer.collect());
  EXPECT_EQ(under_way, (std::vector<std::size_t>{1, 0}));
  EXPECT_FALSE(writer.has_ended());
  push(3, "d");
  end(3, FinishReason::kStop);
  EXPECT_TRUE(writer.collect());
  EXPECT_TRUE(writer.has_ended());
  writer.finish();
  EXPECT_EQ(writer.take(true), "HEAD\n[1][0][2]<3:d>[3].");
}

TEST_F(StreamWriterTest, LaterChoicesAreCancelledWithTheOthers) {
  running_.later_choices = 1;
  running_.submit_later = [&](std::size_t) { return one_stream(); };
  StreamWriter writer = begin(1, true);
  end(0, FinishReason::kStop);
  running_.cancel();
  EXPECT_TRUE(writer.collect());
  EXPECT_TRUE(channels_[1]->is_cancelled());
}

TEST_F(StreamWriterTest, ACutGenerationDoesNotWaitForChoicesThatNeverBegan) {
  running_.later_choices = 3;
  StreamWriter writer = begin(2, true);
  end(0, FinishReason::kCancelled);
  EXPECT_TRUE(writer.collect());
  EXPECT_FALSE(writer.drop_rest()) << "one choice is under way";
  end(1, FinishReason::kCancelled);
  EXPECT_TRUE(writer.drop_rest());
  EXPECT_FALSE(writer.has_ended());
}

TEST_F(StreamWriterTest, TheFirstTokenIsOfAChoiceThatBeganWithTheRequest) {
  running_.later_choices = 1;
  running_.submit_later = [&](std::size_t) { return one_stream(); };
  StreamWriter writer = begin(1, true);
  end(0, FinishReason::kStop);
  EXPECT_TRUE(writer.collect());
  end(1, FinishReason::kStop);
  EXPECT_TRUE(writer.collect());
  EXPECT_TRUE(writer.has_ended());
  EXPECT_EQ(end_.first_token_seconds, 5) << "the later choice's own time was 3";
}

TEST_F(StreamWriterTest, AFailureOfALaterChoiceEndsTheGeneration) {
  running_.later_choices = 1;
  running_.submit_later = [](std::size_t) -> std::vector<Stream> {
    throw Error(ErrorCode::kInvalid, "max_tokens: too many");
  };
  StreamWriter writer = begin(1, true);
  end(0, FinishReason::kStop);
  EXPECT_TRUE(writer.collect());
  ASSERT_NE(writer.failed(), nullptr);
  EXPECT_EQ(writer.failed()->error->message(), "max_tokens: too many");
}

TEST_F(StreamWriterTest, LaterChoicesOfAStoppingEngineAreUnavailable) {
  running_.later_choices = 1;
  running_.submit_later = [](std::size_t) { return std::vector<Stream>(); };
  StreamWriter writer = begin(2, true);
  end(0, FinishReason::kStop);
  EXPECT_TRUE(writer.collect());
  EXPECT_EQ(writer.failed(), nullptr) << "one choice is under way";
  end(1, FinishReason::kStop);
  EXPECT_TRUE(writer.collect());
  ASSERT_NE(writer.failed(), nullptr);
  EXPECT_EQ(writer.failed()->finish, FinishReason::kError);
  EXPECT_EQ(writer.failed()->error->code(), ErrorCode::kUnavailable);
}

TEST_F(StreamWriterTest, ABodyIsWrittenAtTheEnd) {
  StreamWriter writer = begin(1, false);
  push(0, "a");
  EXPECT_TRUE(writer.collect());
  EXPECT_FALSE(writer.has_events());
  end(0, FinishReason::kStop);
  EXPECT_TRUE(writer.collect());
  writer.finish();
  EXPECT_EQ(writer.take_body(), "[0].");
}

}  // namespace
}  // namespace ingot
