// ElementSchema: walks references and alternatives, and joins what their schemas say.
#include "text/chat/tools/element_schema.h"

#include <algorithm>
#include <map>
#include <utility>

#include "base/text.h"
#include "constraint/schema/schema_report.h"

namespace ingot {

namespace {

/// Whether a schema says nothing.
bool is_anything(const Json& schema) {
  if (const bool* is_all = schema.as_bool()) return *is_all;
  return schema.as_object() != nullptr && schema.as_object()->empty();
}

const Json::Object& object_at(const Json& schema, std::string_view keyword) {
  static const Json::Object kNone;
  const Json* object = schema.find(keyword);
  return object == nullptr || object->as_object() == nullptr ? kNone : *object->as_object();
}

const Json::Array& array_at(const Json& schema, std::string_view keyword) {
  static const Json::Array kNone;
  const Json* array = schema.find(keyword);
  return array == nullptr || array->as_array() == nullptr ? kNone : *array->as_array();
}

/// The schema of names that `schema` does not declare; null if it says nothing about them.
const Json* other_values(const Json& schema) {
  const Json* others = schema.find("additionalProperties");
  if (others == nullptr || is_anything(*others)) return nullptr;
  return schema.find("patternProperties") == nullptr ? others : nullptr;
}

/// The schema of each item; null if there is none.
const Json* each_item(const Json& schema) {
  const Json* items = schema.find("items");
  return items == nullptr || items->as_array() != nullptr || is_anything(*items) ? nullptr : items;
}

}  // namespace

bool is_element_name(std::string_view name) {
  return !name.empty() && name.front() != '/' && name.find('>') == std::string_view::npos &&
         name.size() + std::string_view("</>").size() <= kElementTagMax;
}

/// Finds the parts.
class ElementSchema::Walk {
 public:
  Walk(ElementSchema& out, const Json& root, JsonTypes type, CompileBudget* budget)
      : out_(out),
        root_(root),
        type_(type),
        keyword_(type == json_type::kArray ? "items" : "properties"),
        budget_(budget) {}

  void run() {
    std::size_t read = 0, chosen = 0;
    for (;;) {
      while (read < out_.parts_.size()) add_parts_of(read++);
      if (chosen == open_.size()) return;
      // Alternatives come last: what stands beside them decides how they are read.
      choose(open_[chosen++]);
    }
  }

 private:
  void spend(std::uint64_t steps) {
    if (budget_ != nullptr) budget_->spend(steps);
  }

  void add_parts_of(std::size_t number) {
    const Part part = out_.parts_[number];
    spend(1 + part.pointer.size());
    if (const std::string* reference = part.schema->find_string("$ref")) {
      const Json* target = resolve_reference(root_, *reference);
      if (target == nullptr) {
        out_.lose(number, "/$ref");
      } else {
        add({target, reference->substr(1), true}, number, "/$ref");
      }
      if (ignores_siblings(root_)) {
        out_.parts_[number].schema = &any_schema();
        return;
      }
    }
    add_list(number, "allOf");
    for (const std::string_view keyword : {"anyOf", "oneOf"}) {
      if (!array_at(*part.schema, keyword).empty()) open_.push_back({number, keyword});
    }
  }
  void add_list(std::size_t number, std::string_view keyword) {
    std::size_t i = 0;
    const Json& schema = *out_.parts_[number].schema;
    for (const Json& part : array_at(schema, keyword)) {
      (void)part;
      add_alternative(number, keyword, i++);
    }
  }
  void add_alternative(std::size_t number, std::string_view keyword, std::size_t i) {
    const Part& from = out_.parts_[number];
    add({&array_at(*from.schema, keyword)[i], cat(from.pointer, "/", keyword, "/", i),
         from.is_absolute},
        number, cat("/", keyword));
  }
  void add(Part part, std::size_t from, std::string keyword) {
    constexpr std::size_t kPartsMax = 64;
    const bool is_known =
        std::any_of(out_.parts_.begin(), out_.parts_.end(),
                    [&](const Part& known) { return known.schema == part.schema; });
    if (is_known) return;
    if (out_.parts_.size() == kPartsMax) return out_.lose(from, std::move(keyword));
    out_.parts_.push_back(std::move(part));
  }

  /// Adds one alternative: the only one that may have the type, or the first that says what is
  /// inside. Beside a schema that already says this, none is added.
  void choose(const Alternatives& open) {
    const Json::Array& all = array_at(*out_.parts_[open.part].schema, open.keyword);
    const std::vector<JsonTypes> types = types_of_each(root_, all, budget_);
    std::vector<std::size_t> possible;
    for (std::size_t i = 0; i < all.size(); ++i) {
      if ((types[i] & type_) != 0) possible.push_back(i);
    }
    const bool is_said = std::any_of(out_.parts_.begin(), out_.parts_.end(), [&](const Part& part) {
      return part.schema->find(keyword_) != nullptr;
    });
    const bool is_lost = possible.empty() || (possible.size() > 1 && is_said);
    if (is_lost || (possible.size() > 1 && open.keyword == "oneOf")) {
      out_.lose(open.part, cat("/", open.keyword));
    }
    if (is_lost) return;
    const auto says = std::find_if(possible.begin(), possible.end(),
                                   [&](std::size_t i) { return says_what_is_inside(all[i]); });
    add_alternative(open.part, open.keyword, says == possible.end() ? possible.front() : *says);
  }
  bool says_what_is_inside(const Json& schema) {
    constexpr int kStepsMax = 16;
    const Json* found = &schema;
    for (int i = 0; i < kStepsMax && found != nullptr; ++i) {
      if (found->find(keyword_) != nullptr) return true;
      const std::string* reference = found->find_string("$ref");
      if (reference != nullptr) spend(reference->size());
      found = reference == nullptr ? nullptr : resolve_reference(root_, *reference);
    }
    return false;
  }

