// AdapterList: the adapters of a request, in the order in which they are added.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "backend/adapter.h"

namespace ingot {

/// Limit on the adapters of a request.
inline constexpr std::size_t kAdaptersMax = 8;

/// Adapters with the request's factors. Keeps their weights as long as it lives, so requests finish
/// on the adapters with which they began.
struct AdapterList {
  /// Equal numbers stand for equal lists: the same loads with the same factors. A later load of the
  /// same file has another number. 0 stands for no adapters.
  std::uint64_t number = 0;
  std::vector<AdapterUse> uses{};
  std::vector<std::shared_ptr<const void>> owners{};  ///< own the weights of `uses`
  std::vector<std::string> names{};                   ///< names of `uses`, for logs
  /// Tokens with whose last occurrence in a prompt the adapters begin (aLoRA); empty: they act on
  /// all rows.
  std::vector<std::int32_t> invocation{};
};

/// Returns the first row of a prompt on which a list acts; -1 if the prompt lacks the invocation
/// tokens. Source: PEFT, tuners/lora/variants.py, calculate_alora_offsets.
std::int64_t first_adapted_row(const AdapterList& list, std::span<const std::int32_t> prompt);

/// Returns the number of a list; 0 for null.
inline std::uint64_t number_of(const std::shared_ptr<const AdapterList>& list) {
  return list == nullptr ? 0 : list->number;
}

/// Returns the names of a list's adapters with commas between them; "" for null.
inline std::string names_of(const std::shared_ptr<const AdapterList>& list) {
  std::string text;
  if (list == nullptr) return text;
  for (const std::string& name : list->names) text += (text.empty() ? "" : ",") + name;
  return text;
}

}  // namespace ingot
