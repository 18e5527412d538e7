// Tests of chats as prompts: whose bytes may become special tokens, BOS, continuing a message, what
// a request may set; and the goldens.
#include <gtest/gtest.h>

#include <fstream>
#include <iterator>
#include <map>
#include <string>
#include <vector>

#include "base/error.h"
#include "base/shared_data_test_util.h"
#include "text/chat/chat_template.h"
#include "text/jinja/jinja_test_util.h"
#include "text/tokenizer/tokenizer_test_util.h"

namespace ingot {
namespace {

using testing::own_bytes;
using testing::render_marked;
using Ids = std::vector<std::int32_t>;

constexpr const char* kData = R"({"x": "<|end|> Y", "list": ["<|a|>", "b"]})";

TEST(MarkedTemplates, LiteralsAreTheTemplatesAndVariablesAreNot) {
  EXPECT_EQ(own_bytes(render_marked("<|u|>{{ x }}{{ '<|e|>' }}", kData)), "<|u|>.........<|e|>");
  EXPECT_EQ(own_bytes(render_marked("{{ 'a' + x + 'b' }}{{ 'c' ~ x }}", kData)),
            "a.........bc.........");
}

TEST(MarkedTemplates, DataStaysDataThroughEveryOperation) {
  for (const char* expression : {"x | trim",
                                 "x | upper",
                                 "x | lower",
                                 "x | title",
                                 "x | capitalize",
                                 "x | replace('Y', x)",
                                 "x | tojson",
                                 "x | string",
                                 "x | e",
                                 "x | safe",
                                 "x | reverse",
                                 "x | list | join",
                                 "x[1:]",
                                 "x[::2]",
                                 "x[::-1]",
                                 "x.split() | join",
                                 "x.strip('Y')",
                                 "x.upper()",
                                 "x.partition(' ') | join",
                                 "x | truncate(3, true, '')",
                                 "x | center(20)",
                                 "[x] | string",
                                 "{'k': x} | tojson",
                                 "'%s' | format(x)",
                                 "'{}'.format(x)",
                                 "'%s' % x",
                                 "x * 3",
                                 "list | join",
                                 "list | map('upper') | join",
                                 "x | urlencode",
                                 "x.swapcase()",
                                 "x.ljust(30)",
                                 "x | default('d')",
                                 "x.splitlines() | first",
                                 "x | first",
                                 "x.title()",
                                 "x.casefold()",
                                 "x.zfill(30)",
                                 "x.expandtabs()",
                                 "x.removeprefix('<')",
                                 "x | batch(2) | map('join') | join"}) {
    const MarkedText text = render_marked("{{ " + std::string(expression) + " }}", kData);
    ASSERT_FALSE(text.bytes.empty()) << expression;
    // What the expressions' own literals write is at most a quote or a brace of a format.
    EXPECT_EQ(own_bytes(text).find_first_of("<|>endEND"), std::string::npos)
        << expression << ": " << own_bytes(text);
  }
}

TEST(MarkedTemplates, TheTemplatesStaysTheTemplatesAmongData) {
  EXPECT_EQ(own_bytes(render_marked("{{ ('<s>' ~ x) | replace('Y', '</s>') }}", kData)),
            "<s>........</s>");
  EXPECT_EQ(own_bytes(render_marked("{{ ['<s>', x] | join('|') }}", kData)), "<s>|.........");
  EXPECT_EQ(
      own_bytes(render_marked("{% macro f(a) %}<s>{{ a }}</s>{% endmacro %}{{ f(x) }}", kData)),
      "<s>.........</s>");
  EXPECT_EQ(own_bytes(render_marked("{% set t %}<s>{{ x }}{% endset %}{{ t[:5] | upper }}", kData)),
            "<S>..");
}

TEST(MarkedTemplates, OnlyCommonRolesAreTheTemplates) {
  const char* context =
      R"({"messages": [{"role": "user", "content": "user"},
                       {"role": "x|><|y", "content": "user"}]})";
  EXPECT_EQ(own_bytes(render_marked(
                "{% for m in messages %}<|{{ m.role }}|>{{ m.content }}{% endfor %}", context)),
            "<|user|>....<|......|>....");
}

/// Bytes, "qj" as 256, <s> as 257, <|im_end|> as 258, <|im_start|> as 259; adds BOS when asked to.
std::unique_ptr<Tokenizer> tokenizer(bool adds_bos) {
  TokenizerData data = testing::byte_level_data("default", {{"q", "j"}},
                                                {{"<s>", TokenType::kControl},
                                                 {"<|im_end|>", TokenType::kControl},
                                                 {"<|im_start|>", TokenType::kControl}});
  data.bos = 257;
  if (adds_bos) data.frame_begin = {257};
  std::vector<std::string> warnings;
  return make_tokenizer(data, warnings);
}

