// TokenTrie: a vocabulary's texts as a tree of bytes, to find all tokens that a constraint allows.
#include "constraint/token_trie.h"

#include <algorithm>
#include <utility>

#include "base/index.h"
#include "constraint/match/leaf_masks.h"

namespace ingot {

TokenTrie::TokenTrie(std::int32_t ids, const std::function<Token(std::int32_t)>& token)
    : ids_(ids), leaf_masks_(std::make_unique<LeafMasks>(*this)) {
  first_.push_back(0);
  uses_.reserve(to_size(ids));
  for (std::int32_t id = 0; id < ids; ++id) {
    const Token made = token(id);
    const bool is_usable =
        made.use != TokenUse::kNone && !made.bytes.empty() && made.bytes.size() <= kTokenBytesMax;
    uses_.push_back(is_usable ? made.use : TokenUse::kNone);
    if (is_usable) bytes_ += made.bytes;
    first_.push_back(static_cast<std::uint32_t>(bytes_.size()));
  }
  std::vector<std::pair<std::string_view, std::int32_t>> texts, markers;
  for (std::int32_t id = 0; id < ids; ++id) {
    const std::string_view text = bytes(id);
    if (text.empty()) continue;
    const bool is_marker = use(id) == TokenUse::kMarker;
    (is_marker ? markers : texts).emplace_back(text, id);
    if (!is_marker && text.size() == 1) has_byte_[static_cast<std::uint8_t>(text[0])] = true;
  }
  has_printable_ =
      std::all_of(has_byte_.begin() + 0x20, has_byte_.begin() + 0x7F, [](bool has) { return has; });
  std::sort(texts.begin(), texts.end());
  std::sort(markers.begin(), markers.end());
  texts_ = make_byte_tree(texts);
  markers_ = make_byte_tree(markers);
}

TokenTrie::~TokenTrie() = default;

std::string_view TokenTrie::bytes(std::int32_t id) const {
  const std::uint32_t first = at(first_, id);
  return std::string_view(bytes_).substr(first, at(first_, id + 1) - first);
}

}  // namespace ingot
