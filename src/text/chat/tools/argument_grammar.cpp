// Grammars of arguments: JSON, or one text for each argument.
#include "text/chat/tools/argument_grammar.h"

#include <algorithm>
#include <array>
#include <utility>

#include "base/error.h"
#include "base/text.h"
#include "constraint/gbnf.h"
#include "constraint/language/pattern.h"
#include "load/json_object.h"
#include "text/chat/tools/call_body.h"

namespace ingot {

namespace {

/// The schema of a function's arguments, always of an object.
Json parameters_of(const Tool& tool) {
  if (tool.parameters.as_object() == nullptr) return json_object({{"type", "object"}});
  if (tool.parameters.find("type") != nullptr || tool.parameters.find("$ref") != nullptr) {
    return tool.parameters;
  }
  return with_member(tool.parameters, "type", "object");
}

std::string schema_name(const Tool& tool) { return cat(tool.path, ".parameters"); }

/// The place in a schema of what `wraps` allOf stand around.
std::string pointer_of_wrap(int wraps) {
  std::string pointer;
  for (int i = 0; i < wraps; ++i) pointer += "/allOf/0";
  return pointer;
}

/// Adds a schema at `place` of the tool's. Its notes and errors name the tool, without the `wraps`
/// allOf that stand around the schema.
NodeId add_schema(Grammar& grammar, CallGrammar& out, const Tool& tool, const Json& schema,
                  std::string_view place, int wraps, std::vector<SchemaNote>& notes) {
  const SchemaOptions options{.is_strict = tool.is_strict, .name = cat(schema_name(tool), place)};
  const std::string wrap = pointer_of_wrap(wraps);
  try {
    std::vector<SchemaNote> found;
    const NodeId node = add_json_schema(grammar, schema, options, found, out.budget);
    for (SchemaNote& note : found) {
      std::string_view pointer = note.pointer;
      if (pointer.starts_with(wrap)) pointer.remove_prefix(wrap.size());
      notes.push_back({cat(options.name, pointer), std::move(note.reason)});
    }
    return node;
  } catch (const Error& error) {
    const std::string_view text = error.what();
    if (wraps == 0 || !text.starts_with(cat(options.name, wrap))) throw;
    throw Error(error.code(), cat(options.name, text.substr(options.name.size() + wrap.size())));
  }
}

/// The language of a custom tool's input; nothing if it is not regular.
std::optional<TextDfa> custom_language(CallGrammar& out, const Tool& tool) {
  switch (tool.grammar_kind) {
    case Tool::Grammar::kText:
      return TextDfa::all(out.budget);
    case Tool::Grammar::kRegex:
      return compile_pattern(tool.grammar, Anchoring::kWhole, out.budget);
    case Tool::Grammar::kGbnf:
      break;
  }
  Grammar scratch;
  NodeId node = add_gbnf(scratch, tool.grammar, out.budget);
  bool is_nullable = false;
  if (const auto* repeat = std::get_if<grammar::Repeat>(&scratch.node(node))) {
    if (repeat->count_min > 0 || repeat->count_max != 1) return std::nullopt;
    is_nullable = true;
    node = repeat->part;
  }
  const auto* rule = std::get_if<grammar::Sequence>(&scratch.node(node));
  if (rule != nullptr && rule->parts.size() == 1) node = rule->parts[0];
  const auto* terminal = std::get_if<grammar::Terminal>(&scratch.node(node));
  if (terminal == nullptr) return std::nullopt;
  const TextDfa& texts = scratch.language(terminal->language);
  return is_nullable ? texts.united(TextDfa::literal("", out.budget), out.budget) : texts;
}

/// Calls `body`; its errors begin with the place of the tool's grammar.
template <class Body>
auto about_grammar(const Tool& tool, Body&& body) {
  try {
    return body();
  } catch (const Error& error) {
    throw Error(ErrorCode::kInvalid, cat(tool.path, ".grammar: ", error.what()));
  }
}

/// The text of a custom tool as JSON: {"input": "..."}.
NodeId add_custom_json(CallGrammar& out, const Tool& tool) {
  return about_grammar(tool, [&] {
    auto language = custom_language(out, tool);
    if (!language) {
      throw Error(ErrorCode::kInvalid,
                  "a grammar with recursion cannot be a JSON string: use one without, or a regex");
    }
    grammar::String text;
    if (tool.grammar_kind != Tool::Grammar::kText) {
      text.language = out.grammar.add_language(std::move(*language));
    }
    const NodeId string = out.grammar.add(text);
    return out.grammar.sequence({out.grammar.literal(cat("{\"", kCustomInput, "\": "), out.budget),
                                 string, out.grammar.literal("}", out.budget)});
  });
}

/// Adds arguments that stand one by one, between tags or as literals.
class SingleArguments {
 public:
  SingleArguments(CallGrammar& out, const CallFrames& frames, const Tool& tool)
      : out_(out), frames_(frames), tool_(tool), parameters_(parameters_of(tool)) {}

