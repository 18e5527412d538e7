// with_token_ids: replaces texts in a logit_bias object by the ids of their tokens.
#pragma once

#include "load/json.h"
#include "text/tokenizer/tokenizer.h"

namespace ingot {

/// Returns the object `biases` with token ids for keys. A key of digits, with or without a sign, is
/// an id and stays. Any other key is a text, which must be one token if the tokenizer encodes it
/// alone. Returns `biases` unchanged if this is no object, or if there is no tokenizer (null).
///
/// Errors: Error{kInvalid}: "logit_bias["ab"] is 2 tokens, possible are ids and ...".
Json with_token_ids(const Json& biases, const Tokenizer* tokenizer);

}  // namespace ingot
