// Reads the inputs of embeddings, reranking and scores: texts, token ids, and limits on them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/embed/input_tokens.h"
#include "server/common/endpoint.h"
#include "server/common/params.h"
#include "server/common/service.h"

namespace ingot {

/// Maximum inputs of one request. OpenAI's clients send up to 2,048 inputs. The engine gets a few
/// of them at once.
inline constexpr std::int32_t kInputsMax = kResponseChoicesMax;

/// How many tokens an input may have, and what happens to longer inputs.
struct InputLimit {
  std::int64_t tokens_max = 0;
  bool cuts = false;  ///< true: the last tokens are cut off; false: the request is refused

  /// Returns the number of tokens to which encoding cuts.
  std::int64_t cut_at() const { return cuts ? tokens_max : kNoCut; }
};

/// Reads whether and where inputs are cut: `truncate` (true, false, "END", "NONE"), `truncation`
/// (true, false) and `truncate_prompt_tokens` (a number, or -1 for the model's limit).
///
/// Errors: ApiError naming the member, also if it contradicts another one.
InputLimit read_input_limit(Params& params, const Service& service);

/// Refuses an input with too many tokens. `param` names the input's member.
///
/// Errors: ApiError{context_length_exceeded}.
void check_length(const InputTokens& input, const InputLimit& limit, std::string_view param);

/// Checks an input's length, and warns if tokens were cut off. `param` names the input's member.
///
/// Errors: ApiError naming `param`: it has no tokens, or context_length_exceeded.
void check_input(const InputTokens& input, const InputLimit& limit, std::string_view param,
                 Params& params);

/// Returns how many inputs the member `name` has; 0: the member is absent.
std::size_t count_inputs(const Json& body, std::string_view name);

/// Reads the member `name`: a text (see `read_text`), a list of texts, a list of ids, or a list of
/// lists of ids. Puts `prefix` before each text, and warns that token ids get none.
///
/// Errors: ApiError naming the member or its entry; those of Call::require_wanted.
std::vector<InputTokens> read_inputs(Params& params, std::string_view name, std::string_view prefix,
                                     const InputLimit& limit, const Call& call);

/// Reads a text: a string, or an object with the member `text`, whose other members get warnings.
/// `place` is its path in the body.
///
/// Errors: ApiError naming `place`, or the object's member if it holds no text, such as an image.
std::string read_text(const Json& value, std::string_view place, Params& params);

/// Adds a prompt whose pooled result is wanted.
void add_pooled(Generation& generation, InputTokens&& input);

}  // namespace ingot
