// InputTokens: encodes texts and pairs, and cuts long ones.
#include "runtime/embed/input_tokens.h"

#include <algorithm>
#include <utility>

#include "base/error.h"
#include "base/index.h"

namespace ingot {

namespace {

/// How many tokens of each text of a pair remain if both together have `room`.
std::pair<std::int64_t, std::int64_t> pair_lengths(std::int64_t first, std::int64_t second,
                                                   std::int64_t room) {
  if (first + second <= room) return {first, second};
  const std::int64_t shorter = std::min(first, second);
  // The shorter text stays whole if it has at most half of the room.
  const std::int64_t least = std::min(shorter, room / 2);
  return first <= second ? std::pair(least, room - least) : std::pair(room - least, least);
}

/// Cuts a text's last tokens off. The special tokens around the text stay.
InputTokens cut_framed(const Tokenizer& tokenizer, std::vector<std::int32_t>&& ids,
                       std::int64_t tokens_max) {
  InputTokens input{.ids = std::move(ids), .types = {}, .uncut = 0};
  input.uncut = std::ssize(input.ids);
  const auto begin = std::ssize(tokenizer.frame_begin());
  const auto end = std::ssize(tokenizer.frame_end());
  const std::int64_t over = std::min(input.uncut - tokens_max, input.uncut - begin - end);
  if (over > 0) input.ids.erase(input.ids.end() - end - over, input.ids.end() - end);
  return input;
}

/// Puts the special tokens around a text's tokens.
std::vector<std::int32_t> framed(const Tokenizer& tokenizer, std::span<const std::int32_t> text) {
  const auto begin = tokenizer.frame_begin(), end = tokenizer.frame_end();
  std::vector<std::int32_t> ids(begin.begin(), begin.end());
  ids.insert(ids.end(), text.begin(), text.end());
  ids.insert(ids.end(), end.begin(), end.end());
  return ids;
}

}  // namespace

InputTokens encode_input(const Tokenizer& tokenizer, std::string_view text,
                         std::int64_t tokens_max) {
  return cut_framed(tokenizer, tokenizer.encode(text, {.add_begin = true, .add_end = true}),
                    tokens_max);
}

InputTokens encode_pair(const Tokenizer& tokenizer, std::span<const std::int32_t> first,
                        std::string_view second, const PairLimits& limits) {
  const std::span<const PairPart> parts = tokenizer.pair();
  if (parts.empty()) {
    throw Error(ErrorCode::kInvalid, "the model's tokenizer has no form for pairs of texts");
  }
  if (second.empty()) {
    InputTokens input = cut_framed(tokenizer, framed(tokenizer, first), limits.tokens);
    input.types.resize(input.ids.size());
    input.first_cut = input.uncut - std::ssize(input.ids);
    return input;
  }
  const std::vector<std::int32_t> second_ids = tokenizer.encode(second);
  const std::int64_t texts = std::ssize(first) + std::ssize(second_ids);
  const std::int64_t special = std::ssize(parts) - 2;
  const auto [first_size, second_size] =
      pair_lengths(std::ssize(first), std::min(std::ssize(second_ids), limits.second),
                   std::max<std::int64_t>(0, limits.tokens - special));
  InputTokens input{.ids = {},
                    .types = {},
                    .uncut = texts + special,
                    .first_cut = std::ssize(first) - first_size};
  const auto add = [&](std::span<const std::int32_t> ids, std::int32_t type) {
    input.ids.insert(input.ids.end(), ids.begin(), ids.end());
    input.types.insert(input.types.end(), ids.size(), type);
  };
  for (const PairPart& part : parts) {
    if (part.kind == PairPart::Kind::kToken) add({&part.id, 1}, part.type);
    if (part.kind == PairPart::Kind::kFirst) add(first.first(to_size(first_size)), part.type);
    if (part.kind == PairPart::Kind::kSecond)
      add(std::span(second_ids).first(to_size(second_size)), part.type);
  }
  return input;
}

InputTokens take_ids(std::vector<std::int32_t> ids, std::int64_t tokens_max) {
  InputTokens input{.ids = std::move(ids), .types = {}, .uncut = 0};
  input.uncut = std::ssize(input.ids);
  if (input.uncut > tokens_max) input.ids.resize(to_size(tokens_max));
  return input;
}

}  // namespace ingot