  NodeId add() {
    if (tool_.kind == Tool::Kind::kCustom) return add_custom();
    collect();
    std::vector<NodeId> alternatives;
    if (!has_required_) alternatives.push_back(out_.frame(frames_.empty));
    if (!properties_.empty()) add_declared(alternatives);
    if (properties_.empty() && allows_others()) alternatives.push_back(add_others());
    return out_.grammar.choice(std::move(alternatives));
  }

 private:
  struct Property {
    std::string name;
    Json schema;
    bool is_required = false;
  };

  Grammar& grammar() { return out_.grammar; }
  NodeId literal(std::string_view text) { return out_.grammar.literal(text, out_.budget); }

  /// Reads declared and required properties. What else the schema says is not enforced here.
  void collect() {
    if (const Json* declared = parameters_.find("properties")) {
      for (const auto& [name, schema] :
           declared->as_object() ? *declared->as_object() : Json::Object()) {
        properties_.push_back({name, schema});
      }
    }
    const Json* required = parameters_.find("required");
    for (const Json& name :
         required && required->as_array() ? *required->as_array() : Json::Array()) {
      if (name.as_string() == nullptr) continue;
      const auto found =
          std::find_if(properties_.begin(), properties_.end(),
                       [&](const Property& p) { return p.name == *name.as_string(); });
      has_required_ = true;
      if (found != properties_.end()) {
        found->is_required = true;
      } else {
        properties_.push_back({*name.as_string(), Json(true), true});
      }
    }
    constexpr std::array<std::string_view, 12> kEnforced = {
        "type",        "properties", "required", "additionalProperties",
        "$schema",     "$defs",      "title",    "description",
        "definitions", "$id",        "examples", "default"};
    for (const auto& [key, value] : *parameters_.as_object()) {
      if (std::find(kEnforced.begin(), kEnforced.end(), key) != kEnforced.end()) continue;
      refuse_or_note(cat("/", key), "cannot be enforced in this model's form of calls");
    }
  }
  void refuse_or_note(const std::string& pointer, std::string_view reason) {
    if (tool_.is_strict) {
      throw Error(ErrorCode::kInvalid, cat(schema_name(tool_), pointer, ": ", reason));
    }
    out_.notes.push_back({cat(schema_name(tool_), pointer), std::string(reason)});
  }

  bool allows_others() const {
    const Json* others = parameters_.find("additionalProperties");
    return others == nullptr || others->as_bool() == nullptr || *others->as_bool();
  }

  /// Optional arguments, in order: the first that occurs has no separator in front.
  void add_declared(std::vector<NodeId>& alternatives) {
    std::vector<NodeId> units;
    for (const Property& property : properties_) units.push_back(add_argument(property));
    const bool has_separator = !frames_.value_separator.empty();
    const NodeId separator = has_separator ? literal(frames_.value_separator) : kNoNode;
    std::vector<NodeId> rests(units.size() + 1, kNoNode);  // what may follow from argument i on
    for (std::size_t i = units.size(); i-- > 0;) {
      NodeId piece = has_separator ? grammar().sequence({separator, units[i]}) : units[i];
      if (!properties_[i].is_required) piece = grammar().optional(piece);
      rests[i] = rests[i + 1] == kNoNode ? piece : grammar().sequence({piece, rests[i + 1]});
    }
    for (std::size_t i = 0; i < units.size(); ++i) {
      std::vector<NodeId> parts = {out_.frame(frames_.middle), units[i]};
      if (rests[i + 1] != kNoNode) parts.push_back(rests[i + 1]);
      alternatives.push_back(grammar().sequence(std::move(parts)));
      if (properties_[i].is_required) break;
    }
  }

  NodeId add_others() {
    const NodeId key = out_.pattern("[A-Za-z_][A-Za-z0-9_]{0,63}");
    const NodeId unit =
        grammar().choice(argument_forms(key, Json(true), ArgumentKind::kEither, ""));
    const NodeId separator =
        frames_.value_separator.empty() ? kNoNode : literal(frames_.value_separator);
    const NodeId all =
        grammar().add(grammar::Repeat{.part = unit, .count_min = 1, .separator = separator});
    return grammar().sequence({out_.frame(frames_.middle), all});
  }

