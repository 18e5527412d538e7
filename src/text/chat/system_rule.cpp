// Finds by trial renderings what a chat template does with system messages.
#include "text/chat/system_rule.h"

#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/error.h"
#include "load/json_object.h"
#include "text/chat/chat_template.h"

namespace ingot {

namespace {

struct TrialMessage {
  std::string_view role;
  std::string_view text;
};
using TrialChat = std::vector<TrialMessage>;

// No template contains the texts of the trials, and no text contains another.
constexpr std::string_view kFirstSystem = "qjsysone";
constexpr std::string_view kSecondSystem = "qjsystwo";
constexpr std::string_view kLaterSystem = "qjsyslater";
constexpr TrialMessage kQuestion = {"user", "qjaskone"};
constexpr TrialMessage kReply = {"assistant", "qjreplied"};
constexpr TrialMessage kNextQuestion = {"user", "qjasktwo"};

TrialChat chat_of(TrialChat front, const TrialChat& rest) {
  front.insert(front.end(), rest.begin(), rest.end());
  return front;
}

/// The prompt of a chat; nothing if the template refuses the chat.
std::optional<std::string> trial_prompt(const ChatTemplate& chat_template, const TrialChat& chat) {
  ChatInput input;
  input.now.tm_mday = 1;
  for (const TrialMessage& m : chat) {
    input.messages.push(json_object({{"role", m.role}, {"content", m.text}}));
  }
  try {
    return chat_template.render(input).bytes;
  } catch (const Error&) {
    return std::nullopt;
  }
}

/// Whether a prompt has the texts of all messages, in order.
bool has_all(const std::optional<std::string>& prompt, const TrialChat& chat) {
  if (!prompt) return false;
  std::size_t at = 0;
  for (const TrialMessage& m : chat) {
    const std::size_t found = prompt->find(m.text, at);
    if (found == std::string::npos) return false;
    at = found + m.text.size();
  }
  return true;
}

/// Whether the template writes all messages in order, and not `number` as the assistant's.
bool writes(const ChatTemplate& chat_template, TrialChat chat, std::size_t number) {
  const auto prompt = trial_prompt(chat_template, chat);
  if (!has_all(prompt, chat)) return false;
  chat[number].role = "assistant";
  if (trial_prompt(chat_template, chat) != prompt) return true;
  chat[number].role = "user";
  return trial_prompt(chat_template, chat) == prompt;  // then the template ignores all roles
}

}  // namespace

SystemRule find_system_rule(const ChatTemplate& chat_template, bool mentions_developer) {
  SystemRule rule{.developer = mentions_developer};
  const auto renders = [&](const TrialChat& chat) {
    return has_all(trial_prompt(chat_template, chat), chat);
  };
  TrialChat rest = {kQuestion};
  if (!renders(rest)) rest = {kQuestion, kReply, kNextQuestion};
  if (!renders(rest)) return rule;
  rule.is_known = true;
  const auto writes_front = [&](const TrialChat& front) {
    return writes(chat_template, chat_of(front, rest), front.size() - 1);
  };
  const TrialMessage first = {"system", kFirstSystem};
  rule.developer = mentions_developer && writes_front({{"developer", kFirstSystem}});
  rule.one = writes_front({first});
  rule.several = rule.one && writes_front({first, {"system", kSecondSystem}}) &&
                 (!rule.developer || writes_front({first, {"developer", kSecondSystem}}));
  TrialChat begun = {kQuestion, kReply, {"system", kLaterSystem}};
  if (rule.one) begun.insert(begun.begin(), first);
  rule.later = writes(chat_template, chat_of(begun, {kNextQuestion}), begun.size() - 1);
  return rule;
}

}  // namespace ingot
