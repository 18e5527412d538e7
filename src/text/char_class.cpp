// The two-stage table behind char_class: 256 code points a block, equal blocks stored once.
#include "text/char_class.h"

#include <utf8proc.h>

#include <array>
#include <cstddef>
#include <map>
#include <vector>

namespace ingot {
namespace {

constexpr char32_t kCodes = 0x110000;
constexpr char32_t kBlock = 256;

bool is_white_space(char32_t c) {
  return (c >= 0x09 && c <= 0x0D) || c == 0x20 || c == 0x85 || c == 0xA0 || c == 0x1680 ||
         (c >= 0x2000 && c <= 0x200A) || c == 0x2028 || c == 0x2029 || c == 0x202F || c == 0x205F ||
         c == 0x3000;
}

CharClass classify(char32_t c) {
  if (is_white_space(c)) return kSpace;
  const utf8proc_category_t category = utf8proc_category(static_cast<utf8proc_int32_t>(c));
  if (category >= UTF8PROC_CATEGORY_LU && category <= UTF8PROC_CATEGORY_LO) return kLetter;
  if (category >= UTF8PROC_CATEGORY_ND && category <= UTF8PROC_CATEGORY_NO) return kNumber;
  if (category >= UTF8PROC_CATEGORY_PC && category <= UTF8PROC_CATEGORY_PO) return kPunctuation;
  return kOther;
}

class Table {
 public:
  Table() {
    std::map<Block, std::uint16_t> known;
    for (char32_t first = 0; first < kCodes; first += kBlock) {
      Block block;
      for (char32_t i = 0; i < kBlock; ++i) block[i] = classify(first + i);
      const auto next = static_cast<std::uint16_t>(blocks_.size());
      const auto [at, is_new] = known.try_emplace(block, next);
      if (is_new) blocks_.push_back(block);
      index_[first / kBlock] = at->second;
    }
  }
  CharClass operator[](char32_t c) const { return blocks_[index_[c / kBlock]][c % kBlock]; }

 private:
  using Block = std::array<CharClass, kBlock>;
  std::array<std::uint16_t, kCodes / kBlock> index_;
  std::vector<Block> blocks_;
};

}  // namespace

CharClass char_class(char32_t code) {
  static const Table table;
  return code < kCodes ? table[code] : kOther;
}

}  // namespace ingot
