// Unigram: Viterbi's algorithm over the places of a text, then a walk back along the best path.
#include "text/tokenizer/unigram.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "base/error.h"
#include "base/index.h"
#include "base/text.h"
#include "text/unicode/char_scan.h"

namespace ingot {
namespace {

/// The score of an unknown character is this much below the worst piece's. As in SentencePiece.
constexpr double kUnknownPenalty = 10;

bool takes_part(std::span<const TokenType> types, std::size_t id) {
  return types.empty() || types[id] == TokenType::kNormal || types[id] == TokenType::kUserDefined;
}

}  // namespace

Unigram::Unigram(const StringTable& pieces, std::span<const double> scores,
                 std::span<const TokenType> types, const Settings& settings, std::string_view file)
    : scores_(scores.begin(), scores.end()), settings_(settings) {
  check(pieces, scores, types, file);
  double least = std::numeric_limits<double>::max();
  double most = std::numeric_limits<double>::lowest();
  std::vector<TrieEntry> entries;
  for (std::size_t i = 0; i < pieces.size(); ++i) {
    if (!takes_part(types, i)) continue;
    entries.push_back({pieces[i], static_cast<std::int32_t>(i)});
    if (!types.empty() && types[i] == TokenType::kUserDefined) continue;
    least = std::min(least, scores[i]);
    most = std::max(most, scores[i]);
  }
  if (most < least) least = most = 0;  // no scored piece
  unknown_score_ = least - kUnknownPenalty;
  for (std::size_t i = 0; i < types.size(); ++i) {
    if (types[i] != TokenType::kUserDefined) continue;
    // No other pieces for these bytes have a better sum, because no score is above `most`.
    scores_[i] = static_cast<double>(pieces[i].size()) * most - 0.1;
  }
  trie_ = PrefixTrie(std::move(entries));
}

void Unigram::check(const StringTable& pieces, std::span<const double> scores,
                    std::span<const TokenType> types, std::string_view file) const {
  const auto refuse = [&](std::string_view reason) {
    throw model_error(file, "tokenizer", reason);
  };
  if (scores.size() != pieces.size()) {
    refuse(cat(scores.size(), " scores for ", pieces.size(), " unigram tokens"));
  }
  if (!types.empty() && types.size() != pieces.size()) {
    refuse(cat(types.size(), " token types for ", pieces.size(), " unigram tokens"));
  }
  for (std::size_t i = 0; i < pieces.size(); ++i) {
    if (!std::isfinite(scores[i]) || std::abs(scores[i]) > kUnigramScoreMax) {
      refuse(cat("score ", i, " is ", scores[i]));
    }
    if (takes_part(types, i) && pieces[i].size() > kUnigramPieceBytesMax) {
      refuse(
          cat("token ", i, " has ", pieces[i].size(), " bytes, more than ", kUnigramPieceBytesMax));
    }
  }
  const auto& unknown = settings_.unknown;
  if (unknown && (*unknown < 0 || to_size(*unknown) >= pieces.size())) {
    refuse(cat("unknown is token ", *unknown, " of ", pieces.size()));
  }
  if (!unknown && !settings_.byte_ids) refuse("neither an unknown token nor byte tokens");
}

void Unigram::encode(std::string_view text, ModelScratch&, std::vector<std::int32_t>& ids) const {
  if (!text.empty()) append(text, best_paths(text), ids);
}

std::vector<Unigram::Node> Unigram::best_paths(std::string_view text) const {
  std::vector<Node> best(text.size() + 1);
  for (std::size_t at = 0; at < text.size();) {
    const double score = best[at].score;
    const auto reach = [&](std::size_t size, std::int32_t id, double piece_score) {
      Node& node = best[at + size];
      const double sum = piece_score + score;
      if (node.id != kUnreached && sum <= node.score) return;
      node = {sum, id, static_cast<std::uint32_t>(at)};
    };
    const std::size_t char_size = char_at(text, at).size;
    bool has_char = false;
    trie_.prefixes(text.substr(at), [&](std::size_t size, std::int32_t id) {
      reach(size, id, scores_[to_size(id)]);
      has_char = has_char || size == char_size;
    });
    if (!has_char) reach(char_size, kUnknown, unknown_score_);
    at += char_size;
  }
  return best;
}

void Unigram::append(std::string_view text, const std::vector<Node>& best,
                     std::vector<std::int32_t>& ids) const {
  std::vector<std::uint32_t> ends;
  for (auto end = static_cast<std::uint32_t>(text.size()); end > 0; end = best[end].begin) {
    ends.push_back(end);
  }
  bool after_unknown = false;
  std::for_each(ends.rbegin(), ends.rend(), [&](std::uint32_t end) {
    const Node& node = best[end];
    const bool unknown = node.id == kUnknown || node.id == settings_.unknown;
    if (!unknown) {
      ids.push_back(node.id);
    } else if (settings_.byte_ids) {
      for (const char c : text.substr(node.begin, end - node.begin)) {
        ids.push_back((*settings_.byte_ids)[static_cast<unsigned char>(c)]);
      }
    } else if (!after_unknown) {
      ids.push_back(*settings_.unknown);
    }
    after_unknown = unknown;
  });
}

}  // namespace ingot
