// Tests of JSON values: reading foreign bytes within limits, and printing.
#include "load/json.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <set>

#include "load/hf/hf_test_util.h"
#include "load/json_object.h"

namespace ingot {
namespace {

using namespace testing_hf;

Json parse(std::string_view text, const JsonLimits& limits = {}) {
  return parse_json(text, "file.json", "config", limits);
}

TEST(Json, KeepsKindsAndOrder) {
  const Json v = parse(R"( {"b": [1, -2, 2.0, "x", true, null], "a": {}} )");
  ASSERT_NE(v.as_object(), nullptr);
  EXPECT_EQ(v.as_object()->at(0).first, "b");
  EXPECT_EQ(v.as_object()->at(1).first, "a");
  const Json::Array& list = *v.find("b")->as_array();
  EXPECT_EQ(*list.at(0).as_int(), 1);
  EXPECT_EQ(*list.at(1).as_int(), -2);
  EXPECT_EQ(list.at(2).as_int(), nullptr);
  EXPECT_EQ(*list.at(2).as_double(), 2.0);
  EXPECT_EQ(*list.at(3).as_string(), "x");
  EXPECT_TRUE(*list.at(4).as_bool());
  EXPECT_TRUE(list.at(5).is_null());
  EXPECT_EQ(v.find("c"), nullptr);
  EXPECT_EQ(v.dump(), R"({"b":[1,-2,2.0,"x",true,null],"a":{}})");
}

TEST(Json, IntegersStayExactUpTo64Bits) {
  EXPECT_EQ(*parse("9223372036854775807").as_int(), std::numeric_limits<std::int64_t>::max());
  EXPECT_EQ(*parse("-9223372036854775808").as_int(), std::numeric_limits<std::int64_t>::min());
  EXPECT_EQ(parse("9223372036854775808").as_int(), nullptr);
  EXPECT_EQ(parse("9223372036854775808").as_double(), nullptr);
  EXPECT_EQ(parse("9223372036854775808").number(), 9223372036854775808.0);
  EXPECT_EQ(parse("9223372036854775808").as_uint(), std::uint64_t{1} << 63);
  EXPECT_EQ(parse("18446744073709551615").as_uint(), std::numeric_limits<std::uint64_t>::max());
  EXPECT_EQ(parse("18446744073709551615").kind(), "an integer");
  EXPECT_EQ(parse("0").as_uint(), 0);
  EXPECT_EQ(parse("-1").as_uint(), std::nullopt);
  EXPECT_EQ(parse("1.0").as_uint(), std::nullopt);
  EXPECT_EQ(*parse("18446744073709551616").as_double(), 18446744073709551616.0);
  EXPECT_EQ(*parse("-9223372036854775809").as_double(), -9223372036854775808.0);
}

TEST(Json, WholeNumbersMayHaveAFractionOrAnExponent) {
  const auto whole = [](std::string_view text) { return parse_json(text, "t", "json").whole(); };
  EXPECT_EQ(whole("4"), 4);
  EXPECT_EQ(whole("4.0"), 4);
  EXPECT_EQ(whole("-1e1"), -10);
  EXPECT_EQ(whole("-0.0"), 0);
  EXPECT_EQ(whole("-9223372036854775808"), std::numeric_limits<std::int64_t>::min());
  EXPECT_EQ(whole("9007199254740992.0"), std::int64_t{1} << 53);
  for (const char* text : {"4.5", "1e-1", "9007199254740994.0", "1e300", "9223372036854775808",
                           "\"4\"", "true", "null", "[]"}) {
    EXPECT_EQ(whole(text), std::nullopt) << text;
  }
}

TEST(Json, NegativeZeroIsNoInteger) {
  const Json v = parse("-0");
  ASSERT_NE(v.as_double(), nullptr);
  EXPECT_TRUE(std::signbit(*v.as_double()));
  EXPECT_EQ(*parse("0").as_int(), 0);
}

TEST(Json, RefusesNumbersBeyondDoubles) {
  for (const char* text : {"1e400", "-1e400", "[1e309]"}) {
    expect_refused([&] { parse(text); }, "beyond the range of a double");
  }
  // Too small is rounded to zero, as every reader does.
  EXPECT_EQ(*parse("1e-400").number(), 0.0);
}

TEST(Json, RefusesWhatIsNotStrict) {
  for (const char* text :
       {"",         " ",      "{\"a\":1,}", "[1,]",        "// x\n1",   "/* x */ 1", "NaN",
        "Infinity", "1 2",    "{\"a\" 1}",  "'a'",         "01",        "+1",        ".5",
        "1.",       "\"\t\"", "tru",        "\"\\ud800\"", "\"\\x41\"", "[",         "{\"a\":"}) {
    EXPECT_FALSE(refusal([&] { parse(text); }).empty()) << text;
  }
  expect_refused([] { parse("\xef\xbb\xbf{}"); }, "byte order mark");
  expect_refused([] { parse(std::string_view("1\0", 2)); }, "@1: a NUL byte");
}

TEST(Json, AFileMayBeginWithAByteOrderMark) {
  EXPECT_EQ(*parse_json_file("\xef\xbb\xbf 1", "f", "s").as_int(), 1);
  EXPECT_EQ(*parse_json_file("1", "f", "s").as_int(), 1);
  // Offsets count the mark.
  expect_refused([] { parse_json_file("\xef\xbb\xbf[1,]", "f", "s"); }, "f: s @6: ");
  expect_refused([] { parse_json_file("\xef\xbb\xbf\xef\xbb\xbf{}", "f", "s"); },
                 "@3: JSON begins with a byte order mark");
}

TEST(Json, RefusesInvalidUtf8) {
  for (const char* text : {"\"\x80\"", "\"\xc0\xaf\"", "\"\xed\xa0\x80\"", "\"\xf5\x80\x80\x80\"",
                           "\"\xe2\x82\"", "{\"\xff\":1}"}) {
    EXPECT_FALSE(refusal([&] { parse(text); }).empty()) << text;
  }
  EXPECT_EQ(*parse("\"\xf0\x9f\x98\x80 \\ud83d\\ude00\"").as_string(),
            "\xf0\x9f\x98\x80 \xf0\x9f\x98\x80");
}

TEST(Json, RefusesDuplicateKeys) {
  expect_refused([] { parse(R"({"a": 1, "b": 2, "a": 1})"); }, "duplicate key 'a'");
  expect_refused([] { parse(R"([{"x": {"a": 1, "\u0061": 2}}])"); }, "duplicate key 'a'");
  EXPECT_NO_THROW(parse(R"([{"a": 1}, {"a": 1, "A": {"a": 1}}])"));
}

TEST(Json, ManyKeysAreCheckedInLinearithmicTime) {
  std::string text = "{";
  for (int i = 0; i < 200'000; ++i) text += cat("\"key", i, "\":0,");
  EXPECT_EQ(parse(text + "\"end\":0}").as_object()->size(), 200'001u);
  expect_refused([&] { parse(text + "\"key7\":0}"); }, "duplicate key 'key7'");
}

TEST(Json, LimitsDepth) {
  const auto nested = [](int depth) {
    return std::string(static_cast<std::size_t>(depth), '[') +
           std::string(static_cast<std::size_t>(depth), ']');
  };
  EXPECT_NO_THROW(parse(nested(64)));
  expect_refused([&] { parse(nested(65)); }, "@65: JSON is nested deeper than 64");
  expect_refused([&] { parse(std::string(1'000'000, '[')); }, "nested deeper");
  std::string objects;
  for (int i = 0; i < 100; ++i) objects += "{\"a\":";
  expect_refused([&] { parse(objects); }, "nested deeper");
}

TEST(Json, LimitsNodesStringsAndBytes) {
  const JsonLimits limits = {
      .bytes_max = 40, .depth_max = 4, .nodes_max = 4, .string_bytes_max = 5};
  EXPECT_NO_THROW(parse("[1,2,3]", limits));
  expect_refused([&] { parse("[1,2,3,4]", limits); }, "more than 4 JSON values");
  EXPECT_NO_THROW(parse("\"12345\"", limits));
  expect_refused([&] { parse("\"123456\"", limits); }, "a string has 6 bytes");
  expect_refused([&] { parse("{\"123456\":1}", limits); }, "a string has 6 bytes");
  expect_refused([&] { parse(std::string(41, ' '), limits); }, "has 41 bytes, at most 40");
}

TEST(Json, ErrorsNameFileSectionAndOffset) {
  expect_refused([] { parse("{\"a\": !}"); }, "file.json: config @6: malformed JSON near");
  expect_refused([] { parse_json("[1", "f", "header", {}, 8); }, "f: header @10: ");
}

TEST(Json, PrintsEscapesAndIndents) {
  Json v = Json::object();
  v.set("text", std::string("a\"\\\n\r\t\x01 \xff \xc3\xa9"));
  v.set("list", Json::array()).push(1);
  v.set("none", Json::array());
  EXPECT_EQ(
      v.dump(),
      "{\"text\":\"a\\\"\\\\\\n\\r\\t\\u0001 \xef\xbf\xbd \xc3\xa9\",\"list\":[1],\"none\":[]}");
  EXPECT_EQ(v.find("list")->dump(2), "[\n  1\n]");
  EXPECT_EQ(parse(v.dump(2)).dump(), v.dump());
}

TEST(Json, DoublesReadBackAsTheSame) {
  for (const double d : {0.1, 1e22, 1e-7, 5e-324, 1.7976931348623157e308, -0.0, 1.0, 1e15, 1e300}) {
    const Json back = parse(Json(d).dump());
    ASSERT_NE(back.as_double(), nullptr) << Json(d).dump();
    EXPECT_EQ(*back.as_double(), d);
    EXPECT_EQ(std::signbit(*back.as_double()), std::signbit(d));
  }
  EXPECT_EQ(Json(1.0).dump(), "1.0");
  EXPECT_EQ(Json(std::nan("")).dump(), "null");
  EXPECT_EQ(Json(std::uint64_t{1} << 63).dump(), "9223372036854775808");
}

/// What the suite allows and this reader refuses.
const std::set<std::string> kRefusedThough = {"y_object_duplicated_key.json",
                                              "y_object_duplicated_key_and_value.json"};

TEST(Json, AgreesWithJsonTestSuite) {
  const auto folder = shared_folder("data/json/JSONTestSuite/test_parsing");
  if (!std::filesystem::exists(folder)) GTEST_SKIP() << "no " << folder;
  int files = 0;
  for (const auto& path : entries(folder)) {
    const std::string name = path.filename().string();
    if (!name.ends_with(".json")) continue;
    ++files;
    const std::string text = read_file(path);
    const std::string message = refusal([&] { parse(text); });
    if (name.starts_with("y_")) {
      EXPECT_EQ(message.empty(), !kRefusedThough.contains(name)) << name << ": " << message;
    } else if (name.starts_with("n_")) {
      EXPECT_FALSE(message.empty()) << name;
    }
    if (message.empty()) {
      const Json value = parse(text);
      EXPECT_EQ(parse(value.dump()).dump(), value.dump()) << name;
    }
  }
  EXPECT_GT(files, 300);
}

TEST(Json, AnObjectIsWrittenAsItsMembers) {
  const Json inner = json_object({{"b", "text"}, {"c", Json()}});
  EXPECT_EQ(json_object({{"z", 1}, {"a", inner}}).dump(), R"({"z":1,"a":{"b":"text","c":null}})");
  EXPECT_EQ(json_object({}).dump(), "{}");
}

}  // namespace
}  // namespace ingot
