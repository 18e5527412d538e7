// Reads constraints from flags, from the files that flags name, and from JSON lines.
#include "cli/options/constraint_options.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <utility>
#include <vector>

#include "base/error.h"
#include "base/text.h"
#include "base/utf8.h"
#include "cli/input.h"
#include "cli/options/options.h"
#include "load/json.h"

namespace ingot {

namespace {

/// Limit on the bytes of a file. ConstraintLimits has lower ones, which do not count white space.
constexpr std::uint64_t kBytesMax = std::uint64_t{4} << 20;

constexpr std::array<std::string_view, 4> kMembers = {"json_schema", "regex", "grammar", "choice"};

[[noreturn]] void refuse(std::string_view name, std::string_view reason) {
  throw Error(ErrorCode::kInvalid, cat(name, ": ", reason));
}

ConstraintSpec make_spec(std::string_view name, decltype(ConstraintSpec::form) form) {
  return {.form = std::move(form), .name = std::string(name)};
}

/// A file that cannot be read is an Error{kModel}. A file that is no JSON is a bad constraint.
Json read_schema(const std::string& path) {
  const TextInput input = read_input(path, kBytesMax);
  try {
    return parse_json_file(
        input.text, input.name, "json_schema",
        {.bytes_max = kBytesMax, .depth_max = ConstraintLimits::kSchemaDepthMax + 1});
  } catch (const Error& error) {
    refuse("--json-schema", error.message());
  }
}

std::vector<std::string> split_texts(std::string_view list) {
  std::vector<std::string> texts;
  for (;;) {
    const std::size_t comma = list.find(',');
    texts.emplace_back(list.substr(0, comma));
    if (texts.back().empty()) refuse("--choice", "a text is empty: expected A,B");
    if (comma == std::string_view::npos) return texts;
    list.remove_prefix(comma + 1);
  }
}

const std::string& string_member(std::string_view name, const Json& value) {
  if (value.as_string() == nullptr) refuse(name, cat("is ", value.kind(), ", expected a string"));
  return *value.as_string();
}

std::vector<std::string> texts_member(std::string_view name, const Json& value) {
  const Json::Array* list = value.as_array();
  if (list == nullptr) refuse(name, cat("is ", value.kind(), ", expected an array of strings"));
  if (list->empty()) refuse(name, "is empty: expected at least one string");
  std::vector<std::string> texts;
  for (std::size_t i = 0; i < list->size(); ++i) {
    texts.push_back(string_member(cat(name, "[", i, "]"), (*list)[i]));
  }
  return texts;
}

ConstraintSpec read_member(std::string_view name, const Json& value) {
  if (name == "json_schema") {
    if (value.as_object() == nullptr && value.as_bool() == nullptr) {
      refuse(name, cat("is ", value.kind(), ", expected an object"));
    }
    return make_spec(name, ConstraintSpec::JsonSchema{.schema = value, .is_strict = true});
  }
  if (name == "choice") return make_spec(name, ConstraintSpec::OneOf{texts_member(name, value)});
  const std::string& text = string_member(name, value);
  if (name == "regex") return make_spec(name, ConstraintSpec::Regex{text});
  return make_spec(name, ConstraintSpec::Gbnf{text});
}

}  // namespace

void add_constraint_options(CLI::App& app, ConstraintValues& values) {
  add_text(app, values.json_schema, "--json-schema",
           "A file with a JSON Schema: the text is JSON that is valid by it. A keyword that cannot "
           "be enforced is an error");
  add_text(app, values.regex, "--regex", "The whole text matches this regular expression");
  add_text(app, values.grammar, "--grammar",
           "A file with a GBNF grammar, as llama.cpp has them: the text is one of its rule root");
  add_text(app, values.choice, "--choice", "The text is one of these: A,B");
  mark_inputs(app, {"--json-schema", "--grammar"});
  exclude(app, "--json-schema", {"--regex", "--grammar", "--choice"});
  exclude(app, "--regex", {"--grammar", "--choice"});
  exclude(app, "--grammar", {"--choice"});
}

std::optional<ConstraintSpec> constraint_of(const ConstraintValues& values) {
  if (values.json_schema) {
    return make_spec(
        "--json-schema",
        ConstraintSpec::JsonSchema{.schema = read_schema(*values.json_schema), .is_strict = true});
  }
  if (values.regex) return make_spec("--regex", ConstraintSpec::Regex{*values.regex});
  if (values.grammar) {
    const std::string text = read_input(*values.grammar, kBytesMax).text;
    return make_spec("--grammar", ConstraintSpec::Gbnf{std::string(without_byte_order_mark(text))});
  }
  if (values.choice) {
    return make_spec("--choice", ConstraintSpec::OneOf{split_texts(*values.choice)});
  }
  return std::nullopt;
}

bool is_constraint_member(std::string_view name) {
  return std::find(kMembers.begin(), kMembers.end(), name) != kMembers.end();
}

std::optional<ConstraintSpec> constraint_of_line(const Json& line) {
  std::optional<ConstraintSpec> spec;
  for (const std::string_view name : kMembers) {
    const Json* value = line.find(name);
    if (value == nullptr || value->is_null()) continue;
    if (spec) refuse(name, cat("excludes ", spec->name));
    spec = read_member(name, *value);
  }
  return spec;
}

}  // namespace ingot
