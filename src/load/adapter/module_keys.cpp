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
  const bool is_whole = key.starts_with('^');
  const std::string plain = key.substr(is_whole ? 1 : 0);
  if (std::all_of(plain.begin(), plain.end(), is_plain_key_char)) {
    (is_whole ? whole_ : ends_)[plain.size()][outline_of(plain)].emplace(plain, index);
  } else {
    regexes_.emplace_back(index, ModuleRegex(cat("(?:.*\\.)?(?:", key, ")"), file_, where_));
  }
}

/// The least index of the keys that match all of `end`.
std::size_t ModuleKeys::first_plain(const PlainKeys& keys, std::string_view end,
                                    MatchBudget& budget) const {
  const auto same_length = keys.find(end.size());
  if (same_length == keys.end()) return kNoKey;
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
  std::size_t first = first_plain(whole_, module, budget);
  any_ending(module, [&](std::string_view end) {
    first = std::min(first, first_plain(ends_, end, budget));
    return false;
  });
  for (const auto& [index, regex] : regexes_) {
    if (index > first) break;
    if (regex.matches_all(module, budget)) return index;
  }
  return first == kNoKey ? std::nullopt : std::optional(first);
}

}  // namespace ingot
