// Reads the members of a request that constrain the text of the reply.
#include "server/common/constraint_params.h"

#include <cstddef>
#include <utility>

#include "base/error.h"
#include "base/text.h"
#include "server/common/message_text.h"
#include "server/common/structural_tags.h"

namespace ingot {

namespace {

using Form = decltype(ConstraintSpec::form);

/// Maximum bytes of an expression or a grammar. `ConstraintSpec::check_limits` has lower ones.
constexpr std::size_t kTextBytesMax = std::size_t{1} << 20;
constexpr std::size_t kNameBytesMax = 256;

/// Makes a spec of a schema: an object, a boolean, or JSON text of one, as some clients send it.
ConstraintSpec schema_spec(std::string place, const Json& schema, bool is_strict) {
  Json value = schema;
  if (const std::string* text = schema.as_string()) {
    try {
      value =
          parse_json(*text, "schema", "json", {.depth_max = ConstraintLimits::kSchemaDepthMax + 1});
    } catch (const Error& error) {
      refuse_at(place, cat("is no JSON: ", error.message()));
    }
  }
  if (value.as_object() == nullptr && value.as_bool() == nullptr) {
    refuse_at(place, cat("is ", value.kind(), ", expected a JSON schema"));
  }
  return {.form = ConstraintSpec::JsonSchema{std::move(value), is_strict, false},
          .name = std::move(place)};
}

ConstraintSpec choice_spec(std::string place, const Json& choices) {
  const Json::Array* all = choices.as_array();
  if (all == nullptr)
    refuse_at(place, cat("is ", choices.kind(), ", expected an array of strings"));
  if (all->empty()) refuse_at(place, "has no texts");
  ConstraintSpec::OneOf texts;
  for (std::size_t i = 0; i < all->size(); ++i) {
    const std::string* text = (*all)[i].as_string();
    if (text == nullptr) {
      refuse_at(entry_place(place, i), cat("is ", (*all)[i].kind(), ", expected a string"));
    }
    texts.texts.push_back(*text);
  }
  return {.form = std::move(texts), .name = std::move(place)};
}

/// Reads the constraints of one object. At most one may be there.
class ConstraintReader {
 public:
  explicit ConstraintReader(Params& params) : params_(params) {}

  void schema(std::string_view name) {
    if (const Json* value = params_.take(name)) add(schema_spec(params_.full(name), *value, false));
  }
  void regex(std::string_view name) {
    if (auto text = params_.text(name, kTextBytesMax)) {
      set({.form = ConstraintSpec::Regex{std::move(*text)}, .name = params_.full(name)});
    }
  }
  void gbnf(std::string_view name) {
    auto text = params_.text(name, kTextBytesMax);
    if (!text) return;
    if (text->empty()) refuse_at(params_.full(name), "is empty");
    set({.form = ConstraintSpec::Gbnf{std::move(*text)}, .name = params_.full(name)});
  }
  /// llama.cpp's member: an empty grammar is none.
  void optional_gbnf(std::string_view name) {
    const Json* value = params_.take(name);
    const std::string* text = value == nullptr ? nullptr : value->as_string();
    if (text == nullptr || !text->empty()) return gbnf(name);
    params_.warn(name, "ignored", "it is empty");
  }
  void choice(std::string_view name) {
    if (const Json* value = params_.take(name)) add(choice_spec(params_.full(name), *value));
  }
  void any_object(std::string_view name) {
    if (params_.flag(name).value_or(false)) {
      set({.form = ConstraintSpec::AnyJson{}, .name = params_.full(name)});
    }
  }
  void tags(std::string_view name) {
    if (const Json* value = params_.take(name))
      add(read_structural_tags(params_, params_.full(name), *value));
  }
  void format(std::string_view name) { add(read_output_format(params_, name)); }
  /// vLLM's object of constraints.
  void structured_outputs() {
    params_.within("structured_outputs", [&](Params& members) {
      ConstraintReader reader(members);
      const bool is_switched_off = members.has("json_object");
      reader.schema("json");
      reader.regex("regex");
      reader.choice("choice");
      reader.gbnf("grammar");
      reader.any_object("json_object");
      reader.tags("structural_tag");
      if (members.flag("disable_additional_properties").value_or(false)) {
        members.refuse("disable_additional_properties", "set additionalProperties in the schema");
      }
      members.ignore("disable_fallback", "there is one way to constrain text");
      members.ignore("disable_any_whitespace", "JSON has at most one space behind ',' and ':'");
      members.ignore("whitespace_pattern", "JSON has at most one space behind ',' and ':'");
      auto spec = reader.take();
      if (!spec && !is_switched_off) refuse_at("structured_outputs", "has no constraint");
      add(std::move(spec));
    });
  }

