// check_grammar: removes what no text can use, and refuses what a matcher cannot walk.
#include <algorithm>
#include <optional>
#include <utility>
#include <vector>

#include "base/text.h"
#include "constraint/grammar.h"
#include "constraint/match/array_rules.h"
#include "constraint/match/object_rules.h"
#include "constraint/match/unique_items.h"

namespace ingot {
namespace {

/// Larger counts are not kept apart, because a count has 32 bits.
constexpr std::uint64_t kCountMax = std::uint64_t{1} << 31;
/// How often a part that may be empty may be repeated, if there is a limit. Each time is a step of
/// every search for what can begin.
constexpr std::uint64_t kEmptyRepeatsMax = 1000;

void bound(std::uint64_t& low, std::uint64_t& high) {
  if (low > kCountMax) {
    throw Error(ErrorCode::kInvalid, cat("asks for ", low, " parts; the limit is ", kCountMax));
  }
  if (high > kCountMax) high = kUnlimited;
}

/// Returns the texts of `language` whose tag is in `kept`.
TextDfa with_tags(const TextDfa& language, const std::vector<bool>& kept, CompileBudget& budget) {
  std::vector<TextDfa::State> states;
  for (std::int32_t i = 0; i < language.size(); ++i) {
    const auto arcs = language.arcs(i);
    const std::int32_t tag = language.tag(i);
    states.push_back({.arcs = {arcs.begin(), arcs.end()},
                      .accepts = language.accepts(i) && kept[static_cast<std::size_t>(tag)],
                      .tag = tag});
    budget.spend(1 + arcs.size());
  }
  return TextDfa(std::move(states), budget);
}

bool has_all(const std::vector<bool>& flags) {
  return std::find(flags.begin(), flags.end(), false) == flags.end();
}

bool has_none(const std::vector<bool>& flags) {
  return std::find(flags.begin(), flags.end(), true) == flags.end();
}

class Checker {
 public:
  Checker(Grammar& grammar, CompileBudget& budget) : grammar_(grammar), budget_(budget) {}

  void run() {
    for (NodeId id = 0; id < grammar_.size(); ++id) prepare(id);
    find_productive();
    if (grammar_.root() == kNoNode || !productive_[grammar_.root()]) {
      throw Error(ErrorCode::kInvalid, "allows no text");
    }
    for (NodeId id = 0; id < grammar_.size(); ++id) {
      if (productive_[id]) remove_unused(id);
    }
    find_nullable();
    for (NodeId id = 0; id < grammar_.size(); ++id) loosen_repeat(id);
    refuse_left_recursion();
  }

 private:
  bool is_productive(NodeId id) const { return id != kNoNode && productive_[id]; }

  /// Calls `use(child)` for each node that a node names.
  template <class Use>
  void for_children(const GrammarNode& node, const Use& use) {
    const auto add = [&](NodeId child) {
      budget_.spend(1);
      if (child != kNoNode) use(child);
    };
    if (const auto* sequence = std::get_if<grammar::Sequence>(&node)) {
      for (const NodeId part : sequence->parts) add(part);
    } else if (const auto* choice = std::get_if<grammar::Choice>(&node)) {
      for (const NodeId alternative : choice->alternatives) add(alternative);
    } else if (const auto* repeat = std::get_if<grammar::Repeat>(&node)) {
      add(repeat->part);
      add(repeat->separator);
    } else if (const auto* array = std::get_if<grammar::Array>(&node)) {
      for (const auto& item : array->first) {
        add(item.value);
        add(item.counted);
      }
      add(array->rest.value);
      add(array->rest.counted);
    } else if (const auto* object = std::get_if<grammar::Object>(&node)) {
      for (const auto& property : object->properties) add(property.value);
      for (const NodeId value : object->other_values) add(value);
    }
  }

