// Compiles structural tags to a repeated choice of tags behind free text.
#include "constraint/structural_tags.h"

#include <algorithm>
#include <cstddef>
#include <string_view>
#include <utility>

#include "base/error.h"
#include "base/text.h"

namespace ingot {
namespace {

using Tags = ConstraintSpec::StructuralTags;

std::string quoted_text(std::string_view text) { return cat("'", printable(text, 64), "'"); }

[[noreturn]] void refuse_tags(std::string reason) {
  throw Error(ErrorCode::kInvalid, std::move(reason));
}

/// Returns the triggers at which free text can end. A trigger behind a shorter one that begins it
/// is left out, because the shorter one comes first.
std::vector<std::string> first_triggers(const Tags& form, CompileBudget& budget) {
  std::vector<std::string> sorted = form.triggers;
  std::sort(sorted.begin(), sorted.end());
  std::vector<std::string> found;
  for (const std::string& trigger : sorted) {
    if (trigger.empty()) refuse_tags("a trigger is empty");
    if (found.empty() || !trigger.starts_with(found.back())) found.push_back(trigger);
  }
  for (const std::string& outer : found) {
    for (const std::string& inner : found) {
      budget.spend(1 + outer.size());
      if (&outer != &inner && outer.find(inner) != outer.npos) {
        refuse_tags(
            cat("the trigger ", quoted_text(inner), " occurs in the trigger ", quoted_text(outer)));
      }
    }
  }
  return found;
}

/// Returns the texts in which `trigger` occurs once, at the end, and no other trigger occurs.
TextDfa free_text_to(const std::string& trigger, std::vector<std::string> triggers,
                     CompileBudget& budget) {
  triggers.erase(std::find(triggers.begin(), triggers.end(), trigger));
  TextDfa language = TextDfa::until(trigger, budget);
  if (triggers.empty()) return language;
  return language.intersected(TextDfa::without(triggers, budget), budget);
}

class TagCompiler {
 public:
  TagCompiler(Grammar& grammar, const Tags& form, const std::string& name,
              std::vector<SchemaNote>& notes, CompileBudget& budget)
      : grammar_(grammar), form_(form), name_(name), notes_(notes), budget_(budget) {}

  NodeId compile() {
    if (form_.tags.empty()) refuse_tags("has no tags");
    const std::vector<std::string> triggers = first_triggers(form_, budget_);
    std::vector<std::vector<NodeId>> tags(triggers.size());
    for (std::size_t i = 0; i < form_.tags.size(); ++i) {
      const std::size_t trigger = find_trigger(triggers, i);
      tags[trigger].push_back(add_tag(i, triggers[trigger].size()));
    }
    std::vector<NodeId> alternatives;
    for (std::size_t t = 0; t < triggers.size(); ++t) {
      if (tags[t].empty()) {
        refuse_tags(cat("no tag begins with the trigger ", quoted_text(triggers[t])));
      }
      const NodeId free_text = grammar_.terminal(free_text_to(triggers[t], triggers, budget_));
      alternatives.push_back(grammar_.sequence({free_text, one_of(std::move(tags[t]))}));
    }
    const NodeId tag = one_of(std::move(alternatives));
    const NodeId rest = grammar_.terminal(TextDfa::without(triggers, budget_));
    return grammar_.sequence({grammar_.add(grammar::Repeat{.part = tag}), rest});
  }

 private:
  NodeId one_of(std::vector<NodeId> nodes) {
    return nodes.size() == 1 ? nodes[0] : grammar_.choice(std::move(nodes));
  }

  std::size_t find_trigger(const std::vector<std::string>& triggers, std::size_t tag) const {
    const std::string& begin = form_.tags[tag].begin;
    for (std::size_t t = 0; t < triggers.size(); ++t) {
      budget_.spend();
      if (begin.starts_with(triggers[t])) return t;
    }
    refuse_tags(cat("no trigger begins the tag ", quoted_text(begin)));
  }

  /// Adds a tag behind the first `typed` bytes of its begin.
  NodeId add_tag(std::size_t index, std::size_t typed) {
    const Tags::Tag& tag = form_.tags[index];
    std::vector<NodeId> parts;
    if (tag.begin.size() > typed) {
      parts.push_back(grammar_.literal(std::string_view(tag.begin).substr(typed), budget_));
    }
    const std::string pointer = cat("/structures/", index, "/schema");
    const std::size_t old_notes = notes_.size();
    parts.push_back(
        add_json_schema(grammar_, tag.schema, {.name = name_ + pointer}, notes_, budget_));
    for (std::size_t n = old_notes; n < notes_.size(); ++n) {
      notes_[n].pointer.insert(0, pointer);
    }
    if (!tag.end.empty()) parts.push_back(grammar_.literal(tag.end, budget_));
    return parts.size() == 1 ? parts[0] : grammar_.sequence(std::move(parts));
  }

  Grammar& grammar_;
  const Tags& form_;
  const std::string& name_;
  std::vector<SchemaNote>& notes_;
  CompileBudget& budget_;
};

}  // namespace

NodeId add_structural_tags(Grammar& grammar, const Tags& form, const std::string& name,
                           std::vector<SchemaNote>& notes, CompileBudget& budget) {
  return TagCompiler(grammar, form, name, notes, budget).compile();
}

}  // namespace ingot
