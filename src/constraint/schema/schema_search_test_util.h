// Judges compiled JSON Schemas in tests: which documents can be written, in any order of members.
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <memory>
#include <numeric>
#include <string>
#include <unordered_map>
#include <vector>

#include "base/text.h"
#include "constraint/matcher.h"
#include "constraint/schema/json_schema.h"
#include "load/json.h"

namespace ingot {

/// Returns a vocabulary in which token i is byte i.
inline std::shared_ptr<const TokenTrie> byte_vocabulary() {
  std::string bytes;
  for (int i = 0; i < 256; ++i) bytes += static_cast<char>(i);
  return std::make_shared<const TokenTrie>(256, [&](std::int32_t id) {
    return TokenTrie::Token{std::string_view(bytes).substr(static_cast<std::size_t>(id), 1),
                            TokenUse::kText};
  });
}

/// Compiles a schema for a vocabulary. Errors: those of add_json_schema and make_matcher_grammar.
inline std::shared_ptr<const MatcherGrammar> compile_schema(
    const Json& schema, bool is_strict, const std::shared_ptr<const TokenTrie>& trie,
    std::vector<SchemaNote>& notes) {
  CompileBudget budget;
  Grammar grammar;
  SchemaOptions options;
  options.is_strict = is_strict;
  grammar.set_root(add_json_schema(grammar, schema, options, notes, budget));
  return make_matcher_grammar(std::move(grammar), trie, budget);
}

/// Parses a line of a JSON-lines file. Errors: those of parse_json.
inline Json parse_line(const std::string& line) {
  JsonLimits limits;
  limits.depth_max = 400;
  return parse_json(line, "stdin", "line", limits);
}

/// Returns notes as texts: "<pointer>: <reason>".
inline Json notes_json(const std::vector<SchemaNote>& notes) {
  Json out = Json::array();
  for (const SchemaNote& note : notes) out.push(note.pointer + ": " + note.reason);
  return out;
}

/// Says whether the canonical serialisation of a document is accepted.
///
/// A matcher wants declared properties in the schema's order, which a document does not know: where
/// several subschemas declare properties, each alternative has an order of its own. So the search
/// tries the members in the document's order, then in the order of the `properties` that fits best,
/// and goes back where the matcher refuses. A document is producible if any order is accepted.
class SchemaSearch {
 public:
  enum class Outcome { kAccepted, kRefused, kGaveUp };

  SchemaSearch(std::shared_ptr<const MatcherGrammar> grammar, const Json& schema);