  NodeId add_custom() {
    return about_grammar(tool_, [&] {
      auto language = custom_language(out_, tool_);
      const NodeId key = literal(kCustomInput);
      NodeId text = kNoNode;
      if (language) {
        text = add_text(*language);
      } else {
        text = grammar().sequence({literal(frames_.quote),
                                   add_gbnf(grammar(), tool_.grammar, out_.budget),
                                   literal(cat(frames_.quote, frames_.value_end))});
      }
      return grammar().sequence(
          {out_.frame(frames_.middle), add_key(key, frames_.string_key_end), text});
    });
  }

  NodeId add_key(NodeId key, std::string_view key_end) {
    std::vector<NodeId> parts;
    if (!frames_.key_begin.empty()) parts.push_back(literal(frames_.key_begin));
    parts.push_back(key);
    parts.push_back(add_key_end(key_end));
    return grammar().sequence(std::move(parts));
  }
  /// A tag that names the type of the trial's number may name any type but a string.
  NodeId add_key_end(std::string_view key_end) {
    constexpr std::string_view kType = "\"number\"";
    const std::size_t at = key_end.find(kType);
    if (at == std::string_view::npos) return literal(key_end);
    return grammar().sequence({literal(key_end.substr(0, at)),
                               out_.pattern("\"(number|integer|boolean|object|array|null)\""),
                               literal(key_end.substr(at + kType.size()))});
  }

  NodeId add_argument(const Property& property) {
    const NodeId key = literal(property.name);
    const ArgumentKind kind = argument_kind(parameters_, property.name);
    return grammar().choice(argument_forms(key, property.schema, kind, property.name));
  }

  bool is_literal() const { return frames_.syntax->body == CallBody::kLiteral; }
  bool tells_type() const { return frames_.string_key_end != frames_.other_key_end; }

  std::vector<NodeId> argument_forms(NodeId key, const Json& schema, ArgumentKind kind,
                                     std::string_view name) {
    std::vector<NodeId> forms;
    if (kind != ArgumentKind::kJson) {
      auto language = string_language(schema, name);
      const bool is_ambiguous = kind == ArgumentKind::kEither && !is_literal() && !tells_type();
      if (language && is_ambiguous) {
        // A text that reads as another type is that type.
        language = language->without_texts_of(
            compile_pattern("^[ \\t\\r\\n]*([\\[{]|(true|false|null|[-+0-9.eE]+)[ \\t\\r\\n]*$)|^$",
                            Anchoring::kSearch, out_.budget),
            out_.budget);
      }
      if (language && !language->is_empty()) {
        forms.push_back(
            grammar().sequence({add_key(key, frames_.string_key_end), add_text(*language)}));
      }
    }
    if (kind != ArgumentKind::kString || (is_literal() && frames_.quote.size() == 1)) {
      const bool has_strings = is_literal() && frames_.quote.size() == 1;
      const Json typed = has_strings ? schema : without_strings(schema);
      std::vector<NodeId> parts = {add_key(key, frames_.other_key_end),
                                   add_schema(grammar(), out_, tool_, rooted(typed),
                                              name.empty() ? "" : cat("/properties/", name),
                                              has_strings ? 1 : 2, out_.notes)};
      if (!frames_.value_end.empty()) parts.push_back(literal(frames_.value_end));
      forms.push_back(grammar().sequence(std::move(parts)));
    }
    return forms;
  }

  static Json without_strings(const Json& schema) {
    Json types = Json::array();
    for (const char* type : {"null", "boolean", "number", "object", "array"}) types.push(type);
    Json all = Json::array();
    all.push(schema);
    all.push(json_object({{"type", std::move(types)}}));
    return json_object({{"allOf", std::move(all)}});
  }

  /// A property's schema with the definitions of the whole, to which its references point.
  Json rooted(const Json& schema) const {
    Json all = Json::array();
    all.push(schema);
    Json out = json_object({{"allOf", std::move(all)}});
    for (const std::string_view key : {"$schema", "$defs", "definitions"}) {
      if (const Json* member = parameters_.find(key)) out.set(std::string(key), *member);
    }
    return out;
  }

