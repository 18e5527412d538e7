// Parses file names of split GGUF models: STEM-00001-of-00003.gguf.
#include "load/split_name.h"

namespace ingot {

std::optional<SplitName> parse_split_name(std::string_view name) {
  constexpr std::string_view kPattern = "-00000-of-00000.gguf";
  constexpr std::size_t kOf = 6;  // place in the pattern behind the first number
  if (name.size() <= kPattern.size()) return std::nullopt;
  SplitName split{name.substr(0, name.size() - kPattern.size())};
  const std::string_view tail = name.substr(split.stem.size());
  for (std::size_t i = 0; i < tail.size(); ++i) {
    const bool is_digit = tail[i] >= '0' && tail[i] <= '9';
    if (kPattern[i] == '0' ? !is_digit : tail[i] != kPattern[i]) return std::nullopt;
    if (!is_digit) continue;
    int& number = i < kOf ? split.part : split.parts;
    number = number * 10 + (tail[i] - '0');
  }
  return split;
}

}  // namespace ingot
