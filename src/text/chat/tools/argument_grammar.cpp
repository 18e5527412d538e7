// Grammars of arguments: JSON, or one text for each argument.
#include "text/chat/tools/argument_grammar.h"

#include <algorithm>
#include <array>
#include <utility>

#include "base/error.h"
#include "base/text.h"
#include "constraint/language/pattern.h"
#include "constraint/schema/schema_report.h"
#include "load/json_object.h"
#include "text/chat/tools/argument_texts.h"
#include "text/chat/tools/argument_types.h"
#include "text/chat/tools/arguments_out.h"
#include "text/chat/tools/custom_grammar.h"
#include "text/chat/tools/element_arguments.h"

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

/// Adds arguments that stand one by one, between tags or as literals.
class SingleArguments {
 public:
  SingleArguments(CallGrammar& out, const CallFrames& frames, const Tool& tool)
      : out_(out),
        frames_(frames),
        tool_(tool),
        parameters_(parameters_of(tool)),
        schema_(arguments_schema(parameters_)),
        types_(parameters_),
        texts_(out, frames, tool, parameters_),
        elements_(texts_) {}

  NodeId add() { return tool_.kind == Tool::Kind::kCustom ? add_custom() : add_all(); }

 private:
  struct Property {
    std::string name;
    const Json* schema;
    JsonTypes types;
    bool is_required = false;
    NodeId node = kNoNode;  ///< the argument's text
  };

  Grammar& grammar() { return out_.grammar; }
  NodeId literal(std::string_view text) { return texts_.literal(text); }

  NodeId add_all() {
    collect();
    for (Property& property : properties_) property.node = add_argument(property);
    elements_.finish();
    const NodeId others = has_others() ? add_others() : kNoNode;
    keep_possible();
    std::vector<NodeId> alternatives;
    if (!has_required_) alternatives.push_back(out_.frame(frames_.empty));
    add_declared(alternatives, others);
    if (others != kNoNode && !has_required_) {
      alternatives.push_back(grammar().sequence({out_.frame(frames_.middle), others}));
    }
    texts_.take_notes();
    return grammar().choice(std::move(alternatives));
  }

  /// Reads declared and required properties. What else the schema says is not enforced here.
  void collect() {
    for (const ElementSchema::Member& member :
         ElementSchema(*schema_.schema).members(out_.budget)) {
      has_required_ = has_required_ || member.is_required;
      properties_.push_back({.name = std::string(member.name),
                             .schema = member.schema,
                             .types = types_.of(member.name),
                             .is_required = member.is_required});
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
      texts_.refuse_or_note(cat(schema_.pointer, "/", key), kNotEnforced);
    }
  }

  /// Leaves out the properties without texts.
  void keep_possible() {
    std::vector<Property> possible;
    for (Property& property : properties_) {
      const bool has_text =
          property.node != kNoNode && (!texts_.is_element() || elements_.has_text(property.node));
      if (!has_text && property.is_required) texts_.fail_without_text(pointer_of(property.name));
      if (has_text) possible.push_back(std::move(property));
    }
    properties_ = std::move(possible);
  }

