// Tests of system messages: what trials find about templates, and chats that templates cannot
// express as they are.
#include "text/chat/system_messages.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <iterator>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "base/shared_data_test_util.h"
#include "base/text.h"
#include "text/tokenizer/tokenizer_test_util.h"

namespace ingot {
namespace {

// Templates of each kind. All write a message as <role:content>.
constexpr const char* kAnyPlace =
    "{% for m in messages %}<{{ m.role }}:{{ m.content }}>{% endfor %}";
constexpr const char* kFirstOnly =
    "{% if messages[0].role == 'system' %}<system:{{ messages[0].content | trim }}>{% endif %}"
    "{% for m in messages if m.role != 'system' %}<{{ m.role }}:{{ m.content }}>{% endfor %}";
constexpr const char* kRaises =
    "{% for m in messages %}{% if m.role == 'system' and not loop.first %}"
    "{{ raise_exception('one system message') }}{% endif %}"
    "<{{ m.role }}:{{ m.content }}>{% endfor %}";
constexpr const char* kLastOne =
    "{% set ns = namespace(s='') %}{% for m in messages if m.role == 'system' %}"
    "{% set ns.s = m.content %}{% endfor %}<system:{{ ns.s }}>"
    "{% for m in messages if m.role != 'system' %}<{{ m.role }}:{{ m.content }}>{% endfor %}";
constexpr const char* kAllInFront =
    "{% for m in messages if m.role == 'system' %}<system:{{ m.content }}>{% endfor %}"
    "{% for m in messages if m.role != 'system' %}<{{ m.role }}:{{ m.content }}>{% endfor %}";
constexpr const char* kNone =
    "{% for m in messages if m.role != 'system' %}<{{ m.role }}:{{ m.content }}>{% endfor %}";
constexpr const char* kRefusesAll =
    "{% for m in messages %}{% if m.role == 'system' %}{{ raise_exception('no system') }}{% endif "
    "%}"
    "<{{ m.role }}:{{ m.content }}>{% endfor %}";
constexpr const char* kAsReply =
    "{% for m in messages %}{% if m.role == 'user' %}<user:{{ m.content }}>"
    "{% else %}<assistant:{{ m.content }}>{% endif %}{% endfor %}";
constexpr const char* kNoRoles = "{% for m in messages %}<{{ m.content }}>{% endfor %}";
constexpr const char* kNeedsTurns =
    "{% if messages | length < 3 %}{{ raise_exception('too short') }}{% endif %}"
    "{% for m in messages %}<{{ m.role }}:{{ m.content }}>{% endfor %}";
constexpr const char* kEndless =
    "{% for a in range(100000) %}{% for b in range(100000) %}{% endfor %}{% endfor %}";
// The system message goes into the next user message, and is lost behind the last one.
constexpr const char* kNextUser =
    "{% set ns = namespace(s='') %}{% for m in messages %}{% if m.role == 'system' %}"
    "{% set ns.s = m.content ~ '|' %}{% else %}<{{ m.role }}:{{ ns.s ~ m.content }}>"
    "{% set ns.s = '' %}{% endif %}{% endfor %}";
// As in Gemma 3: the system message begins the first user message.
constexpr const char* kIntoFirstUser =
    "{% set has = messages[0].role == 'system' %}{% for m in (messages[1:] if has else messages) %}"
    "{% if (m.role == 'user') != (loop.index0 % 2 == 0) %}{{ raise_exception('alternate') }}"
    "{% endif %}<{{ m.role }}:{{ messages[0].content ~ '|' if has and loop.first }}{{ m.content }}>"
    "{% endfor %}";
constexpr const char* kDeveloper =
    "{% for m in messages %}{% if m.role in ['system', 'developer', 'user', 'assistant'] %}"
    "<{{ m.role }}:{{ m.content }}>{% endif %}{% endfor %}";

std::unique_ptr<Tokenizer> byte_tokenizer() {
  TokenizerData data = testing::byte_level_data(
      "default", {}, {{"<s>", TokenType::kControl}, {"</s>", TokenType::kControl}});
  data.bos = 256;
  data.eos = 257;
  std::vector<std::string> warnings;
  return make_tokenizer(data, warnings);
}

/// The rule as letters: one, several, later, developer; "?" if the trials fail.
std::string rule_of(std::string_view source) {
  const auto tokenizer = byte_tokenizer();
  const SystemRule rule = ChatTemplate(source, "test", *tokenizer).system_rule();
  if (!rule.is_known) return "?";
  return cat(rule.one ? "o" : "-", rule.several ? "s" : "-", rule.later ? "l" : "-",
             rule.developer ? "d" : "-");
}

/// Renders messages, given as "role:text" and separated by spaces. Returns the prompt and, in
/// brackets, the change; or the error.
std::string fitted(std::string_view source, std::string_view chat) {
  const auto tokenizer = byte_tokenizer();
  const ChatTemplate chat_template(source, "test", *tokenizer);
  ChatInput input;
  while (!chat.empty()) {
    const std::string_view word = chat.substr(0, chat.find(' '));
    chat.remove_prefix(std::min(chat.size(), word.size() + 1));
    const std::size_t colon = word.find(':');
    Json message = Json::object();
    message.set("role", word.substr(0, colon));
    message.set("content", word.substr(colon + 1));
    input.messages.push(std::move(message));
  }
  try {
    const FittedPrompt prompt = render_fitted(
        chat_template, input, [](std::size_t number) { return cat("messages[", number, "]"); });
    return prompt.change.empty() ? prompt.text.bytes
                                 : cat(prompt.text.bytes, " [", prompt.change, "]");
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::kInvalid);
    return error.message().substr(0, error.message().find(':'));
  }
}

TEST(SystemRule, IsFoundForEachKindOfTemplate) {
  EXPECT_EQ(rule_of(kAnyPlace), "osl-");
  EXPECT_EQ(rule_of(kFirstOnly), "o---");
  EXPECT_EQ(rule_of(kRaises), "o---");
  EXPECT_EQ(rule_of(kLastOne), "o---");
  EXPECT_EQ(rule_of(kAllInFront), "os--");
  EXPECT_EQ(rule_of(kNone), "----");
  EXPECT_EQ(rule_of(kRefusesAll), "----");
  EXPECT_EQ(rule_of(kAsReply), "----");
  EXPECT_EQ(rule_of(kNoRoles), "osl-");
  EXPECT_EQ(rule_of(kNeedsTurns), "osl-");
  EXPECT_EQ(rule_of(kNextUser), "o-l-");
  EXPECT_EQ(rule_of(kIntoFirstUser), "o---");
  EXPECT_EQ(rule_of(kDeveloper), "osld");
  EXPECT_EQ(rule_of(kEndless), "?");
  EXPECT_EQ(rule_of("{{ raise_exception('no') }}"), "?");
  EXPECT_EQ(rule_of("{# developer #}" + std::string(kAsReply)), "----");
}

TEST(SystemRule, OfBuiltInTemplates) {
  for (const auto& [name, rule] : {std::pair("chatml", "osl-"),
                                   {"llama3", "osl-"},
                                   {"phi3", "osl-"},
                                   // These write one system message into the next user message.
                                   {"gemma", "o-l-"},
                                   {"llama2", "o-l-"},
                                   {"mistral", "o-l-"}}) {
    EXPECT_EQ(rule_of(builtin_template(name)->text), rule) << name;
  }
}

/// What Jinja2 3.1.6 writes for the trials' chats.
TEST(SystemRule, OfRealTemplates) {
  INGOT_NEEDS_SHARED("data/llama.cpp/templates");
  const std::pair<const char*, const char*> kExpected[] = {
      {"Apertus-8B-Instruct", "o---"},
      {"Bielik-11B-v3.0-Instruct", "o---"},
      {"CohereForAI-c4ai-command-r7b-12-2024-tool_use", "osl-"},
      {"GLM-4.6", "osl-"},
      {"GigaChat3-10B-A1.8B", "osld"},
      {"HuggingFaceTB-SmolLM3-3B", "o---"},
      {"Kimi-K2-Instruct", "osl-"},
      {"LFM2-8B-A1B", "osl-"},
      {"MiniMax-M2", "o---"},
      {"NVIDIA-Nemotron-Nano-v2", "o---"},
      {"NousResearch-Hermes-3-Llama-3.1-8B-tool_use", "?"},  // refuses chats without tools
      {"Qwen-Qwen2.5-7B-Instruct", "osl-"},
      {"Qwen3.5-4B", "o---"},
      {"deepseek-ai-DeepSeek-R1-Distill-Llama-8B", "o---"},
      {"deepseek-ai-DeepSeek-V3.1", "os--"},
      {"google-gemma-2-2b-it", "----"},
      {"google-gemma-4-31B-it", "osld"},
      {"ibm-granite-granite-3.3-2B-Instruct", "osl-"},
      {"meta-llama-Llama-3.1-8B-Instruct", "osl-"},
      {"microsoft-Phi-3.5-mini-instruct", "osl-"},
      {"mistralai-Mistral-Nemo-Instruct-2407", "o---"},
      {"openai-gpt-oss-120b", "o--d"},
      {"upstage-Solar-Open-100B", "os--"},
  };
  for (const auto& [name, rule] : kExpected) {
    std::ifstream in(shared_folder("data/llama.cpp/templates") / cat(name, ".jinja"),
                     std::ios::binary);
    const std::string source{std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>()};
    EXPECT_EQ(rule_of(source), rule) << name;
  }
}

TEST(SystemMessages, SeveralInFrontAreJoinedWhereTheTemplateHasOne) {
  const char* chat = "system:A system:B user:U";
  EXPECT_EQ(fitted(kAnyPlace, chat), "<system:A><system:B><user:U>");
  EXPECT_EQ(fitted(kAllInFront, chat), "<system:A><system:B><user:U>");
  for (const char* source : {kFirstOnly, kRaises, kLastOne}) {
    EXPECT_EQ(fitted(source, chat), "<system:A\n\nB><user:U> [joined]") << source;
  }
  EXPECT_EQ(fitted(kNextUser, chat), "<user:A\n\nB|U> [joined]");
  EXPECT_EQ(fitted(kFirstOnly, "system:A developer:B system:C user:U"),
            "<system:A\n\nB\n\nC><user:U> [joined]");
  EXPECT_EQ(fitted(kIntoFirstUser, chat), "<user:A\n\nB|U> [joined]");
  EXPECT_EQ(fitted(kIntoFirstUser, "system:A user:U"), "<user:A|U>");
  EXPECT_EQ(fitted(kFirstOnly, "system:A user:U"), "<system:A><user:U>");
}

TEST(SystemMessages, LaterOnesStandWhereTheyAreOrAreRefused) {
  const char* chat = "system:A user:U assistant:V system:C user:W";
  EXPECT_EQ(fitted(kAnyPlace, chat), "<system:A><user:U><assistant:V><system:C><user:W>");
  EXPECT_EQ(fitted(kNextUser, chat), "<user:A|U><assistant:V><user:C|W>");
  for (const char* source : {kFirstOnly, kRaises, kLastOne, kAllInFront, kNone, kAsReply}) {
    EXPECT_EQ(fitted(source, chat), "messages[3]") << source;
  }
  // The trials at load do not cover this place.
  EXPECT_EQ(fitted(kNextUser, "user:U system:C"), "messages[1]");
  EXPECT_EQ(fitted(kNextUser, "system:A system:B user:U system:C"), "messages[3]");
}

TEST(SystemMessages, GoIntoTheFirstUserMessageWhereTheTemplateHasNone) {
  for (const char* source : {kNone, kRefusesAll, kAsReply}) {
    EXPECT_EQ(fitted(source, "system:A user:U"), "<user:A\n\nU> [moved]") << source;
    EXPECT_EQ(fitted(source, "system:A system:B user:U assistant:V"),
              "<user:A\n\nB\n\nU><assistant:V> [moved]");
    EXPECT_EQ(fitted(source, "system:A assistant:V user:U"), "messages[0]");
    EXPECT_EQ(fitted(source, "system:A"), "messages[0]");
    EXPECT_EQ(fitted(source, "user:U"), "<user:U>");
  }
}

TEST(SystemMessages, DevelopersAreSystemMessagesWhereTheTemplateHasNoSuchRole) {
  EXPECT_EQ(fitted(kAnyPlace, "developer:A user:U"), "<system:A><user:U>");
  EXPECT_EQ(fitted(kDeveloper, "developer:A user:U"), "<developer:A><user:U>");
  EXPECT_EQ(fitted(kNone, "developer:A user:U"), "<user:A\n\nU> [moved]");
}

TEST(SystemMessages, ALostTextIsAnErrorAndAChangedOneIsNot) {
  // As in Mistral's templates: only a user message at the end gets the system message.
  const char* last =
      "{% for m in messages if m.role != 'system' %}<{{ m.role }}:"
      "{{ messages[0].content ~ '|' if loop.last and m.role == 'user' and "
      "messages[0].role == 'system' }}{{ m.content }}>{% endfor %}";
  EXPECT_EQ(fitted(last, "system:A! user:U"), "<user:A!|U>");
  EXPECT_EQ(fitted(last, "system:A! user:U assistant:V"), "messages[0]");
  EXPECT_EQ(fitted(last, "system:b user:banana assistant:V"), "messages[0]");
  const std::string text = "a-text-of-more-than-thirty-two-bytes!";
  EXPECT_EQ(fitted(last, cat("system:", text, " user:U")), cat("<user:", text, "|U>"));
  EXPECT_EQ(fitted(last, cat("system:", text, " user:U assistant:V")), "messages[0]");
  const char* changes =
      "{% for m in messages %}<{{ m.role }}:{{ m.content | replace('!', '.') }}>"
      "{% endfor %}";
  EXPECT_EQ(fitted(changes, "system:A! user:U"), "<system:A.><user:U>");
}

TEST(SystemMessages, PassAsTheyAreThroughATemplateThatTheTrialsDoNotKnow) {
  const char* upper = "{% for m in messages %}{{ m.content | upper }};{% endfor %}";
  EXPECT_EQ(fitted(upper, "system:a system:b user:u"), "A;B;U;");
}

}  // namespace
}  // namespace ingot
