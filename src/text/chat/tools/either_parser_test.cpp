// Tests of replies that are calls or content of a format: content never becomes a call.
#include "text/chat/tools/either_parser.h"

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/shared_data_test_util.h"
#include "constraint/constraint.h"
#include "load/json_object.h"
#include "text/chat/tools/dialect_test_util.h"
#include "text/chat/tools/syntax_test_util.h"

namespace ingot {
namespace {

using testing::byte_trie;
using testing::join_events;
using testing::kTemplates;
using testing::Model;
using testing::models;
using testing::parse_with;
using testing::reply_grammar;

std::vector<Tool> offered_tools() {
  const char* weather = R"({"type": "object", "properties": {"city": {"type": "string"}},
      "required": ["city"], "additionalProperties": false})";
  return {{.name = "weather",
           .description = "tells the weather",
           .parameters = parse_json(weather, "test", ""),
           .path = "tools[0].function"},
          {.name = "now", .description = "tells the time", .path = "tools[1].function"}};
}

/// The two readings of a reply with the content that `schema` describes.
class Readings {
 public:
  Readings(const Model& model, std::string_view schema, const ReplyBegin& begin = {})
      : model_(model),
        begin_(begin),
        calls_(reply_grammar(model, {.use = ToolChoice::Use::kRequired}, offered_tools(), begin)) {
    Grammar grammar;
    CompileBudget budget;
    std::vector<SchemaNote> notes;
    const ConstraintSpec spec{.form =
                                  ConstraintSpec::JsonSchema{.schema = parse_json(schema, "", "")}};
    const NodeId content = add_constraint(grammar, spec, notes, budget);
    grammar.set_root(model.dialect->add_content_reply(grammar, begin, content, budget));
    content_ = make_matcher_grammar(std::move(grammar), byte_trie(*model.dialect), budget);
  }

  std::unique_ptr<ReplyParser> parser() const {
    return make_either_parser({calls_, model_.dialect->make_parser(begin_, offered_tools())},
                              {content_, model_.dialect->make_content_parser(begin_)});
  }
  bool allows_content(std::string_view text) const { return testing::accepts(content_, text); }
  bool allows_calls(std::string_view text) const { return testing::accepts(calls_, text); }

 private:
  const Model& model_;
  ReplyBegin begin_;
  std::shared_ptr<const MatcherGrammar> calls_, content_;
};

constexpr std::string_view kNote =
    R"({"type": "object", "properties": {"note": {"type": "string"}}, "required": ["note"],
        "additionalProperties": false})";

/// A reply with a call that the grammar of calls allows.
std::string some_call(const Model& model) {
  std::mt19937 random(7);
  const auto markers = model.dialect->markers();
  ToolChoice choice{.use = ToolChoice::Use::kRequired};
  choice.allowed = {"now"};
  choice.parallel = false;
  const auto grammar = reply_grammar(model, choice, offered_tools());
  for (int i = 0; i < 50; ++i) {
    const auto text = testing::random_walk(grammar, 256 + markers.size(), random, markers);
    if (text && text->size() < 400) return *text;
  }
  return {};
}

/// The parts around the content of a reply.
std::string framed_content(const Model& model, const std::string& content) {
  std::string before, after;
  for (const ReplySyntax& syntax : reply_syntaxes()) {
    if (syntax.name != model.dialect->name()) continue;
    before = syntax.content_begin;
    after = syntax.content_end;
  }
  return before + content + after;
}

void expect_log(const Readings& readings, const std::string& text, const std::string& log) {
  for (const std::size_t piece : {std::size_t{1}, std::size_t{3}, std::size_t{7}, text.size()}) {
    EXPECT_EQ(parse_with(*readings.parser(), text, piece).log, log) << text << ", " << piece;
  }
}

