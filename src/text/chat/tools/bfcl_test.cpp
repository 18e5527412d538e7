// Tests of forced calls with the tools of BFCL: replies are read back, and arguments fit schemas.
#include <gtest/gtest.h>

#include <cmath>
#include <fstream>
#include <map>
#include <optional>
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

/// Whether a value has a schema's type.
bool has_type(const Json& value, std::string_view type) {
  if (type == "string") return value.as_string() != nullptr;
  if (type == "boolean") return value.as_bool() != nullptr;
  if (type == "array") return value.as_array() != nullptr;
  if (type == "object") return value.as_object() != nullptr;
  if (!value.number()) return false;
  // Integers beyond 64 bits are read as doubles.
  return type == "number" || (type == "integer" && std::floor(*value.number()) == *value.number());
}

/// Checks a value against the keywords that BFCL uses. Returns what is wrong; empty if nothing is.
std::string misfit(const Json& schema, const Json& value, int depth = 0) {
  const std::string* type = schema.find_string("type");
  if (type != nullptr && !has_type(value, *type)) return value.dump() + " is no " + *type;
  if (const Json* values = schema.find("enum"); values != nullptr && values->as_array()) {
    bool is_listed = false;
    for (const Json& each : *values->as_array()) {
      is_listed = is_listed || each.dump() == value.dump() ||
                  (each.number() && each.number() == value.number());
    }
    if (!is_listed) return value.dump() + " is not listed";
  }
  if (const Json* most = schema.find("maximum"); most && value.number()) {
    if (*value.number() > *most->number()) return value.dump() + " is too large";
  }
  const Json* required = schema.find("required");
  if (value.as_object() != nullptr && required != nullptr && required->as_array()) {
    for (const Json& name : *required->as_array()) {
      if (value.find(*name.as_string()) == nullptr) return *name.as_string() + " is absent";
    }
  }
  if (depth > 32) return "too deep";
  const Json* properties = schema.find("properties");
  if (value.as_object() != nullptr && properties != nullptr) {
    for (const auto& [name, part] : *value.as_object()) {
      const Json* own = properties->find(name);
      const std::string wrong = own == nullptr ? "" : misfit(*own, part, depth + 1);
      if (!wrong.empty()) return name + ": " + wrong;
    }
  }
  const Json* items = schema.find("items");
  if (value.as_array() != nullptr && items != nullptr) {
    for (const Json& item : *value.as_array()) {
      const std::string wrong = misfit(*items, item, depth + 1);
      if (!wrong.empty()) return wrong;
    }
  }
  return {};
}

/// Walks for a request until one ends.
constexpr int kTries = 64;

TEST(ToolDialect, ForcedCallsOfBfclFitTheirSchemas) {
  INGOT_NEEDS_SHARED("data/tools/bfcl");
  INGOT_NEEDS_SHARED(kTemplates);
  std::mt19937 random(47);
  std::size_t walks = 0;
  std::map<std::string, const Model*> dialects;  // one template of each
  for (const Model& model : models()) dialects.emplace(model.dialect->name(), &model);
  std::vector<const Model*> some;
  for (const auto& [name, model] : dialects) some.push_back(model);
  for (const std::filesystem::path& path : shared_entries("data/tools/bfcl")) {
    if (path.extension() != ".json") continue;
    std::ifstream in(path, std::ios::binary);
    std::size_t number = 0;
    for (std::string line; std::getline(in, line); ++number) {
      if (!is_full_run() && number % 16 != 0) continue;
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
      std::optional<std::string> text;  // a walk that becomes too long gives none
      for (int tries = 0; !text && tries < kTries; ++tries) {
        text = random_walk(grammar, 256 + markers.size(), random, markers);
      }
      ASSERT_TRUE(text) << model.name << ": " << line;
      const auto parsed = parse_with(*model.dialect->make_parser({}, offered), *text, 64);
      ASSERT_EQ(parsed.calls.size(), 1U) << model.name << ": " << *text;
      EXPECT_TRUE(parsed.calls[0].has_end) << model.name << ": " << *text;
      Json arguments;
      ASSERT_NO_THROW(arguments = parse_json(parsed.calls[0].arguments, "arguments", ""))
          << model.name << ": " << *text << "\n"
          << parsed.calls[0].arguments;
      for (const Tool& tool : offered) {
        if (tool.name != parsed.calls[0].name) continue;
        EXPECT_EQ(misfit(tool.parameters, arguments), "") << model.name << ": " << *text;
        break;
      }
    }
  }
  EXPECT_GT(walks, 0U);
}

}  // namespace
}  // namespace ingot
