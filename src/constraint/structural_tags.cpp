// Compiles structural tags to a repeated choice of tags behind free text.
#include "constraint/structural_tags.h"

#include <algorithm>
#include <cstddef>
#include <numeric>
#include <string_view>
#include <utility>

#include "base/error.h"
#include "base/text.h"

namespace ingot {
namespace {

using Tags = ConstraintSpec::StructuralTags;

/// Triggers, if some of them end like one begins. A matcher follows the free text to each of them.
constexpr std::size_t kOverlappingMax = 16;

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

/// Returns whether the end of a trigger is the beginning of a trigger. Then a trigger behind free
/// text may not be the first one, as the second << of <<<.
bool have_overlaps(const std::vector<std::string>& triggers, CompileBudget& budget) {
  for (const std::string& trigger : triggers) {
    for (std::size_t i = 1; i < trigger.size(); ++i) {
      budget.spend(8);
      const std::string_view end = std::string_view(trigger).substr(i);
      const auto found = std::lower_bound(triggers.begin(), triggers.end(), end);
      if (found != triggers.end() && found->starts_with(end)) return true;
    }
  }
  return false;
}

/// Returns the texts in which `trigger` occurs once, at the end, and no other trigger occurs.
TextDfa free_text_to(const std::string& trigger, std::vector<std::string> triggers,
                     CompileBudget& budget) {
  triggers.erase(std::find(triggers.begin(), triggers.end(), trigger));
  TextDfa language = TextDfa::until(trigger, budget);
  if (triggers.empty()) return language;
  return language.intersected(TextDfa::without(triggers, budget), budget);
}

/// Returns how many bytes two texts have in common at their beginning, without a part of a
/// character.
std::size_t common_start(std::string_view a, std::string_view b) {
  std::size_t size = 0;
  while (size < a.size() && size < b.size() && a[size] == b[size]) ++size;
  while (size > 0 && size < a.size() && (static_cast<unsigned char>(a[size]) & 0xC0) == 0x80) {
    --size;
  }
  return size;
}

class TagCompiler {
 public:
  TagCompiler(Grammar& grammar, const Tags& form, const std::string& name,
              std::vector<SchemaNote>& notes, CompileBudget& budget)
      : grammar_(grammar), form_(form), name_(name), notes_(notes), budget_(budget) {}

  NodeId compile() {
    if (form_.tags.empty()) refuse_tags("has no tags");
    const std::vector<std::string> triggers = first_triggers(form_, budget_);
    std::vector<std::vector<std::size_t>> tags(triggers.size());
    for (std::size_t i = 0; i < form_.tags.size(); ++i)
      tags[find_trigger(triggers, i)].push_back(i);
    for (std::size_t t = 0; t < triggers.size(); ++t) {
      if (!tags[t].empty()) continue;
      refuse_tags(cat("no tag begins with the trigger ", quoted_text(triggers[t])));
    }
    const NodeId free_text = grammar_.terminal(TextDfa::without(triggers, budget_));
    if (have_overlaps(triggers, budget_)) return overlapping(triggers, tags, free_text);
    std::vector<std::size_t> all(form_.tags.size());
    std::iota(all.begin(), all.end(), std::size_t{0});
    const NodeId tag = grammar_.sequence({any_tag(std::move(all), 0), free_text});
    return grammar_.sequence({free_text, grammar_.add(grammar::Repeat{.part = tag})});
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

  /// Tags whose begins have the first `length` bytes in common, behind these.
  struct Branch {
    std::size_t length = 0;
    std::vector<NodeId> alternatives{};
  };

  /// Adds tags for triggers that overlap: a matcher follows the free text to each of them.
  NodeId overlapping(const std::vector<std::string>& triggers,
                     std::vector<std::vector<std::size_t>>& tags, NodeId rest) {
    if (triggers.size() > kOverlappingMax) {
      refuse_tags(cat("has ", triggers.size(), " triggers, some of which end like one begins; the ",
                      "limit on these is ", kOverlappingMax));
    }
    std::vector<NodeId> alternatives;
    for (std::size_t t = 0; t < triggers.size(); ++t) {
      const NodeId free_text = grammar_.terminal(free_text_to(triggers[t], triggers, budget_));
      alternatives.push_back(
          grammar_.sequence({free_text, any_tag(std::move(tags[t]), triggers[t].size())}));
    }
    const NodeId tag = one_of(std::move(alternatives));
    return grammar_.sequence({grammar_.add(grammar::Repeat{.part = tag}), rest});
  }

  /// Adds tags behind the first `typed` bytes of their begins, as a tree of their begins, so that a
  /// matcher follows one alternative for all that begin alike.
  NodeId any_tag(std::vector<std::size_t> tags, std::size_t typed) {
    std::stable_sort(tags.begin(), tags.end(), [this](std::size_t a, std::size_t b) {
      return form_.tags[a].begin < form_.tags[b].begin;
    });
    std::vector<Branch> path(1, {typed});
    for (std::size_t i = 0; i < tags.size(); ++i) {
      const std::string& begin = form_.tags[tags[i]].begin;
      budget_.spend(1 + begin.size());
      if (path.back().length < begin.size()) path.push_back({begin.size()});
      path.back().alternatives.push_back(add_contents(tags[i]));
      const bool is_last = i + 1 == tags.size();
      close_branches(path, begin,
                     is_last ? typed : common_start(begin, form_.tags[tags[i + 1]].begin));
    }
    return one_of(std::move(path[0].alternatives));
  }

  /// Joins the branches of `begin` that are longer than `length` to those before them.
  void close_branches(std::vector<Branch>& path, std::string_view begin, std::size_t length) {
    while (path.back().length > length) {
      Branch done = std::move(path.back());
      path.pop_back();
      if (path.back().length < length) path.push_back({length});
      const std::size_t first = path.back().length;
      path.back().alternatives.push_back(
          grammar_.sequence({grammar_.literal(begin.substr(first, done.length - first), budget_),
                             one_of(std::move(done.alternatives))}));
    }
  }

  /// Adds a tag's text behind its begin.
  NodeId add_contents(std::size_t index) {
    const Tags::Tag& tag = form_.tags[index];
    const std::string pointer = cat("/structures/", index, "/schema");
    const std::size_t old_notes = notes_.size();
    const NodeId contents =
        add_json_schema(grammar_, tag.schema, {.name = name_ + pointer}, notes_, budget_);
    for (std::size_t n = old_notes; n < notes_.size(); ++n) {
      notes_[n].pointer.insert(0, pointer);
    }
    if (tag.end.empty()) return contents;
    return grammar_.sequence({contents, grammar_.literal(tag.end, budget_)});
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
