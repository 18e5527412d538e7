// Tests of forced calls with the tools of BFCL: replies are read back, and arguments fit schemas.
#include <gtest/gtest.h>

#include <fstream>
#include <map>
#include <random>
#include <string>

#include "base/full_run_test_util.h"
#include "base/shared_data_test_util.h"
#include "load/json_object.h"
#include "text/chat/tools/dialect_test_util.h"
#include "text/chat/tools/syntax_test_util.h"

namespace ingot {
namespace {

using testing::kTemplates;
using testing::Model;
using testing::models;
using testing::parse_with;
using testing::random_walk;
using testing::reply_grammar;

/// A schema of BFCL as JSON Schema. It names types as Python does.
Json mapped_schema(const Json& schema) {
  if (const auto* list = schema.as_array()) {
    Json out = Json::array();
    for (const Json& item : *list) out.push(mapped_schema(item));
    return out;
  }
  const auto* members = schema.as_object();
  if (members == nullptr) return schema;
  Json out = Json::object();
  for (const auto& [key, value] : *members) {
    const std::string* type = key == "type" ? value.as_string() : nullptr;
    if (type == nullptr) {
      // A default says nothing about the values that are allowed.
      if (key != "default" && key != "optional") out.set(key, mapped_schema(value));
    } else if (*type != "any") {
      out.set(key, *type == "dict"    ? Json("object")
                   : *type == "float" ? Json("number")
                   : *type == "tuple" ? Json("array")
                                      : value);
    }
  }
  return out;
}

TEST(ToolDialect, ForcedCallsOfBfclAreReadBack) {
  INGOT_NEEDS_SHARED("data/tools/bfcl");
  INGOT_NEEDS_SHARED(kTemplates);
  std::mt19937 random(47);
  std::size_t finished = 0, walks = 0;
  std::map<std::string, const Model*> dialects;  // one template of each
  for (const Model& model : models()) dialects.emplace(model.dialect->name(), &model);
  std::vector<const Model*> some;
  for (const auto& [name, model] : dialects) some.push_back(model);
  for (const std::filesystem::path& path : shared_entries("data/tools/bfcl")) {
    if (path.extension() != ".json") continue;
    std::ifstream in(path, std::ios::binary);
    std::size_t number = 0;
    for (std::string line; std::getline(in, line); ++number) {
      if (number % 16 != 0) continue;
      const Json request = parse_json(line, path.string(), "");
      std::vector<Tool> offered;
      for (const Json& function : *request.find("function")->as_array()) {
        offered.push_back({.name = *function.find_string("name"),
                           .parameters = mapped_schema(*function.find("parameters")),
                           .path = "tools[0].function"});
      }
      const Model& model = *some[++walks % some.size()];
      std::shared_ptr<const MatcherGrammar> grammar;
      ASSERT_NO_THROW(grammar = reply_grammar(
                          model, {.use = ToolChoice::Use::kRequired, .parallel = false}, offered))
          << model.name << ": " << line;
      const auto markers = model.dialect->markers();
      const auto text = random_walk(grammar, 256 + markers.size(), random, markers);
      if (!text) continue;
      ++finished;
      const auto parsed = parse_with(*model.dialect->make_parser({}, offered), *text, 64);
      ASSERT_EQ(parsed.calls.size(), 1U) << model.name << ": " << *text;
      EXPECT_TRUE(parsed.calls[0].has_end) << model.name << ": " << *text;
      EXPECT_NO_THROW(parse_json(parsed.calls[0].arguments, "arguments", ""))
          << model.name << ": " << *text << "\n"
          << parsed.calls[0].arguments;
    }
  }
  EXPECT_GT(finished, walks / 4);
}

}  // namespace
}  // namespace ingot
