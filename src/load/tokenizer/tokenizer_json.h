// Reads tokenizer.json, the file in which Hugging Face's tokenizers store a whole tokenizer.
#pragma once

#include <string>

#include "load/json.h"
#include "load/json_keys.h"
#include "load/tokenizer/tokenizer_data.h"

namespace ingot {

/// Limits on a tokenizer.json. The largest public files have 35 MB and 1.5 million values.
inline constexpr JsonLimits kTokenizerJsonLimits{
    .bytes_max = 200'000'000, .depth_max = 32, .nodes_max = 8'000'000};

/// Reads a tokenizer from the parsed file `root`. Anything malformed or unsupported is an error: an
/// unknown type, a member of the wrong type, a duplicate id, a missing token. The error names the
/// member's path ("pre_tokenizer.pretokenizers[1].type"). Ignores truncation and padding.
///
/// Errors: model_error(file, "tokenizer", reason).
TokenizerData read_tokenizer_json(const Json& root, const std::string& file);

/// Reads the components normalizer, pre_tokenizer, post_processor and decoder into `data`.
///
/// Errors: those of `read_tokenizer_json`.
void read_tokenizer_steps(const JsonKeys& root, TokenizerData& data);

/// Adds the tokens in the member `added_tokens` to `data`.
///
/// Errors: those of `read_tokenizer_json`; also an error if the vocabulary has another id for the
/// token, or another token for the id.
void read_added_tokens(const JsonKeys& root, TokenizerData& data);

/// Reads an entry of `added_tokens` or `added_tokens_decoder`, except its id.
AddedToken read_added_token(const JsonKeys& keys);

}  // namespace ingot
