// Members of a request's body: read, refused or reported.
#include "server/common/params.h"

#include <gtest/gtest.h>

#include <string>

#include "base/text.h"

namespace ingot {
namespace {

Json json(const std::string& text) { return parse_json(text, "test", "json"); }

/// The error that `body` throws, as "status param".
template <class Body>
std::string refusal(Body&& body) {
  try {
    body();
  } catch (const ApiError& error) {
    EXPECT_FALSE(error.message.empty());
    return cat(error.status, " ", error.param);
  }
  return "none";
}

TEST(Params, TakesAnObjectAlone) {
  for (const char* text : {"[]", "1", "\"x\"", "null", "true"}) {
    const Json value = json(text);
    EXPECT_EQ(refusal([&] { Params params(value); }), "400 ") << text;
  }
}

TEST(Params, ReadsWhatIsThere) {
  const Json value = json(R"({"f":true,"i":5,"r":1.5,"t":"x","n":null})");
  Params params(value);
  EXPECT_EQ(params.flag("f"), true);
  EXPECT_EQ(params.whole("i", 0, 5), 5);
  EXPECT_EQ(params.real("r", 0, 2), 1.5);
  EXPECT_EQ(params.real("i", 0, 9), 5.0);
  EXPECT_EQ(params.text("t", 1), "x");
  EXPECT_TRUE(params.has("t"));
  for (const char* absent : {"n", "other"}) {
    EXPECT_EQ(params.flag(absent), std::nullopt);
    EXPECT_EQ(params.whole(absent, 0, 1), std::nullopt);
    EXPECT_EQ(params.real(absent, 0, 1), std::nullopt);
    EXPECT_EQ(params.text(absent, 1), std::nullopt);
    EXPECT_FALSE(params.has(absent));
    params.refuse(absent, "is not supported");
    params.ignore(absent, "it changes nothing");
  }
  params.finish();
  EXPECT_TRUE(params.warnings().is_null());
}

TEST(Params, RefusesOtherKindsByName) {
  for (const char* text : {"1", "1.5", "\"x\"", "[]", "{}", "true"}) {
    const std::string kind = text;
    const Json value = json(cat("{\"p\":", text, "}"));
    Params params(value);
    const bool is_number = kind == "1" || kind == "1.5";
    EXPECT_EQ(refusal([&] { params.flag("p"); }), kind == "true" ? "none" : "400 p") << text;
    EXPECT_EQ(refusal([&] { params.whole("p", 0, 9); }), kind == "1" ? "none" : "400 p") << text;
    EXPECT_EQ(refusal([&] { params.real("p", 0, 9); }), is_number ? "none" : "400 p") << text;
    EXPECT_EQ(refusal([&] { params.text("p", 9); }), kind == "\"x\"" ? "none" : "400 p") << text;
  }
}

TEST(Params, TakesWholeNumbersOfAnyForm) {
  const Json value =
      json(R"({"f":4.0,"e":1e1,"z":-0.0,"h":4.5,"x":1e300,"b":18446744073709551615})");
  Params params(value);
  EXPECT_EQ(params.whole("f", 0, 9), 4);
  EXPECT_EQ(params.whole("e", 0, 10), 10);
  EXPECT_EQ(params.whole("z", 0, 10), 0);
  const auto message = [&](std::string_view name) -> std::string {
    try {
      params.whole(name, 0, 9);
    } catch (const ApiError& error) {
      return error.message;
    }
    return "";
  };
  EXPECT_EQ(message("h"), "h is a number, expected an integer");
  EXPECT_EQ(message("x"), "x is 1e+300, possible are 0 to 9");
  EXPECT_EQ(message("b"), "b is 18446744073709551615, possible are 0 to 9");
}

TEST(Params, TellsNullFromAbsent) {
  const Json value = json(R"({"n":null,"f":1})");
  const Params params(value);
  EXPECT_TRUE(params.is_null("n"));
  EXPECT_FALSE(params.is_null("f"));
  EXPECT_FALSE(params.is_null("other"));
}

TEST(Params, RefusesWhatIsOutOfRange) {
  const Json value = json(R"({"i":5,"r":0.5,"t":"four"})");
  Params params(value);
  EXPECT_EQ(refusal([&] { params.whole("i", 6, 9); }), "400 i");
  EXPECT_EQ(refusal([&] { params.whole("i", 0, 4); }), "400 i");
  EXPECT_EQ(refusal([&] { params.real("r", 0.6, 1); }), "400 r");
  EXPECT_EQ(refusal([&] { params.real("r", 0, 0.4); }), "400 r");
  EXPECT_EQ(refusal([&] { params.text("t", 3); }), "400 t");
  EXPECT_EQ(refusal([&] { params.refuse("t", "is not supported"); }), "400 t");
}

TEST(Params, ReportsWhatIsNotUsed) {
  const Json value = json(R"({"known":1,"ignored":2,"unknown":3})");
  Params params(value);
  params.take("known");
  params.ignore("ignored", "it changes nothing");
  params.finish();
  EXPECT_EQ(params.warnings().dump(),
            R"([{"param":"ignored","code":"ignored","detail":"it changes nothing"},)"
            R"({"param":"unknown","code":"unknown","detail":"the server does not know it"}])");
}

TEST(Params, WarnsOnceOfWhatManyPromptsShare) {
  const Json value = json("{}");
  Params params(value);
  for (int i = 0; i < 3; ++i) params.warn_once("n", "clamped", cat("room for ", i));
  params.warn_once("n", "ignored", "it changes nothing");
  EXPECT_EQ(params.warnings().dump(),
            R"([{"param":"n","code":"clamped","detail":"room for 0"},)"
            R"({"param":"n","code":"ignored","detail":"it changes nothing"}])");
}

TEST(Params, CountsTheWarningsOfAnEndlessList) {
  const Json value = json("{}");
  Params params(value);
  for (int i = 0; i < 200; ++i) {
    Params part(value);
    part.warn("p", "ignored", "one");
    part.warn("p", "ignored", "two");
    params.add_warnings(part);
  }
  params.warn("p", "ignored", "three");
  const Json warnings = params.warnings();
  ASSERT_EQ(warnings.as_array()->size(), 257U);
  EXPECT_EQ(warnings.as_array()->back().dump(),
            R"({"param":"","code":"more","detail":"145 more warnings"})");
}

TEST(Params, SaysALittleOfManyUnknownMembers) {
  std::string text = "{\"\\u001b[2J\":0";
  for (int i = 0; i < 1000; ++i) text += cat(",\"p", i, "\":0");
  const Json value = json(text + "}");
  Params params(value);
  params.finish();
  EXPECT_EQ(params.warnings().as_array()->size(), 33U);
  EXPECT_NE(params.warnings().dump().find("969 other members"), std::string::npos);
  EXPECT_EQ(params.warnings().dump().find('\x1b'), std::string::npos);
}

}  // namespace
}  // namespace ingot
