// TextSets: operations on sets of texts, each done once.
#include "constraint/schema/text_sets.h"

#include <algorithm>
#include <iterator>

#include "base/error.h"
#include "base/index.h"
#include "base/text.h"
#include "base/utf8.h"
#include "constraint/language/formats.h"
#include "constraint/language/pattern.h"

namespace ingot::schema {
namespace {

std::uint64_t code_points(std::string_view text) {
  std::uint64_t count = 0;
  for (const char c : text) count += (static_cast<unsigned char>(c) & 0xC0U) != 0x80U ? 1 : 0;
  return count;
}

}  // namespace

TextSets::TextSets(CompileBudget& budget) : budget_(budget) {
  add_list(Kind::kAllBut, {});
  add_list(Kind::kTexts, {});
}

TextSetId TextSets::add_list(Kind kind, std::vector<std::string> texts) {
  budget_.spend(texts.size() + 1);
  std::pair<bool, std::vector<std::string>> key(kind == Kind::kTexts, std::move(texts));
  const auto [entry, is_new] =
      by_list_.emplace(std::move(key), static_cast<TextSetId>(sets_.size()));
  if (is_new) sets_.push_back({.kind = kind, .texts = entry->first.second, .language = nullptr});
  return entry->second;
}

TextSetId TextSets::add_language(TextDfa language) {
  if (language.is_empty()) return kNone;
  sets_.push_back({.kind = Kind::kLanguage,
                   .texts = {},
                   .language = std::make_shared<const TextDfa>(std::move(language))});
  return static_cast<TextSetId>(sets_.size()) - 1;
}

TextSetId TextSets::of_texts(std::vector<std::string> texts) {
  std::sort(texts.begin(), texts.end());
  texts.erase(std::unique(texts.begin(), texts.end()), texts.end());
  return add_list(Kind::kTexts, std::move(texts));
}

TextSetId TextSets::of_pattern(const std::string& pattern) {
  const std::string key = "p" + pattern;
  const auto known = by_source_.find(key);
  if (known != by_source_.end()) return known->second;
  const TextSetId id = add_language(compiled(pattern));
  by_source_[key] = id;
  return id;
}

TextDfa TextSets::compiled(const std::string& pattern) {
  // A pattern that is too complex leaves enough for the schema without it.
  const std::uint64_t steps = budget_.left() / 2;
  CompileBudget own(steps);
  try {
    TextDfa language = compile_pattern(pattern, Anchoring::kSearch, own);
    budget_.spend(steps - own.left());
    return language;
  } catch (const Error&) {
    budget_.spend(steps - own.left());
    throw;
  }
}

TextSetId TextSets::of_format(const std::string& format) {
  const std::string key = "f" + format;
  const auto known = by_source_.find(key);
  if (known != by_source_.end()) return known->second;
  std::optional<TextDfa> language = format_language(format, budget_);
  const TextSetId id = language.has_value() ? add_language(std::move(*language)) : kAll;
  by_source_[key] = id;
  return id;
}

TextSetId TextSets::intersected_lists(const Set& a, const Set& b) {
  std::vector<std::string> out;
  const auto to = std::back_inserter(out);
  budget_.spend(a.texts.size() + b.texts.size());
  const auto &x = a.texts, &y = b.texts;
  if (a.kind == Kind::kTexts && b.kind == Kind::kTexts) {
    std::set_intersection(x.begin(), x.end(), y.begin(), y.end(), to);
  } else if (a.kind == Kind::kTexts) {
    std::set_difference(x.begin(), x.end(), y.begin(), y.end(), to);
  } else if (b.kind == Kind::kTexts) {
    std::set_difference(y.begin(), y.end(), x.begin(), x.end(), to);
  } else {
    std::set_union(x.begin(), x.end(), y.begin(), y.end(), to);
    return add_list(Kind::kAllBut, std::move(out));
  }
  return add_list(Kind::kTexts, std::move(out));
}

TextSetId TextSets::combine(char operation, TextSetId a, TextSetId b) {
  const auto key = std::make_tuple(operation, std::min(a, b), std::max(a, b));
  const auto known = by_operation_.find(key);
  if (known != by_operation_.end()) return known->second;
  const Set x = at(sets_, a), y = at(sets_, b);
  TextSetId result = kNone;
  if (operation == '|') {
    result = add_language(language(a).united(language(b), budget_));
  } else if (x.kind != Kind::kLanguage && y.kind != Kind::kLanguage) {
    result = intersected_lists(x, y);
  } else if (x.kind == Kind::kTexts || y.kind == Kind::kTexts) {
    const bool is_first = x.kind == Kind::kTexts;
    std::vector<std::string> texts;
    for (const std::string& text : is_first ? x.texts : y.texts) {
      budget_.spend(text.size() + 1);
      if (contains(is_first ? b : a, text)) texts.push_back(text);
    }
    result = of_texts(std::move(texts));
  } else {
    result = add_language(language(a).intersected(language(b), budget_));
  }
  by_operation_[key] = result;
  return result;
}

TextSetId TextSets::intersected(TextSetId a, TextSetId b) {
  if (a == kNone || b == kNone) return kNone;
  if (a == b || b == kAll) return a;
  if (a == kAll) return b;
  return combine('&', a, b);
}

TextSetId TextSets::united(TextSetId a, TextSetId b) {
  if (a == kAll || b == kAll) return kAll;
  if (a == b || b == kNone) return a;
  if (a == kNone) return b;
  const bool are_lists =
      at(sets_, a).kind != Kind::kLanguage && at(sets_, b).kind != Kind::kLanguage;
  if (are_lists) return complement(intersected(complement(a), complement(b)));
  return combine('|', a, b);
}

TextSetId TextSets::complement(TextSetId a) {
  const Set set = at(sets_, a);
  if (set.kind == Kind::kTexts) return add_list(Kind::kAllBut, set.texts);
  if (set.kind == Kind::kAllBut) return add_list(Kind::kTexts, set.texts);
  const auto key = std::make_tuple('~', a, a);
  const auto known = by_operation_.find(key);
  if (known != by_operation_.end()) return known->second;
  const TextSetId result = add_language(language(a).complement(budget_));
  by_operation_[key] = result;
  by_operation_[std::make_tuple('~', result, result)] = a;
  return result;
}

TextSetId TextSets::with_length(TextSetId a, std::uint64_t low, std::uint64_t high) {
  if (low == 0 && high == TextDfa::kInfinite) return a;
  const Set set = at(sets_, a);
  if (set.kind != Kind::kTexts) {
    return add_language(language(a).with_length(low, high, budget_));
  }
  std::vector<std::string> texts;
  for (const std::string& text : set.texts) {
    const std::uint64_t length = code_points(text);
    if (length >= low && length <= high) texts.push_back(text);
  }
  return add_list(Kind::kTexts, std::move(texts));
}

bool TextSets::is_empty(TextSetId a) {
  const Set& set = at(sets_, a);
  return set.kind == Kind::kTexts    ? set.texts.empty()
         : set.kind == Kind::kAllBut ? false
                                     : set.language->is_empty();
}

bool TextSets::contains(TextSetId a, std::string_view text) const {
  const Set& set = at(sets_, a);
  if (set.kind == Kind::kLanguage) return set.language->contains(text);
  const bool is_listed =
      std::binary_search(set.texts.begin(), set.texts.end(), text, std::less<>());
  return is_listed == (set.kind == Kind::kTexts);
}

const std::vector<std::string>* TextSets::texts(TextSetId a) const {
  const Set& set = at(sets_, a);
  return set.kind == Kind::kTexts ? &set.texts : nullptr;
}

const TextDfa& TextSets::language(TextSetId a) {
  if (at(sets_, a).language == nullptr) {
    TextDfa listed = TextDfa::any_of(at(sets_, a).texts, budget_);
    if (at(sets_, a).kind == Kind::kAllBut) listed = listed.complement(budget_);
    at(sets_, a).language = std::make_shared<const TextDfa>(std::move(listed));
  }
  return *at(sets_, a).language;
}

}  // namespace ingot::schema
