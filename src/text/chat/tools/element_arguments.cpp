// ElementArguments: one element after the other, from a list that grows.
#include "text/chat/tools/element_arguments.h"

#include <algorithm>
#include <cstdint>
#include <optional>

#include "base/text.h"

namespace ingot {

namespace {

/// The bounds of an array that all parts of its schema allow.
struct ItemCounts {
  std::uint64_t least = 0;
  std::uint64_t most = kUnlimited;
};

ItemCounts item_counts(const ElementSchema& schema) {
  ItemCounts counts;
  const auto count_of = [](const Json& part, std::string_view keyword, std::uint64_t none) {
    const Json* count = part.find(keyword);
    const auto whole = count == nullptr ? std::nullopt : count->whole();
    return whole && *whole >= 0 ? static_cast<std::uint64_t>(*whole) : none;
  };
  for (const ElementSchema::Part& part : schema.parts()) {
    counts.least = std::max(counts.least, count_of(*part.schema, "minItems", 0));
    counts.most = std::min(counts.most, count_of(*part.schema, "maxItems", kUnlimited));
  }
  return counts;
}

}  // namespace

NodeId ElementArguments::add(std::string_view name, const Json& schema, std::string pointer) {
  const Place* place = add_place(nullptr, std::move(pointer));
  return elements_[number_of(std::string(name), schema, place)].node;
}

void ElementArguments::finish() {
  for (std::size_t i = 0; i < elements_.size(); ++i) build(i);
  find_texts();
}

bool ElementArguments::has_text(NodeId element) const {
  return elements_[by_node_.at(element)].has_text;
}

std::string ElementArguments::pointer_of(const Place* place) {
  std::vector<const Place*> steps;
  for (; place != nullptr; place = place->before) steps.push_back(place);
  std::string out;
  for (std::size_t i = steps.size(); i-- > 0;) out += steps[i]->step;
  return out;
}

const ElementArguments::Place* ElementArguments::add_place(const Place* before, std::string step) {
  places_.push_back({before, std::move(step)});
  return &places_.back();
}

std::size_t ElementArguments::number_of(std::string name, const Json& schema, const Place* place) {
  texts_.budget().spend(1 + name.size());
  const auto [known, is_new] = known_.try_emplace(std::pair(&schema, name), elements_.size());
  if (is_new) {
    const NodeId node = texts_.grammar().reserve();
    by_node_[node] = elements_.size();
    elements_.push_back({.name = std::move(name), .schema = &schema, .place = place, .node = node});
  }
  return known->second;
}

/// Adds an element's value: text, or elements.
void ElementArguments::build(std::size_t number) {
  using namespace json_type;
  const Element element = elements_[number];
  Grammar& grammar = texts_.grammar();
  std::vector<NodeId> values;
  const bool has_name = is_element_name(element.name);
  if (!has_name) {
    texts_.refuse_or_note(pointer_of(element.place), kNoName);
  }
  const JsonTypes types =
      has_name ? value_types(texts_.parameters(), *element.schema, &texts_.budget()) : 0U;
  const NodeId end = texts_.literal(value_end_of(texts_.frames(), element.name));
  const Inside inside{.types = types, .end = end, .element = number, .values = values};
  if ((types & kString) != 0) {
    const NodeId text = texts_.add_strings(*element.schema, types, element.name,
                                           [&] { return pointer_of(element.place); });
    if (text != kNoNode) add_value(inside, text, {});
  }
  const JsonTypes plain = types & (kNull | kBoolean | kInteger | kFraction);
  const NodeId value = plain == 0 ? kNoNode : texts_.add_json(*element.schema, plain);
  if (value != kNoNode) add_value(inside, grammar.sequence({value, end}), {});
  if ((types & kArray) != 0) add_items(inside);
  if ((types & kObject) != 0) add_members(inside);
  if (values.empty()) {
    grammar.set(element.node, grammar::Terminal{grammar.add_language(TextDfa())});
    return;
  }
  const NodeId key = texts_.add_key(texts_.literal(element.name), texts_.frames().other_key_end);
  grammar.set(element.node, grammar::Sequence{{key, grammar.choice(std::move(values))}});
}

/// Adds a value that has a text if the elements `needs` have one.
void ElementArguments::add_value(const Inside& inside, NodeId value,
                                 std::vector<std::size_t> needs) {
  inside.values.push_back(value);
  elements_[inside.element].ways.push_back(std::move(needs));
}

std::vector<const ElementArguments::Place*> ElementArguments::places_of(const ElementSchema& schema,
                                                                        const Place* place) {
  std::vector<const Place*> places;
  for (const ElementSchema::Part& part : schema.parts()) {
    places.push_back(add_place(part.is_absolute ? nullptr : place, part.pointer));
  }
  return places;
}

/// Notes what is not enforced: what the schema lost, and keywords of its parts.
void ElementArguments::note(const ElementSchema& schema, const std::vector<const Place*>& places,
                            const std::vector<std::string_view>& keywords) {
  for (std::size_t i = 0; i < schema.parts().size(); ++i) {
    for (const std::string_view keyword : keywords) {
      if (schema.parts()[i].schema->find(keyword) == nullptr) continue;
      texts_.refuse_or_note(cat(pointer_of(places[i]), "/", keyword), kNotEnforced);
    }
  }
  for (const ElementSchema::Lost& lost : schema.lost()) {
    texts_.refuse_or_note(cat(pointer_of(places[lost.part]), lost.pointer), kNotEnforced);
  }
}

/// Adds the elements of arrays. No element stands for an empty array, but not where a string may be
/// empty.
void ElementArguments::add_items(const Inside& inside) {
  const Element& element = elements_[inside.element];
  ElementSchema schema(texts_.parameters(), *element.schema, json_type::kArray, &texts_.budget());
  schema.lose_items();
  const std::vector<const Place*> places = places_of(schema, element.place);
  note(schema, places,
       {"not", "if", "enum", "const", "$dynamicRef", "$recursiveRef", "prefixItems", "uniqueItems",
        "contains", "additionalItems", "unevaluatedItems"});
  const auto [least, most] = item_counts(schema);
  if (least == 0 && (inside.types & json_type::kString) == 0) add_value(inside, inside.end, {});
  if (most == 0 || least > most) return;
  std::size_t part = 0;
  const Json& items = schema.items(&part);
  const std::size_t item = number_of("item", items, add_place(places[part], "/items"));
  Grammar& grammar = texts_.grammar();
  const NodeId some = grammar.add(grammar::Repeat{.part = elements_[item].node,
                                                  .count_min = std::max<std::uint64_t>(least, 1),
                                                  .count_max = most});
  add_value(inside, grammar.sequence({some, inside.end}), {item});
}

/// Adds the elements of objects, in the schema's order. Only declared and required names have
/// elements, and no element stands for an empty object, but not where a string or an array may be
/// empty.
void ElementArguments::add_members(const Inside& inside) {
  using namespace json_type;
  const Element& element = elements_[inside.element];
  ElementSchema schema(texts_.parameters(), *element.schema, kObject, &texts_.budget());
  const std::vector<ElementSchema::Member> members = schema.members(texts_.budget());
  const std::vector<const Place*> places = places_of(schema, element.place);
  note(schema, places,
       {"not", "if", "enum", "const", "$dynamicRef", "$recursiveRef", "minProperties",
        "maxProperties", "patternProperties", "propertyNames", "dependentRequired",
        "dependentSchemas", "dependencies"});
  // An array begins like this.
  const auto is_item = [](const ElementSchema::Member& member) { return member.name == "item"; };
  const bool may_be_array = (inside.types & kArray) != 0;
  if (may_be_array && std::any_of(members.begin(), members.end(), is_item)) return;
  std::vector<std::size_t> inner, required;
  for (const ElementSchema::Member& member : members) {
    inner.push_back(number_of(std::string(member.name), *member.schema,
                              add_place(places[member.part], member.pointer)));
    if (member.is_required) required.push_back(inner.back());
  }
  Grammar& grammar = texts_.grammar();
  NodeId rest = inside.end;  // from a member on
  NodeId some = kNoNode;     // with one more member at least
  for (std::size_t i = members.size(); i-- > 0;) {
    const NodeId with = grammar.sequence({elements_[inner[i]].node, rest});
    if (members[i].is_required) {
      rest = some = with;
      continue;
    }
    rest = grammar.choice({with, rest});
    some = some == kNoNode ? with : grammar.choice({with, some});
  }
  const bool may_be_empty = (inside.types & (kString | kArray)) == 0;
  if (!required.empty() || may_be_empty) {
    add_value(inside, rest, std::move(required));
  } else if (some != kNoNode) {
    inside.values.push_back(some);
    for (const std::size_t one : inner) elements_[inside.element].ways.push_back({one});
  }
}

/// Finds the elements that have a text, beginning with the innermost.
void ElementArguments::find_texts() {
  const auto has_way = [this](const std::vector<std::size_t>& needs) {
    texts_.budget().spend(1 + needs.size());
    return std::all_of(needs.begin(), needs.end(),
                       [this](std::size_t i) { return elements_[i].has_text; });
  };
  for (bool is_done = false; !is_done;) {
    is_done = true;
    for (auto element = elements_.rbegin(); element != elements_.rend(); ++element) {
      if (element->has_text) continue;
      element->has_text = std::any_of(element->ways.begin(), element->ways.end(), has_way);
      is_done = is_done && !element->has_text;
    }
  }
}

}  // namespace ingot
