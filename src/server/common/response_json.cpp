// Writes the JSON parts that the responses of several endpoints share.
#include "server/common/response_json.h"

#include <cmath>

#include "base/text.h"
#include "base/utf8.h"
#include "load/json_object.h"

namespace ingot {

std::string json_string(std::string_view text) {
  std::string out;
  append_json(out, text);
  return out;
}

std::string response_head_json(const ChosenModel& model, std::string_view id,
                               std::string_view object, std::int64_t created, const Json& seed) {
  return cat("{\"id\":\"", id, "\",\"object\":\"", object, "\",\"created\":", created,
             ",\"model\":", json_string(model.name),
             ",\"system_fingerprint\":", json_string(model.fingerprint), ",\"seed\":", seed.dump());
}

double finite_logprob(float logprob) { return std::isfinite(logprob) ? logprob : -9999.0; }

std::string token_text(const Service& service, std::int32_t id) {
  return to_valid_utf8(service.piece(id));
}

Json ids_json(std::span<const std::int32_t> ids) {
  Json list = Json::array();
  for (const std::int32_t id : ids) list.push(id);
  return list;
}

Json chat_source_json(const Service& service) {
  const ServedChat* chat = service.find_chat(false);
  return chat == nullptr ? Json() : Json(chat->chat.source());
}

namespace {

Json one_logprob(const Service& service, const TokenScore& score) {
  Json bytes = Json::array();
  for (const char c : service.piece(score.id)) bytes.push(static_cast<unsigned char>(c));
  return json_object({{"token", token_text(service, score.id)},
                      {"logprob", finite_logprob(score.logprob)},
                      {"bytes", std::move(bytes)}});
}

}  // namespace

Json chat_logprob(const Service& service, const TokenLogprobs& logprobs) {
  Json j = one_logprob(service, logprobs.token);
  Json top = Json::array();
  for (const TokenScore& score : logprobs.top) top.push(one_logprob(service, score));
  j.set("top_logprobs", std::move(top));
  return j;
}

void Usage::add(const Outcome& outcome, bool is_first_choice) {
  if (is_first_choice) {
    prompt_tokens += outcome.prompt_tokens;
    cached_tokens += outcome.cached_tokens;
  }
  completion_tokens += outcome.generated_tokens;
  predicted_tokens += outcome.predicted;
  accepted_predicted_tokens += outcome.accepted_predicted;
}

Json Usage::json() const {
  return json_object({{"prompt_tokens", prompt_tokens},
                      {"completion_tokens", completion_tokens},
                      {"total_tokens", prompt_tokens + completion_tokens},
                      {"prompt_tokens_details", json_object({{"cached_tokens", cached_tokens}})},
                      {"completion_tokens_details",
                       json_object({{"reasoning_tokens", reasoning_tokens},
                                    {"accepted_prediction_tokens", accepted_predicted_tokens},
                                    {"rejected_prediction_tokens",
                                     predicted_tokens - accepted_predicted_tokens}})}});
}

std::string Usage::json_so_far() const {
  return cat("{\"prompt_tokens\":", prompt_tokens, ",\"completion_tokens\":", completion_tokens,
             ",\"total_tokens\":", prompt_tokens + completion_tokens, "}");
}

std::string usage_json(std::int64_t prompt_tokens) {
  return cat("{\"prompt_tokens\":", prompt_tokens, ",\"total_tokens\":", prompt_tokens, "}");
}

void append_event(std::string& out, std::string_view name, const Json& json) {
  out += cat("event: ", name, "\n");
  append_event(out, json.dump());
}

void append_event(std::string& out, std::string_view json) {
  out += kEventBegin;
  out += json;
  out += kEventEnd;
}

}  // namespace ingot
