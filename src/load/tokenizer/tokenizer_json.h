// tokenizer.json: a whole tokenizer in one file, as Hugging Face's tokenizers writes it.
#pragma once

#include <string>

#include "load/json.h"
#include "load/json_keys.h"
#include "load/tokenizer/tokenizer_data.h"

namespace ingot {

/// Bounds on the file: the largest public ones have 35 MB and a million and a half values.
inline constexpr JsonLimits kTokenizerJsonLimits{
    .bytes_max = 200'000'000, .depth_max = 32, .nodes_max = 8'000'000};

/// Reads the parsed file. Every component is understood or refused: a type that is not known, a
/// member of the wrong type, an id twice or a token that is missing is an error that names its path
/// ("pre_tokenizer.pretokenizers[1].type"). Truncation and padding are the caller's and ignored.
///
/// Errors: model_error(file, "tokenizer", 0, reason).
TokenizerData read_tokenizer_json(const Json& root, const std::string& file);

/// The components around the model, into `data`: normalizer, pre_tokenizer, post_processor,
/// decoder.
///
/// Errors: as above.
void read_tokenizer_steps(const JsonKeys& root, TokenizerData& data);

/// Completes `data` by the tokens of `added_tokens`, each at its id.
///
/// Errors: as above; a token that the vocabulary has at another id, an id with another token.
void read_added_tokens(const JsonKeys& root, TokenizerData& data);

/// One token of `added_tokens` or `added_tokens_decoder`, without its id.
AddedToken read_added_token(const JsonKeys& keys);

}  // namespace ingot
