// Fuzz target: any text as a reply of any dialect: with calls, of a format, or either. How it is
// cut changes no event; calls are numbered and nested well; JSON arguments of a call that ends are
// JSON.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/check.h"
#include "base/error.h"
#include "base/utf8.h"
#include "constraint/constraint_fuzz_checks.h"
#include "constraint/language/pattern.h"
#include "constraint/matcher.h"
#include "constraint/schema/json_schema.h"
#include "load/json.h"
#include "text/chat/tools/either_parser.h"
#include "text/chat/tools/syntax_parser.h"

namespace {

using ingot::ReplyEvent;
using Kind = ingot::ReplyEvent::Kind;

/// An input: a line with the dialect's name, two bytes that choose the setup, and the reply. Bits
/// of the first: in reasoning, with reasoning, no calls; 32: calls or content; 128: content.
struct Input {
  const ingot::ReplySyntax* syntax = nullptr;
  std::uint8_t setup = 0;
  std::uint8_t cuts = 0;  ///< seed of the places where the reply is cut
  std::string_view reply;
};

Input split_input(std::string_view all) {
  Input input;
  const std::size_t end = std::min(all.find('\n'), all.size());
  const std::string_view name = all.substr(0, end);
  const auto syntaxes = ingot::reply_syntaxes();
  // Any byte chooses a dialect, so that no input is wasted.
  const std::size_t byte = name.empty() ? 0 : static_cast<unsigned char>(name[0]);
  input.syntax = &syntaxes[byte % syntaxes.size()];
  for (const ingot::ReplySyntax& syntax : syntaxes) {
    if (syntax.name == name) input.syntax = &syntax;
  }
  all.remove_prefix(std::min(end + 1, all.size()));
  if (!all.empty()) input.setup = static_cast<std::uint8_t>(all[0]);
  if (all.size() > 1) input.cuts = static_cast<std::uint8_t>(all[1]);
  input.reply = all.substr(std::min<std::size_t>(2, all.size()));
  return input;
}

std::vector<ingot::Tool> make_tools() {
  constexpr std::string_view kParameters = R"({"type": "object", "properties": {
      "city": {"type": "string"}, "days": {"type": "integer"}, "any": {},
      "tags": {"type": "array", "items": {"type": ["integer", "string"]}},
      "place": {"type": "object", "properties": {"street": {"type": "string"}, "near": {"$ref":
      "#/properties/place"}, "marks": {"anyOf": [{"type": "array", "items": {"type": "object",
      "required": ["k"], "additionalProperties": {"type": "boolean"}}}, {"type": "null"}]}}},
      "note": {"type": ["string", "null", "number"]}}})";
  return {{.name = "weather", .parameters = ingot::parse_json(kParameters, "fuzz", "parameters")},
          {.name = "now"},
          {.kind = ingot::Tool::Kind::kCustom, .name = "shell"}};
}

const std::vector<ingot::Tool>& tools() {
  static const std::vector<ingot::Tool> all = make_tools();
  return all;
}

std::unique_ptr<ingot::ReplyParser> make_syntax_parser(const Input& input, bool has_format) {
  const auto reasonings = ingot::reasoning_syntaxes();
  const bool reasons = (input.setup & 2U) != 0;
  ingot::ReasoningSyntax reasoning = input.syntax->reasoning;
  if (reasoning.open.empty() && reasons) {
    reasoning = reasonings[(input.setup >> 3U) % reasonings.size()];
  }
  const ingot::SyntaxParser::Setup setup{
      .syntax = input.syntax,
      .reasoning = reasoning,
      .in_reasoning = !reasoning.open.empty() && (input.setup & 1U) != 0,
      .finds_calls = !has_format && (input.setup & 4U) == 0,
      .has_format = has_format};
  return std::make_unique<ingot::SyntaxParser>(setup, tools());
}

std::shared_ptr<const ingot::MatcherGrammar> compile(ingot::Grammar grammar, ingot::NodeId root,
                                                     ingot::CompileBudget& budget) {
  grammar.set_root(root);
  return ingot::make_matcher_grammar(std::move(grammar), ingot::testing::fuzz_trie(), budget);
}

/// Replies that count as calls: texts with few braces, so that either grammar may be left first.
const std::shared_ptr<const ingot::MatcherGrammar>& call_texts() {
  static const auto texts = [] {
    ingot::Grammar grammar;
    ingot::CompileBudget budget;
    const ingot::NodeId root = grammar.terminal(
        ingot::compile_pattern("[^}]*(\\}[^}]*){0,3}", ingot::Anchoring::kWhole, budget));
    return compile(std::move(grammar), root, budget);
  }();
  return texts;
}

/// Replies that count as content: JSON.
const std::shared_ptr<const ingot::MatcherGrammar>& content_texts() {
  static const auto texts = [] {
    ingot::Grammar grammar;
    ingot::CompileBudget budget;
    const ingot::NodeId root = ingot::add_any_json(grammar, false, budget);
    return compile(std::move(grammar), root, budget);
  }();
  return texts;
}

