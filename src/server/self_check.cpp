// self_check: tests the tokenizer, the chat template, and logits with and without the prefix cache.
#include "server/self_check.h"

#include "base/error.h"
#include "base/text.h"

namespace ingot {

namespace {

constexpr std::string_view kSampleText = "The quick brown fox jumps over the lazy dog.";
constexpr std::int64_t kTokens = 4;

[[noreturn]] void fail(const std::string& what) {
  throw Error(ErrorCode::kInternal, cat("the self-test failed: ", what));
}

void check_tokenizer(const Service& service) {
  std::string text;
  for (const std::int32_t id : service.tokenizer().encode(kSampleText)) text += service.piece(id);
  if (text.find("quick") == std::string::npos) {
    fail("encoding and decoding changed a text");
  }
}

void check_chat(const Service& service) {
  Json message = Json::object();
  message.set("role", "user");
  message.set("content", kSampleText);
  ChatInput input;
  input.messages.push(std::move(message));
  if (service.chat(false).chat.encode(input).empty()) fail("the chat template writes nothing");
}

Outcome outcome_of(Service& service, Request&& request) {
  auto stream = service.engine().submit(std::move(request));
  if (!stream) fail("the engine takes no request");
  while (stream->next()) continue;
  if (stream->outcome().error) throw Error(*stream->outcome().error);
  return stream->outcome();
}

std::vector<float> pooled_of(Service& service, const std::vector<std::int32_t>& prompt) {
  return outcome_of(service, {.prompt = prompt, .pooled = true}).pooled;
}

/// The digest of the logits after a prompt and after the next tokens.
std::uint64_t digest_of(Service& service, const std::vector<std::int32_t>& prompt) {
  Request request;
  request.prompt = prompt;
  request.max_tokens = std::min(kTokens, service.context() - std::ssize(prompt));
  request.ignore_eos = true;
  request.digest = true;
  // A domain of its own, so that timing does not tell clients that these tokens are cached.
  request.domain = {1, 1};
  return *outcome_of(service, std::move(request)).digest;
}

void check_numerics(Service& service) {
  // More than one block, so that the second run finds a cached one.
  std::vector<std::int32_t> prompt;
  const std::int64_t ids = service.limits().ids;
  const std::int64_t most = std::min(service.context() - 1, service.input_tokens_max());
  for (std::int64_t i = 0; i < std::min<std::int64_t>(40, most); ++i) {
    prompt.push_back(static_cast<std::int32_t>((i * 37 + 11) % ids));
  }
  if (!service.limits().head) {
    if (pooled_of(service, prompt) == pooled_of(service, prompt)) return;
    fail("the same input gave different vectors");
  }
  const auto first = digest_of(service, prompt);
  if (digest_of(service, prompt) != first) {
    fail("the same prompt gave different logits");
  }
}

}  // namespace

void self_check(Service& service) {
  if (service.has_tokenizer()) check_tokenizer(service);
  if (service.find_chat(false) != nullptr) check_chat(service);
  check_numerics(service);
}

}  // namespace ingot