  /// Bounds counts, and makes lengths countable.
  void prepare(NodeId id) {
    budget_.spend(1);
    GrammarNode node = grammar_.node(id);
    if (auto* string = std::get_if<grammar::String>(&node)) {
      bound(string->length_min, string->length_max);
      if (string->length_min == 0 && string->length_max == kUnlimited) return;
      if (string->language != grammar::String::kAny &&
          !grammar_.language(string->language).is_gapless()) {
        string->language = grammar_.add_language(
            grammar_.language(string->language)
                .with_length(string->length_min, string->length_max, budget_));
        string->length_min = 0;
        string->length_max = kUnlimited;
      }
    } else if (auto* repeat = std::get_if<grammar::Repeat>(&node)) {
      bound(repeat->count_min, repeat->count_max);
    } else if (auto* array = std::get_if<grammar::Array>(&node)) {
      bound(array->count_min, array->count_max);
      bound(array->contained_min, array->contained_max);
    } else if (auto* object = std::get_if<grammar::Object>(&node)) {
      bound(object->count_min, object->count_max);
    } else {
      return;
    }
    grammar_.set(id, std::move(node));
  }

  /// Finds the nodes that have a text, beginning with the leaves.
  void find_productive() {
    productive_.assign(grammar_.size(), false);
    std::vector<std::uint32_t> first(grammar_.size() + 1);
    for (NodeId id = 0; id < grammar_.size(); ++id) {
      for_children(grammar_.node(id), [&](NodeId child) { ++first[child + 1]; });
    }
    for (std::size_t i = 1; i < first.size(); ++i) first[i] += first[i - 1];
    std::vector<NodeId> parents(first.back());
    std::vector<std::uint32_t> filled(first.begin(), first.end() - 1);
    for (NodeId id = 0; id < grammar_.size(); ++id) {
      for_children(grammar_.node(id), [&](NodeId child) { parents[filled[child]++] = id; });
    }
    std::vector<NodeId> open;
    const auto check = [&](NodeId id) {
      if (productive_[id] || !has_text(grammar_.node(id))) return;
      productive_[id] = true;
      open.push_back(id);
    };
    for (NodeId id = 0; id < grammar_.size(); ++id) check(id);
    while (!open.empty()) {
      const NodeId id = open.back();
      open.pop_back();
      for (std::uint32_t i = first[id]; i < first[id + 1]; ++i) check(parents[i]);
    }
  }

  /// Whether a node has a text made of nodes that are known to have one.
  bool has_text(const GrammarNode& node) {
    budget_.spend(1);
    const auto productive = [&](NodeId id) {
      budget_.spend(1);
      return productive_[id];
    };
    if (const auto* terminal = std::get_if<grammar::Terminal>(&node)) {
      return !grammar_.language(terminal->language).is_empty();
    }
    if (const auto* string = std::get_if<grammar::String>(&node)) return string_has_text(*string);
    if (const auto* sequence = std::get_if<grammar::Sequence>(&node)) {
      return std::all_of(sequence->parts.begin(), sequence->parts.end(), productive);
    }
    if (const auto* choice = std::get_if<grammar::Choice>(&node)) {
      return std::any_of(choice->alternatives.begin(), choice->alternatives.end(), productive);
    }
    if (const auto* repeat = std::get_if<grammar::Repeat>(&node)) {
      if (repeat->count_min > repeat->count_max) return false;
      return repeat->count_min == 0 || (is_productive(repeat->part) &&
                                        (repeat->count_min == 1 || repeat->separator == kNoNode ||
                                         is_productive(repeat->separator)));
    }
    if (const auto* array = std::get_if<grammar::Array>(&node)) {
      return (array->count_min == 0 && array->contained_min == 0) || array_has_text(*array);
    }
    return object_has_text(std::get<grammar::Object>(node));
  }

  bool string_has_text(const grammar::String& string) const {
    if (string.length_min > string.length_max) return false;
    if (string.language == grammar::String::kAny) return true;
    const TextDfa& language = grammar_.language(string.language);
    return !language.is_empty() && language.shortest(TextDfa::start()) <= string.length_max &&
           language.longest(TextDfa::start()) >= string.length_min;
  }

  grammar::Array productive_part(const grammar::Array& array) const {
    grammar::Array part = array;
    const auto filter = [&](grammar::Array::Item& item) {
      if (!is_productive(item.value)) item.value = kNoNode;
      if (!is_productive(item.counted)) item.counted = kNoNode;
    };
    filter(part.rest);
    for (std::size_t i = 0; i < part.first.size(); ++i) {
      filter(part.first[i]);
      if (part.first[i].value != kNoNode || part.first[i].counted != kNoNode) continue;
      part.first.resize(i);
      part.rest = {};
    }
    return part;
  }