TEST(EitherParser, ContentThatHoldsACallIsContent) {
  INGOT_NEEDS_SHARED(kTemplates);
  std::size_t were_calls = 0;
  for (const Model& model : models()) {
    const Readings readings(model, kNote);
    const std::string call = some_call(model);
    ASSERT_NE(call, "") << model.name;
    // Behind each call, all other texts of the dialect's frames.
    std::string said = "so " + call;
    for (const std::string& marker : model.dialect->markers()) said += marker;
    const std::string document = json_object({{"note", said}}).dump();
    const std::string text = framed_content(model, document);
    ASSERT_TRUE(readings.allows_content(text)) << model.name << ": " << text;
    expect_log(readings, text, "C(" + document + ")");
    const auto parsed =
        parse_with(*model.dialect->make_parser({}, offered_tools()), text, text.size());
    if (!parsed.calls.empty()) ++were_calls;
    const auto called = parse_with(*readings.parser(), call, 5);
    ASSERT_EQ(called.calls.size(), 1U) << model.name << ": " << call;
    EXPECT_EQ(called.calls[0].name, "now") << model.name;
    EXPECT_TRUE(called.calls[0].has_end) << model.name;
    EXPECT_EQ(called.content, "") << model.name << ": " << call;
  }
  EXPECT_GT(were_calls, 5U);  // else this test would prove nothing
}

const Model& model_named(std::string_view name) {
  for (const Model& model : models()) {
    if (model.name == name) return model;
  }
  throw std::out_of_range(std::string(name));
}

TEST(EitherParser, AnObjectThatLooksLikeACallIsReadByItsSchema) {
  INGOT_NEEDS_SHARED(kTemplates);
  const Readings readings(model_named("meta-llama-Llama-3.1-8B-Instruct"),
                          R"({"type": "object", "properties": {"name": {"type": "string"},
      "parameters": {"type": "object", "properties": {"n": {"type": "integer"}},
      "additionalProperties": false}}})");
  const std::string person = R"({"name": "weather", "parameters": {"n": 1}})";
  EXPECT_FALSE(readings.allows_calls(person));
  expect_log(readings, person, "C(" + person + ")");
  const std::string call = R"({"name": "weather", "parameters": {"city": "Ems"}})";
  EXPECT_TRUE(readings.allows_calls(call));
  EXPECT_FALSE(readings.allows_content(call));
  expect_log(readings, call, R"(B(weather)A({"city": "Ems"})E)");
  // Texts of both, and texts that are cut before this is decided.
  const std::string both = R"({"name": "now", "parameters": {}})";
  EXPECT_TRUE(readings.allows_calls(both) && readings.allows_content(both));
  expect_log(readings, both, "B(now)A({})E");
  expect_log(readings, R"({"name": "no)", R"(C({"name": "no))");
}

TEST(EitherParser, ReasoningIsNotHeld) {
  INGOT_NEEDS_SHARED(kTemplates);
  const Model& model = model_named("Qwen3.5-4B");
  const Readings readings(model, kNote, {.in_reasoning = true, .can_reason = true});
  const auto parser = readings.parser();
  std::vector<ReplyEvent> events;
  parser->add("I think", events);
  EXPECT_TRUE(parser->is_in_reasoning());
  EXPECT_EQ(join_events(events).log, "R(I think)");
  parser->add(" so</think>\n\n{", events);
  EXPECT_FALSE(parser->is_in_reasoning());
  EXPECT_EQ(join_events(events).log, "R(I think so)C({)");
  parser->add(R"("note": "<tool_call>")", events);
  EXPECT_FALSE(parser->is_in_call());
  EXPECT_EQ(join_events(events).log, R"(R(I think so)C({"note": "<tool_call>"))");
  parser->add("}", events);
  parser->finish(events);
  EXPECT_EQ(join_events(events).log, R"(R(I think so)C({"note": "<tool_call>"}))");
}

TEST(EitherParser, ATextOfNeitherIsContent) {
  INGOT_NEEDS_SHARED(kTemplates);
  const Readings readings(model_named("Qwen3-Coder"), kNote);
  expect_log(readings, "Neither.", "C(Neither.)");
}

}  // namespace
}  // namespace ingot
