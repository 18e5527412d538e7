// Collects replies, and formats them as JSON.
#include "cli/reply.h"

#include <utility>

#include "base/text.h"

namespace ingot {

namespace {

Json ids_json(std::span<const std::int32_t> ids) {
  Json list = Json::array();
  for (const std::int32_t id : ids) list.push(id);
  return list;
}

Json token_json(const TokenLogprobs& t) {
  Json top = Json::array();
  for (const auto& [id, logprob] : t.top) {
    Json pair = Json::array();
    pair.push(id);
    pair.push(double{logprob});
    top.push(std::move(pair));
  }
  Json j = Json::object();
  j.set("id", t.token.id);
  j.set("logprob", double{t.token.logprob});
  j.set("top", std::move(top));
  return j;
}

}  // namespace

std::string ids_line(std::span<const std::int32_t> ids) {
  std::string line;
  for (const std::int32_t id : ids) line += cat(line.empty() ? "" : ",", id);
  return line + "\n";
}

std::string collect(Stream& stream, Reply& reply) {
  std::string text;
  while (auto delta = stream.try_next()) {
    reply.ids.insert(reply.ids.end(), delta->ids.begin(), delta->ids.end());
    for (TokenLogprobs& t : delta->logprobs) reply.logprobs.push_back(std::move(t));
    text += delta->text;
  }
  reply.text += text;
  return text;
}

Json reply_json(std::span<const std::int32_t> prompt, const Reply& reply, const Outcome& outcome,
                const ReplyFields& fields) {
  Json j = Json::object();
  j.set("prompt_ids", ids_json(prompt));
  j.set("ids", ids_json(reply.ids));
  j.set("text", fields.text ? Json(reply.text) : Json());
  j.set("finish_reason", to_string(outcome.finish));
  j.set("digest", outcome.digest_text());
  j.set("seed", fields.seed);
  if (fields.drafts) {
    j.set("drafted", outcome.drafts);
    j.set("accepted", outcome.accepted_drafts);
  }
  if (fields.prompt_logprobs) {
    Json list = Json::array();
    list.push(Json());  // the first token has no log-probability
    for (const TokenLogprobs& t : outcome.prompt_logprobs) list.push(token_json(t));
    j.set("prompt_logprobs", std::move(list));
  }
  if (fields.logprobs) {
    Json list = Json::array();
    for (const TokenLogprobs& t : reply.logprobs) list.push(token_json(t));
    j.set("logprobs", std::move(list));
  }
  return j;
}

}  // namespace ingot
