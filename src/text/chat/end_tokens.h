// The set of tokens that end a text, from all that a model's files say about them.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "load/config.h"
#include "load/json.h"
#include "text/tokenizer/tokenizer.h"

namespace ingot {

/// Returns the tokens that end a text. Many files name a single EOS: that of the base model, or
/// that of a turn. The set has, in this order:
///   1. the tokens in `stated`, the model's configuration;
///   2. the tokenizer's EOS, end of turn and end of message;
///   3. control tokens whose text is a known end, such as <|im_end|>, also the tokens of
///      fill-in-the-middle that pad or begin the next file;
///   4. the control token that `chat_template` writes behind an assistant's message.
///
/// <|end|> is in no set with <|return|> and <|call|>: there it ends a part of a reply (gpt-oss).
/// `chat_template` may be null. A template that does not render names no token.
std::vector<EndToken> find_end_tokens(std::span<const EndToken> stated, const Tokenizer& tokenizer,
                                      const std::string* chat_template);

/// Returns an array with the id, text and source of each token. The text is null without a
/// tokenizer.
Json end_tokens_json(std::span<const EndToken> ends, const Tokenizer* tokenizer);

}  // namespace ingot
