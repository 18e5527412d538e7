// The endpoints of OpenAI's API and the text endpoints, one file each.
#pragma once

#include "server/common/endpoint.h"

namespace ingot {

/// POST /v1/chat/completions
Reply chat_completions(const Call& call);
/// POST /v1/completions
Reply completions(const Call& call);
/// POST /v1/responses
Reply responses(const Call& call);
/// POST /v1/embeddings: the last token's hidden state of each input, of length 1.
Reply embeddings(const Call& call);
/// POST /tokenize: the tokens of a text or of messages.
Reply tokenize(const Call& call);
/// POST /detokenize: the text of tokens.
Reply detokenize(const Call& call);
/// GET /tokenizer_info: the tokenizer's special tokens, and the chat template.
Reply tokenizer_info(const Call& call);
/// POST /apply-template: messages as the text that the model sees.
Reply apply_template(const Call& call);
/// GET /v1/models
Reply list_models(const Call& call);
/// GET /v1/models/{id}
Reply get_model(const Call& call);

}  // namespace ingot
