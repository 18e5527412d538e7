// Checks a vocabulary before tables are built from it.
#include "text/tokenizer/vocabulary.h"

#include <optional>
#include <utility>

#include "base/index.h"
#include "base/text.h"

namespace ingot {
namespace {

void check_sizes(const TokenizerData& data) {
  const std::size_t count = data.tokens.size();
  if (count == 0) throw vocabulary_error(data, "no tokens");
  if (count > kTokensMax)
    throw vocabulary_error(data, cat(count, " tokens are more than ", kTokensMax));
  std::size_t bytes = 0;
  for (std::size_t i = 0; i < count; ++i) {
    const std::size_t size = data.tokens[i].size();
    if (size > kPieceBytesMax) {
      throw vocabulary_error(data,
                             cat("token ", i, " has ", size, " bytes, more than ", kPieceBytesMax));
    }
    bytes += size;
  }
  if (bytes > kAllPieceBytesMax) {
    throw vocabulary_error(data,
                           cat("the tokens have ", bytes, " bytes, more than ", kAllPieceBytesMax));
  }
  if (!data.scores.empty() && data.scores.size() != count) {
    throw vocabulary_error(data, cat(data.scores.size(), " scores for ", count, " tokens"));
  }
  if (data.types.size() != count) {
    throw vocabulary_error(data, cat(data.types.size(), " token types for ", count, " tokens"));
  }
}

void check_id(const TokenizerData& data, std::string_view role, std::int32_t id) {
  if (id >= 0 && to_size(id) < data.tokens.size()) return;
  throw vocabulary_error(data, cat(role, " is token ", id, " of ", data.tokens.size()));
}

void check_added(const TokenizerData& data) {
  std::size_t bytes = 0;
  for (const AddedToken& token : data.added) {
    check_id(data, "an added token", token.id);
    bytes += token.content.size();
  }
  if (data.added.size() > kAddedTokensMax || bytes > kAddedBytesMax) {
    throw vocabulary_error(data,
                           cat(data.added.size(), " control and user-defined tokens with ", bytes,
                               " bytes are more than ", kAddedTokensMax, " and ", kAddedBytesMax));
  }
}

}  // namespace

Error vocabulary_error(const TokenizerData& data, std::string_view reason) {
  return model_error(data.file, "tokenizer", reason);
}

void check_steps(const TokenizerData& data, std::size_t count, std::string_view what) {
  if (count <= kTokenizerStepsMax) return;
  throw vocabulary_error(data,
                         cat(count, " steps of ", what, " are more than ", kTokenizerStepsMax));
}

void check_vocabulary(const TokenizerData& data) {
  check_sizes(data);
  const std::pair<std::string_view, std::optional<std::int32_t>> roles[] = {
      {"bos", data.bos},
      {"eos", data.eos},
      {"unknown", data.unknown},
      {"padding", data.padding},
      {"eot", data.eot},
      {"eom", data.eom},
      {"fim prefix", data.fim.prefix},
      {"fim suffix", data.fim.suffix},
      {"fim middle", data.fim.middle},
      {"fim padding", data.fim.padding},
      {"fim repository", data.fim.repository},
      {"fim file", data.fim.file}};
  for (const auto& [role, id] : roles) {
    if (id) check_id(data, role, *id);
  }
  for (const std::int32_t id : data.frame_begin) check_id(data, "the frame's begin", id);
  for (const std::int32_t id : data.frame_end) check_id(data, "the frame's end", id);
  for (const PairPart& part : data.pair) {
    if (part.kind == PairPart::Kind::kToken) check_id(data, "the pair's frame", part.id);
  }
  check_added(data);
}

}  // namespace ingot
