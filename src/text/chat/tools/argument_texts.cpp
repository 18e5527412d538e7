// ArgumentTexts: strings without their own ends, and JSON.
#include "text/chat/tools/argument_texts.h"

#include <algorithm>
#include <utility>

#include "base/error.h"
#include "base/text.h"
#include "constraint/language/pattern.h"
#include "text/chat/tools/argument_types.h"

namespace ingot {

namespace {

std::vector<std::string_view> names_of(JsonTypes types) {
  using namespace json_type;
  std::vector<std::string_view> names;
  for (const auto& [type, name] :
       {std::pair(kNull, "null"), std::pair(kBoolean, "boolean"), std::pair(kArray, "array"),
        std::pair(kObject, "object"), std::pair(kString, "string")}) {
    if ((types & type) != 0) names.emplace_back(name);
  }
  if ((types & kFraction) != 0) {
    names.emplace_back("number");
  } else if ((types & kInteger) != 0) {
    names.emplace_back("integer");
  }
  return names;
}

}  // namespace

std::string schema_name(const Tool& tool) { return cat(tool.path, ".parameters"); }

ArgumentTexts::ArgumentTexts(CallGrammar& out, const CallFrames& frames, const Tool& tool,
                             const Json& parameters)
    : out_(out), frames_(frames), tool_(tool), parameters_(parameters) {
  if (tool.kind == Tool::Kind::kCustom) return;
  const SchemaOptions options{.is_strict = tool.is_strict, .name = schema_name(tool)};
  schema_ = std::make_unique<SchemaParts>(grammar(), parameters, options, notes_, budget());
}

NodeId ArgumentTexts::add_key(NodeId key, std::string_view key_end) {
  std::vector<NodeId> parts;
  if (!frames_.key_begin.empty()) parts.push_back(literal(frames_.key_begin));
  parts.push_back(key);
  parts.push_back(add_key_end(key_end));
  return grammar().sequence(std::move(parts));
}

/// A tag that names the type of the trial's number may name any type but a string.
NodeId ArgumentTexts::add_key_end(std::string_view key_end) {
  constexpr std::string_view kType = "\"number\"";
  const std::size_t at = key_end.find(kType);
  if (at == std::string_view::npos) return literal(key_end);
  return grammar().sequence({literal(key_end.substr(0, at)),
                             out_.pattern("\"(number|integer|boolean|object|array|null)\""),
                             literal(key_end.substr(at + kType.size()))});
}

NodeId ArgumentTexts::add_text(const TextDfa& language, std::string_view key) {
  const std::string end = cat(frames_.quote, value_end_of(frames_, key));
  TextDfa texts = TextDfa::without(marks(), out_.budget).intersected(language, out_.budget);
  if (texts.is_empty()) return kNoNode;
  const TextDfa whole = texts.followed_by(TextDfa::literal(end, out_.budget), out_.budget);
  const NodeId text = grammar().terminal(whole);
  if (frames_.quote.empty()) return text;
  return grammar().sequence({literal(frames_.quote), text});
}

NodeId ArgumentTexts::add_strings(const Json& schema, JsonTypes types, std::string_view key,
                                  const Place& place) {
  return add_text(string_language(schema, types, place), key);
}

NodeId ArgumentTexts::add_json(const Json& schema, JsonTypes types) {
  return schema_->add(schema,
                      types == json_type::kAll ? std::vector<std::string_view>() : names_of(types));
}

std::vector<std::string> ArgumentTexts::marks() const {
  std::vector<std::string> marks = {
      std::string(frames_.quote.empty() ? frames_.syntax->value_end : frames_.quote)};
  if (frames_.quote.size() == 1) marks.insert(marks.end(), {"\\", "\n"});
  if (!frames_.syntax->raw_begin.empty()) marks.emplace_back(frames_.syntax->raw_begin);
  if (is_element()) marks[0].resize(marks[0].size() - 2);  // what stands before each tag
  return marks;
}

void ArgumentTexts::refuse_or_note(const std::string& pointer, std::string_view reason) {
  constexpr std::size_t kNotesMax = 100;
  if (tool_.is_strict) {
    throw Error(ErrorCode::kInvalid, cat(schema_name(tool_), pointer, ": ", reason));
  }
  const std::string name = cat(schema_name(tool_), pointer);
  const bool is_known = std::any_of(
      out_.notes.begin(), out_.notes.end(),
      [&](const SchemaNote& note) { return note.pointer == name && note.reason == reason; });
  if (!is_known && out_.notes.size() < kNotesMax) {
    out_.notes.push_back({name, std::string(reason)});
  }
}

void ArgumentTexts::fail_without_text(std::string_view pointer) const {
  throw Error(ErrorCode::kInvalid, cat(schema_name(tool_), pointer, ": ", kNoText));
}

void ArgumentTexts::take_notes() {
  for (SchemaNote& note : notes_) {
    out_.notes.push_back({cat(schema_name(tool_), note.pointer), std::move(note.reason)});
  }
  notes_.clear();
}

/// The texts that a parser may read as JSON of `types`. Arrays and objects are a superset: texts
/// with their beginnings and ends, and texts that end inside a nested string, where a tag ends no
/// value.
TextDfa ArgumentTexts::json_texts(JsonTypes types) {
  using namespace json_type;
  // Up to a quote that opens a string and is not followed by the one that closes it.
  constexpr std::string_view kOpen =
      "[^\"]*(\"([^\"\\\\]|\\\\[\\s\\S])*\"[^\"]*)*\"([^\"\\\\]|\\\\[\\s\\S])*\\\\?";
  const std::string array = cat("\\[([ \\t\\r\\n]*([\\[{\"tfn0-9-][\\s\\S]*)?\\]|", kOpen, ")");
  const std::string object = cat("\\{([ \\t\\r\\n]*(\"[\\s\\S]*)?\\}|", kOpen, ")");
  std::string any;
  for (const auto& [type, pattern] :
       {std::pair(kNull, "null"), std::pair(kBoolean, "true|false"),
        std::pair(kFraction, "-?(0|[1-9][0-9]*)(\\.[0-9]+)?([eE][-+]?[0-9]+)?"),
        std::pair(kInteger, "-?(0|[1-9][0-9]*)"), std::pair(kArray, array.c_str()),
        std::pair(kObject, object.c_str())}) {
    if ((types & type) != 0) any += cat(any.empty() ? "" : "|", pattern);
  }
  return compile_pattern(cat("[ \\t\\r\\n]*(", any, ")[ \\t\\r\\n]*"), Anchoring::kWhole,
                         out_.budget);
}

/// The texts of strings that an argument may be.
TextDfa ArgumentTexts::string_language(const Json& schema, JsonTypes types, const Place& place) {
  TextDfa language;
  for (const SchemaParts::Strings& strings : schema_->strings(schema)) {
    language = language.united(with_length(strings, place), out_.budget);
  }
  const bool is_ambiguous = types != json_type::kString && !is_literal() && !tells_type();
  if (!is_ambiguous || language.is_empty()) return language;
  return language.without_texts_of(json_texts(types), out_.budget);
}

TextDfa ArgumentTexts::with_length(const SchemaParts::Strings& strings, const Place& place) {
  const TextDfa& texts = strings.language;
  if (strings.length_min == 0 && strings.length_max == kUnlimited) return texts;
  // Lengths become states.
  constexpr std::uint64_t kLengthMax = 1024;
  const bool is_long = strings.length_max != kUnlimited && strings.length_max > kLengthMax;
  if (strings.length_min > kLengthMax || is_long) {
    refuse_or_note(place(), cat("a length above ", kLengthMax,
                                " cannot be enforced in this model's form of calls"));
    return texts;
  }
  return texts.with_length(strings.length_min, strings.length_max, out_.budget);
}

}  // namespace ingot
