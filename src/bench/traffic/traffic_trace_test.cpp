// Traces: published ones, small ones, and everything that can be wrong with a line.
#include "bench/traffic/traffic_trace.h"

#include <gtest/gtest.h>

#include <set>

#include "base/error.h"
#include "base/shared_data_test_util.h"
#include "base/text.h"

namespace ingot {
namespace {

constexpr std::int64_t kAll = std::int64_t{1} << 40;
const std::string kAzure = "TIMESTAMP,ContextTokens,GeneratedTokens\n";
const std::string kAzureRow = "2023-11-16 18:17:03.9799600,4808,10";
const std::string kMooncakeRow =
    R"({"timestamp": 27, "input_length": 513, "output_length": 4, "hash_ids": [46, 47]})";

Traffic parse(const std::string& text, std::int64_t most = kAll) {
  return parse_trace(text, "t", most);
}

/// What refusing `text` says.
std::string refused(const std::string& text) {
  try {
    parse(text);
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::kModel);
    EXPECT_EQ(error.message().find('\n'), std::string::npos);
    return error.message();
  }
  return "taken";
}

TEST(AzureTrace, HasARowForEachRequest) {
  const Traffic traffic = parse(kAzure + kAzureRow + "\r\n2023-11-16 18:17:05.2,34,0\r\n");
  ASSERT_EQ(traffic.requests.size(), 2U);
  EXPECT_EQ(traffic.requests[0].arrival, 0);
  EXPECT_EQ(traffic.requests[0].prompt_tokens, 4808);
  EXPECT_EQ(traffic.requests[0].output_tokens, 10);
  EXPECT_NEAR(traffic.requests[1].arrival, 1.2200400, 1e-6);
  EXPECT_EQ(traffic.requests[1].output_tokens, 1) << "none is taken as one";
  EXPECT_TRUE(traffic.requests[1].blocks.empty());
}

/// Seconds from one time to another.
double between(const std::string& a, const std::string& b) {
  return parse(kAzure + a + ",1,1\n" + b + ",1,1\n").requests[1].arrival;
}

TEST(AzureTrace, CountsDaysAndOffsets) {
  EXPECT_EQ(between("2023-12-31 23:59:59", "2024-01-01 00:00:00"), 1);
  EXPECT_EQ(between("2024-02-28 12:00:00", "2024-03-01 12:00:00"), 2 * 86400);
  EXPECT_EQ(between("2023-02-28 12:00:00", "2023-03-01 12:00:00"), 86400);
  EXPECT_NEAR(between("2024-05-10 00:00:00.009930+00:00", "2024-05-10 00:00:01+00:00"), 0.99007,
              1e-6);
  EXPECT_EQ(between("2024-05-10 02:00:00+02:00", "2024-05-09 23:30:00-01:00"), 1800);
}

TEST(AzureTrace, IsSortedByArrival) {
  const Traffic traffic =
      parse(kAzure + "2023-01-01 00:00:05,7,1\n2023-01-01 00:00:02,8,1\n2023-01-01 00:00:05,9,1");
  ASSERT_EQ(traffic.requests.size(), 3U);
  EXPECT_EQ(traffic.requests[0].prompt_tokens, 8);
  EXPECT_EQ(traffic.requests[1].prompt_tokens, 7);
  EXPECT_EQ(traffic.requests[2].prompt_tokens, 9);
  EXPECT_EQ(traffic.requests[2].arrival, 3);
}

TEST(MooncakeTrace, HasAnObjectForEachRequest) {
  const Traffic traffic = parse(kMooncakeRow + "\n\n" +
                                R"({"timestamp": 3027.5, "input_length": 9, "output_length": 1,)"
                                R"( "hash_ids": [4294967295], "more": null})");
  ASSERT_EQ(traffic.requests.size(), 2U);
  EXPECT_EQ(traffic.block_tokens, 512);
  EXPECT_EQ(traffic.requests[0].prompt_tokens, 513);
  EXPECT_EQ(traffic.requests[0].blocks, (std::vector<std::uint32_t>{46, 47}));
  EXPECT_DOUBLE_EQ(traffic.requests[1].arrival, 3.0005);
  EXPECT_EQ(traffic.requests[1].blocks, (std::vector<std::uint32_t>{4294967295}));
}

TEST(Traces, TheFirstRequestsAreAllThatIsRead) {
  EXPECT_EQ(parse(kAzure + kAzureRow + "\nnonsense", 1).requests.size(), 1U);
  EXPECT_EQ(parse(kMooncakeRow + "\n" + kMooncakeRow + "\n{", 2).requests.size(), 2U);
}

TEST(Traces, BlankLinesAndAByteOrderMarkArePassedOver) {
  const std::string mark = "\xEF\xBB\xBF";
  EXPECT_EQ(parse(mark + kAzure + " \t\r\n" + kAzureRow).requests.size(), 1U);
  EXPECT_EQ(parse(mark + " \r\n" + kMooncakeRow + "\r\n\n  \n" + kMooncakeRow).requests.size(), 2U);
  EXPECT_EQ(refused(mark + "\n \n{"), "t: line 3 @7: the JSON text ends too early");
}

TEST(Traces, ErrorsNameTheLine) {
  EXPECT_EQ(refused(kAzure + kAzureRow + "\n\n" + "2023-11-16 18:17:03,x,10"),
            "t: line 4 @77: ContextTokens is x, expected 0 to 134217728 tokens");
  EXPECT_EQ(refused(""), "t: line 1 @0: expected a trace, the file has no lines");
  EXPECT_EQ(refused(kAzure), "t: line 1 @0: no requests behind the header");
  EXPECT_EQ(refused("a,b\n"),
            "t: line 1 @0: expected TIMESTAMP,ContextTokens,GeneratedTokens or a JSON object, got "
            "a,b");
  EXPECT_EQ(refused(kMooncakeRow + "\n[1]"),
            "t: line 2 @" + cat(kMooncakeRow.size() + 1) + ": expected an object, got an array");
}

TEST(Traces, RefuseDamagedRowsOfAzure) {
  for (const std::string row : {"2023-11-16 18:17:03",
                                "2023-11-16 18:17:03,1",
                                "2023-11-16 18:17:03,1,2,3",
                                "2023-11-16 18:17:03,,1",
                                "2023-11-16 18:17:03,1,",
                                "2023-11-16 18:17:03,-1,1",
                                "2023-11-16 18:17:03,1, 1",
                                "2023-11-16 18:17:03,1.5,1",
                                "2023-11-16 18:17:03,1e3,1",
                                "2023-11-16 18:17:03,134217729,1",
                                "2023-11-16 18:17:03,1,99999999999999999999",
                                "2023-13-16 18:17:03,1,1",
                                "2023-02-29 18:17:03,1,1",
                                "2023-11-16 24:17:03,1,1",
                                "2023-11-16T18:17:03,1,1",
                                "2023-11-16 18:17:03.,1,1",
                                "2023-11-16 18:17:03.1234567890,1,1",
                                "2023-11-16 18:17:03+1:00,1,1",
                                "2023-11-16 18:17:03 ,1,1",
                                "+023-11-16 18:17:03,1,1",
                                "2023-11-16 18:17:0x,1,1",
                                "TIMESTAMP,ContextTokens,GeneratedTokens",
                                "\x1b[2J,1,1",
                                "{\"timestamp\": 1}"}) {
    EXPECT_TRUE(refused(cat(kAzure, kAzureRow, "\n", row)).starts_with("t: line 3 @76: ")) << row;
  }
}

TEST(Traces, RefuseDamagedObjectsOfMooncake) {
  const auto row = [](const std::string& time, const std::string& input, const std::string& output,
                      const std::string& ids) {
    return cat("{\"timestamp\": ", time, ", \"input_length\": ", input,
               ", \"output_length\": ", output, ", \"hash_ids\": ", ids, "}");
  };
  EXPECT_EQ(refused(row("0", "512", "1", "[0]")), "taken");
  for (const std::string& text : {row("-1", "512", "1", "[0]"),
                                  row("1e300", "512", "1", "[0]"),
                                  row("\"0\"", "512", "1", "[0]"),
                                  row("0", "512.5", "1", "[0]"),
                                  row("0", "-1", "1", "[0]"),
                                  row("0", "null", "1", "[0]"),
                                  row("0", "134217729", "1", "[0]"),
                                  row("0", "512", "18446744073709551615", "[0]"),
                                  row("0", "512", "\"x\"", "[0]"),
                                  row("0", "513", "1", "[0]"),
                                  row("0", "512", "1", "[0, 1]"),
                                  row("0", "512", "1", "[]"),
                                  row("0", "512", "1", "[-1]"),
                                  row("0", "512", "1", "[4294967296]"),
                                  row("0", "512", "1", "[[0]]"),
                                  row("0", "512", "1", "0"),
                                  row("0", "512", "1", "{}"),
                                  row("0", "512", "1", "[0]") + "x",
                                  std::string("{\"timestamp\": 0}"),
                                  std::string("{}"),
                                  std::string("{\"timestamp\": 0, \"timestamp\": 0}"),
                                  std::string("{")}) {
    EXPECT_TRUE(refused(text).starts_with("t: line 1 @")) << text;
  }
}

TEST(Traces, RefuseWhatIsTooLarge) {
  const std::string long_line(std::size_t{5} << 20, '{');
  EXPECT_NE(refused(long_line).find("bytes, at most"), std::string::npos);
}

TEST(Traces, CutAnywhereAreTakenOrRefused) {
  for (const std::string& whole :
       {cat(kAzure, kAzureRow, "\n", kAzureRow), cat(kMooncakeRow, "\n", kMooncakeRow)}) {
    for (std::size_t n = 0; n < whole.size(); ++n) {
      const std::string message = refused(whole.substr(0, n));
      EXPECT_TRUE(message == "taken" || message.starts_with("t: line ")) << n;
    }
    for (std::size_t n = 0; n < whole.size(); ++n) {
      std::string damaged = whole;
      damaged[n] = '\x80';
      EXPECT_TRUE(refused(damaged).starts_with("t: line ")) << n;
    }
  }
}

TEST(PublishedTraces, AreReadWhole) {
  INGOT_NEEDS_SHARED("data/workload");
  std::set<std::string> seen;
  for (const std::string folder : {"data/workload/azure", "data/workload/mooncake"}) {
    for (const auto& path : shared_entries(folder)) {
      if (path.extension() != ".csv" && path.extension() != ".jsonl") continue;
      const Traffic traffic = read_trace(path.string(), kAll);
      EXPECT_GT(traffic.requests.size(), 1000U) << path;
      EXPECT_EQ(traffic.requests.front().arrival, 0) << path;
      EXPECT_GT(traffic.requests.back().arrival, 600) << path;
      EXPECT_EQ(traffic.requests.front().blocks.empty(), path.extension() == ".csv") << path;
      seen.insert(path.extension().string());
    }
  }
  EXPECT_EQ(seen.size(), 2U) << "a trace of each form";
}

}  // namespace
}  // namespace ingot
