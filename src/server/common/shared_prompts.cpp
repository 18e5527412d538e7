// Prompts that all keys share.
#include "server/common/shared_prompts.h"

#include <algorithm>
#include <ctime>

#include "base/error.h"
#include "load/json_object.h"

namespace ingot {

namespace {

Json message(std::string_view role, std::string_view content) {
  return json_object({{"role", role}, {"content", content}});
}

/// The tokens of a chat with this system message, whose user says `words`.
std::vector<std::int32_t> chat_prompt(const ChatTemplate& chat, std::string_view system,
                                      std::string_view words) {
  ChatInput input;
  input.messages.push(message("system", system));
  input.messages.push(message("user", words));
  const std::time_t now = std::time(nullptr);
  localtime_r(&now, &input.now);
  return chat.encode(input);
}

/// Whatever the user says.
std::vector<std::int32_t> common_beginning(std::vector<std::int32_t> a,
                                           const std::vector<std::int32_t>& b) {
  a.erase(std::mismatch(a.begin(), a.end(), b.begin(), b.end()).first, a.end());
  return a;
}

}  // namespace

std::vector<std::int32_t> shared_text(std::string_view text, const Tokenizer& tokenizer) {
  return tokenizer.encode(text, {.add_special = true});
}

std::vector<std::int32_t> shared_system(std::string_view text, const ChatTemplate& chat) {
  return common_beginning(chat_prompt(chat, text, "A"), chat_prompt(chat, text, "1 b"));
}

void compute_shared_prompts(Service& service) {
  for (const std::vector<std::int32_t>& prompt : service.options().shared_prompts) {
    if (prompt.empty()) continue;
    Request request;
    request.prompt = prompt;
    request.max_tokens = 1;
    auto stream = service.engine().submit(std::move(request));
    if (!stream) throw Error(ErrorCode::kInternal, "the engine takes no shared prompt");
    while (stream->next()) continue;
    if (stream->outcome().error) throw Error(*stream->outcome().error);
  }
}

}  // namespace ingot
