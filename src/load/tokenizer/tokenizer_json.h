// tokenizer.json: a whole tokenizer in one file, as Hugging Face's tokenizers writes it.
#pragma once

#include <string>

#include "load/json.h"
#include "load/json_keys.h"
#include "load/tokenizer/tokenizer_data.h"

namespace ingot {

/// Bounds on the file; the largest public ones have 35 MB and 1.5 million values.
inline constexpr JsonLimits kTokenizerJsonLimits{
    .bytes_max = 200'000'000, .depth_max = 32, .nodes_max = 8'000'000};

/// Reads the parsed file. Every component is understood or refused: an unknown type, a member of
/// the wrong type, a duplicate id or a missing token is an error that names its path
/// ("pre_tokenizer.pretokenizers[1].type"). Truncation and padding are ignored.
///
/// Errors: model_error(file, "tokenizer", 0, reason).
TokenizerData read_tokenizer_json(const Json& root, const std::string& file);

/// Reads the components around the model into `data`: normalizer, pre_tokenizer, post_processor,
/// decoder.
///
/// Errors: those of read_tokenizer_json.
void read_tokenizer_steps(const JsonKeys& root, TokenizerData& data);

/// Adds the tokens of `added_tokens` to `data`, each at its id.
///
/// Errors: those of read_tokenizer_json; also a token that the vocabulary has at another id, or an
/// id with another token.
void read_added_tokens(const JsonKeys& root, TokenizerData& data);

/// Reads one token of `added_tokens` or `added_tokens_decoder`, without its id.
AddedToken read_added_token(const JsonKeys& keys);

}  // namespace ingot
