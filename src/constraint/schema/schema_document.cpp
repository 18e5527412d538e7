// SchemaDocument: walks a document once to find subschemas, identifiers and anchors.
#include "constraint/schema/schema_document.h"

#include <algorithm>
#include <array>
#include <charconv>

#include "base/index.h"
#include "base/text.h"
#include "constraint/schema/schema_uri.h"

namespace ingot::schema {
namespace {

constexpr std::array<std::string_view, 12> kSingle = {"not",
                                                      "if",
                                                      "then",
                                                      "else",
                                                      "items",
                                                      "contains",
                                                      "propertyNames",
                                                      "additionalItems",
                                                      "additionalProperties",
                                                      "unevaluatedItems",
                                                      "unevaluatedProperties",
                                                      "contentSchema"};
constexpr std::array<std::string_view, 5> kList = {"allOf", "anyOf", "oneOf", "prefixItems",
                                                   "items"};
constexpr std::array<std::string_view, 6> kMap = {
    "properties", "patternProperties", "$defs", "definitions", "dependencies", "dependentSchemas"};

bool is_schema(const Json& json) {
  return json.as_object() != nullptr || json.as_bool() != nullptr;
}

template <std::size_t N>
bool has(const std::array<std::string_view, N>& names, std::string_view name) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

Draft draft_of(const Json& json, Draft inherited) {
  const std::string* uri = json.find_string("$schema");
  if (uri == nullptr) return inherited;
  const auto contains = [uri](std::string_view part) {
    return uri->find(part) != std::string::npos;
  };
  if (!contains("json-schema.org")) return Draft::kAny;
  if (contains("draft-04")) return Draft::k4;
  if (contains("draft-06")) return Draft::k6;
  if (contains("draft-07")) return Draft::k7;
  if (contains("2019-09")) return Draft::k2019;
  if (contains("2020-12")) return Draft::k2020;
  return Draft::kAny;
}

/// Calls `visit(subschema, step)` for each direct subschema.
template <class Visit>
void for_each_subschema(const Json& schema, const Visit& visit) {
  if (schema.as_object() == nullptr) return;
  for (const auto& [key, value] : *schema.as_object()) {
    if (has(kSingle, key) && is_schema(value)) visit(value, pointer_to("", key));
    if (has(kList, key) && value.as_array() != nullptr) {
      std::size_t i = 0;
      for (const Json& part : *value.as_array()) visit(part, cat("/", key, "/", i++));
    }
    if (has(kMap, key) && value.as_object() != nullptr) {
      for (const auto& [name, part] : *value.as_object()) {
        if (is_schema(part)) visit(part, pointer_to(cat("/", key), name));
      }
    }
  }
}

}  // namespace

SchemaDocument::SchemaDocument(const Json& root, SchemaReport& report, CompileBudget& budget)
    : report_(report), budget_(budget) {
  measure(root);
  scopes_.emplace_back();
  by_scope_[scopes_[0]] = 0;
  resources_.push_back({.uri = "", .root = kRoot, .draft = draft_of(root, Draft::kAny)});
  by_uri_[""] = 0;
  index(root, kNoSchema, "", 0);
}

void SchemaDocument::measure(const Json& root) {
  struct Entry {
    const Json* json;
    int depth;
  };
  std::vector<Entry> open = {{&root, 1}};
  std::uint64_t bytes = 0;
  while (!open.empty()) {
    const Entry entry = open.back();
    open.pop_back();
    budget_.spend();
    if (entry.depth > kDepthMax) report_.fail("", cat("is nested deeper than ", kDepthMax));
    bytes += 2;
    if (const auto* text = entry.json->as_string()) bytes += text->size();
    if (const auto* items = entry.json->as_array()) {
      for (const Json& item : *items) open.push_back({&item, entry.depth + 1});
    }
    if (const auto* members = entry.json->as_object()) {
      for (const auto& [key, value] : *members) {
        bytes += key.size() + 3;
        open.push_back({&value, entry.depth + 1});
      }
    }
    if (bytes > kBytesMax) report_.fail("", cat("is larger than ", kBytesMax, " bytes"));
  }
}

SchemaId SchemaDocument::add_place(const Json& json, SchemaId parent, std::string step,
                                   int resource) {
  const auto id = static_cast<SchemaId>(places_.size());
  places_.push_back({&json, parent, std::move(step), resource});
  by_json_[&json] = id;
  return id;
}

void SchemaDocument::index(const Json& json, SchemaId parent, std::string step, int resource) {
  struct Entry {
    const Json* json;
    SchemaId parent;
    std::string step;
    int resource;
  };
  std::vector<Entry> open;
  open.push_back({&json, parent, std::move(step), resource});
  while (!open.empty()) {
    Entry entry = std::move(open.back());
    open.pop_back();
    budget_.spend();
    if (by_json_.count(entry.json) != 0) continue;
    const SchemaId id = add_place(*entry.json, entry.parent, std::move(entry.step), entry.resource);
    read_identifiers(id);
    const int inherited = at(places_, id).resource;
    for_each_subschema(*entry.json, [&](const Json& part, std::string path) {
      open.push_back({&part, id, std::move(path), inherited});
    });
  }
}

void SchemaDocument::begin_resource(SchemaId id, std::string uri) {
  Place& place = at(places_, id);
  if (id == kRoot) {
    resources_[0].uri = uri;
    by_uri_[uri] = 0;
    return;
  }
  if (by_uri_.count(uri) != 0) return;  // two with one identifier: the first counts
  const Draft draft = draft_of(*place.json, at(resources_, place.resource).draft);
  place.resource = static_cast<int>(resources_.size());
  by_uri_[uri] = place.resource;
  resources_.push_back({.uri = std::move(uri), .root = id, .draft = draft});
}

void SchemaDocument::read_identifiers(SchemaId id) {
  const Json& json = *at(places_, id).json;
  if (json.as_object() == nullptr) return;
  has_unevaluated_ = has_unevaluated_ || json.find("unevaluatedProperties") != nullptr ||
                     json.find("unevaluatedItems") != nullptr;
  const Draft outer = draft_of(json, draft(id));
  if (is_old(outer) && json.find_string("$ref") != nullptr) return;
  const bool has_old_id = outer == Draft::k4 || outer == Draft::kAny;
  const std::string* name = outer == Draft::k4 ? nullptr : json.find_string("$id");
  if (name == nullptr && has_old_id) name = json.find_string("id");
  if (name != nullptr && !name->empty()) {
    const SplitUri split = resolve_uri(at(resources_, at(places_, id).resource).uri, *name);
    if ((*name)[0] != '#') begin_resource(id, split.uri);
    if (!split.fragment.empty()) {
      at(resources_, at(places_, id).resource).anchors.emplace(split.fragment, id);
    }
  }
  if (is_old(outer)) return;
  Resource& resource = at(resources_, at(places_, id).resource);
  if (const auto* anchor = json.find_string("$anchor")) resource.anchors.emplace(*anchor, id);
  if (const auto* anchor = json.find_string("$dynamicAnchor")) {
    resource.anchors.emplace(*anchor, id);
    resource.dynamic_anchors.emplace(*anchor, id);
    has_dynamic_ = true;
  }
  const Json* recursive = json.find("$recursiveAnchor");
  if (recursive != nullptr && recursive->as_bool() != nullptr && *recursive->as_bool()) {
    resource.dynamic_anchors.emplace("", id);
    has_dynamic_ = true;
  }
}

Draft SchemaDocument::draft(SchemaId id) const {
  return at(resources_, at(places_, id).resource).draft;
}

std::string SchemaDocument::pointer(SchemaId id, std::string_view keyword) const {
  std::vector<const std::string*> steps;
  for (SchemaId place = id; place != kNoSchema; place = at(places_, place).parent) {
    steps.push_back(&at(places_, place).step);
  }
  std::string out;
  for (auto step = steps.rbegin(); step != steps.rend(); ++step) out += **step;
  return keyword.empty() ? out : pointer_to(out, keyword);
}

SchemaId SchemaDocument::id_of(const Json& json, SchemaId parent, const std::string& step) {
  const auto known = by_json_.find(&json);
  if (known != by_json_.end()) return known->second;
  index(json, parent, step, at(places_, parent).resource);
  return by_json_.at(&json);
}

SchemaId SchemaDocument::find_pointer(int resource, std::string_view pointer) {
  SchemaId nearest = at(resources_, resource).root;
  const Json* json = at(places_, nearest).json;
  std::string step;
  while (!pointer.empty()) {
    pointer.remove_prefix(1);  // the slash
    const std::string_view token = pointer.substr(0, pointer.find('/'));
    pointer.remove_prefix(token.size());
    std::string key;
    for (std::size_t i = 0; i < token.size(); ++i) {
      const bool is_escape = token[i] == '~' && i + 1 < token.size();
      key += !is_escape ? token[i] : token[i + 1] == '1' ? '/' : '~';
      if (is_escape) ++i;
    }
    if (const auto* items = json->as_array()) {
      std::size_t i = 0;
      const auto end = std::from_chars(key.data(), key.data() + key.size(), i);
      if (end.ec != std::errc() || end.ptr != key.data() + key.size() || i >= items->size()) {
        return kNoSchema;
      }
      json = &(*items)[i];
    } else {
      json = json->find(key);
    }
    if (json == nullptr) return kNoSchema;
    step = pointer_to(step, key);
    const auto known = by_json_.find(json);
    if (known != by_json_.end()) {
      nearest = known->second;
      step.clear();
    }
  }
  return id_of(*json, nearest, step);
}

SchemaId SchemaDocument::find(SchemaId from, const std::string& reference) {
  const int own = at(places_, from).resource;
  const SplitUri target = resolve_uri(at(resources_, own).uri, reference);
  const auto resource = by_uri_.find(target.uri);
  if (resource == by_uri_.end()) return kNoSchema;
  if (target.fragment.empty()) return at(resources_, resource->second).root;
  if (target.fragment[0] != '/') {
    const auto& anchors = at(resources_, resource->second).anchors;
    const auto anchor = anchors.find(target.fragment);
    return anchor == anchors.end() ? kNoSchema : anchor->second;
  }
  const SchemaId found = find_pointer(resource->second, target.fragment);
  // Many schemas have identifiers in subschemas by mistake, and mean the whole document.
  const bool is_local = found == kNoSchema && reference[0] == '#';
  return is_local ? find_pointer(0, target.fragment) : found;
}

SchemaId SchemaDocument::resolve(SchemaId from, std::string_view keyword,
                                 const std::string& reference) {
  budget_.spend(reference.size());
  const SchemaId found = find(from, reference);
  if (found == kNoSchema) {
    report_.fail(pointer(from, keyword), cat("'", printable(reference), "' is not in the schema"));
  }
  return found;
}

SchemaId SchemaDocument::resolve_dynamic(SchemaId from, std::string_view keyword,
                                         const std::string& reference, int context) {
  const SchemaId first = resolve(from, keyword, reference);
  std::string name;
  if (keyword == "$dynamicRef") {
    name = resolve_uri("", reference).fragment;
    const std::string* anchor = json(first).find_string("$dynamicAnchor");
    if (anchor == nullptr || *anchor != name) return first;
  } else {
    const Json* anchor = json(first).find("$recursiveAnchor");
    if (anchor == nullptr || anchor->as_bool() == nullptr || !*anchor->as_bool()) return first;
  }
  for (const auto& [known, target] : at(scopes_, context)) {
    if (known == name) return target;
  }
  return first;
}

int SchemaDocument::enter(int context, SchemaId to) {
  if (!has_dynamic_) return 0;
  Scope scope = at(scopes_, context);
  for (const auto& [name, target] : at(resources_, at(places_, to).resource).dynamic_anchors) {
    const bool is_known = std::any_of(scope.begin(), scope.end(),
                                      [&](const auto& entry) { return entry.first == name; });
    if (!is_known) scope.emplace_back(name, target);
  }
  std::sort(scope.begin(), scope.end());
  const auto [entry, is_new] = by_scope_.emplace(scope, static_cast<int>(scopes_.size()));
  if (is_new) scopes_.push_back(std::move(scope));
  return entry->second;
}

}  // namespace ingot::schema