  /// Whether arguments that are not declared may stand: where a schema is given for them, or where
  /// none are declared.
  bool has_others() const {
    const Json* others = schema_.schema->find("additionalProperties");
    if (texts_.is_element()) return false;  // an end tag repeats the name
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
    TextDfa names = compile_pattern("[A-Za-z_][A-Za-z0-9_]{0,63}", Anchoring::kWhole, out_.budget);
    std::vector<std::string> declared;
    for (const Property& property : properties_) declared.push_back(property.name);
    names = names.without_texts_of(TextDfa::any_of(declared, out_.budget), out_.budget);
    const Json* schema = schema_.schema->find("additionalProperties");
    const NodeId unit = add_argument({.name = {},
                                      .schema = schema == nullptr ? &any_schema() : schema,
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
        const NodeId key = texts_.add_key(literal(kCustomInput), frames_.string_key_end);
        forms.push_back(grammar().sequence({out_.frame(frames_.middle), key, text}));
      };
      if (const auto language = custom_language(tool_, out_.budget)) {
        const NodeId text = texts_.add_text(*language, kCustomInput);
        if (text != kNoNode) add_form(text);
      } else if (!texts_.has_json_strings()) {
        add_form(grammar().sequence(
            {literal(frames_.quote), add_custom_text(grammar(), tool_, texts_.marks(), out_.budget),
             literal(cat(frames_.quote, value_end_of(frames_, kCustomInput)))}));
      }
      if (texts_.has_json_strings()) {
        std::vector<NodeId> parts = {add_custom_string(grammar(), tool_, out_.budget)};
        if (!frames_.value_end.empty()) parts.push_back(literal(frames_.value_end));
        add_form(grammar().sequence(std::move(parts)));
      }
      if (forms.empty()) throw Error(ErrorCode::kInvalid, cat("it ", kNoText));
      return forms.size() == 1 ? forms.front() : grammar().choice(std::move(forms));
    });
  }

  /// An argument with its key: `property.node`, or else the name. Returns kNoNode if it has no
  /// text.
  NodeId add_argument(const Property& property) {
    if (texts_.is_element()) {
      return elements_.add(property.name, *property.schema, pointer_of(property.name));
    }
    if (property.node == kNoNode && !can_write(property.name)) {
      texts_.refuse_or_note(pointer_of(property.name), kNoName);
      return kNoNode;
    }
    const NodeId key = property.node == kNoNode ? literal(property.name) : property.node;
    const auto place = [&] {
      return property.node == kNoNode ? pointer_of(property.name)
                                      : cat(schema_.pointer, "/additionalProperties");
    };
    std::vector<NodeId> forms;
    if ((property.types & json_type::kString) != 0) {
      const NodeId text =
          texts_.add_strings(*property.schema, property.types, property.name, place);
      if (text != kNoNode) {
        forms.push_back(grammar().sequence({texts_.add_key(key, frames_.string_key_end), text}));
      }
    }
    if (property.types != json_type::kString || texts_.has_json_strings()) {
      const JsonTypes left_out = texts_.has_json_strings() ? 0U : json_type::kString;
      const NodeId value = texts_.add_json(*property.schema, property.types & ~left_out);
      if (value != kNoNode) {
        std::vector<NodeId> parts = {texts_.add_key(key, frames_.other_key_end), value};
        if (!frames_.value_end.empty()) parts.push_back(literal(frames_.value_end));
        forms.push_back(grammar().sequence(std::move(parts)));
      }
    }
    if (forms.size() == 1) return forms.front();
    return forms.empty() ? kNoNode : grammar().choice(std::move(forms));
  }

  /// Whether a name is read back as it is written.
  bool can_write(std::string_view name) const {
    if (frames_.syntax->body == CallBody::kTagged) {
      return !name.empty() && name.find(frames_.syntax->key_end.front()) == std::string_view::npos;
    }
    return !name.empty() && name.size() <= kLiteralKeyMax &&
           name.find_first_of(kNotInLiteralKeys) == std::string_view::npos &&
           name.find('"') == std::string_view::npos &&
           std::none_of(name.begin(), name.end(), is_space);
  }

  std::string pointer_of(std::string_view name) const {
    return schema::pointer_to(cat(schema_.pointer, "/properties"), name);
  }

  CallGrammar& out_;
  const CallFrames& frames_;
  const Tool& tool_;
  Json parameters_;
  ArgumentsSchema schema_;
  ArgumentTypes types_;
  ArgumentTexts texts_;
  ElementArguments elements_;
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
      tool.kind == Tool::Kind::kCustom ? add_custom_json(out, tool) : add_schema(out, tool);
  return out.grammar.sequence({out.frame(frames.middle), arguments});
}

}  // namespace ingot
