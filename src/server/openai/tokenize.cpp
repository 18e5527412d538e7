// POST /tokenize, /detokenize and /apply-template, GET /tokenizer_info: prompts as text and tokens.
#include <utility>

#include "base/text.h"
#include "load/json_object.h"
#include "server/common/chat_prompt.h"
#include "server/common/common_params.h"
#include "server/common/model_choice.h"
#include "server/common/params.h"
#include "server/common/prompts.h"
#include "server/common/response_json.h"
#include "server/openai/endpoints.h"
#include "text/tokenizer/detokenizer.h"

namespace ingot {

namespace {

/// Returns the tokens of `prompt`, as in completions, or of `messages`, through the chat template.
/// Any number of tokens is valid.
std::vector<std::int32_t> read_tokens(Params& params, const Call& call) {
  if (params.has("messages")) {
    if (params.has("prompt")) {
      throw invalid_request("prompt", "prompt: there are messages too");
    }
    const ChatText prompt = render_chat(params, call);
    if (params.flag("add_special_tokens").value_or(false)) {
      throw invalid_request("add_special_tokens",
                            "add_special_tokens: the chat template adds what it needs");
    }
    return as_api([&] { return prompt.chat.chat.encode(prompt.text); });
  }
  const Json* prompt = params.take("prompt");
  if (prompt == nullptr) throw invalid_request("prompt", "prompt is missing");
  if (prompt->as_string() == nullptr) {
    throw invalid_request("prompt", cat("prompt is ", prompt->kind(), ", expected a string"));
  }
  const std::string& text = *prompt->as_string();
  const bool parses = params.flag("special").value_or(true);
  const bool adds = params.flag("add_special_tokens").value_or(true);
  return as_api([&] { return call.service.tokenizer().encode_prompt(text, parses, adds); });
}

/// A JSON array, written directly: a text of megabytes has millions of tokens.
template <class Item>
std::string list_json(const std::vector<std::int32_t>& ids, Item item) {
  std::string text = "[";
  for (const std::int32_t id : ids) {
    if (text.size() > 1) text += ',';
    text += item(id);
  }
  return text + "]";
}

std::string warnings_json(const Params& params) {
  return params.warnings().is_null() ? "" : cat(",\"warnings\":", params.warnings().dump());
}

/// Maximum bytes of text that token ids may give.
constexpr std::size_t kTextBytesMax = std::size_t{8} << 20;

/// Errors: ApiError if the ids of a short request stand for too much text.
void check_text(const Service& service, const std::vector<std::int32_t>& ids) {
  std::size_t bytes = 0;
  for (const std::int32_t id : ids) bytes += service.piece(id).size();
  if (bytes <= kTextBytesMax) return;
  throw invalid_request(
      "tokens", cat("tokens: their text has ", bytes, " bytes, possible are ", kTextBytesMax));
}

HttpResponse prompt_response(std::string_view text, const Params& params) {
  return {.body = cat("{\"prompt\":", json_string(text), warnings_json(params), "}")};
}

}  // namespace

Reply tokenize(const Call& call) {
  const Json body = read_body(call);
  Params params(body);
  const Service& service = call.service;
  check_model(params, call);
  const auto ids = read_tokens(params, call);
  const bool texts = params.flag("return_token_strs").value_or(false);
  params.finish();
  std::string out = cat("{\"count\":", ids.size(), ",\"max_model_len\":", service.context());
  out += cat(",\"tokens\":", list_json(ids, [](std::int32_t id) { return std::to_string(id); }));
  out += ",\"token_strs\":";
  out += texts
             ? list_json(ids, [&](std::int32_t id) { return json_string(token_text(service, id)); })
             : "null";
  return HttpResponse{.body = out + warnings_json(params) + "}"};
}

Reply detokenize(const Call& call) {
  const Json body = read_body(call);
  Params params(body);
  const Service& service = call.service;
  check_model(params, call);
  const Json* tokens = params.take("tokens");
  if (tokens == nullptr || tokens->as_array() == nullptr) {
    throw invalid_request("tokens", "tokens has to be an array of token ids");
  }
  const auto ids = read_ids(*tokens->as_array(), "tokens", service);
  params.finish();
  check_text(service, ids);
  return prompt_response(detokenize(service.tokenizer(), ids, {.keep_control = true}), params);
}

Reply tokenizer_info(const Call& call) {
  const Service& service = call.service;
  const Tokenizer& tokenizer = service.tokenizer();
  const auto text = [&](std::optional<std::int32_t> id) {
    return id ? Json(token_text(service, *id)) : Json();
  };
  return HttpResponse{.body =
                          json_object({{"tokenizer_class", "ingot"},
                                       {"model_max_length", service.context()},
                                       {"vocab_size", static_cast<std::int64_t>(tokenizer.size())},
                                       {"bos_token", text(tokenizer.bos())},
                                       {"eos_token", text(tokenizer.eos())},
                                       {"unk_token", text(tokenizer.unknown())},
                                       {"pad_token", text(tokenizer.padding())},
                                       {"add_bos_token", tokenizer.adds_bos()},
                                       {"add_eos_token", tokenizer.adds_eos()},
                                       {"chat_template", chat_source_json(service)}})
                              .dump()};
}

Reply apply_template(const Call& call) {
  const Json body = read_body(call);
  Params params(body);
  check_model(params, call);
  const ChatText prompt = render_chat(params, call);
  params.finish();
  return prompt_response(prompt.text.bytes, params);
}

}  // namespace ingot
