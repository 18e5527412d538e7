// Tests of dialects on real templates: which family each is, that what the template writes is what
// the parser reads, and that grammars allow it.
#include "text/chat/tools/tool_dialect.h"

#include <gtest/gtest.h>

#include <fstream>
#include <iterator>
#include <map>
#include <random>
#include <string>

#include "base/error.h"
#include "base/shared_data_test_util.h"
#include "constraint/matcher.h"
#include "constraint/token_trie.h"
#include "load/json_object.h"
#include "text/chat/tools/syntax_test_util.h"
#include "text/chat/tools/template_verdicts_test_util.h"
#include "text/tokenizer/tokenizer_test_util.h"

namespace ingot {
namespace {

using testing::parse_with;
using testing::ParsedReply;

constexpr std::string_view kTemplates = "data/llama.cpp/templates";

std::unique_ptr<Tokenizer> tokenizer() {
  TokenizerData data = testing::byte_level_data(
      "default", {{"q", "j"}}, {{"<s>", TokenType::kControl}, {"</s>", TokenType::kControl}});
  data.bos = 257;
  data.eos = 258;
  std::vector<std::string> warnings;
  return make_tokenizer(data, warnings);
}

std::string text_of(const std::filesystem::path& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

/// A template with its dialect.
struct Model {
  std::string name{};
  std::unique_ptr<Tokenizer> tokenizer{};
  std::unique_ptr<ChatTemplate> chat_template{};
  std::shared_ptr<const ToolDialect> dialect{};
};

const std::vector<Model>& models() {
  static const std::vector<Model> all = [] {
    std::vector<Model> found;
    for (const std::filesystem::path& path : shared_entries(kTemplates)) {
      if (path.extension() != ".jinja") continue;
      const std::string source = text_of(path);
      Model model{.name = path.stem().string(), .tokenizer = tokenizer()};
      model.chat_template = std::make_unique<ChatTemplate>(source, model.name, *model.tokenizer);
      model.dialect = find_tool_dialect(*model.chat_template, source);
      found.push_back(std::move(model));
    }
    return found;
  }();
  return all;
}

const std::map<std::string, std::string>& verdicts() {
  static const std::map<std::string, std::string> all(std::begin(testing::kTemplateVerdicts),
                                                      std::end(testing::kTemplateVerdicts));
  return all;
}

/// Each byte is a token; so is each marker, behind them.
std::shared_ptr<const TokenTrie> byte_trie(const ToolDialect& dialect) {
  static const std::string bytes = [] {
    std::string all;
    for (int b = 0; b < 256; ++b) all += static_cast<char>(b);
    return all;
  }();
  const auto markers = dialect.markers();
  return std::make_shared<TokenTrie>(
      static_cast<std::int32_t>(256 + markers.size()), [&](std::int32_t id) -> TokenTrie::Token {
        if (id < 256) return {std::string_view(bytes).substr(to_size(id), 1), TokenUse::kText};
        return {markers[to_size(id - 256)], TokenUse::kMarker};
      });
}

std::vector<Tool> tools() {
  const char* weather = R"({"type": "object", "properties": {"city": {"type": "string"},
      "days": {"type": "integer", "minimum": 1}, "unit": {"enum": ["C", "F"]}},
      "required": ["city", "days"]})";
  return {{.name = "weather",
           .description = "tells the weather",
           .parameters = parse_json(weather, "test", ""),
           .path = "tools[0].function"},
          {.name = "now", .description = "tells the time", .path = "tools[1].function"}};
}

/// The reply's text in a prompt whose last message is the assistant's: behind the user's text.
std::string rendered_reply(const Model& model, const Json& reply) {
  const auto prompt = [&](bool with_reply) {
    ChatInput input{.add_generation_prompt = !with_reply};
    input.now.tm_mday = 1;
    input.messages.push(json_object({{"role", "user"}, {"content", "qjasked"}}));
    if (with_reply) input.messages.push(reply);
    model.dialect->add_tools(input, tools(), {});
    const std::string text = model.chat_template->render(input).bytes;
    return text.substr(text.rfind("qjasked") + 7);
  };
  const std::string header = prompt(false);
  std::string text = prompt(true);
  std::size_t same = 0;
  while (same < std::min(text.size(), header.size()) && text[same] == header[same]) ++same;
  if (same < header.size()) {
    const std::size_t end = std::string_view(text).substr(0, same).find_last_of(">]\n");
    same = end == std::string::npos ? 0 : end + 1;
  }
  return text.substr(same);
}

Json call_json(std::string_view id, std::string_view name, const Json& arguments) {
  return json_object(
      {{"id", id},
       {"type", "function"},
       {"function", json_object({{"name", name}, {"arguments", arguments.dump()}})}});
}

Json weather_arguments(std::string_view city) {
  return json_object({{"city", city}, {"days", 3}});
}

