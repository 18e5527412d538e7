// ModuleKeys: indexes keys without special characters by their dots.
#include "load/adapter/module_keys.h"

#include <algorithm>

#include "base/error.h"
#include "base/text.h"

namespace ingot {

namespace {

constexpr std::size_t kNoKey = static_cast<std::size_t>(-1);

bool is_plain_key_char(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' ||
         c == '-' || c == '.';
}

/// A key with "x" in place of each character but dots.
std::string outline_of(std::string key) {
  std::replace_if(
      key.begin(), key.end(), [](char c) { return c != '.'; }, 'x');
  return key;
}

/// The only key with this outline that can match a text.
std::string key_for(std::string_view text, std::string_view outline) {
  std::string key(text);
  for (std::size_t i = 0; i < key.size(); ++i) {
    if (outline[i] == '.') key[i] = '.';
  }
  return key;
}

}  // namespace

void ModuleKeys::add(const std::string& key) {
  const std::size_t index = keys_++;
  if (std::all_of(key.begin(), key.end(), is_plain_key_char)) {
    plain_[key.size()][outline_of(key)].emplace(key, index);
  } else {
    regexes_.emplace_back(index, ModuleRegex(cat("(?:.*\\.)?(?:", key, ")"), file_, where_));
  }
}

/// The least index of the keys that match all of `end`.
std::size_t ModuleKeys::first_plain(std::string_view end, MatchBudget& budget) const {
  const auto same_length = plain_.find(end.size());
  if (same_length == plain_.end()) return kNoKey;
  std::size_t first = kNoKey;
  for (const auto& [outline, indices] : same_length->second) {
    if (!budget.take(end.size() + 1)) {
      throw model_error(file_, "config",
                        cat(where_,
                            " has too many kinds of keys: matching the configuration takes "
                            "more than ",
                            budget.steps_max(), " steps"));
    }
    const auto found = indices.find(key_for(end, outline));
    if (found != indices.end()) first = std::min(first, found->second);
  }
  return first;
}

std::optional<std::size_t> ModuleKeys::first_match(std::string_view module,
                                                   MatchBudget& budget) const {
  std::size_t first = kNoKey;
  any_ending(module, [&](std::string_view end) {
    first = std::min(first, first_plain(end, budget));
    return false;
  });
  for (const auto& [index, regex] : regexes_) {
    if (index > first) break;
    if (regex.matches_all(module, budget)) return index;
  }
  return first == kNoKey ? std::nullopt : std::optional(first);
}

}  // namespace ingot
