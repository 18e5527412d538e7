// The two-stage table of character classes: blocks of 256 code points, equal ones stored once.
#include "text/unicode/char_class.h"

#include <utf8proc.h>

#include <array>
#include <cstddef>
#include <map>
#include <vector>

#include "base/index.h"

namespace ingot {
namespace {

constexpr char32_t kCodes = 0x110000;
constexpr char32_t kBlock = 256;

bool is_white_space(char32_t c) {
  return (c >= 0x09 && c <= 0x0D) || c == 0x20 || c == 0x85 || c == 0xA0 || c == 0x1680 ||
         (c >= 0x2000 && c <= 0x200A) || c == 0x2028 || c == 0x2029 || c == 0x202F || c == 0x205F ||
         c == 0x3000;
}

/// Circled and squared Latin letters: the symbols that are Alphabetic (Other_Alphabetic without
/// marks).
bool is_alphabetic_symbol(char32_t c) {
  return (c >= 0x24B6 && c <= 0x24E9) || (c >= 0x1F130 && c <= 0x1F149) ||
         (c >= 0x1F150 && c <= 0x1F169) || (c >= 0x1F170 && c <= 0x1F189);
}

constexpr unsigned kUpperLetter = kLetter | kUpper | kWord;
constexpr unsigned kLowerLetter = kLetter | kLower | kWord;
constexpr unsigned kOtherLetter = kLetter | kWord;
constexpr unsigned kNonspacingMark = kMark | kNonspacing | kWord;
constexpr unsigned kOtherMark = kMark | kWord;
constexpr unsigned kDigit = kNumber | kWord;
constexpr unsigned kConnector = kPunctuation | kWord;

/// The classes of the general categories, in utf8proc's order: Cn, Lu Ll Lt Lm Lo, Mn Mc Me,
/// Nd Nl No (Nl is Alphabetic), Pc Pd Ps Pe Pi Pf Po, Sm Sc Sk So, Zs Zl Zp, Cc Cf Cs Co.
constexpr std::array<unsigned, UTF8PROC_CATEGORY_CO + 1> kCategoryClasses = {
    kOther,          kUpperLetter, kLowerLetter, kUpperLetter, kOtherLetter, kOtherLetter,
    kNonspacingMark, kOtherMark,   kOtherMark,   kDigit,       kDigit,       kNumber,
    kConnector,      kPunctuation, kPunctuation, kPunctuation, kPunctuation, kPunctuation,
    kPunctuation,    kSymbol,      kSymbol,      kSymbol,      kSymbol,      kOther,
    kOther,          kOther,       kControl,     kControl,     kOther,       kOther};

/// Conjoining vowels and final consonants of Hangul.
bool is_conjoining_jamo(char32_t c) {
  return (c >= 0x1161 && c <= 0x1175) || (c >= 0x11A8 && c <= 0x11C2);
}

bool is_hangul_syllable(char32_t c) { return c >= 0xAC00 && c <= 0xD7A3; }

/// Sets kCombines and kDecomposes. A text without these classes is in every normal form.
unsigned normalization_classes(char32_t c, const utf8proc_property_t& property) {
  constexpr unsigned kNone = UINT16_MAX;
  constexpr unsigned kSecondOfPair = 0x8000;  // a bit of utf8proc's comb_index
  const unsigned pair = property.comb_index;
  unsigned classes = kOther;
  if (property.combining_class != 0 || (pair != kNone && pair >= kSecondOfPair) ||
      is_conjoining_jamo(c)) {
    classes |= kCombines;
  }
  if (property.decomp_seqindex != kNone || is_hangul_syllable(c)) classes |= kDecomposes;
  return classes;
}

unsigned classify(char32_t c) {
  const utf8proc_property_t& property = *utf8proc_get_property(static_cast<utf8proc_int32_t>(c));
  unsigned classes = at(kCategoryClasses, property.category);
  if (is_white_space(c)) classes = kSpace | (classes & kControl);
  const bool is_join_control = c == 0x200C || c == 0x200D;
  if (is_alphabetic_symbol(c) || is_join_control) classes |= kWord;
  return classes | normalization_classes(c, property);
}

class Table {
 public:
  Table() {
    std::map<Block, std::uint16_t> known;
    for (char32_t first = 0; first < kCodes; first += kBlock) {
      Block block;
      for (char32_t i = 0; i < kBlock; ++i) {
        block[i] = static_cast<CharClass>(classify(first + i));
      }
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
