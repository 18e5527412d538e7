// Reads inputs, and cuts or refuses those with too many tokens.
#include "server/common/embed_inputs.h"

#include <algorithm>
#include <array>
#include <utility>

#include "base/index.h"
#include "base/text.h"
#include "runtime/embed/prompts.h"
#include "server/common/list_entries.h"
#include "server/common/message_text.h"
#include "server/common/prompts.h"

namespace ingot {

namespace {

/// The forms of a text, for messages.
constexpr std::string_view kTextForms = "a string, an object with the member text";

/// Members that make a text's object an image or another medium. Sources: Jina's API,
/// api.jina.ai/openapi.json (image); vLLM, vllm/entrypoints/pooling/scoring/protocol.py.
constexpr std::array<std::string_view, 5> kMedia = {"image", "image_url", "video_url",
                                                    "multi_modal", "content"};

/// Reads `truncate`, which is a boolean or a word of Cohere's and NVIDIA's APIs; nothing if it is
/// absent.
std::optional<bool> read_truncate(Params& params) {
  const Json* value = params.take("truncate");
  if (value == nullptr) return std::nullopt;
  if (value->as_bool() != nullptr) return *value->as_bool();
  const std::string* word = value->as_string();
  if (word != nullptr && *word == "END") return true;
  if (word != nullptr && *word == "NONE") return false;
  throw invalid_request("truncate", "truncate can only be true, false, END or NONE");
}

ApiError input_too_long(std::string_view param, std::int64_t tokens, std::int64_t most) {
  ApiError error(400, "context_length_exceeded",
                 cat("This model's maximum context length is ", most, " tokens, the prompt has ",
                     tokens, ": truncate cuts the rest off"),
                 std::string(param));
  error.prompt_tokens = tokens;
  error.context = most;
  return error;
}

InputTokens read_input(const Json& value, std::string_view place, std::string_view prefix,
                       const InputLimit& limit, const Service& service, Params& params) {
  InputTokens input;
  if (value.as_string() != nullptr || value.as_object() != nullptr) {
    const std::string text = read_text(value, place, params);
    if (!limit.cuts) service.check_text_room(text.size(), place);
    input = as_api([&] {
      return encode_input(service.tokenizer(), input_text(service.embedder(), prefix, text),
                          limit.cut_at());
    });
  } else if (const Json::Array* list = value.as_array()) {
    input = take_ids(read_ids(*list, place, service), limit.cut_at());
  } else {
    refuse_at(std::string(place), cat("is ", value.kind(), ", expected ", kTextForms,
                                      ", token ids, or a list of these"));
  }
  check_input(input, limit, place, params);
  return input;
}

/// Whether a member has one input: a text or a list of ids.
bool is_single(const Json& value) {
  const Json::Array* list = value.as_array();
  return list == nullptr || list->empty() || list->front().number().has_value();
}

}  // namespace

InputLimit read_input_limit(Params& params, const Service& service) {
  const auto truncate = read_truncate(params), truncation = params.flag("truncation");
  if (truncate && truncation && *truncate != *truncation) {
    throw invalid_request("truncation", "truncation and truncate contradict each other");
  }
  const std::optional<bool> cuts = truncate ? truncate : truncation;
  InputLimit limit{.tokens_max = service.input_tokens_max(), .cuts = cuts.value_or(false)};
  const auto tokens = params.whole("truncate_prompt_tokens", -1, std::int64_t{1} << 31);
  if (!tokens) return limit;
  if (*tokens == 0 || *tokens > limit.tokens_max) {
    throw invalid_request("truncate_prompt_tokens",
                          cat("truncate_prompt_tokens is ", *tokens, ", possible are -1 and 1 to ",
                              limit.tokens_max));
  }
  if (cuts == false) {
    throw invalid_request("truncate_prompt_tokens",
                          "truncate_prompt_tokens cuts inputs, and truncate or truncation is "
                          "false");
  }
  limit.cuts = true;
  if (*tokens > 0) limit.tokens_max = *tokens;
  return limit;
}

void check_length(const InputTokens& input, const InputLimit& limit, std::string_view param) {
  const std::int64_t tokens = std::ssize(input.ids);
  if (tokens > limit.tokens_max) throw input_too_long(param, tokens, limit.tokens_max);
}

void check_input(const InputTokens& input, const InputLimit& limit, std::string_view param,
                 Params& params) {
  const std::int64_t tokens = std::ssize(input.ids);
  if (tokens == 0) refuse_at(std::string(param), "has no tokens");
  check_length(input, limit, param);
  if (!input.is_cut()) return;
  params.warn(param, "truncated",
              cat("it had ", input.uncut, " tokens: the last ", input.uncut - tokens,
                  " of its text were cut off"));
}

std::size_t count_inputs(const Json& body, std::string_view name) {
  const Json* value = body.find(name);
  if (value == nullptr) return 0;
  return is_single(*value) ? 1 : value->as_array()->size();
}

std::vector<InputTokens> read_inputs(Params& params, std::string_view name, std::string_view prefix,
                                     const InputLimit& limit, const Call& call) {
  const Service& service = call.service;
  const Json* value = params.take(name);
  if (value == nullptr) throw invalid_request(std::string(name), cat(name, " is missing"));
  std::vector<InputTokens> inputs;
  const Json::Array* list = value->as_array();
  const bool has_one = is_single(*value);
  const bool has_ids = list != nullptr && (has_one || list->front().as_array() != nullptr);
  if (has_ids && !prefix.empty()) {
    params.warn(name, "no_prompt", "token ids stay as they are, without the model's prompt");
  }
  if (has_one) {
    inputs.push_back(read_input(*value, name, prefix, limit, service, params));
    return inputs;
  }
  if (list->size() > to_size(kInputsMax)) {
    throw invalid_request(std::string(name),
                          cat(name, " has ", list->size(), " entries, possible are ", kInputsMax));
  }
  each_entry(call, name, *list, [&](const Json& entry, const std::string& place) {
    const bool is_ids = entry.as_array() != nullptr;
    if (is_ids != has_ids) {
      refuse_at(place, cat("is ", entry.kind(), ", but the first entry is ", list->front().kind()));
    }
    inputs.push_back(read_input(entry, place, prefix, limit, service, params));
  });
  return inputs;
}

std::string read_text(const Json& value, std::string_view place, Params& params) {
  if (const std::string* text = value.as_string()) return *text;
  if (value.as_object() == nullptr) {
    refuse_at(std::string(place), cat("is ", value.kind(), ", expected ", kTextForms));
  }
  Params object(value, cat(place, "."));
  for (const std::string_view medium : kMedia) object.refuse(medium, "only text is supported");
  object.one_of("type", {"text"});
  const Json* text = object.take("text");
  if (text == nullptr || text->as_string() == nullptr) {
    refuse_at(std::string(place),
              cat("is ", value.kind(), " without a text, expected ", kTextForms));
  }
  object.finish();
  params.add_warnings(object);
  return *text->as_string();
}

void add_pooled(Generation& generation, InputTokens&& input) {
  generation.request.pooled = true;
  generation.prompts.push_back({.ids = std::move(input.ids), .types = std::move(input.types)});
}

}  // namespace ingot
