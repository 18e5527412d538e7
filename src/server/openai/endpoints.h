// HTTP endpoints of OpenAI's API, and endpoints that score, tokenize and render text.
#pragma once

#include <cstddef>
#include <cstdint>

#include "server/common/endpoint.h"

namespace ingot {

/// POST /v1/chat/completions: replies to a chat.
Reply chat_completions(const Call& call);
/// POST /v1/completions: continues prompts.
Reply completions(const Call& call);
/// POST /infill: writes the text between a prefix and a suffix, in the form of llama.cpp's server.
Reply infill(const Call& call);
/// POST /v1/responses: replies to a chat, in the form of OpenAI's Responses API.
Reply responses(const Call& call);
/// POST /v1/responses/input_tokens: counts the tokens of a prompt.
Reply count_response_tokens(const Call& call);
/// POST /v1/embeddings: returns a vector for each input.
Reply embeddings(const Call& call);
/// Checks that a response can hold this number of embeddings of `size` floats each.
/// Errors: ApiError naming `input`.
void check_embeddings_size(std::size_t inputs, std::int64_t size);
/// POST /v1/rerank: orders documents by their relevance to a query, in the form of Jina and Cohere.
Reply rerank(const Call& call);
/// POST /v1/score: scores pairs of texts, in the form of vLLM.
Reply score(const Call& call);
/// POST /tokenize: returns the tokens of a text or of messages.
Reply tokenize(const Call& call);
/// POST /detokenize: returns the text of tokens.
Reply detokenize(const Call& call);
/// GET /tokenizer_info: returns the tokenizer's special tokens, and the chat template.
Reply tokenizer_info(const Call& call);
/// POST /apply-template: renders messages to the text that the model sees.
Reply apply_template(const Call& call);
/// GET /v1/models: lists the names of the served model, in the form of the client's API.
Reply list_models(const Call& call);
/// GET /v1/models/{name}: returns the served model, if it has this name.
Reply get_model(const Call& call);

}  // namespace ingot
