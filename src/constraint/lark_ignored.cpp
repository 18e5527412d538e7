// Compares the characters that continue an ignored text with the characters that are ignored alone.
#include "constraint/lark_ignored.h"

#include <algorithm>
#include <cstdint>
#include <optional>
#include <utility>

#include "base/error.h"
#include "base/index.h"
#include "base/text.h"
#include "constraint/gbnf.h"

namespace ingot {

namespace {

/// Facts about an ignored language.
struct IgnoredFacts {
  std::vector<CodePointRange> single;  ///< texts of one character
  CodePoints next;                     ///< what directly continues one of its texts
  CodePoints behind;                   ///< all characters behind the end of one of its texts
  bool needs_end = false;
};

IgnoredFacts facts_of(const TextDfa& language, CompileBudget& budget) {
  IgnoredFacts facts;
  std::vector<CodePointRange> next, behind;
  std::vector<bool> is_behind(to_size(language.size()), false);
  std::vector<std::int32_t> open;
  for (std::int32_t state = 0; state < language.size(); ++state) {
    budget.spend();
    if (!language.accepts(state)) continue;
    is_behind[to_size(state)] = true;
    open.push_back(state);
    for (const TextDfa::Arc& arc : language.arcs(state)) next.push_back(arc.on);
  }
  while (!open.empty()) {
    const std::int32_t state = open.back();
    open.pop_back();
    for (const TextDfa::Arc& arc : language.arcs(state)) {
      budget.spend();
      behind.push_back(arc.on);
      if (is_behind[to_size(arc.to)]) continue;
      is_behind[to_size(arc.to)] = true;
      open.push_back(arc.to);
    }
  }
  for (const TextDfa::Arc& arc : language.arcs(TextDfa::start())) {
    if (language.accepts(arc.to)) facts.single.push_back(arc.on);
  }
  facts.next = CodePoints(std::move(next));
  facts.behind = CodePoints(std::move(behind));
  return facts;
}

/// The characters that are ignored alone, without those of texts that need an end.
CodePoints single_characters(const std::vector<IgnoredFacts>& all, CompileBudget& budget) {
  std::vector<CodePointRange> ranges;
  for (const IgnoredFacts& facts : all) {
    if (facts.needs_end) continue;
    budget.spend(1 + facts.single.size());
    ranges.insert(ranges.end(), facts.single.begin(), facts.single.end());
  }
  return CodePoints(std::move(ranges));
}

/// Finds which texts need an end: a character can continue them that is not ignored alone.
CodePoints find_ends(std::vector<IgnoredFacts>& all, CompileBudget& budget) {
  for (;;) {
    CodePoints single = single_characters(all, budget);
    bool is_done = true;
    for (IgnoredFacts& facts : all) {
      budget.spend(1 + facts.behind.ranges().size() + single.ranges().size());
      if (facts.needs_end) continue;
      facts.needs_end = facts.behind.intersected(single).ranges() != facts.behind.ranges();
      is_done = is_done && !facts.needs_end;
    }
    if (is_done) return single;
  }
}

std::string class_of_ranges(const CodePoints& characters) {
  constexpr std::string_view kHex = "0123456789ABCDEF";
  std::string out = "[";
  const auto write = [&](char32_t c) {
    out += "\\U";
    for (int shift = 28; shift >= 0; shift -= 4) out += kHex[(c >> shift) & 15U];
  };
  for (const CodePointRange& range : characters.ranges()) {
    write(range.first);
    out += '-';
    write(range.last);
  }
  return out + "]";
}

[[noreturn]] void refuse_ignored(const LarkIgnored& ignored) {
  throw Error(ErrorCode::kInvalid,
              cat("line ", ignored.line,
                  ": %ignore is supported for single characters, their repetitions, texts with an "
                  "end, and texts that end before a character that is ignored too"));
}

}  // namespace

CodePoints plan_lark_ignored(std::vector<LarkIgnored>& ignored, std::string_view rules,
                             CompileBudget& budget) {
  std::string text = "root ::= ignored-0";
  std::vector<std::string> names;
  for (std::size_t i = 0; i < ignored.size(); ++i) {
    names.push_back(cat("ignored-", i));
    text += cat("\n", names.back(), " ::=", ignored[i].gbnf);
  }
  const auto languages = gbnf_rule_languages(cat(text, rules, "\n"), names, budget);
  std::vector<IgnoredFacts> all;
  for (std::size_t i = 0; i < ignored.size(); ++i) {
    if (!languages[i] || languages[i]->is_empty()) refuse_ignored(ignored[i]);
    all.push_back(facts_of(*languages[i], budget));
  }
  const CodePoints single = find_ends(all, budget);
  std::vector<CodePointRange> behind;
  for (std::size_t i = 0; i < ignored.size(); ++i) {
    const auto& ranges = all[i].behind.ranges();
    budget.spend(1 + ranges.size());
    if (!all[i].needs_end) {
      behind.insert(behind.end(), ranges.begin(), ranges.end());
      continue;
    }
    const CodePoints next = single.intersected(all[i].next.complement());
    if (next.is_empty()) refuse_ignored(ignored[i]);
    ignored[i].next = class_of_ranges(next);
  }
  return CodePoints(std::move(behind));
}

}  // namespace ingot
