// SessionFile: a written session comes back, and damaged files are refused.
#include "runtime/session/session_file.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <fstream>
#include <iterator>
#include <numeric>

#include "base/error.h"
#include "base/temp_folder_test_util.h"
#include "base/text.h"

namespace ingot {
namespace {

using Bytes = std::vector<std::byte>;

/// Two layers without a window and one with, a head of two elements: blocks of 256 and 128 bytes.
Session some_session() {
  Session session{.model = {.weights = {11, 22},
                            .kv_type = KvType::kBF16,
                            .kv_heads = 1,
                            .head_dim = 2,
                            .windows = {0, 20, 0}},
                  .tokens = std::vector<std::int32_t>(40),
                  .generated = 7,
                  .stop = {"end", "\xc3\xa9"},
                  .ignore_eos = true};
  std::iota(session.tokens.begin(), session.tokens.end(), 100);
  session.sampling = {.logit_bias = {{3, 1.5f}, {9, -2}},
                      .repetition_penalty = 1.25f,
                      .presence_penalty = 0.5f,
                      .frequency_penalty = -0.25f,
                      .dry_multiplier = 0.5f,
                      .dry_sequence_breakers = {"\n", "\xc3\xa9"},
                      .min_tokens = 12,
                      .end_ids = {5, 6},
                      .bad_words = {"bad"},
                      .allowed_token_ids = {7, 8},
                      .temperature = 0.75f,
                      .top_n_sigma = 1.5f,
                      .top_k = 40,
                      .typical_p = 0.5f,
                      .top_p = 0.875f,
                      .min_p = 0.0625f,
                      .xtc_probability = 0.5f,
                      .seed = 0x123456789abcdef0,
                      .choice = 3};
  return session;
}

Bytes pattern(std::size_t count, std::int64_t block, std::int32_t group) {
  Bytes bytes(count);
  for (std::size_t i = 0; i < count; ++i) {
    bytes[i] = static_cast<std::byte>(i * 7 + static_cast<std::size_t>(block * 31 + group * 101));
  }
  return bytes;
}

void write(const std::string& path, const Session& session) {
  write_session(path, session, {.blocks = 2, .there = {1, 0, 1, 1}},
                [](std::int64_t block, std::int32_t group, std::span<std::byte> out) {
                  const Bytes bytes = pattern(out.size(), block, group);
                  std::copy(bytes.begin(), bytes.end(), out.begin());
                });
}

Bytes read_file(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  const std::string text{std::istreambuf_iterator<char>(in), {}};
  const auto bytes = std::as_bytes(std::span(text));
  return {bytes.begin(), bytes.end()};
}

/// Why a file is refused; empty where it is not.
std::string refusal(std::span<const std::byte> bytes) {
  try {
    const SessionFile file(bytes, "s.ingot");
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::kModel);
    EXPECT_EQ(error.message().find('\n'), std::string::npos);
    EXPECT_TRUE(error.message().starts_with("s.ingot: ")) << error.message();
    return error.message();
  }
  return {};
}

class SessionFileTest : public ::testing::Test {
 protected:
  /// Where a 32-bit number stands for the first time.
  std::size_t place_of(std::uint32_t number) const {
    std::byte raw[4];
    std::memcpy(raw, &number, 4);
    const auto at = std::search(bytes_.begin(), bytes_.end(), raw, raw + 4);
    return static_cast<std::size_t>(at - bytes_.begin());
  }
  std::string refusal_with(std::size_t at, std::uint32_t number) const {
    Bytes changed = bytes_;
    std::memcpy(changed.data() + at, &number, 4);
    return refusal(changed);
  }