ChatInput chat(std::string_view messages) {
  return {.messages = parse_json(messages, "test", "messages")};
}

Ids bytes(std::string_view text) { return {text.begin(), text.end()}; }

Ids joined(std::initializer_list<Ids> parts) {
  Ids all;
  for (const Ids& part : parts) all.insert(all.end(), part.begin(), part.end());
  return all;
}

std::string error_of(const ChatTemplate& chat_template, const ChatInput& input) {
  try {
    static_cast<void>(chat_template.encode(input));
  } catch (const Error& error) {
    return error.message();
  }
  return "no error";
}

TEST(ChatTemplate, SpecialTokensInMessagesAreText) {
  const auto t = tokenizer(false);
  const ChatTemplate chatml(builtin_template("chatml")->text, "chatml", *t);
  EXPECT_EQ(
      chatml.encode(chat(R"([{"role": "user", "content": "<|im_end|>a<s>"}])")),
      joined(
          {{259}, bytes("user\n<|im_end|>a<s>"), {258}, bytes("\n"), {259}, bytes("assistant\n")}));
  const ChatTemplate broken("<|im_{{ messages[0].content }}|><|im_end|>", "test", *t);
  EXPECT_EQ(broken.encode(chat(R"([{"role": "user", "content": "end"}])")),
            joined({bytes("<|im_end|>"), {258}}));
}

TEST(ChatTemplate, ThereIsOneBosWhoeverAddsIt) {
  const auto adds = tokenizer(true);
  const auto does_not = tokenizer(false);
  const ChatInput input = chat(R"([{"role": "user", "content": "a"}])");
  const char* with = "{{ bos_token }}{{ messages[0].content }}";
  const char* without = "{{ messages[0].content }}";
  EXPECT_EQ(ChatTemplate(with, "t", *adds).encode(input), (Ids{257, 'a'}));
  EXPECT_EQ(ChatTemplate(without, "t", *adds).encode(input), (Ids{257, 'a'}));
  EXPECT_EQ(ChatTemplate(with, "t", *does_not).encode(input), (Ids{257, 'a'}));
  EXPECT_EQ(ChatTemplate(without, "t", *does_not).encode(input), (Ids{'a'}));
  EXPECT_EQ(
      ChatTemplate(without, "t", *adds).encode(chat(R"([{"role": "user", "content": "<s>"}])")),
      (Ids{257, '<', 's', '>'}));
}

/// A rendered chat that is sent as a raw prompt gives the chat's tokens, with one BOS.
TEST(ChatTemplate, ARenderedChatIsAPromptOfTheSameTokens) {
  const ChatInput input = chat(R"([{"role": "user", "content": " qj a "}])");
  for (const bool adds_bos : {true, false}) {
    const auto t = tokenizer(adds_bos);
    for (const std::string& source :
         {builtin_template("chatml")->text, "{{ bos_token }}" + builtin_template("chatml")->text}) {
      const ChatTemplate format(source, "t", *t);
      EXPECT_EQ(t->encode_prompt(format.render(input).bytes, true), format.encode(input));
    }
  }
}

TEST(ChatTemplate, AFinalMessageIsContinued) {
  const auto t = tokenizer(false);
  const ChatTemplate chatml(builtin_template("chatml")->text, "chatml", *t);
  ChatInput input =
      chat(R"([{"role": "user", "content": "a"}, {"role": "assistant", "content": "So, "}])");
  input.add_generation_prompt = false;
  input.continue_final_message = true;
  EXPECT_EQ(chatml.render(input).bytes,
            "<|im_start|>user\na<|im_end|>\n<|im_start|>assistant\nSo, ");
  input.add_generation_prompt = true;
  EXPECT_NE(error_of(chatml, input).find("exclude each other"), std::string::npos);
}

TEST(ChatTemplate, EmptyPromptsAreErrors) {  // C09
  const auto t = tokenizer(false);
  const ChatInput input = chat(R"([{"role": "user", "content": "a"}])");
  EXPECT_NE(error_of(ChatTemplate("{# nothing #}", "t", *t), input).find("empty prompt"),
            std::string::npos);
  EXPECT_EQ(ChatTemplate("<s>", "t", *t).encode(input), Ids{257});
}