std::unique_ptr<ingot::ReplyParser> make_parser(const Input& input) {
  if ((input.setup & 32U) != 0) {
    return ingot::make_either_parser({call_texts(), make_syntax_parser(input, false)},
                                     {content_texts(), make_syntax_parser(input, true)});
  }
  return make_syntax_parser(input, (input.setup & 128U) != 0);
}

/// Appends events, and joins texts of one kind, as a client does.
void join(std::vector<ReplyEvent>& all, const std::vector<ReplyEvent>& more) {
  for (const ReplyEvent& event : more) {
    const bool is_text = event.kind != Kind::kCallBegin && event.kind != Kind::kCallEnd;
    INGOT_CHECK(!is_text || !event.text.empty(), "an event without text");
    if (is_text && !all.empty() && all.back().kind == event.kind) {
      all.back().text += event.text;
    } else {
      all.push_back(event);
    }
  }
}

/// The events of the reply in pieces of 1 to `piece_max` bytes.
std::vector<ReplyEvent> parse(const Input& input, std::size_t piece_max) {
  const auto parser = make_parser(input);
  std::vector<ReplyEvent> all;
  std::uint32_t random = input.cuts;
  for (std::string_view rest = input.reply; !rest.empty();) {
    random = random * 1664525U + 1013904223U;
    const std::string_view piece = rest.substr(0, 1 + (random >> 8U) % piece_max);
    std::vector<ReplyEvent> more;
    parser->add(piece, more);
    join(all, more);
    rest.remove_prefix(piece.size());
  }
  std::vector<ReplyEvent> more;
  parser->finish(more);
  join(all, more);
  return all;
}

void check_equal(const std::vector<ReplyEvent>& whole, const std::vector<ReplyEvent>& cut) {
  INGOT_CHECK(whole.size() == cut.size(), "cutting changed the number of events: ", whole.size(),
              ", ", cut.size());
  for (std::size_t i = 0; i < whole.size(); ++i) {
    const bool is_equal = whole[i].kind == cut[i].kind && whole[i].text == cut[i].text &&
                          whole[i].call == cut[i].call;
    INGOT_CHECK(is_equal, "cutting changed event ", i, ": ", whole[i].text, "; ", cut[i].text);
  }
}

/// A call that has ended has arguments that clients can read.
void check_arguments(const Input& input, const std::string& name, const std::string& arguments) {
  // Values between tags, and literals, are JSON because the grammar makes them so. Arguments in a
  // JSON string are whatever text it holds; broken UTF-8 in strings is passed on.
  const ingot::CallBody body = input.syntax->calls[0].body;
  const bool is_json = body == ingot::CallBody::kObject || body == ingot::CallBody::kNamed;
  if (!is_json || name == "shell" || !arguments.starts_with('{')) return;
  if (!ingot::is_utf8(input.reply)) return;
  try {
    const auto value = ingot::parse_json(arguments, "arguments", "json", {.depth_max = 100'000});
    INGOT_CHECK(value.as_object() != nullptr, "arguments are no object: ", arguments);
  } catch (const ingot::Error& error) {
    INGOT_CHECK(false, error.message(), ": ", arguments);
  }
}

void check_order(const Input& input, const std::vector<ReplyEvent>& events) {
  bool is_in_call = false;
  std::size_t calls = 0;
  std::size_t bytes = 0;
  std::string name, arguments;
  for (const ReplyEvent& event : events) {
    if (event.kind == Kind::kCallBegin) {
      INGOT_CHECK(event.call == calls++, "call ", event.call, " is not the next");
      INGOT_CHECK(!event.text.empty(), "a call without a name");
      is_in_call = true;
      name = event.text;
      arguments.clear();
    } else if (event.kind == Kind::kCallArguments || event.kind == Kind::kCallEnd) {
      INGOT_CHECK(is_in_call && event.call + 1 == calls, "a part of no call");
      arguments += event.text;
      if (event.kind == Kind::kCallEnd) check_arguments(input, name, arguments);
      is_in_call = event.kind != Kind::kCallEnd;
    } else {
      is_in_call = false;  // a broken call
    }
    if (event.kind == Kind::kContent || event.kind == Kind::kReasoning) bytes += event.text.size();
  }
  INGOT_CHECK(bytes <= input.reply.size(), "text from nowhere");
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const Input input = split_input({reinterpret_cast<const char*>(data), size});
  const std::size_t whole_size = std::max<std::size_t>(input.reply.size(), 1);
  const auto parser = make_parser(input);
  std::vector<ReplyEvent> events, whole;
  parser->add(input.reply, events);
  parser->finish(events);
  join(whole, events);
  check_order(input, whole);
  check_equal(whole, parse(input, 1));
  check_equal(whole, parse(input, std::min<std::size_t>(whole_size, 24)));
  return 0;
}