TEST(ToolDialect, EveryTemplateHasItsVerdict) {
  INGOT_NEEDS_SHARED(kTemplates);
  std::size_t generic = 0;
  for (const Model& model : models()) {
    const auto expected = verdicts().find(model.name);
    ASSERT_NE(expected, verdicts().end()) << model.name << " is new: add its verdict";
    EXPECT_EQ(model.dialect->name(), expected->second) << model.name;
    const std::string source = text_of(shared_folder(kTemplates) / (model.name + ".jinja"));
    const bool knows_tools = source.find("tool") != std::string::npos;
    if (!model.dialect->is_native() && knows_tools) ++generic;
  }
  EXPECT_LE(generic, 5U);
}

TEST(ToolDialect, RenderedCallsAreReadBack) {
  INGOT_NEEDS_SHARED(kTemplates);
  for (const Model& model : models()) {
    Json calls = Json::array();
    calls.push(call_json("call_abc", "weather", weather_arguments("Bad \"Ems\" <b>\nä")));
    const Json reply =
        json_object({{"role", "assistant"}, {"content", ""}, {"tool_calls", calls}});
    std::string text;
    try {
      text = rendered_reply(model, reply);
    } catch (const Error& error) {
      ADD_FAILURE() << model.name << ": " << error.what();
      continue;
    }
    // The template of LFM2 does not escape quotes: there is no way to write such a string.
    ReplyBegin begin;
    const std::size_t first = text.find_first_not_of(" \n");
    begin.in_reasoning = first != std::string::npos && !model.dialect->reasoning_end().empty() &&
                         text.substr(first).starts_with(model.dialect->reasoning_end());
    const auto parser = model.dialect->make_parser(begin, tools());
    const ParsedReply parsed = parse_with(*parser, text, 7);
    ASSERT_EQ(parsed.calls.size(), 1U) << model.name << ": " << text;
    EXPECT_EQ(parsed.calls[0].name, "weather") << model.name;
    EXPECT_TRUE(parsed.calls[0].has_end) << model.name;
    EXPECT_EQ(parse_json(parsed.calls[0].arguments, "arguments", "").dump(),
              weather_arguments("Bad \"Ems\" <b>\nä").dump())
        << model.name << ": " << text;
  }
}

std::shared_ptr<const MatcherGrammar> reply_grammar(const Model& model, const ToolChoice& choice,
                                                    std::span<const Tool> offered) {
  Grammar grammar;
  CompileBudget budget;
  std::vector<SchemaNote> notes;
  grammar.set_root(model.dialect->add_reply(grammar, {}, offered, choice, notes, budget));
  return make_matcher_grammar(std::move(grammar), byte_trie(*model.dialect), budget);
}

bool accepts(const std::shared_ptr<const MatcherGrammar>& grammar, std::string_view text) {
  Matcher matcher(grammar);
  return matcher.accept_bytes(text) && matcher.is_complete();
}

/// Where the parser's last call ends, so that what the template writes behind it is left out.
std::string up_to_calls_end(const Model& model, const std::string& text) {
  for (std::size_t end = text.size(); end > 0; --end) {
    const auto parser = model.dialect->make_parser({}, tools());
    const ParsedReply parsed = parse_with(*parser, std::string_view(text).substr(0, end), 4096);
    if (!parsed.content.empty()) continue;
    const auto shorter = model.dialect->make_parser({}, tools());
    return text.substr(0, end);
  }
  return text;
}

TEST(ToolDialect, GrammarsAllowWhatTemplatesWrite) {
  INGOT_NEEDS_SHARED(kTemplates);
  for (const Model& model : models()) {
    Json calls = Json::array();
    calls.push(call_json("callabc12", "weather", weather_arguments("Ems")));
    std::string text = rendered_reply(
        model, json_object({{"role", "assistant"}, {"content", ""}, {"tool_calls", calls}}));
    const std::size_t close = model.dialect->reasoning_end().empty()
                                  ? std::string::npos
                                  : text.find(model.dialect->reasoning_end());
    if (close != std::string::npos) {
      text = text.substr(close + model.dialect->reasoning_end().size());
    }
    text = up_to_calls_end(model, text);
    while (!text.empty() && (text.back() == '\n' || text.back() == ' ')) text.pop_back();
    const auto required =
        reply_grammar(model, {.use = ToolChoice::Use::kRequired}, tools());
    Matcher matcher(required);
    const std::size_t lead = text.find_first_not_of(" \n");
    text.erase(0, lead);
    EXPECT_TRUE(matcher.accept_bytes(text)) << model.name << ": " << text;
    const auto automatic = reply_grammar(model, {}, tools());
    EXPECT_TRUE(Matcher(automatic).accept_bytes("So. ")) << model.name;
    EXPECT_TRUE(accepts(automatic, "No call < here.")) << model.name;
    EXPECT_FALSE(accepts(required, "No call here.")) << model.name;
    EXPECT_FALSE(accepts(required, "")) << model.name;
    Matcher none(reply_grammar(model, {.use = ToolChoice::Use::kNone}, tools()));
    EXPECT_FALSE(none.accept_bytes(text)) << model.name << ": " << text;
  }
}

}  // namespace
}  // namespace ingot