TEST(ChatTemplate, ChatsAreCheckedForShapeAndSize) {  // C14, C15
  const auto t = tokenizer(false);
  const ChatTemplate chatml(builtin_template("chatml")->text, "chatml", *t);
  EXPECT_NE(error_of(chatml, chat("{}")).find("expected an array"), std::string::npos);
  EXPECT_NE(error_of(chatml, chat("[1]")).find("messages[0]"), std::string::npos);
  EXPECT_NE(error_of(chatml, chat(R"([{"content": ""}])")).find("no role"), std::string::npos);
  ChatInput many{.messages = Json::array()};
  Json message = Json::object();
  message.set("role", "user");
  message.set("content", "a");
  for (std::size_t i = 0; i < kMessagesMax; ++i) many.messages.push(message);
  EXPECT_EQ(error_of(chatml, many), "no error");
  many.messages.push(message);
  EXPECT_NE(error_of(chatml, many).find("at most 4096"), std::string::npos);
  ChatInput input = chat(R"([{"role": "user", "content": "a"}])");
  for (const char* name : {"tokenize", "chat_template", "add_generation_prompt", "messages"}) {
    input.arguments = {{name, Json(true)}};
    EXPECT_NE(error_of(chatml, input).find("cannot be set"), std::string::npos) << name;
  }
  input.arguments = {{"enable_thinking", Json::object()}};
  EXPECT_NE(error_of(chatml, input).find("expected a scalar"), std::string::npos);
  input.arguments = {{"enable_thinking", Json(false)}};
  EXPECT_EQ(error_of(chatml, input), "no error");
}

TEST(ChatTemplate, BuiltInOnesRenderAChat) {
  const auto t = tokenizer(true);
  const ChatInput input = chat(R"([{"role": "system", "content": "S"},
      {"role": "user", "content": "U"}, {"role": "assistant", "content": "A"},
      {"role": "user", "content": "V"}])");
  const std::map<std::string, std::string> expected = {
      {"chatml",
       "<|im_start|>system\nS<|im_end|>\n<|im_start|>user\nU<|im_end|>\n<|im_start|>assistant\nA"
       "<|im_end|>\n<|im_start|>user\nV<|im_end|>\n<|im_start|>assistant\n"},
      {"gemma",
       "<s><start_of_turn>user\nS\n\nU<end_of_turn>\n<start_of_turn>model\nA<end_of_turn>\n"
       "<start_of_turn>user\nV<end_of_turn>\n<start_of_turn>model\n"},
      {"llama2", "<s>[INST] <<SYS>>\nS\n<</SYS>>\n\nU [/INST] A <s>[INST] V [/INST]"},
      {"llama3",
       "<s><|start_header_id|>system<|end_header_id|>\n\nS<|eot_id|><|start_header_id|>user"
       "<|end_header_id|>\n\nU<|eot_id|><|start_header_id|>assistant<|end_header_id|>\n\nA<|eot_id|"
       ">"
       "<|start_header_id|>user<|end_header_id|>\n\nV<|eot_id|><|start_header_id|>assistant"
       "<|end_header_id|>\n\n"},
      {"mistral", "<s>[INST] S\n\nU[/INST] A[INST] V[/INST]"},
      {"phi3",
       "<|system|>\nS<|end|>\n<|user|>\nU<|end|>\n<|assistant|>\nA<|end|>\n<|user|>\nV<|end|>\n"
       "<|assistant|>\n"}};
  for (const auto& [name, text] : expected) {
    EXPECT_EQ(ChatTemplate(builtin_template(name)->text, name, *t).render(input).bytes, text)
        << name;
    EXPECT_NE(builtin_template_names().find(name), std::string::npos);
  }
}

std::string read(const std::filesystem::path& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>()};
}

/// Every record of the goldens: the text byte for byte, or an error where Jinja2 has one.
TEST(ChatTemplate, GoldensAreEqual) {
  INGOT_NEEDS_SHARED("data/chat");
  const auto folder = shared_folder("data");
  const Json contexts =
      parse_json(read(folder / "chat/rendered_goldens_contexts.json"), "goldens", "contexts");
  JinjaOptions options;
  options.now.tm_year = 124;
  options.now.tm_mon = 6;
  options.now.tm_mday = 26;
  options.now.tm_wday = 5;
  options.now.tm_yday = 207;
  const std::string goldens = read(folder / "chat/rendered_goldens.jsonl");
  std::size_t count = 0;
  for (std::size_t at = 0; at < goldens.size(); ++count) {
    const std::size_t end = std::min(goldens.find('\n', at), goldens.size());
    const Json golden =
        parse_json(std::string_view(goldens).substr(at, end - at), "golden", "line");
    at = end + 1;
    const std::string& name = *golden.find("template")->as_string();
    std::vector<JinjaVariable> variables;
    for (const auto& [variable, value] :
         *contexts.find(*golden.find("context")->as_string())->as_object()) {
      variables.push_back({.name = variable, .value = &value});
    }
    const bool expects_text = *golden.find("ok")->as_bool();
    try {
      const std::string text =
          JinjaTemplate(read(folder / name), name).render(variables, options).bytes;
      EXPECT_TRUE(expects_text) << name;
      const Json* output = golden.find("output");
      EXPECT_EQ(text, output == nullptr ? "an error" : *output->as_string()) << name;
    } catch (const Error& error) {
      EXPECT_FALSE(expects_text) << name << ": " << error.message();
    }
  }
  EXPECT_GT(count, 0U);
}

}  // namespace
}  // namespace ingot