  ElementSchema& out_;
  const Json& root_;
  JsonTypes type_;
  std::string_view keyword_;
  CompileBudget* budget_;
  std::vector<Alternatives> open_{};
};

ElementSchema::ElementSchema(const Json& root, const Json& schema, JsonTypes type,
                             CompileBudget* budget)
    : parts_{{.schema = &schema}} {
  Walk(*this, root, type, budget).run();
}

const Json& ElementSchema::property(std::string_view name) const {
  const Json* found = nullptr;
  for (const Part& part : parts_) {
    const Json* declared = part.schema->find("properties");
    const Json* schema = declared == nullptr ? nullptr : declared->find(name);
    if (schema == nullptr || (found != nullptr && !is_anything(*found))) continue;
    if (found == nullptr || !is_anything(*schema)) found = schema;
  }
  for (const Part& part : parts_) {
    if (found == nullptr) found = other_values(*part.schema);
  }
  return found == nullptr ? any_schema() : *found;
}

const Json& ElementSchema::items(std::size_t* part) const {
  for (std::size_t i = 0; i < parts_.size(); ++i) {
    const Json* items = each_item(*parts_[i].schema);
    if (items == nullptr) continue;
    if (part != nullptr) *part = i;
    return *items;
  }
  return any_schema();
}

void ElementSchema::lose_items() {
  bool is_used = false;
  for (std::size_t i = 0; i < parts_.size(); ++i) {
    const bool is_list = !array_at(*parts_[i].schema, "items").empty();
    const bool says = each_item(*parts_[i].schema) != nullptr;
    if (is_list || (says && is_used)) lose(i, "/items");
    is_used = is_used || says;
  }
}

/// Joins the names of the parts.
class ElementSchema::Joined {
 public:
  Joined(ElementSchema& out, CompileBudget& budget) : out_(out), budget_(budget) {}

  std::vector<Member> join() {
    const std::vector<Part>& parts = out_.parts_;
    for (std::size_t i = 0; i < parts.size(); ++i) add_declared(i);
    for (const Part& part : parts) add_required(*part.schema);
    for (std::size_t i = 0; i < parts.size(); ++i) add_others(i);
    for (Member& member : members_) {
      if (member.schema == nullptr) member.schema = &any_schema();
    }
    return std::move(members_);
  }

 private:
  std::size_t number_of(std::string_view name) {
    budget_.spend();
    const auto [at, is_new] = known_.emplace(name, members_.size());
    if (is_new) {
      members_.push_back({.name = name});
      declared_.emplace_back();
    }
    return at->second;
  }

  void add_declared(std::size_t part) {
    for (const auto& [name, schema] : object_at(*out_.parts_[part].schema, "properties")) {
      const std::size_t number = number_of(name);
      declared_[number].push_back(part);
      Member& member = members_[number];
      if (member.schema == nullptr || is_anything(*member.schema)) {
        member.schema = &schema;
        member.part = part;
        member.pointer = schema::pointer_to("/properties", name);
      } else if (!is_anything(schema)) {
        out_.lose(part, schema::pointer_to("/properties", name));
      }
    }
  }
  void add_required(const Json& schema) {
    for (const Json& name : array_at(schema, "required")) {
      if (name.as_string() == nullptr) continue;
      Member& member = members_[number_of(*name.as_string())];
      member.is_required = true;
      has_undeclared_ = has_undeclared_ || member.schema == nullptr;
    }
  }
  /// A part that does not declare a name may still say what its values are.
  void add_others(std::size_t part) {
    const Json& schema = *out_.parts_[part].schema;
    if (has_undeclared_ && schema.find("unevaluatedProperties") != nullptr) {
      out_.lose(part, "/unevaluatedProperties");
    }
    const Json* others = other_values(schema);
    if (others == nullptr) return;
    bool is_lost = false;
    for (std::size_t i = 0; i < members_.size(); ++i) {
      budget_.spend();
      Member& member = members_[i];
      if (std::binary_search(declared_[i].begin(), declared_[i].end(), part)) continue;
      if (member.schema != nullptr && others->as_bool() == nullptr) {
        is_lost = true;
        continue;
      }
      member.schema = others;
      member.part = part;
      member.pointer = "/additionalProperties";
    }
    if (is_lost) out_.lose(part, "/additionalProperties");
  }

  ElementSchema& out_;
  CompileBudget& budget_;
  std::vector<Member> members_{};
  std::vector<std::vector<std::size_t>> declared_{};  ///< the parts that declare each member
  std::map<std::string_view, std::size_t> known_{};
  bool has_undeclared_ = false;
};

std::vector<ElementSchema::Member> ElementSchema::members(CompileBudget& budget) {
  return Joined(*this, budget).join();
}

}  // namespace ingot