  /// The texts of strings that a schema allows; nothing if there are none.
  std::optional<TextDfa> string_language(const Json& schema, std::string_view name) {
    if (schema.as_bool() != nullptr) return TextDfa::all(out_.budget);
    Json all = Json::array();
    all.push(schema);
    all.push(json_object({{"type", "string"}}));
    const Json typed = rooted(json_object({{"allOf", std::move(all)}}));
    Grammar scratch;
    std::vector<SchemaNote> notes;
    const std::string place = name.empty() ? "" : cat("/properties/", name);
    const NodeId root = add_schema(scratch, out_, tool_, typed, place, 2, notes);
    std::optional<TextDfa> language;
    std::vector<NodeId> open = {root};
    while (!open.empty()) {
      const GrammarNode& node = scratch.node(open.back());
      open.pop_back();
      if (const auto* choice = std::get_if<grammar::Choice>(&node)) {
        open.insert(open.end(), choice->alternatives.begin(), choice->alternatives.end());
      } else if (const auto* string = std::get_if<grammar::String>(&node)) {
        TextDfa texts = text_of(scratch, *string, place);
        language = language ? language->united(texts, out_.budget) : std::move(texts);
      } else {
        refuse_or_note(place, "cannot be enforced for a string outside JSON");
        return TextDfa::all(out_.budget);
      }
    }
    return language;
  }
  TextDfa text_of(const Grammar& scratch, const grammar::String& string, const std::string& place) {
    TextDfa texts = string.language == grammar::String::kAny ? TextDfa::all(out_.budget)
                                                             : scratch.language(string.language);
    if (string.length_min == 0 && string.length_max == kUnlimited) return texts;
    // Lengths become states.
    constexpr std::uint64_t kLengthMax = 1024;
    const bool is_long = string.length_max != kUnlimited && string.length_max > kLengthMax;
    if (string.length_min > kLengthMax || is_long) {
      refuse_or_note(place, cat("a length above ", kLengthMax,
                                " cannot be enforced in this model's form of calls"));
      return texts;
    }
    return texts.with_length(string.length_min, string.length_max, out_.budget);
  }

  /// A string's text with its quotes or tags. The text does not have what ends it.
  NodeId add_text(const TextDfa& language) {
    const std::string end = cat(frames_.quote, frames_.value_end);
    std::vector<std::string> marks = {
        std::string(frames_.quote.empty() ? frames_.syntax->value_end : frames_.quote)};
    if (frames_.quote.size() == 1) marks.insert(marks.end(), {"\\", "\n"});
    if (!frames_.syntax->raw_begin.empty()) marks.emplace_back(frames_.syntax->raw_begin);
    TextDfa texts = TextDfa::without(marks, out_.budget).intersected(language, out_.budget);
    if (texts.is_empty()) {
      throw Error(
          ErrorCode::kInvalid,
          cat(schema_name(tool_), ": an argument has no text in this model's form of calls"));
    }
    const TextDfa whole = texts.followed_by(TextDfa::literal(end, out_.budget), out_.budget);
    const NodeId text = grammar().terminal(whole);
    if (frames_.quote.empty()) return text;
    return grammar().sequence({literal(frames_.quote), text});
  }

  CallGrammar& out_;
  const CallFrames& frames_;
  const Tool& tool_;
  Json parameters_;
  std::vector<Property> properties_{};
  bool has_required_ = false;
};

}  // namespace

NodeId CallGrammar::pattern(std::string_view pattern) {
  return grammar.terminal(compile_pattern(pattern, Anchoring::kWhole, budget));
}

NodeId CallGrammar::frame(std::string_view text, std::string_view name) {
  std::vector<NodeId> parts;
  std::string plain;
  const auto end_plain = [&] {
    if (!plain.empty()) parts.push_back(grammar.literal(plain, budget));
    plain.clear();
  };
  for (const char c : text) {
    if (c == kNameHole) {
      plain += name;
    } else if (c == kIdHole || c == kNumberHole) {
      end_plain();
      parts.push_back(pattern(c == kNumberHole ? "[0-9]{1,4}"
                              : has_short_ids  ? "[a-zA-Z0-9]{9}"
                                               : "[a-zA-Z0-9_-]{1,40}"));
    } else {
      plain += c;
    }
  }
  end_plain();
  if (parts.size() == 1) return parts.front();
  return parts.empty() ? grammar.literal("", budget) : grammar.sequence(std::move(parts));
}

NodeId add_arguments(CallGrammar& out, const CallFrames& frames, const Tool& tool) {
  const bool has_json =
      frames.syntax->body == CallBody::kObject || frames.syntax->body == CallBody::kNamed;
  if (!has_json) return SingleArguments(out, frames, tool).add();
  const NodeId arguments =
      tool.kind == Tool::Kind::kCustom
          ? add_custom_json(out, tool)
          : add_schema(out.grammar, out, tool, parameters_of(tool), "", 0, out.notes);
  return out.grammar.sequence({out.frame(frames.middle), arguments});
}

}  // namespace ingot
