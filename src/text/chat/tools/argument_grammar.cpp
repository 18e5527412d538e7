// Grammars of arguments: JSON, or one text for each argument.
#include "text/chat/tools/argument_grammar.h"

#include <algorithm>
#include <array>
#include <initializer_list>
#include <map>
#include <optional>
#include <utility>

#include "base/error.h"
#include "base/text.h"
#include "constraint/language/pattern.h"
#include "load/json_object.h"
#include "text/chat/tools/argument_types.h"
#include "text/chat/tools/arguments_out.h"
#include "text/chat/tools/custom_grammar.h"

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

/// Adds the schema of arguments as JSON; its notes name the tool.
NodeId add_schema(CallGrammar& out, const Tool& tool) {
  std::vector<SchemaNote> notes;
  const SchemaOptions options{.is_strict = tool.is_strict, .name = schema_name(tool)};
  const NodeId node = add_json_schema(out.grammar, parameters_of(tool), options, notes, out.budget);
  for (SchemaNote& note : notes) {
    out.notes.push_back({cat(schema_name(tool), note.pointer), std::move(note.reason)});
  }
  return node;
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
    return out.grammar.sequence({out.grammar.literal(cat("{\"", kCustomInput, "\": "), out.budget),
                                 add_custom_string(out.grammar, tool, out.budget),
                                 out.grammar.literal("}", out.budget)});
  });
}

constexpr std::string_view kNoText = "allows no text in this model's form of calls";

/// Adds arguments that stand one by one, between tags or as literals.
class SingleArguments {
 public:
  SingleArguments(CallGrammar& out, const CallFrames& frames, const Tool& tool)
      : out_(out),
        frames_(frames),
        tool_(tool),
        parameters_(parameters_of(tool)),
        schema_(arguments_schema(parameters_)),
        types_(parameters_) {}

  NodeId add() {
    if (tool_.kind == Tool::Kind::kCustom) return add_custom();
    return with_notes([&] { return add_all(); });
  }

 private:
  struct Property {
    std::string name;
    const Json* schema;
    JsonTypes types;
    bool is_required = false;
    NodeId node = kNoNode;  ///< the argument's text
  };

  Grammar& grammar() { return out_.grammar; }
  NodeId literal(std::string_view text) { return out_.grammar.literal(text, out_.budget); }

  /// Calls `body`, and gives the notes of the schema the tool's name.
  template <class Body>
  NodeId with_notes(Body&& body) {
    std::vector<SchemaNote> notes;
    parts_.emplace(grammar(), parameters_,
                   SchemaOptions{.is_strict = tool_.is_strict, .name = schema_name(tool_)}, notes,
                   out_.budget);
    const NodeId node = body();
    for (SchemaNote& note : notes) {
      out_.notes.push_back({cat(schema_name(tool_), note.pointer), std::move(note.reason)});
    }
    parts_.reset();
    return node;
  }

  NodeId add_all() {
    collect();
    std::vector<Property> possible;
    for (Property& property : properties_) {
      property.node = add_argument(property);
      if (property.node != kNoNode) possible.push_back(property);
    }
    const NodeId others = has_others() ? add_others() : kNoNode;
    properties_ = std::move(possible);
    std::vector<NodeId> alternatives;
    if (!has_required_) alternatives.push_back(out_.frame(frames_.empty));
    add_declared(alternatives, others);
    if (others != kNoNode && !has_required_) {
      alternatives.push_back(grammar().sequence({out_.frame(frames_.middle), others}));
    }
    return grammar().choice(std::move(alternatives));
  }