  std::optional<ConstraintSpec> take() { return std::move(found_); }

 private:
  void add(std::optional<ConstraintSpec> spec) {
    if (spec) set(std::move(*spec));
  }
  void set(ConstraintSpec spec) {
    if (found_) {
      throw invalid_request(spec.name,
                            cat(spec.name, " and ", found_->name, " exclude each other"));
    }
    found_ = std::move(spec);
  }

  Params& params_;
  std::optional<ConstraintSpec> found_;
};

/// Reads the format json_schema: {"json_schema": {"name", "schema", "strict"}}, or these members in
/// the format itself.
ConstraintSpec read_json_schema(Params& format, bool is_strict) {
  std::optional<ConstraintSpec> spec;
  const auto read = [&](Params& members) {
    const Json* schema = members.take("schema");
    if (schema == nullptr) {
      throw invalid_request(members.full("schema"), cat(members.full("schema"), " is missing"));
    }
    members.text("name", kNameBytesMax);
    members.text("description", kTextBytesMax);
    const bool strict = members.flag("strict").value_or(is_strict);
    spec = schema_spec(members.full("schema"), *schema, strict);
  };
  if (format.has("json_schema")) {
    format.within("json_schema", read);
  } else {
    read(format);
  }
  return std::move(*spec);
}

/// Reads the format json_object, which may have a schema, as in llama.cpp.
ConstraintSpec read_json_object(Params& format, const std::string& place) {
  if (const Json* schema = format.take("schema")) {
    return schema_spec(format.full("schema"), *schema, false);
  }
  return {.form = ConstraintSpec::AnyJson{}, .name = place};
}

std::string need_text(Params& params, std::string_view name) {
  auto text = params.text(name, kTextBytesMax);
  if (!text) throw invalid_request(params.full(name), cat(params.full(name), " is missing"));
  return std::move(*text);
}

std::optional<ConstraintSpec> read_format(Params& format, const std::string& place,
                                          const Json& value, bool is_strict) {
  const auto type = format.one_of(
      "type", {"text", "json_object", "json_schema", "regex", "grammar", "structural_tag"});
  if (!type) throw invalid_request(format.full("type"), cat(format.full("type"), " is missing"));
  if (*type == "json_object") return read_json_object(format, place);
  if (*type == "json_schema") return read_json_schema(format, is_strict);
  if (*type == "regex") {
    return ConstraintSpec{.form = ConstraintSpec::Regex{need_text(format, "pattern")},
                          .name = format.full("pattern")};
  }
  if (*type == "grammar") {
    return ConstraintSpec{.form = ConstraintSpec::Gbnf{need_text(format, "grammar")},
                          .name = format.full("grammar")};
  }
  if (*type == "structural_tag") {
    for (const auto& [name, unused] : *value.as_object()) format.take(name);
    return read_structural_tags(format, place, value);
  }
  return std::nullopt;
}

}  // namespace

std::optional<ConstraintSpec> read_output_format(Params& params, std::string_view name,
                                                 bool is_strict) {
  std::optional<ConstraintSpec> spec;
  params.within(name, [&](Params& format) {
    spec = read_format(format, params.full(name), *params.object(name), is_strict);
  });
  return spec;
}

std::optional<ConstraintSpec> read_constraint(Params& params) {
  ConstraintReader reader(params);
  reader.format("response_format");
  reader.structured_outputs();
  reader.schema("guided_json");
  reader.regex("guided_regex");
  reader.choice("guided_choice");
  reader.gbnf("guided_grammar");
  reader.optional_gbnf("grammar");
  reader.schema("json_schema");
  auto spec = reader.take();
  for (const std::string_view member : {"guided_decoding_backend", "guided_whitespace_pattern"}) {
    params.ignore(member, "it changes nothing here");
  }
  const bool any_order = params.one_of("property_order", {"schema", "any"}) == "any";
  if (!any_order) return spec;
  auto* schema = spec ? std::get_if<ConstraintSpec::JsonSchema>(&spec->form) : nullptr;
  if (schema != nullptr) {
    schema->any_order = true;
  } else {
    params.warn("property_order", "ignored", "there is no schema");
  }
  return spec;
}

void warn_of_notes(Params& params, const std::vector<SchemaNote>& notes, std::string_view param) {
  constexpr std::size_t kNotesMax = 32;
  for (std::size_t i = 0; i < notes.size() && i < kNotesMax; ++i) {
    params.warn(param, "not_enforced", cat(notes[i].pointer, ": ", notes[i].reason));
  }
  if (notes.size() > kNotesMax) {
    params.warn(param, "not_enforced", cat(notes.size() - kNotesMax, " other keywords"));
  }
}

}  // namespace ingot
