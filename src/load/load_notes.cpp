// LoadNotes: finds accepted keys, and words what users read about them.
#include "load/load_notes.h"

#include <algorithm>

#include "base/error.h"
#include "base/index.h"
#include "base/text.h"

namespace ingot {

LoadNotes::LoadNotes(std::span<const std::string> accepted)
    : accepted_(accepted.begin(), accepted.end()), used_(accepted.size()) {}

bool LoadNotes::accepts(std::string_view file, std::string_view key, std::string_view value) {
  const auto found = std::find(accepted_.begin(), accepted_.end(), key);
  if (found == accepted_.end()) return false;
  used_[to_size(found - accepted_.begin())] = true;
  warn(cat(printable(file, 4096), ": ", printable(key), " = ", value,
           " is not applied: texts may be wrong"));
  return true;
}

std::string LoadNotes::advice(std::string_view key) {
  return cat(" (--accept-unknown ", printable(key, 1024), " opens the model without it)");
}

void LoadNotes::warn_of_unused_keys() {
  for (std::size_t i = 0; i < accepted_.size(); ++i) {
    if (used_[i]) continue;
    warn(cat("--accept-unknown ", printable(accepted_[i]),
             ": no file of the model has this key, or ingot applies it"));
  }
}

}  // namespace ingot
