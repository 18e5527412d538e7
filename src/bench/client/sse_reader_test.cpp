// Events, whole and cut at every byte.
#include "bench/client/sse_reader.h"

#include <gtest/gtest.h>

namespace ingot {
namespace {

constexpr std::size_t kMax = 1 << 16;

std::vector<SseEvent> read_parts(const std::vector<std::string_view>& parts) {
  SseReader reader(kMax);
  std::vector<SseEvent> events;
  for (const std::string_view part : parts) EXPECT_TRUE(reader.read(part, events));
  return events;
}

TEST(SseReader, ReadsData) {
  const std::vector<SseEvent> expected{{.type = "", .data = "a"}, {.type = "", .data = "b: c"}};
  EXPECT_EQ(read_parts({"data: a\n\ndata:b: c\n\n"}), expected);
}

TEST(SseReader, JoinsLinesAndKeepsTypes) {
  const std::vector<SseEvent> expected{{.type = "x", .data = "1\n\n 2"}, {.type = "", .data = ""}};
  EXPECT_EQ(read_parts({"event: x\ndata: 1\ndata\ndata:  2\n\ndata:\n\n"}), expected);
}

TEST(SseReader, DropsWhatHasNoData) {
  EXPECT_EQ(read_parts({": ping\n\nevent: y\n\nid: 3\nretry: 4\nother\n\n\n\n"}),
            std::vector<SseEvent>());
  EXPECT_EQ(read_parts({"data: not ended\n"}), std::vector<SseEvent>());
}

TEST(SseReader, SkipsAByteOrderMarkAtTheBeginningAlone) {
  const std::vector<SseEvent> expected{{.type = "", .data = "a"}};
  EXPECT_EQ(read_parts({"\xEF\xBB\xBF"
                        "data: a\n\n\xEF\xBB\xBF"
                        "data: b\n\n"}),
            expected);
}

TEST(SseReader, IsTheSameCutAtEveryByte) {
  const std::string_view stream =
      "\xEF\xBB\xBF: hello\r\ndata: one\r\n\r\nevent: t\rdata: two\rdata: more\r\rdata: three\n\n"
      "data\r\n\r\n\r\ndata: {\"a\":\"\xC3\xA9\"}\n\n";
  const auto whole = read_parts({stream});
  ASSERT_EQ(whole.size(), 5U);
  EXPECT_EQ(whole[1], (SseEvent{.type = "t", .data = "two\nmore"}));
  for (std::size_t cut = 0; cut <= stream.size(); ++cut) {
    EXPECT_EQ(read_parts({stream.substr(0, cut), stream.substr(cut)}), whole) << cut;
  }
  std::vector<std::string_view> bytes;
  for (std::size_t i = 0; i < stream.size(); ++i) bytes.push_back(stream.substr(i, 1));
  EXPECT_EQ(read_parts(bytes), whole);
}

TEST(SseReader, EndsAtItsLimit) {
  for (const std::size_t part : {std::size_t{1}, std::size_t{7}, std::size_t{64}}) {
    SseReader reader(20);
    std::vector<SseEvent> events;
    const std::string text = "data: a\n\ndata: b\ndata: " + std::string(64, 'x');
    bool good = true;
    for (std::size_t i = 0; i < text.size(); i += part) {
      good = reader.read(std::string_view(text).substr(i, part), events);
    }
    EXPECT_FALSE(good);
    EXPECT_FALSE(reader.read("\n\n", events));
    EXPECT_LE(events.size(), 1U);
  }
}

}  // namespace
}  // namespace ingot
