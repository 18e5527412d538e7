// Converts calls of tools in messages to the form that templates expect.
#include "server/common/message_calls.h"

#include <optional>
#include <utility>

#include "base/error.h"
#include "base/text.h"
#include "load/json_object.h"
#include "server/common/message_text.h"

namespace ingot {

namespace {

/// Parses `text` as a JSON object; nothing if it is not one.
std::optional<Json> object_in(const std::string& text) {
  try {
    Json value = parse_json(text, "arguments", "json");
    if (value.as_object() != nullptr) return value;
  } catch (const Error&) {
    return std::nullopt;
  }
  return std::nullopt;
}

Json call_json(const std::string& id, const std::string& name, Json arguments) {
  return json_object({{"id", id},
                      {"type", "function"},
                      {"function", json_object({{"name", name}, {"arguments", arguments}})}});
}

/// The member of a call that has its name and its input: "function" or "custom".
const Json& call_body(const std::string& place, const Json& call, std::string_view member) {
  const Json* body = call.find(member);
  if (body == nullptr || body->as_object() == nullptr) {
    refuse_at(place, cat("has no object as its ", member));
  }
  return *body;
}

std::string call_id(const std::string& place, const Json& call) {
  const Json* id = call.find("id");
  if (id == nullptr || id->is_null()) return {};
  return part_string(place, call, "id");
}

Json normalised_call(Params* params, const std::string& place, const Json& call) {
  if (call.as_object() == nullptr)
    refuse_at(place, cat("is ", call.kind(), ", expected an object"));
  const Json* type = call.find("type");
  const bool is_custom =
      type != nullptr && type->as_string() != nullptr && *type->as_string() == "custom";
  const std::string id = call_id(place, call);
  if (is_custom) {
    const std::string at = cat(place, ".custom");
    const Json& body = call_body(place, call, "custom");
    return make_custom_call(id, part_string(at, body, "name"), part_string(at, body, "input"));
  }
  const std::string at = cat(place, ".function");
  const Json& body = call_body(place, call, "function");
  const Json* arguments = body.find("arguments");
  return make_call(params, cat(at, ".arguments"), id, part_string(at, body, "name"),
                   arguments == nullptr ? Json() : *arguments);
}

}  // namespace

Json make_call(Params* params, const std::string& place, const std::string& id,
               const std::string& name, const Json& arguments) {
  if (arguments.is_null()) return call_json(id, name, Json::object());
  if (arguments.as_object() != nullptr) return call_json(id, name, arguments);
  const std::string* text = arguments.as_string();
  if (text == nullptr) refuse_at(place, cat("is ", arguments.kind(), ", expected a string"));
  if (text->empty()) return call_json(id, name, Json::object());
  if (auto object = object_in(*text)) return call_json(id, name, std::move(*object));
  if (params != nullptr) {
    params->warn(place, "not_json",
                 "the arguments are no JSON object: the model sees them as text");
  }
  return call_json(id, name, arguments);
}

Json make_custom_call(const std::string& id, const std::string& name, const std::string& input) {
  return call_json(id, name, json_object({{"input", input}}));
}

Json normalised_calls(Params* params, const std::string& place, const Json& calls) {
  const Json::Array* all = calls.as_array();
  if (all == nullptr) refuse_at(place, cat("is ", calls.kind(), ", expected an array"));
  Json out = Json::array();
  for (std::size_t i = 0; i < all->size(); ++i) {
    out.push(normalised_call(params, entry_place(place, i), (*all)[i]));
  }
  return out;
}

Json normalised_function_call(Params* params, const std::string& place, const std::string& id,
                              const Json& call) {
  if (call.as_object() == nullptr)
    refuse_at(place, cat("is ", call.kind(), ", expected an object"));
  const Json* arguments = call.find("arguments");
  Json out = Json::array();
  out.push(make_call(params, cat(place, ".arguments"), id, part_string(place, call, "name"),
                     arguments == nullptr ? Json() : *arguments));
  return out;
}

}  // namespace ingot
