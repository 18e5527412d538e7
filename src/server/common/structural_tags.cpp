// Reads structural tags, in both forms that vLLM takes.
#include "server/common/structural_tags.h"

#include <algorithm>
#include <initializer_list>
#include <string_view>
#include <utility>

#include "base/error.h"
#include "base/text.h"
#include "server/common/message_text.h"

namespace ingot {

namespace {

using Tags = ConstraintSpec::StructuralTags;

const Json::Array& list_at(const std::string& place, const Json& object, std::string_view name) {
  const Json* list = object.find(name);
  if (list == nullptr || list->as_array() == nullptr)
    refuse_at(cat(place, ".", name), "is no array");
  if (list->as_array()->empty()) refuse_at(cat(place, ".", name), "is empty");
  return *list->as_array();
}

const Json& object_at(const std::string& place, const Json* value) {
  if (value == nullptr || value->as_object() == nullptr) refuse_at(place, "is no object");
  return *value;
}

/// Warns about the members of an object that are not in `names`.
void warn_of_others(Params& params, const std::string& place, const Json& object,
                    std::initializer_list<std::string_view> names) {
  Params members(object, cat(place, "."));
  for (const std::string_view name : names) members.take(name);
  members.finish();
  params.add_warnings(members);
}

/// The schema of a tag's content, in the newer form.
const Json& content_schema(Params& params, const std::string& place, const Json& tag) {
  const std::string at = cat(place, ".content");
  const Json& content = object_at(at, tag.find("content"));
  const std::string& type = part_type(at, content);
  if (type != "json_schema") {
    refuse_at(cat(at, ".type"), cat("is ", printable(type, 64), ", possible is json_schema"));
  }
  warn_of_others(params, at, content, {"type", "json_schema"});
  const Json* schema = content.find("json_schema");
  if (schema == nullptr) refuse_at(at, "has no json_schema");
  return *schema;
}

Tags::Tag read_tag(Params& params, const std::string& place, const Json& tag, bool has_content) {
  object_at(place, &tag);
  warn_of_others(params, place, tag, {"type", "begin", has_content ? "content" : "schema", "end"});
  Tags::Tag out{.begin = part_string(place, tag, "begin"),
                .schema = {},
                .end = part_string(place, tag, "end")};
  if (has_content) {
    out.schema = content_schema(params, place, tag);
  } else if (const Json* schema = tag.find("schema")) {
    out.schema = *schema;
  } else {
    refuse_at(place, "has no schema");
  }
  return out;
}

bool begins(const Tags::Tag& tag, const std::string& trigger) {
  return tag.begin.starts_with(trigger);
}

void read_triggers(const std::string& place, const Json& object, Tags& tags) {
  for (const Json& trigger : list_at(place, object, "triggers")) {
    const std::string at = entry_place(cat(place, ".triggers"), tags.triggers.size());
    const std::string* text = trigger.as_string();
    if (text == nullptr || text->empty()) refuse_at(at, "is no text");
    const bool is_used = std::any_of(tags.tags.begin(), tags.tags.end(),
                                     [&](const Tags::Tag& tag) { return begins(tag, *text); });
    if (!is_used) refuse_at(at, "begins no tag");
    tags.triggers.push_back(*text);
  }
}

void check_tags(const std::string& place, const Tags& tags) {
  for (std::size_t i = 0; i < tags.tags.size(); ++i) {
    const bool has_trigger =
        std::any_of(tags.triggers.begin(), tags.triggers.end(),
                    [&](const std::string& trigger) { return begins(tags.tags[i], trigger); });
    if (!has_trigger) refuse_at(entry_place(place, i), "has a begin that no trigger begins");
  }
}

Tags read_tags(Params& params, const std::string& place, const Json& object, std::string_view list,
               bool has_content) {
  Tags tags;
  const std::string at = cat(place, ".", list);
  for (const Json& tag : list_at(place, object, list)) {
    tags.tags.push_back(read_tag(params, entry_place(at, tags.tags.size()), tag, has_content));
  }
  read_triggers(place, object, tags);
  check_tags(at, tags);
  return tags;
}

/// Reads the newer form. Refuses its other types and its options.
Tags read_format(Params& params, const std::string& place, const Json& format) {
  const std::string& type = part_type(place, object_at(place, &format));
  if (type != "triggered_tags") {
    refuse_at(cat(place, ".type"), cat("is ", printable(type, 64), ", possible is triggered_tags"));
  }
  for (const std::string_view option : {"at_least_one", "stop_after_first"}) {
    const Json* value = format.find(option);
    if (value == nullptr || (value->as_bool() != nullptr && !*value->as_bool())) continue;
    refuse_at(cat(place, ".", option), "can only be false");
  }
  warn_of_others(params, place, format,
                 {"type", "triggers", "tags", "at_least_one", "stop_after_first"});
  return read_tags(params, place, format, "tags", true);
}

}  // namespace

ConstraintSpec read_structural_tags(Params& params, const std::string& place, const Json& value) {
  if (const std::string* text = value.as_string()) {
    Json parsed;
    try {
      parsed = parse_json(*text, "structural_tag", "json",
                          {.depth_max = ConstraintLimits::kSchemaDepthMax + 8});
    } catch (const Error& error) {
      refuse_at(place, cat("is no JSON: ", error.message()));
    }
    if (parsed.as_string() != nullptr) refuse_at(place, "is a string, expected an object");
    return read_structural_tags(params, place, parsed);
  }
  object_at(place, &value);
  const Json* format = value.find("format");
  if (format != nullptr) {
    warn_of_others(params, place, value, {"type", "format"});
  } else {
    warn_of_others(params, place, value, {"type", "structures", "triggers"});
  }
  Tags tags = format != nullptr ? read_format(params, cat(place, ".format"), *format)
                                : read_tags(params, place, value, "structures", false);
  return {.form = std::move(tags), .name = place};
}

}  // namespace ingot