  TempFolder folder_;
  std::string path_ = folder_.path("a.session");
  Bytes bytes_ = (write(path_, some_session()), read_file(path_));
};

TEST_F(SessionFileTest, GivesBackWhatWasWritten) {
  const SessionFile file(path_);
  const Session& got = file.session();
  const Session want = some_session();
  EXPECT_EQ(got.model, want.model);
  EXPECT_EQ(got.tokens, want.tokens);
  EXPECT_EQ(got.generated, 7);
  EXPECT_EQ(got.stop, want.stop);
  EXPECT_TRUE(got.ignore_eos);
  const SamplingParams& p = got.sampling;
  ASSERT_EQ(p.logit_bias.size(), 2u);
  EXPECT_EQ(p.logit_bias[1].id, 9);
  EXPECT_EQ(p.logit_bias[1].bias, -2);
  EXPECT_EQ(p.repetition_penalty, 1.25f);
  EXPECT_EQ(p.presence_penalty, 0.5f);
  EXPECT_EQ(p.frequency_penalty, -0.25f);
  EXPECT_EQ(p.min_tokens, 12);
  EXPECT_EQ(p.end_ids, want.sampling.end_ids);
  EXPECT_EQ(p.temperature, 0.75f);
  EXPECT_EQ(p.top_k, 40);
  EXPECT_EQ(p.typical_p, 0.5f);
  EXPECT_EQ(p.top_p, 0.875f);
  EXPECT_EQ(p.min_p, 0.0625f);
  EXPECT_EQ(p.dry_multiplier, 0.5f);
  EXPECT_EQ(p.dry_sequence_breakers, want.sampling.dry_sequence_breakers);
  EXPECT_EQ(p.bad_words, want.sampling.bad_words);
  EXPECT_EQ(p.allowed_token_ids, want.sampling.allowed_token_ids);
  EXPECT_EQ(p.top_n_sigma, 1.5f);
  EXPECT_EQ(p.xtc_probability, 0.5f);
  EXPECT_EQ(p.seed, 0x123456789abcdef0u);
  EXPECT_EQ(p.choice, 3u);
}

TEST_F(SessionFileTest, GivesBackTheBlocksThatWereThere) {
  const SessionFile file(path_);
  EXPECT_EQ(file.blocks(), 2);
  for (std::int64_t block = 0; block < 2; ++block) {
    for (std::int32_t group = 0; group < 2; ++group) {
      const auto rows = file.block(block, group);
      const Bytes want = pattern(group == 0 ? 256 : 128, block, group);
      if (block == 0 && group == 1) {
        EXPECT_TRUE(rows.empty());
      } else {
        EXPECT_TRUE(std::equal(rows.begin(), rows.end(), want.begin(), want.end()));
      }
    }
  }
  EXPECT_TRUE(file.block(2, 0).empty());
}

TEST_F(SessionFileTest, IsTheSameBytesAgain) {
  const SessionFile file(path_);
  const std::string again = folder_.path("again");
  write(again, file.session());
  EXPECT_EQ(read_file(again), bytes_);
}

TEST_F(SessionFileTest, RefusesEveryBeginningOfItself) {
  for (std::size_t size = 0; size < bytes_.size(); ++size) {
    EXPECT_NE(refusal(std::span(bytes_).first(size)), "") << size << " bytes";
  }
  Bytes longer = bytes_;
  longer.push_back(std::byte{0});
  EXPECT_NE(refusal(longer).find("1 bytes behind the end"), std::string::npos);
}

TEST_F(SessionFileTest, RefusesEveryChangedBit) {
  for (std::size_t i = 0; i < bytes_.size(); ++i) {
    for (int bit = 0; bit < 8; ++bit) {
      bytes_[i] ^= std::byte(1 << bit);
      ASSERT_NE(refusal(bytes_), "") << "bit " << bit << " of byte " << i;
      bytes_[i] ^= std::byte(1 << bit);
    }
  }
  EXPECT_EQ(refusal(bytes_), "");
}

TEST_F(SessionFileTest, SaysWhatIsWrong) {
  EXPECT_EQ(refusal_with(0, 0), "s.ingot: header @0: it is not a session of ingot");
  EXPECT_EQ(refusal_with(8, 9), "s.ingot: header @8: it has version 9, this program reads 2");
  EXPECT_EQ(refusal_with(12, 7),
            cat("s.ingot: header @12: it was made with order version 7, this program has ",
                kOrderVersion));
  EXPECT_EQ(refusal_with(12, 1),
            "s.ingot: header @12: it was made with order version 1, this program has 2");
  bytes_.back() ^= std::byte{1};
  EXPECT_EQ(refusal(bytes_),
            cat("s.ingot: checksum @", bytes_.size() - 8, ": the file is damaged"));
}

TEST_F(SessionFileTest, CountsAreHeldAgainstTheFileBeforeAnythingIsTaken) {
  const std::size_t tokens = place_of(100) - 4;  // the first token; their count is before it
  for (const std::uint32_t count : {0xffffffffu, 0x7fffffffu, 1u << 20}) {
    EXPECT_NE(refusal_with(tokens, count).find("are more than the file holds"), std::string::npos);
  }
  EXPECT_NE(refusal_with(tokens, 0).find("it has no tokens"), std::string::npos);
  EXPECT_NE(refusal_with(tokens + 4, 0x80000000u).find("is less than 0"), std::string::npos);
  const std::size_t generated = tokens + 4 + 4 * 40;
  EXPECT_NE(refusal_with(generated, 41).find("41 is not in [0, 40]"), std::string::npos);
  EXPECT_NE(refusal_with(generated + 4, 3).find("3 is not in [0, 2]"), std::string::npos);
}

TEST_F(SessionFileTest, ListsAreBoundedWhileTheyAreRead) {
  const std::string path = folder_.path("many");
  Session windows = some_session();
  windows.model.windows.resize(65);
  std::iota(windows.model.windows.begin(), windows.model.windows.end(), 0);
  windows.tokens.resize(15);
  windows.generated = 0;
  write_session(path, windows, {}, [](std::int64_t, std::int32_t, std::span<std::byte>) {});
  EXPECT_NE(refusal(read_file(path)).find("65 different windows"), std::string::npos);
}

TEST_F(SessionFileTest, SaysInWhatAModelDiffers) {
  const SessionFile file(path_);
  const SessionModel same = some_session().model;
  EXPECT_NO_THROW(file.require_model(same));
  const auto reason = [&](const SessionModel& mine) -> std::string {
    try {
      file.require_model(mine);
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), ErrorCode::kModel);
      return error.message();
    }
    return "none";
  };
  SessionModel other = same;
  other.numerics = "fast-1";
  EXPECT_NE(reason(other).find("it was made with numerics canon-1, this program has fast-1"),
            std::string::npos);
  other = same;
  other.kv_type = KvType::kInt8;
  EXPECT_NE(reason(other).find("its keys and values are BF16, here they are INT8"),
            std::string::npos);
  other = same;
  other.weights[1] = 23;
  EXPECT_NE(reason(other).find("its fingerprint is 0000000000000016000000000000000b, this one's "
                               "is 0000000000000017000000000000000b"),
            std::string::npos);
  other = same;
  other.windows[1] = 0;
  EXPECT_NE(reason(other).find("another model"), std::string::npos);
  other = same;
  other.windows.push_back(0);
  EXPECT_NE(reason(other).find("3 layers"), std::string::npos);
  other = same;
  other.head_dim = 4;
  EXPECT_NE(reason(other).find("another model"), std::string::npos);
}

TEST_F(SessionFileTest, WhatFailsWhileItIsReadLeavesNoFile) {
  const std::string path = folder_.path("none");
  EXPECT_THROW(write_session(path, some_session(), {.blocks = 1, .there = {1, 1}},
                             [](std::int64_t, std::int32_t, std::span<std::byte>) {
                               throw Error(ErrorCode::kIo, "no");
                             }),
               Error);
  EXPECT_TRUE(read_file(path).empty());
}

}  // namespace
}  // namespace ingot
