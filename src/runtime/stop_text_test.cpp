// StopText: cases by hand, and random pieces against a search of the whole text.
#include "runtime/stop_text.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>

#include "base/full_run_test_util.h"

namespace ingot {
namespace {

/// The texts released piece after piece, "|" between them, the end's last.
std::string shown(StopText& text, const std::vector<std::string>& pieces) {
  std::string all;
  for (const std::string& piece : pieces) all += text.add(piece) + "|";
  return all + text.finish();
}

std::string shown(const std::vector<std::string>& stops, const std::vector<std::string>& pieces) {
  StopText text(stops);
  return shown(text, pieces);
}

TEST(StopText, WithoutStopStringsAllIsReleasedAtOnce) {
  EXPECT_EQ(shown({}, {"ab", "", "c"}), "ab||c|");
}

TEST(StopText, HoldsBackOnlyWhatMayBecomeAStop) {
  EXPECT_EQ(shown({"END"}, {"aE", "N", "x", "EE", "EN", "D", "more"}), "a||ENx|E|E|||");
  EXPECT_EQ(shown({"END"}, {"aEN"}), "a|EN");
}

TEST(StopText, NothingOfTheStopStringIsShown) {
  EXPECT_EQ(shown({"\n\n"}, {"one\n", "two\n", "\nthree"}), "one|\ntwo||");
  EXPECT_EQ(shown({"stop"}, {"stop"}), "|");
}

TEST(StopText, BehindKeepsTheStopStringAndNothingMore) {
  const auto kept = [](const std::vector<std::string>& stops,
                       const std::vector<std::string>& pieces) {
    StopText text(stops, StopEnd::kBehind);
    const std::string all = shown(text, pieces);
    EXPECT_TRUE(text.stopped());
    return all;
  };
  EXPECT_EQ(kept({"END"}, {"aE", "N", "Dmore", "x"}), "a||END||");
  // "abcd" may still follow "bc", until the text ends or continues otherwise.
  EXPECT_EQ(kept({"bc", "abcd"}, {"xabc", "dz"}), "x|abcd|");
  EXPECT_EQ(kept({"bc", "abcd"}, {"xabc", "e"}), "x|abc|");
  EXPECT_EQ(kept({"bc", "abcd"}, {"xabc"}), "x|abc");
  // Both start at one byte, so the shorter one ends the text.
  EXPECT_EQ(kept({"aaa", "a"}, {"xaaa"}), "xa|");
}

TEST(StopText, TheEarliestStartWins) {
  // "bc" is complete first, but "abcd" may have started before it.
  EXPECT_EQ(shown({"bc", "abcd"}, {"xabc", "d"}), "x||");
  EXPECT_EQ(shown({"bc", "abcd"}, {"xabc", "e"}), "x|a|");
  EXPECT_EQ(shown({"bc", "abcd"}, {"xabc"}), "x|a");
  StopText open(std::vector<std::string>{"bc", "abcd"});
  static_cast<void>(open.add("abc"));
  EXPECT_FALSE(open.stopped());
  static_cast<void>(open.finish());
  EXPECT_TRUE(open.stopped());
  EXPECT_EQ(open.stop(), 0);
}

TEST(StopText, SaysWhichOne) {
  const auto stop = [](const std::vector<std::string>& stops, std::string_view piece) {
    StopText text(stops);
    EXPECT_EQ(text.stop(), -1);
    static_cast<void>(text.add(piece));
    return text.stop();
  };
  EXPECT_EQ(stop({"x", "ab", "ab"}, "..ab"), 1) << "the first of equal ones";
  EXPECT_EQ(stop({"abc", "ab"}, "abc"), 1) << "of one start, what ends first";
  EXPECT_EQ(stop({"b", "ab"}, "ab"), 1) << "of one end, what starts first";
  EXPECT_EQ(stop({"x"}, "ab"), -1);
}

TEST(StopText, CharactersStayWhole) {
  // The two share their first byte.
  EXPECT_EQ(shown({"\u00e9"}, {"\u00e8", "\u00e9"}), "\u00e8||");
  EXPECT_EQ(shown({"a\u00e9"}, {"a", "\u00e8"}), "|a\u00e8|");
}

TEST(StopText, AStopThatEndsTooEarlyIsText) {
  StopText text(std::vector<std::string>{"ab", "cd"});
  std::string all = text.add("xab", false);
  all += text.add("abc", false);
  EXPECT_FALSE(text.stopped());
  all += text.add("d", true);  // began too early, but ends in time
  EXPECT_TRUE(text.stopped());
  EXPECT_EQ(all, "xabab");
  EXPECT_EQ(text.stop(), 1);

  StopText last(std::vector<std::string>{"ab"});
  all = last.add("ab", false);
  all += last.finish();
  EXPECT_EQ(all, "ab") << "the end of the text does not make it a stop";
  EXPECT_EQ(last.stop(), -1);
}

TEST(StopText, HostileRepetition) {
  // Nearly every byte of the text lies in a beginning of all 16 stop strings that is a kilobyte
  // long.
  std::vector<std::string> stops;
  for (std::size_t i = 0; i < 16; ++i) stops.push_back(std::string(1009 + i, 'a') + "b");
  StopText text(stops);
  std::string all;
  for (int i = 0; i < 300'000; ++i) all += text.add(i % 5000 == 4999 ? "c" : "aa");
  all += text.finish();
  EXPECT_FALSE(text.stopped());
  EXPECT_EQ(all.size(), 599'940u);
  StopText held(stops);
  for (int i = 0; i < 2000; ++i) static_cast<void>(held.add("a"));
  EXPECT_EQ(held.add("b"), "");
  EXPECT_EQ(held.stop(), 15) << "the longest, which starts first";
}

struct Found {
  std::size_t start = std::string::npos;
  std::int32_t stop = -1;
};

/// By searching for each string: the earliest start, of these the shortest, then the first. Strings
/// that end in the first `fixed` bytes do not count.
Found find_stop(const std::string& text, std::size_t fixed, const std::vector<std::string>& stops) {
  Found best;
  for (std::size_t i = 0; i < stops.size(); ++i) {
    const std::size_t size = stops[i].size();
    const std::size_t start = text.find(stops[i], fixed < size ? 0 : fixed - size + 1);
    if (start == std::string::npos || start > best.start) continue;
    if (start == best.start &&
        stops[i].size() >= stops[static_cast<std::size_t>(best.stop)].size()) {
      continue;
    }
    best = {.start = start, .stop = static_cast<std::int32_t>(i)};
  }
  return best;
}

/// The longest end of the text that begins a stop string, or is a stop string without effect.
std::size_t open_bytes(const std::string& text, const std::vector<std::string>& stops) {
  std::size_t longest = 0;
  for (const std::string& stop : stops) {
    for (std::size_t n = 1; n <= stop.size() && n <= text.size(); ++n) {
      if (text.ends_with(std::string_view(stop).substr(0, n))) longest = std::max(longest, n);
    }
  }
  return longest;
}

std::string random_text(std::size_t bytes, unsigned letters, std::mt19937& random) {
  std::string text;
  while (text.size() < bytes) text += static_cast<char>('a' + random() % letters);
  return text;
}

TEST(StopText, AgreesWithASearchOfTheWholeText) {
  std::mt19937 random(11);
  const int runs = random_runs(20'000, 500'000);
  int stopped = 0;
  for (int run = 0; run < runs; ++run) {
    const auto letters = static_cast<unsigned>(1 + random() % 3);
    std::vector<std::string> stops(random() % 5);
    for (std::string& s : stops) s = random_text(1 + random() % 7, letters, random);
    const StopEnd end = random() % 2 == 0 ? StopEnd::kBefore : StopEnd::kBehind;
    const int fixed_pieces = random() % 2 == 0 ? 0 : static_cast<int>(random() % 8);
    StopText text(stops, end);
    std::string fed;
    std::size_t fixed = 0;  // bytes of pieces in which no string may end the text
    std::string out;
    for (int piece_number = 0; !text.stopped() && piece_number < 20; ++piece_number) {
      const std::string piece = random_text(random() % 4, letters, random);
      const bool may_stop = piece_number >= fixed_pieces;
      fed += piece;
      if (!may_stop) fixed = fed.size();
      out += text.add(piece, may_stop);
      if (find_stop(fed, fixed, stops).stop < 0) {
        ASSERT_EQ(out, fed.substr(0, fed.size() - open_bytes(fed, stops))) << "run " << run;
      }
    }
    const std::string last = text.finish();
    const Found want = find_stop(fed, fixed, stops);
    std::size_t length = std::min(want.start, fed.size());
    if (want.stop >= 0 && end == StopEnd::kBehind) {
      length += stops[static_cast<std::size_t>(want.stop)].size();
    }
    ASSERT_EQ(out + last, fed.substr(0, length)) << "run " << run << ", " << fed;
    ASSERT_EQ(text.stop(), want.stop) << "run " << run << ", " << fed;
    stopped += text.stopped() ? 1 : 0;
  }
  EXPECT_GT(stopped, runs / 5);
  EXPECT_LT(stopped, runs * 19 / 20);
}

}  // namespace
}  // namespace ingot
