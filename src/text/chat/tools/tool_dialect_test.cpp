// Tests of dialects on real templates: which family each is, that what the template writes is what
// the parser reads, and that grammars allow it.
#include "text/chat/tools/tool_dialect.h"

#include <gtest/gtest.h>

#include <map>
#include <random>
#include <string>

#include "base/error.h"
#include "base/full_run_test_util.h"
#include "base/shared_data_test_util.h"
#include "constraint/matcher.h"
#include "load/json_object.h"
#include "text/chat/system_messages.h"
#include "text/chat/tools/dialect_test_util.h"
#include "text/chat/tools/syntax_test_util.h"
#include "text/chat/tools/template_verdicts_test_util.h"

namespace ingot {
namespace {

using testing::accepts;
using testing::kTemplates;
using testing::Model;
using testing::models;
using testing::parse_with;
using testing::ParsedReply;
using testing::random_walk;
using testing::reply_grammar;
using testing::text_of;

const std::map<std::string, std::string>& verdicts() {
  static const std::map<std::string, std::string> all(std::begin(testing::kTemplateVerdicts),
                                                      std::end(testing::kTemplateVerdicts));
  return all;
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
    const auto name_of = [](std::size_t) { return std::string("message"); };
    const std::string text = render_fitted(*model.chat_template, input, name_of).text.bytes;
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

Json weather_arguments(std::string_view city) { return json_object({{"city", city}, {"days", 3}}); }

TEST(ToolDialect, EveryTemplateHasItsVerdict) {
  INGOT_NEEDS_SHARED(kTemplates);
  std::size_t generic = 0;
  for (const Model& model : models()) {
    const auto expected = verdicts().find(model.name);
    ASSERT_NE(expected, verdicts().end()) << model.name << " is new: add its verdict";
    EXPECT_EQ(model.dialect->name(), expected->second) << model.name;
    if (!model.dialect->is_native()) ++generic;
  }
  EXPECT_LE(generic, 5U);
}

TEST(ToolDialect, RenderedCallsAreReadBack) {
  INGOT_NEEDS_SHARED(kTemplates);
  for (const Model& model : models()) {
    Json calls = Json::array();
    calls.push(call_json("call_abc", "weather", weather_arguments("Bad \"Ems\" <b>\nä")));
    const Json reply = json_object({{"role", "assistant"}, {"content", ""}, {"tool_calls", calls}});
    const std::string text = rendered_reply(model, reply);
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

/// The text up to the end of its call, without what the template writes behind it.
std::string up_to_call_end(const Model& model, const std::string& text) {
  for (std::size_t end = 1; end <= text.size(); ++end) {
    const std::string begin = text.substr(0, end);
    const ParsedReply parsed = parse_with(*model.dialect->make_parser({}, tools()), begin, 4096);
    if (!parsed.calls.empty() && parsed.calls[0].has_end) return begin;
  }
  return {};
}

TEST(ToolDialect, GrammarsAllowWhatTemplatesWrite) {
  INGOT_NEEDS_SHARED(kTemplates);
  for (const Model& model : models()) {
    // The first indents its JSON, which grammars never do; the second writes a recipient before any
    // content.
    if (model.dialect->name() == "command-r") continue;
    if (model.name == "meetkai-functionary-medium-v3.2") continue;
    Json calls = Json::array();
    calls.push(call_json("callabc12", "weather", weather_arguments("Ems")));
    std::string text = rendered_reply(
        model, json_object({{"role", "assistant"}, {"content", ""}, {"tool_calls", calls}}));
    // Templates write an empty block of reasoning; the generation prompt may have opened it.
    const std::string_view end = model.dialect->reasoning_end();
    const std::size_t close = end.empty() ? std::string::npos : text.find(end);
    if (close < text.find("weather")) text.erase(0, close + end.size());
    text = up_to_call_end(model, text);
    EXPECT_NE(text, "") << model.name;
    const auto required = reply_grammar(model, {.use = ToolChoice::Use::kRequired}, tools());
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

/// A random text with what parsers care about.
std::string random_text(std::mt19937& random) {
  static const std::vector<std::string> kParts = {"a",
                                                  "Ä",
                                                  "😀",
                                                  "\"",
                                                  "\\",
                                                  "\n",
                                                  " ",
                                                  "'",
                                                  "<",
                                                  "</",
                                                  "{",
                                                  "}",
                                                  "[",
                                                  "]",
                                                  "(",
                                                  ")",
                                                  ",",
                                                  ":",
                                                  "<tool_call>",
                                                  "</tool_call>",
                                                  "</parameter>",
                                                  "</think>",
                                                  "[TOOL_CALLS]",
                                                  "null",
                                                  "17",
                                                  "=",
                                                  "<|",
                                                  "|>",
                                                  "```",
                                                  "<｜",
                                                  "\\u0061",
                                                  "arguments",
                                                  "<think>"};
  std::string text;
  const std::size_t parts = random() % 7;
  for (std::size_t i = 0; i < parts; ++i) text += kParts[random() % kParts.size()];
  return text;
}

Json random_value(std::mt19937& random) {
  Json list = Json::array();
  switch (random() % 6) {
    case 0:
      return Json(static_cast<std::int64_t>(random() % 1000) - 500);
    case 1:
      return Json(random() % 2 == 0);
    case 2:
      return json_object({{"k", random_text(random)}, {"l", Json()}});
    case 3:
      list.push(random_text(random));
      return list;
    default:
      return Json(random_text(random));
  }
}

TEST(ToolDialect, EveryByteCutGivesTheSameEvents) {
  INGOT_NEEDS_SHARED(kTemplates);
  std::mt19937 random(44);
  for (const Model& model : models()) {
    for (int round = 0; round < random_runs(4, 4, 2); ++round) {
      Json arguments = json_object({{"city", random_text(random)}, {"days", 2}});
      if (round > 1) arguments.set("more", random_value(random));
      Json calls = Json::array();
      calls.push(call_json("callabc12", "weather", arguments));
      const std::string said = round % 2 == 0 ? "" : "So: " + random_text(random);
      const Json reply =
          json_object({{"role", "assistant"}, {"content", said}, {"tool_calls", calls}});
      const std::string text = rendered_reply(model, reply);
      const auto whole = parse_with(*model.dialect->make_parser({}, tools()), text, text.size());
      for (std::size_t cut = 1; cut < text.size(); ++cut) {
        const auto parser = model.dialect->make_parser({}, tools());
        std::vector<ReplyEvent> events;
        parser->add(std::string_view(text).substr(0, cut), events);
        const std::string before = testing::join_events(events).log;
        // Events of a prefix are events of the whole.
        EXPECT_TRUE(std::string_view(whole.log).starts_with(
            before.substr(0, before.size() - (before.ends_with(')') ? 1 : 0))))
            << model.name << " at " << cut << ": " << text;
        parser->add(std::string_view(text).substr(cut), events);
        parser->finish(events);
        ASSERT_EQ(testing::join_events(events).log, whole.log)
            << model.name << " at " << cut << ": " << text;
      }
    }
  }
}

TEST(ToolDialect, AnyTextHasTheSameEventsInPieces) {
  INGOT_NEEDS_SHARED(kTemplates);
  std::mt19937 random(45);
  for (const Model& model : models()) {
    const auto markers = model.dialect->markers();
    for (int round = 0; round < 20; ++round) {
      std::string text;
      for (int i = 0; i < 12; ++i) {
        text += random() % 2 == 0 && !markers.empty() ? markers[random() % markers.size()]
                                                      : random_text(random);
        if (random() % 4 == 0) text += "{\"name\": \"now\", \"arguments\": {}}";
        if (random() % 4 == 0) text += "weather";
      }
      const auto whole = parse_with(*model.dialect->make_parser({}, tools()), text, text.size());
      for (std::size_t piece = 1; piece < 6; ++piece) {
        const auto cut = parse_with(*model.dialect->make_parser({}, tools()), text, piece);
        ASSERT_EQ(cut.log, whole.log) << model.name << ": " << text;
      }
    }
  }
}

TEST(ToolDialect, WhateverAGrammarAllowsIsReadAsCallsThatFit) {
  INGOT_NEEDS_SHARED(kTemplates);
  std::mt19937 random(46);
  std::size_t finished = 0;
  for (const Model& model : models()) {
    const auto grammar = reply_grammar(model, {.use = ToolChoice::Use::kRequired}, tools());
    const auto markers = model.dialect->markers();
    for (int round = 0; round < random_runs(6, 60, 2); ++round) {
      const auto text = random_walk(grammar, 256 + markers.size(), random, markers);
      if (!text) continue;
      ++finished;
      const auto parsed = parse_with(*model.dialect->make_parser({}, tools()), *text, 5);
      ASSERT_GE(parsed.calls.size(), 1U) << model.name << ": " << *text;
      EXPECT_EQ(parsed.content, "") << model.name << ": " << *text;
      for (const ParsedReply::Call& call : parsed.calls) {
        EXPECT_TRUE(call.has_end) << model.name << ": " << *text;
        Json arguments;
        ASSERT_NO_THROW(arguments = parse_json(call.arguments, "arguments", ""))
            << model.name << ": " << *text << "\n"
            << call.arguments;
        if (call.name == "now") continue;
        ASSERT_EQ(call.name, "weather") << model.name;
        EXPECT_NE(arguments.find_string("city"), nullptr) << model.name << ": " << *text;
        const Json* days = arguments.find("days");
        ASSERT_TRUE(days != nullptr && days->number()) << model.name << ": " << *text;
        EXPECT_GE(*days->number(), 1) << model.name << ": " << *text;
      }
    }
  }
  EXPECT_GT(finished, models().size());
}

}  // namespace
}  // namespace ingot
