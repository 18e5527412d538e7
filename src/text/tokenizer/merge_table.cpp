// MergeTable: reads BPE merges, and checks that all their pieces are tokens.
#include "text/tokenizer/merge_table.h"

#include <bit>
#include <string>
#include <utility>

#include "base/error.h"
#include "base/text.h"
#include "text/tokenizer/vocabulary.h"

namespace ingot {
namespace {

constexpr std::size_t kMergesMax = std::size_t{1} << 22;

/// The two parts of merge `index`; `joined` becomes their concatenation.
std::pair<std::string_view, std::string_view> parts_of(const TokenizerData& data, std::size_t index,
                                                       std::string& joined) {
  const std::string_view text = data.merges[index];
  const std::size_t space = text.find(data.merge_separator);
  const bool one_space =
      space != std::string_view::npos && space == text.rfind(data.merge_separator);
  if (!one_space || space == 0 || space + 1 == text.size()) {
    throw vocabulary_error(data, cat("merge ", index, " is '", printable(text),
                                     "', expected two pieces with one space between"));
  }
  const std::string_view left = text.substr(0, space);
  const std::string_view right = text.substr(space + 1);
  joined.assign(left).append(right);
  return {left, right};
}

}  // namespace

void MergeTable::merge(std::vector<std::int32_t>& symbols, SymbolMerger& merger) const {
  if (symbols.size() < 2) return;
  merger.reset(symbols.size());
  for (std::size_t i = 0; i < symbols.size(); ++i) merger.mark(i);
  merger.run([&](std::size_t left, std::size_t right,
                 std::size_t) { return rank(symbols[left], symbols[right]); },
             [&](std::size_t left, std::uint32_t rank) { symbols[left] = merged(rank); });
  std::size_t count = 0;
  for (std::size_t at = 0; at < symbols.size(); at = merger.end_of(at)) {
    symbols[count++] = symbols[at];
  }
  symbols.resize(count);
}

MergeTable::MergeTable(const TokenizerData& data, const PieceMap& ids) {
  const std::size_t count = data.merges.size();
  if (count == 0) throw vocabulary_error(data, "bpe without merges");
  if (count > kMergesMax) {
    throw vocabulary_error(data, cat(count, " merges are more than ", kMergesMax));
  }
  const auto id_of = [&](std::size_t index, std::string_view piece) {
    const std::int32_t id = ids.find(piece);
    if (id < 0) {
      throw vocabulary_error(data, cat("merge ", index, " needs the piece '", printable(piece),
                                       "', which is no token"));
    }
    return id;
  };
  slots_.resize(std::bit_ceil(2 * count + 1));
  merged_.reserve(count);
  std::string joined;
  for (std::size_t i = 0; i < count; ++i) {
    const auto [left, right] = parts_of(data, i, joined);
    const std::uint64_t pair = pair_of(id_of(i, left), id_of(i, right));
    merged_.push_back(id_of(i, joined));
    Slot& slot = slots_[slot_of(pair)];
    if (slot.rank == SymbolMerger::kNever) slot = {pair, static_cast<std::uint32_t>(i)};
  }
}

}  // namespace ingot