  /// Gives up after `tries_max` parts of texts in each of two orders.
  Outcome search(const Json& document, std::int64_t tries_max = 5'000);

 private:
  bool write(const Json& value, int depth);
  bool write_number(const Json& value);
  bool write_array(const Json::Array& items, int depth);
  bool write_members(const Json::Object& members, std::vector<std::size_t>& left, bool is_first,
                     int depth);
  void sort_members(const Json::Object& members, std::vector<std::size_t>& left) const;
  bool append(const std::string& text);

  std::shared_ptr<const MatcherGrammar> grammar_;
  std::vector<std::unordered_map<std::string, std::size_t>> orders_;  ///< one for each `properties`
  Matcher matcher_;
  std::int64_t tries_ = 0;
  std::int64_t tries_max_ = 0;
  bool sorts_ = false;
};

/// Numbers the property names of each `properties` in a schema, in the order of the text.
inline std::vector<std::unordered_map<std::string, std::size_t>> property_orders(const Json& root) {
  std::vector<std::unordered_map<std::string, std::size_t>> orders;
  std::vector<const Json*> open = {&root};
  while (!open.empty()) {
    const Json& json = *open.back();
    open.pop_back();
    if (json.as_object() != nullptr) {
      for (const auto& [key, value] : *json.as_object()) {
        open.push_back(&value);
        if (key != "properties" || value.as_object() == nullptr) continue;
        orders.emplace_back();
        for (const auto& member : *value.as_object()) {
          orders.back().emplace(member.first, orders.back().size());
        }
      }
    }
    if (json.as_array() != nullptr) {
      for (const Json& item : *json.as_array()) open.push_back(&item);
    }
  }
  return orders;
}

inline SchemaSearch::SchemaSearch(std::shared_ptr<const MatcherGrammar> grammar, const Json& schema)
    : grammar_(grammar), matcher_(std::move(grammar)) {
  orders_ = property_orders(schema);
}

inline SchemaSearch::Outcome SchemaSearch::search(const Json& document, std::int64_t tries_max) {
  tries_max_ = tries_max;
  for (const bool sorts : {false, true}) {
    matcher_ = Matcher(grammar_);
    tries_ = 0;
    sorts_ = sorts;
    const bool is_written = write(document, 0) && matcher_.is_complete();
    if (is_written) return Outcome::kAccepted;
    if (tries_ < tries_max_) return Outcome::kRefused;
  }
  return Outcome::kGaveUp;
}

inline bool SchemaSearch::append(const std::string& text) {
  if (tries_ >= tries_max_) return false;
  ++tries_;
  return matcher_.accept_bytes(text);
}

inline bool SchemaSearch::write(const Json& value, int depth) {
  if (depth > 300) return false;
  const std::int64_t before = matcher_.tokens();
  bool is_written = false;
  if (const Json::Array* items = value.as_array()) {
    is_written = write_array(*items, depth);
  } else if (const Json::Object* members = value.as_object()) {
    std::vector<std::size_t> left(members->size());
    std::iota(left.begin(), left.end(), std::size_t{0});
    if (sorts_) sort_members(*members, left);
    is_written = append("{") && write_members(*members, left, true, depth);
  } else if (value.number().has_value()) {
    is_written = write_number(value);
  } else {
    is_written = append(value.dump());
  }
  if (!is_written) matcher_.truncate(matcher_.tokens() - before);
  return is_written;
}

/// Sorts members as the `properties` with most of the names does.
inline void SchemaSearch::sort_members(const Json::Object& members,
                                       std::vector<std::size_t>& left) const {
  const std::unordered_map<std::string, std::size_t>* best = nullptr;
  std::size_t most = 0;
  for (const auto& order : orders_) {
    std::size_t known = 0;
    for (const auto& member : members) known += order.count(member.first);
    if (known <= most) continue;
    most = known;
    best = &order;
  }
  if (best == nullptr) return;
  const auto rank = [&](std::size_t i) {
    const auto known = best->find(members[i].first);
    return known == best->end() ? best->size() : known->second;
  };
  std::stable_sort(left.begin(), left.end(),
                   [&](std::size_t a, std::size_t b) { return rank(a) < rank(b); });
}

inline bool SchemaSearch::write_number(const Json& value) {
  // 1.0 and 1 are one number: any spelling will do.
  if (append(value.dump())) return true;
  if (value.as_double() == nullptr) return false;
  char text[400];
  std::snprintf(text, sizeof text, "%.0f", *value.as_double());
  double read = 0;
  if (std::sscanf(text, "%lf", &read) != 1 || read != *value.as_double()) return false;
  return append(text);
}

inline bool SchemaSearch::write_array(const Json::Array& items, int depth) {
  if (!append("[")) return false;
  for (std::size_t i = 0; i < items.size(); ++i) {
    if (i > 0 && !append(",")) return false;
    if (!write(items[i], depth + 1)) return false;
  }
  return append("]");
}

inline bool SchemaSearch::write_members(const Json::Object& members, std::vector<std::size_t>& left,
                                        bool is_first, int depth) {
  if (left.empty()) return append("}");
  for (std::size_t i = 0; i < left.size(); ++i) {
    const std::int64_t before = matcher_.tokens();
    const std::size_t member = left[i];
    const auto& [key, value] = members[member];
    left.erase(left.begin() + static_cast<std::ptrdiff_t>(i));
    const std::string head = cat(is_first ? "" : ",", Json(key).dump(), ":");
    if (append(head) && write(value, depth + 1) && write_members(members, left, false, depth)) {
      return true;
    }
    matcher_.truncate(matcher_.tokens() - before);
    left.insert(left.begin() + static_cast<std::ptrdiff_t>(i), member);
  }
  return false;
}

}  // namespace ingot