  bool array_has_text(const grammar::Array& array) {
    budget_.spend(array.first.size());
    const grammar::Array part = productive_part(array);
    match::ArrayState begin;
    if (!part.is_unique) return match::ArrayRules(part, kUnlimited, false).is_feasible(begin);
    const match::UniqueItems unique = match::find_unique_items(grammar_, part, budget_);
    if (unique.is_narrower) {
      throw Error(ErrorCode::kInvalid, std::string(match::kSharedItems));
    }
    begin.values_left = unique.plain->count();
    begin.counted_left = unique.counted->count();
    return match::ArrayRules(part, unique.count_max, unique.is_pool).is_feasible(begin);
  }

  /// Returns the number of other keys whose value has a text.
  std::uint64_t other_keys(const grammar::Object& object) {
    if (object.other_keys == grammar::Object::kNone) return 0;
    const TextDfa& language = grammar_.language(object.other_keys);
    if (language.is_empty()) return 0;
    const auto kept = productive_tags(object);
    if (has_all(kept)) {
      return language.count(TextDfa::start());
    }
    if (has_none(kept)) return 0;
    const TextDfa rest = with_tags(language, kept, budget_);
    return rest.is_empty() ? 0 : rest.count(TextDfa::start());
  }

  std::vector<bool> productive_tags(const grammar::Object& object) const {
    std::vector<bool> kept;
    for (const NodeId value : object.other_values) kept.push_back(is_productive(value));
    return kept;
  }

  std::vector<bool> possible_properties(const grammar::Object& object) const {
    std::vector<bool> possible;
    for (const auto& property : object.properties) {
      possible.push_back(is_productive(property.value));
    }
    return possible;
  }

  bool object_has_text(const grammar::Object& object) {
    budget_.spend(object.properties.size());
    std::uint64_t required = 0;
    for (const auto& property : object.properties) {
      if (!property.is_required) continue;
      if (!is_productive(property.value)) return false;
      ++required;
    }
    if (object.dependencies.empty() && object.count_min <= required) {
      return required <= object.count_max && object.count_min <= object.count_max;
    }
    return match::ObjectRules(object, possible_properties(object), other_keys(object), budget_)
        .is_feasible();
  }

  /// Removes the parts of a node that have no text.
  void remove_unused(NodeId id) {
    GrammarNode node = grammar_.node(id);
    if (auto* choice = std::get_if<grammar::Choice>(&node)) {
      auto& all = choice->alternatives;
      all.erase(std::remove_if(all.begin(), all.end(), [&](NodeId a) { return !productive_[a]; }),
                all.end());
    } else if (auto* repeat = std::get_if<grammar::Repeat>(&node)) {
      if (!is_productive(repeat->part)) repeat->count_max = 0;
      if (repeat->separator != kNoNode && !productive_[repeat->separator]) {
        repeat->count_max = std::min<std::uint64_t>(repeat->count_max, 1);
        repeat->separator = kNoNode;
      }
      if (repeat->count_max == 0) repeat->part = kNoNode;
    } else if (auto* array = std::get_if<grammar::Array>(&node)) {
      *array = productive_part(*array);
    } else if (auto* object = std::get_if<grammar::Object>(&node)) {
      remove_unused(*object);
    } else {
      return;
    }
    grammar_.set(id, std::move(node));
  }

  void remove_unused(grammar::Object& object) {
    const match::ObjectRules rules(object, possible_properties(object), other_keys(object),
                                   budget_);
    for (std::uint32_t i = 0; i < object.properties.size(); ++i) {
      if (!rules.is_possible(i)) object.properties[i].value = kNoNode;
      object.properties[i].is_required = rules.is_required(i);
    }
    if (object.other_keys == grammar::Object::kNone) return;
    const std::vector<bool> kept = productive_tags(object);
    if (has_all(kept)) return;
    TextDfa rest = with_tags(grammar_.language(object.other_keys), kept, budget_);
    object.other_keys =
        rest.is_empty() ? grammar::Object::kNone : grammar_.add_language(std::move(rest));
  }

