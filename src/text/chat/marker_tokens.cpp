// Finds control tokens by their names.
#include "text/chat/marker_tokens.h"

#include <algorithm>

namespace ingot {

std::vector<std::int32_t> marker_tokens(const Tokenizer& tokenizer,
                                        std::span<const std::string> names) {
  std::vector<std::int32_t> ids;
  if (names.empty()) return ids;
  const auto count = static_cast<std::int32_t>(tokenizer.size());
  for (std::int32_t id = 0; id < count; ++id) {
    if (tokenizer.type(id) != TokenType::kControl) continue;
    const bool is_marker =
        std::find(names.begin(), names.end(), tokenizer.piece(id)) != names.end();
    if (is_marker) ids.push_back(id);
  }
  return ids;
}

}  // namespace ingot
