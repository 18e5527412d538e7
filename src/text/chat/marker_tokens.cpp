// Finds control tokens by their names.
#include "text/chat/marker_tokens.h"

#include <algorithm>

namespace ingot {

std::vector<std::int32_t> marker_tokens(const Tokenizer& tokenizer,
                                        std::span<const std::string> names, std::int64_t ids,
                                        std::size_t most) {
  std::vector<std::int32_t> markers;
  if (names.empty()) return markers;
  const auto count =
      static_cast<std::int32_t>(std::min(ids, static_cast<std::int64_t>(tokenizer.size())));
  for (std::int32_t id = 0; id < count && markers.size() < most; ++id) {
    if (tokenizer.type(id) != TokenType::kControl) continue;
    const bool is_marker =
        std::find(names.begin(), names.end(), tokenizer.piece(id)) != names.end();
    if (is_marker) markers.push_back(id);
  }
  return markers;
}

}  // namespace ingot