  bool is_nullable(const GrammarNode& node) const {
    if (const auto* terminal = std::get_if<grammar::Terminal>(&node)) {
      const TextDfa& language = grammar_.language(terminal->language);
      return !language.is_empty() && language.accepts(TextDfa::start());
    }
    if (const auto* sequence = std::get_if<grammar::Sequence>(&node)) {
      return std::all_of(sequence->parts.begin(), sequence->parts.end(),
                         [&](NodeId part) { return nullable_[part]; });
    }
    if (const auto* choice = std::get_if<grammar::Choice>(&node)) {
      return std::any_of(choice->alternatives.begin(), choice->alternatives.end(),
                         [&](NodeId alternative) { return nullable_[alternative]; });
    }
    const auto* repeat = std::get_if<grammar::Repeat>(&node);
    if (repeat == nullptr) return false;
    return repeat->count_min == 0 ||
           (nullable_[repeat->part] && (repeat->count_min == 1 || repeat->separator == kNoNode ||
                                        nullable_[repeat->separator]));
  }

  void find_nullable() {
    nullable_.assign(grammar_.size(), false);
    std::vector<std::vector<NodeId>> parents(grammar_.size());
    std::vector<NodeId> open;
    const auto check = [&](NodeId id) {
      if (nullable_[id] || !productive_[id] || !is_nullable(grammar_.node(id))) return;
      nullable_[id] = true;
      open.push_back(id);
    };
    for (NodeId id = 0; id < grammar_.size(); ++id) {
      for_children(grammar_.node(id), [&](NodeId child) { parents[child].push_back(id); });
      check(id);
    }
    while (!open.empty()) {
      const NodeId id = open.back();
      open.pop_back();
      for (const NodeId parent : parents[id]) check(parent);
    }
  }

  /// A part that may be empty can fill up the lower bound with nothing.
  void loosen_repeat(NodeId id) {
    const auto* repeat = std::get_if<grammar::Repeat>(&grammar_.node(id));
    if (repeat == nullptr || !productive_[id] || repeat->part == kNoNode) return;
    if (!nullable_[repeat->part]) return;
    if (repeat->separator != kNoNode && !nullable_[repeat->separator]) return;
    grammar::Repeat loose = *repeat;
    loose.count_min = 0;
    if (loose.count_max != kUnlimited && loose.count_max > kEmptyRepeatsMax) {
      throw Error(ErrorCode::kInvalid, cat("repeats a part that may be empty ", loose.count_max,
                                           " times; the limit is ", kEmptyRepeatsMax));
    }
    grammar_.set(id, loose);
  }

  /// The nodes that can begin where `id` begins.
  std::vector<NodeId> beginnings(NodeId id) {
    const GrammarNode& node = grammar_.node(id);
    std::vector<NodeId> found;
    if (const auto* sequence = std::get_if<grammar::Sequence>(&node)) {
      for (const NodeId part : sequence->parts) {
        found.push_back(part);
        if (!nullable_[part]) break;
      }
    } else if (const auto* choice = std::get_if<grammar::Choice>(&node)) {
      found = choice->alternatives;
    } else if (const auto* repeat = std::get_if<grammar::Repeat>(&node)) {
      if (repeat->part != kNoNode) {
        found.push_back(repeat->part);
        if (nullable_[repeat->part] && repeat->separator != kNoNode) {
          found.push_back(repeat->separator);
        }
      }
    }
    budget_.spend(1 + found.size());
    return found;
  }

  void refuse_left_recursion() {
    enum class Mark : std::uint8_t { kNew, kOpen, kDone };
    struct Entry {
      NodeId node;
      std::vector<NodeId> next;
    };
    std::vector<Mark> marks(grammar_.size(), Mark::kNew);
    std::vector<Entry> path;
    for (NodeId start = 0; start < grammar_.size(); ++start) {
      if (marks[start] != Mark::kNew || !productive_[start]) continue;
      path.push_back({start, beginnings(start)});
      marks[start] = Mark::kOpen;
      while (!path.empty()) {
        Entry& last = path.back();
        if (last.next.empty()) {
          marks[last.node] = Mark::kDone;
          path.pop_back();
          continue;
        }
        const NodeId next = last.next.back();
        last.next.pop_back();
        if (marks[next] == Mark::kOpen) throw Error(ErrorCode::kInvalid, "is left recursive");
        if (marks[next] == Mark::kDone) continue;
        marks[next] = Mark::kOpen;
        path.push_back({next, beginnings(next)});
      }
    }
  }

  Grammar& grammar_;
  CompileBudget& budget_;
  std::vector<bool> productive_, nullable_;
};

}  // namespace

void check_grammar(Grammar& grammar, CompileBudget& budget) { Checker(grammar, budget).run(); }

}  // namespace ingot
