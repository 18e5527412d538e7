// Tokenizer: runs the search for added tokens, normalisation, pre-tokenization and token model.
#include "text/tokenizer/tokenizer.h"

#include <algorithm>
#include <utility>

#include "base/check.h"
#include "base/error.h"
#include "base/index.h"
#include "base/text.h"
#include "text/tokenizer/vocabulary.h"

namespace ingot {
namespace {

constexpr std::size_t kTextBytesMax = (std::size_t{1} << 31) - 1;

const TokenizerData& checked(const TokenizerData& data) {
  check_vocabulary(data);
  return data;
}

}  // namespace

struct Tokenizer::Scratch {
  std::string normalized;
  ModelScratch model;
};

Tokenizer::Tokenizer(const TokenizerData& data, std::vector<std::string>& details)
    : types_(checked(data).types),
      bos_(data.bos),
      eos_(data.eos),
      eot_(data.eot),
      eom_(data.eom),
      unknown_(data.unknown),
      padding_(data.padding),
      frame_begin_(data.frame_begin),
      frame_end_(data.frame_end),
      pair_(data.pair),
      fim_(find_fim(data)),
      normalizer_(data),
      pretokenizers_(data),
      model_(make_token_model(data, details)),
      decoded_(decode_pieces(data)) {
  for (std::size_t i = 0; i < decoded_.pieces.size(); ++i) {
    longest_piece_ = std::max(longest_piece_, decoded_.pieces[i].size());
  }
  const auto waits = [](const AddedToken& token) { return token.normalized && !token.always; };
  const bool differ =
      !normalizer_.empty() && std::any_of(data.added.begin(), data.added.end(), waits);
  searches_ = make_searches(data, !differ);
  if (differ) searches_within_ = make_searches(data, true);
  strips_ = std::any_of(data.added.begin(), data.added.end(),
                        [](const AddedToken& token) { return token.lstrip || token.rstrip; });
}

Tokenizer::Searches Tokenizer::make_searches(const TokenizerData& data, bool all_raw) const {
  return {.plain = make_search(data, false, false, all_raw),
          .user_defined = make_search(data, false, true, all_raw),
          .special = make_search(data, true, true, all_raw)};
}

Tokenizer::Search Tokenizer::make_search(const TokenizerData& data, bool special, bool user_defined,
                                         bool all_raw) const {
  std::vector<AddedToken> raw;
  std::vector<AddedToken> normalized;
  for (const AddedToken& token : data.added) {
    if (!token.always && !(token.special ? special : user_defined)) continue;
    if (!token.normalized || (all_raw && !token.always)) {
      raw.push_back(token);
      continue;
    }
    normalized.push_back(token);
    if (!token.always) normalized.back().content = normalizer_.normalize(token.content);
  }
  return {.raw = AddedTokens(raw), .normalized = AddedTokens(normalized)};
}

/// Spans refer to the original text, so with spans all added tokens are searched there.
const Tokenizer::Search& Tokenizer::search_for(const EncodeOptions& options) const {
  const bool within = options.added_within && searches_within_;
  const Searches& searches = within ? *searches_within_ : searches_;
  if (options.parse_special) return searches.special;
  return options.parse_user_defined ? searches.user_defined : searches.plain;
}

std::vector<std::int32_t> Tokenizer::encode(std::string_view text,
                                            const EncodeOptions& options) const {
  if (text.size() > kTextBytesMax) {
    throw Error(ErrorCode::kInvalid,
                cat("text of ", text.size(), " bytes is longer than ", kTextBytesMax));
  }
  std::vector<std::int32_t> ids;
  if (options.add_begin) ids = frame_begin_;
  const TextSpan whole{0, text.size()};
  encode_with(search_for(options), options.added_within.value_or(std::span(&whole, 1)), text, ids);
  if (options.add_end) ids.insert(ids.end(), frame_end_.begin(), frame_end_.end());
  return ids;
}

std::vector<std::int32_t> Tokenizer::encode_prompt(std::string_view text, bool parse_special,
                                                   bool add_begin) const {
  // With a span, encoding searches the original text for all added tokens, as in chats.
  const TextSpan whole{0, text.size()};
  auto ids = encode(text, {.parse_special = parse_special, .added_within = std::span(&whole, 1)});
  const bool has_begin = ids.size() >= frame_begin_.size() &&
                         std::equal(frame_begin_.begin(), frame_begin_.end(), ids.begin());
  if (add_begin && !has_begin) ids.insert(ids.begin(), frame_begin_.begin(), frame_begin_.end());
  return ids;
}

void Tokenizer::encode_with(const Search& search, std::span<const TextSpan> spans,
                            std::string_view text, std::vector<std::int32_t>& ids) const {
  Scratch scratch;
  std::size_t done = 0;
  for (const TextSpan& span : spans) {
    INGOT_CHECK(done <= span.begin && span.begin <= span.end && span.end <= text.size(), "span ",
                span.begin, " to ", span.end, " of ", text.size(), " bytes");
    if (search.raw.empty()) break;
    // Searches only the span's bytes, so that later bytes cannot make a token longer.
    AddedTokenFinder finder(search.raw, text.substr(span.begin, span.end - span.begin));
    for (auto match = finder.next(); match.id >= 0; match = finder.next()) {
      const std::size_t begin = span.begin + match.begin;
      encode_stretch(search.normalized, text.substr(done, begin - done), done == 0, scratch, ids);
      ids.push_back(match.id);
      done = span.begin + match.end;
    }
  }
  encode_stretch(search.normalized, text.substr(done), done == 0, scratch, ids);
}

void Tokenizer::encode_stretch(const AddedTokens& normalized, std::string_view text,
                               bool begins_text, Scratch& scratch,
                               std::vector<std::int32_t>& ids) const {
  if (text.empty()) return;
  if (!normalizer_.empty()) {
    scratch.normalized = normalizer_.normalize(text);
    text = scratch.normalized;
  }
  const auto encode_piece = [&](std::string_view piece) {
    model_->encode(piece, scratch.model, ids);
  };
  const auto encode_text = [&](std::size_t begin, std::size_t end) {
    if (begin == end) return;
    pretokenizers_.split(text.substr(begin, end - begin), begins_text && begin == 0, encode_piece);
  };
  std::size_t done = 0;
  if (!normalized.empty()) {
    AddedTokenFinder finder(normalized, text);
    for (auto match = finder.next(); match.id >= 0; match = finder.next()) {
      encode_text(done, match.begin);
      ids.push_back(match.id);
      done = match.end;
    }
  }
  encode_text(done, text.size());
}

std::optional<std::size_t> Tokenizer::text_bytes_per_token_max() const {
  const std::optional<std::size_t> shrink = normalizer_.shrink_max();
  if (!shrink || strips_ || !pretokenizers_.keeps_all() || !model_->is_complete()) {
    return std::nullopt;
  }
  return longest_piece_ * std::max(*shrink, decoded_.shrink_max);
}

bool Tokenizer::adds_bos() const {
  return bos_ && std::find(frame_begin_.begin(), frame_begin_.end(), *bos_) != frame_begin_.end();
}

bool Tokenizer::adds_eos() const {
  return eos_ && std::find(frame_end_.begin(), frame_end_.end(), *eos_) != frame_end_.end();
}

std::string_view Tokenizer::piece(std::int32_t id) const {
  if (id < 0 || id >= size()) return {};
  return at(decoded_.pieces, id);
}

std::string_view Tokenizer::first_piece(std::int32_t id) const {
  if (id < 0 || id >= size()) return {};
  const StringTable& firsts = decoded_.first_pieces;
  return firsts.size() == 0 ? piece(id) : at(firsts, id);
}

TokenType Tokenizer::type(std::int32_t id) const {
  if (id < 0 || id >= size()) return TokenType::kUnused;
  return at(types_, id);
}

std::unique_ptr<Tokenizer> make_tokenizer(const TokenizerData& data,
                                          std::vector<std::string>& details) {
  return std::make_unique<Tokenizer>(data, details);
}

}  // namespace ingot
