// Finds recipes by name, and lists request fields with a GGUF key.
#include "cli/options/conversion_options.h"

#include <variant>

#include "base/text.h"
#include "cli/options/options.h"
#include "runtime/request_fields.h"

namespace ingot {

std::string recipe_names() {
  std::string names;
  for (const Recipe& recipe : recipes()) names += cat(names.empty() ? "" : ", ", recipe.name);
  return names;
}

const Recipe& recipe_option(const std::string& name) {
  const Recipe* recipe = find_recipe(name);
  if (recipe == nullptr) throw bad_option("--type", name, cat("expected one of ", recipe_names()));
  return *recipe;
}

std::vector<SamplingKey> sampling_keys() {
  std::vector<SamplingKey> keys;
  for (const RequestField& field : request_fields()) {
    if (field.gguf.empty()) continue;
    const bool whole = std::holds_alternative<InSampling<std::int32_t>>(field.member);
    keys.push_back({.name = field.name, .key = field.gguf, .whole = whole});
  }
  return keys;
}

}  // namespace ingot