  /// Reads declared and required properties. What else the schema says is not enforced here.
  void collect() {
    static const Json kAnything(true);
    if (const Json* declared = schema_.schema->find("properties")) {
      for (const auto& [name, schema] :
           declared->as_object() ? *declared->as_object() : Json::Object()) {
        (void)schema;
        properties_.push_back({name, declared->find(name), types_.of(name)});
      }
    }
    const Json* required = schema_.schema->find("required");
    const Json* others = schema_.schema->find("additionalProperties");
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
        properties_.push_back(
            {*name.as_string(), others ? others : &kAnything, types_.others(), true});
      }
    }
    note_keywords();
  }
  void note_keywords() {
    constexpr std::array<std::string_view, 12> kEnforced = {
        "type",        "properties", "required", "additionalProperties",
        "$schema",     "$defs",      "title",    "description",
        "definitions", "$id",        "examples", "default"};
    for (const auto& [key, value] : *schema_.schema->as_object()) {
      if (std::find(kEnforced.begin(), kEnforced.end(), key) != kEnforced.end()) continue;
      refuse_or_note(cat(schema_.pointer, "/", key),
                     "cannot be enforced in this model's form of calls");
    }
  }
  void refuse_or_note(const std::string& pointer, std::string_view reason) {
    if (tool_.is_strict) {
      throw Error(ErrorCode::kInvalid, cat(schema_name(tool_), pointer, ": ", reason));
    }
    out_.notes.push_back({cat(schema_name(tool_), pointer), std::string(reason)});
  }

  /// Whether arguments that are not declared may stand: where a schema is given for them, or where
  /// none are declared.
  bool has_others() const {
    const Json* others = schema_.schema->find("additionalProperties");
    if (is_element()) return false;  // an end tag repeats the name
    if (others == nullptr || others->as_bool() != nullptr) {
      return properties_.empty() && (others == nullptr || *others->as_bool());
    }
    return true;
  }

  /// Optional arguments, in order: the first that occurs has no separator in front.
  void add_declared(std::vector<NodeId>& alternatives, NodeId others) {
    const std::size_t count = properties_.size();
    std::vector<NodeId> rests(count + 1, kNoNode);  // what may follow from argument i on
    if (others != kNoNode) rests[count] = grammar().optional(separated(others));
    for (std::size_t i = count; i-- > 0;) {
      NodeId piece = separated(properties_[i].node);
      if (!properties_[i].is_required) piece = grammar().optional(piece);
      rests[i] = rests[i + 1] == kNoNode ? piece : grammar().sequence({piece, rests[i + 1]});
    }
    for (std::size_t i = 0; i < count; ++i) {
      std::vector<NodeId> parts = {out_.frame(frames_.middle), properties_[i].node};
      if (rests[i + 1] != kNoNode) parts.push_back(rests[i + 1]);
      alternatives.push_back(grammar().sequence(std::move(parts)));
      if (properties_[i].is_required) break;
    }
  }
  NodeId separated(NodeId argument) {
    if (frames_.value_separator.empty()) return argument;
    return grammar().sequence({literal(frames_.value_separator), argument});
  }

  /// Arguments that are not declared, at least one. A name may occur twice.
  NodeId add_others() {
    static const Json kAnything(true);
    TextDfa names = compile_pattern("[A-Za-z_][A-Za-z0-9_]{0,63}", Anchoring::kWhole, out_.budget);
    std::vector<std::string> declared;
    for (const Property& property : properties_) declared.push_back(property.name);
    names = names.without_texts_of(TextDfa::any_of(declared, out_.budget), out_.budget);
    const Json* schema = schema_.schema->find("additionalProperties");
    const NodeId unit = add_argument({.name = {},
                                      .schema = schema == nullptr ? &kAnything : schema,
                                      .types = types_.others(),
                                      .node = grammar().terminal(std::move(names))});
    if (unit == kNoNode) return kNoNode;
    const NodeId separator =
        frames_.value_separator.empty() ? kNoNode : literal(frames_.value_separator);
    return grammar().add(grammar::Repeat{.part = unit, .count_min = 1, .separator = separator});
  }

  NodeId add_custom() {
    return about_grammar(tool_, [&] {
      std::vector<NodeId> forms;
      const auto add_form = [&](NodeId text) {
        const NodeId key = add_key(literal(kCustomInput), frames_.string_key_end);
        forms.push_back(grammar().sequence({out_.frame(frames_.middle), key, text}));
      };
      if (const auto language = custom_language(tool_, out_.budget)) {
        const NodeId text = add_text(*language, kCustomInput);
        if (text != kNoNode) add_form(text);
      } else if (!has_json_strings()) {
        add_form(grammar().sequence(
            {literal(frames_.quote), add_custom_text(grammar(), tool_, marks(), out_.budget),
             literal(cat(frames_.quote, value_end_of(frames_, kCustomInput)))}));
      }
      if (has_json_strings()) {
        std::vector<NodeId> parts = {add_custom_string(grammar(), tool_, out_.budget)};
        if (!frames_.value_end.empty()) parts.push_back(literal(frames_.value_end));
        add_form(grammar().sequence(std::move(parts)));
      }
      if (forms.empty()) throw Error(ErrorCode::kInvalid, cat("it ", kNoText));
      return forms.size() == 1 ? forms.front() : grammar().choice(std::move(forms));
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

  /// A literal in quotes of one byte is a JSON string too.
  bool has_json_strings() const { return is_literal() && frames_.quote.size() == 1; }
  bool is_literal() const { return frames_.syntax->body == CallBody::kLiteral; }
  bool tells_type() const { return frames_.string_key_end != frames_.other_key_end; }

  /// An argument with its key: `property.node`, or else the name. Returns kNoNode if it has no
  /// text.
  NodeId add_argument(const Property& property) {
    const NodeId key = property.node == kNoNode ? literal(property.name) : property.node;
    const std::string place = property.node == kNoNode
                                  ? pointer_of(property.name)
                                  : cat(schema_.pointer, "/additionalProperties");
    if (is_element()) return add_argument_element(property, place);
    std::vector<NodeId> forms;
    if ((property.types & json_type::kString) != 0) {
      const NodeId text = add_text(string_language(property, place), property.name);
      if (text != kNoNode) {
        forms.push_back(grammar().sequence({add_key(key, frames_.string_key_end), text}));
      }
    }
    if (property.types != json_type::kString || has_json_strings()) {
      const JsonTypes left_out = has_json_strings() ? 0U : json_type::kString;
      const JsonTypes types = property.types & ~left_out;
      const NodeId value =
          parts_->add(*property.schema,
                      types == json_type::kAll ? std::vector<std::string_view>() : names_of(types));
      if (value != kNoNode) {
        std::vector<NodeId> parts = {add_key(key, frames_.other_key_end), value};
        if (!frames_.value_end.empty()) parts.push_back(literal(frames_.value_end));
        forms.push_back(grammar().sequence(std::move(parts)));
      }
    }
    if (forms.empty() && property.is_required) {
      throw Error(ErrorCode::kInvalid, cat(schema_name(tool_), place, ": ", kNoText));
    }
    if (forms.size() == 1) return forms.front();
    return forms.empty() ? kNoNode : grammar().choice(std::move(forms));
  }

  bool is_element() const { return frames_.syntax->body == CallBody::kElements; }

  NodeId add_argument_element(const Property& property, const std::string& place) {
    const NodeId element = add_element(property, place);
    if (element == kNoNode && property.is_required) {
      throw Error(ErrorCode::kInvalid, cat(schema_name(tool_), place, ": ", kNoText));
    }
    return element;
  }

  /// Adds an element with its value: text, or elements. Returns kNoNode if it has no text.
  NodeId add_element(const Property& property, const std::string& place) {
    using namespace json_type;
    const auto [known, is_new] =
        elements_.try_emplace(std::pair(property.schema, property.name), kNoNode);
    if (!is_new) return known->second;  // also the element in itself
    const NodeId element = grammar().reserve();
    known->second = element;
    const std::string end = value_end_of(frames_, property.name);
    std::vector<NodeId> values;
    if ((property.types & kString) != 0) {
      const NodeId text = add_text(string_language(property, place), property.name);
      if (text != kNoNode) values.push_back(text);
    }
    const JsonTypes plain = property.types & (kNull | kBoolean | kInteger | kFraction);
    const NodeId value = plain == 0 ? kNoNode : parts_->add(*property.schema, names_of(plain));
    if (value != kNoNode) values.push_back(grammar().sequence({value, literal(end)}));
    const JsonTypes nested = allowed_types(parameters_, *property.schema) & (kArray | kObject);
    if (nested != 0) {
      note_inside(behind_references(parameters_, *property.schema), place,
                  {"allOf", "oneOf", "not", "if", "enum", "const"});
    }
    if ((nested & kArray) != 0) add_items(property, place, end, values);
    if ((nested & kObject) != 0) add_members(property, place, end, values);
    if (values.empty()) {
      grammar().set(element, grammar::Terminal{grammar().add_language(TextDfa())});
      elements_[std::pair(property.schema, property.name)] = kNoNode;
      return kNoNode;
    }
    grammar().set(element,
                  grammar::Sequence{{add_key(literal(property.name), frames_.other_key_end),
                                     grammar().choice(std::move(values))}});
    return element;
  }

  /// A part of the schema in an element.
  Property inside(std::string name, const Json& schema, bool is_required) const {
    return {std::move(name), &schema, value_types(parameters_, schema), is_required};
  }

  static std::uint64_t count_of(const Json& schema, std::string_view keyword, std::uint64_t none) {
    const Json* count = schema.find(keyword);
    const auto whole = count == nullptr ? std::nullopt : count->whole();
    return whole && *whole >= 0 ? static_cast<std::uint64_t>(*whole) : none;
  }

  void note_inside(const Json& schema, const std::string& place,
                   std::initializer_list<std::string_view> keywords) {
    for (const std::string_view keyword : keywords) {
      if (schema.find(keyword) == nullptr) continue;
      refuse_or_note(cat(place, "/", keyword), "cannot be enforced in this model's form of calls");
    }
  }

  /// Adds the elements of arrays. No element stands for an empty array, but not where a string may
  /// be empty.
  void add_items(const Property& property, const std::string& place, std::string_view end,
                 std::vector<NodeId>& values) {
    const Json* inner = schema_with(parameters_, *property.schema, "items");
    const Json& schema =
        inner == nullptr ? behind_references(parameters_, *property.schema) : *inner;
    const Json* items = schema.find("items");
    if (items != nullptr && items->as_array() != nullptr) {
      note_inside(schema, place, {"items"});
      items = nullptr;
    }
    note_inside(schema, place,
                {"prefixItems", "uniqueItems", "contains", "additionalItems", "unevaluatedItems"});
    const NodeId item = add_element(inside("item", items == nullptr ? anything() : *items, false),
                                    cat(place, "/items"));
    const std::uint64_t most = count_of(schema, "maxItems", kUnlimited);
    const std::uint64_t least = count_of(schema, "minItems", 0);
    const bool may_be_empty = least == 0 && (property.types & json_type::kString) == 0;
    if (may_be_empty) values.push_back(literal(end));
    if (item == kNoNode || most == 0 || least > most) return;
    const NodeId some = grammar().add(grammar::Repeat{
        .part = item, .count_min = std::max<std::uint64_t>(least, 1), .count_max = most});
    values.push_back(grammar().sequence({some, literal(end)}));
  }

  /// Adds the elements of objects, in the schema's order. Only declared names have elements, and no
  /// element stands for an empty object, but not where a string or an array may be empty.
  void add_members(const Property& property, const std::string& place, std::string_view end,
                   std::vector<NodeId>& values) {
    const Json* inner = schema_with(parameters_, *property.schema, "properties");
    const Json& schema =
        inner == nullptr ? behind_references(parameters_, *property.schema) : *inner;
    note_inside(schema, place,
                {"minProperties", "maxProperties", "patternProperties", "propertyNames",
                 "dependentRequired", "dependentSchemas", "dependencies"});
    if (inner == &behind_references(parameters_, *property.schema)) {
      note_inside(schema, place, {"anyOf"});
    }
    const std::vector<Property> members = members_of(schema);
    const bool may_be_array = (property.types & json_type::kArray) != 0;
    std::vector<NodeId> nodes;
    for (const Property& member : members) {
      nodes.push_back(add_element(member, cat(place, "/properties/", member.name)));
      // An array begins like this.
      if (may_be_array && member.name == "item") return;
      if (nodes.back() == kNoNode && member.is_required) return;
    }
    const bool may_be_empty = (property.types & (json_type::kString | json_type::kArray)) == 0;
    NodeId rest = literal(end);  // from a member on
    NodeId some = kNoNode;       // with one more member at least
    bool has_required = false;
    for (std::size_t i = members.size(); i-- > 0;) {
      if (nodes[i] == kNoNode) continue;
      const NodeId with = grammar().sequence({nodes[i], rest});
      has_required = has_required || members[i].is_required;
      if (members[i].is_required) {
        rest = some = with;
        continue;
      }
      rest = grammar().choice({with, rest});
      some = some == kNoNode ? with : grammar().choice({with, some});
    }
    if (has_required || may_be_empty) {
      values.push_back(rest);
    } else if (some != kNoNode) {
      values.push_back(some);
    }
  }
  std::vector<Property> members_of(const Json& schema) const {
    std::vector<Property> members;
    const Json* declared = schema.find("properties");
    if (declared != nullptr && declared->as_object() != nullptr) {
      for (const auto& [name, part] : *declared->as_object()) {
        members.push_back(inside(name, *declared->find(name), false));
        (void)part;
      }
    }
    const Json* required = schema.find("required");
    if (required == nullptr || required->as_array() == nullptr) return members;
    for (const Json& name : *required->as_array()) {
      if (name.as_string() == nullptr) continue;
      const auto known = std::find_if(members.begin(), members.end(), [&](const Property& p) {
        return p.name == *name.as_string();
      });
      if (known != members.end()) {
        known->is_required = true;
      } else {
        members.push_back(inside(*name.as_string(), anything(), true));
      }
    }
    return members;
  }
  static const Json& anything() {
    static const Json kAnything(true);
    return kAnything;
  }
  std::string pointer_of(std::string_view name) const {
    std::string out = cat(schema_.pointer, "/properties/");
    for (const char c : name) out += c == '~' ? "~0" : c == '/' ? "~1" : std::string(1, c);
    return out;
  }
  static std::vector<std::string_view> names_of(JsonTypes types) {
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

  /// The texts that a parser reads as JSON of `types`. Arrays and objects are a superset, told by
  /// beginnings and ends.
  TextDfa json_texts(JsonTypes types) {
    using namespace json_type;
    std::string any;
    for (const auto& [type, pattern] :
         {std::pair(kNull, "null"), std::pair(kBoolean, "true|false"),
          std::pair(kFraction, "-?(0|[1-9][0-9]*)(\\.[0-9]+)?([eE][-+]?[0-9]+)?"),
          std::pair(kInteger, "-?(0|[1-9][0-9]*)"),
          std::pair(kArray, "\\[[ \\t\\r\\n]*([\\[{\"tfn0-9-][\\s\\S]*)?\\]"),
          std::pair(kObject, "\\{[ \\t\\r\\n]*(\"[\\s\\S]*)?\\}")}) {
      if ((types & type) != 0) any += cat(any.empty() ? "" : "|", pattern);
    }
    return compile_pattern(cat("[ \\t\\r\\n]*(", any, ")[ \\t\\r\\n]*"), Anchoring::kWhole,
                           out_.budget);
  }

  /// The texts of strings that an argument may be.
  TextDfa string_language(const Property& property, const std::string& place) {
    TextDfa language;
    for (const SchemaParts::Strings& strings : parts_->strings(*property.schema)) {
      language = language.united(text_of(strings, place), out_.budget);
    }
    const bool is_ambiguous =
        property.types != json_type::kString && !is_literal() && !tells_type();
    if (!is_ambiguous || language.is_empty()) return language;
    return language.without_texts_of(json_texts(property.types), out_.budget);
  }
  TextDfa text_of(const SchemaParts::Strings& string, const std::string& place) {
    const TextDfa& texts = string.language;
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

  /// A string's text with its quotes or tags. The text does not have what ends it. Returns kNoNode
  /// if there is none.
  NodeId add_text(const TextDfa& language, std::string_view key) {
    const std::string end = cat(frames_.quote, value_end_of(frames_, key));
    TextDfa texts = TextDfa::without(marks(), out_.budget).intersected(language, out_.budget);
    if (texts.is_empty()) return kNoNode;
    const TextDfa whole = texts.followed_by(TextDfa::literal(end, out_.budget), out_.budget);
    const NodeId text = grammar().terminal(whole);
    if (frames_.quote.empty()) return text;
    return grammar().sequence({literal(frames_.quote), text});
  }

  /// Texts that no text argument has, as it is written.
  std::vector<std::string> marks() const {
    std::vector<std::string> marks = {
        std::string(frames_.quote.empty() ? frames_.syntax->value_end : frames_.quote)};
    if (frames_.quote.size() == 1) marks.insert(marks.end(), {"\\", "\n"});
    if (!frames_.syntax->raw_begin.empty()) marks.emplace_back(frames_.syntax->raw_begin);
    if (is_element()) marks[0].resize(marks[0].size() - 2);  // what stands before each tag
    return marks;
  }

  CallGrammar& out_;
  const CallFrames& frames_;
  const Tool& tool_;
  Json parameters_;
  ArgumentsSchema schema_;
  ArgumentTypes types_;
  std::optional<SchemaParts> parts_{};
  std::vector<Property> properties_{};
  bool has_required_ = false;
  std::map<std::pair<const Json*, std::string>, NodeId> elements_{};
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
      tool.kind == Tool::Kind::kCustom ? add_custom_json(out, tool) : add_schema(out, tool);
  return out.grammar.sequence({out.frame(frames.middle), arguments});
}

}  // namespace ingot
