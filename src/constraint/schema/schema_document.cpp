// SchemaDocument: walks a document once to find subschemas, identifiers and anchors.
#include "constraint/schema/schema_document.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <iterator>

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
  const std::string* draft = root.find_string("$schema");
  if (draft != nullptr && draft->find("json-schema.org/draft-03") != std::string::npos) {
    report_.fail("/$schema", "draft 3 is not supported: use draft 4 or a newer one");
  }
  add_scope({});
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
        // Whatever a reference finds later: shapes depend on these from the start.
        has_unevaluated_ =
            has_unevaluated_ || key == "unevaluatedProperties" || key == "unevaluatedItems";
        has_dynamic_ = has_dynamic_ || key == "$dynamicAnchor" || key == "$recursiveAnchor";
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
  const Draft draft = draft_of(*place.json, at(resources_, place.resource).draft);
  place.resource = static_cast<int>(resources_.size());
  const auto [known, is_new] = by_uri_.emplace(uri, place.resource);
  if (!is_new) known->second = kAmbiguous;
  resources_.push_back({.uri = std::move(uri), .root = id, .draft = draft});
}

void SchemaDocument::add_anchor(SchemaId id, const std::string& name) {
  auto& anchors = at(resources_, at(places_, id).resource).anchors;
  const auto [known, is_new] = anchors.emplace(name, id);
  if (!is_new && known->second != id) known->second = kAmbiguous;
}

void SchemaDocument::add_dynamic_anchor(SchemaId id, const std::string& name) {
  const int index =
      anchor_names_.emplace(name, static_cast<int>(anchor_names_.size())).first->second;
  at(resources_, at(places_, id).resource).dynamic_anchors.emplace(index, id);
  entered_.clear();
}

void SchemaDocument::read_identifiers(SchemaId id) {
  const Json& json = *at(places_, id).json;
  if (json.as_object() == nullptr) return;
  const Draft outer = draft_of(json, draft(id));
  if (is_old(outer) && json.find_string("$ref") != nullptr) return;
  const bool has_old_id = outer == Draft::k4 || outer == Draft::kAny;
  const std::string* name = outer == Draft::k4 ? nullptr : json.find_string("$id");
  if (name == nullptr && has_old_id) name = json.find_string("id");
  if (name != nullptr && !name->empty()) {
    const std::string& base = at(resources_, at(places_, id).resource).uri;
    budget_.spend(base.size() + name->size());
    const SplitUri split = resolve_uri(base, *name);
    if (split.uri.size() > kUriMax) {
      report_.fail(pointer(id), cat("has an identifier of more than ", kUriMax, " bytes"));
    }
    if ((*name)[0] != '#') begin_resource(id, split.uri);
    if (!split.fragment.empty()) add_anchor(id, split.fragment);
  }
  if (is_old(outer)) return;
  if (const auto* anchor = json.find_string("$anchor")) add_anchor(id, *anchor);
  if (const auto* anchor = json.find_string("$dynamicAnchor")) {
    add_anchor(id, *anchor);
    add_dynamic_anchor(id, *anchor);
  }
  const Json* recursive = json.find("$recursiveAnchor");
  if (recursive != nullptr && recursive->as_bool() != nullptr && *recursive->as_bool()) {
    add_dynamic_anchor(id, "");
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
  int resource = at(places_, from).resource;
  const bool is_local = reference.empty() || reference[0] == '#';
  const std::string_view base = is_local ? std::string_view() : at(resources_, resource).uri;
  budget_.spend(base.size());
  const SplitUri target = resolve_uri(base, reference);
  if (!is_local) {
    const auto known = by_uri_.find(target.uri);
    if (known == by_uri_.end()) return kNoSchema;
    resource = known->second;
    if (resource == kAmbiguous) return kAmbiguous;
  }
  if (target.fragment.empty()) return at(resources_, resource).root;
  if (target.fragment[0] != '/') {
    const auto& anchors = at(resources_, resource).anchors;
    const auto anchor = anchors.find(target.fragment);
    return anchor == anchors.end() ? kNoSchema : anchor->second;
  }
  const SchemaId found = find_pointer(resource, target.fragment);
  // Many schemas have identifiers in subschemas by mistake, and mean the whole document.
  return is_local && found == kNoSchema ? find_pointer(0, target.fragment) : found;
}

SchemaId SchemaDocument::resolve(SchemaId from, std::string_view keyword,
                                 const std::string& reference) {
  budget_.spend(reference.size());
  const SchemaId found = find(from, reference);
  if (found < 0) {
    report_.fail(pointer(from, keyword),
                 cat("'", printable(reference),
                     found == kNoSchema ? "' is not in the schema"
                                        : "' is the identifier of several subschemas"));
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
  const auto index = anchor_names_.find(name);
  if (index == anchor_names_.end()) return first;
  const Scope& scope = *at(scopes_, context);
  const auto entry =
      std::lower_bound(scope.begin(), scope.end(), Scope::value_type(index->second, 0));
  return entry != scope.end() && entry->first == index->second ? entry->second : first;
}

int SchemaDocument::add_scope(Scope scope) {
  const auto [entry, is_new] =
      by_scope_.emplace(std::move(scope), static_cast<int>(scopes_.size()));
  if (is_new) scopes_.push_back(&entry->first);
  return entry->second;
}

int SchemaDocument::enter(int context, SchemaId to) {
  if (!has_dynamic_) return 0;
  const int resource = at(places_, to).resource;
  const auto known = entered_.find({context, resource});
  if (known != entered_.end()) return known->second;
  // The outermost resource that has an anchor counts.
  const Scope& outer = *at(scopes_, context);
  const std::map<int, SchemaId>& own = at(resources_, resource).dynamic_anchors;
  budget_.spend(outer.size() + own.size() + 1);
  Scope scope;
  std::set_union(outer.begin(), outer.end(), own.begin(), own.end(), std::back_inserter(scope),
                 [](const auto& a, const auto& b) { return a.first < b.first; });
  const int entered = add_scope(std::move(scope));
  entered_[{context, resource}] = entered;
  return entered;
}

}  // namespace ingot::schema
