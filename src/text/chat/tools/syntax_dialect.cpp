// SyntaxDialect: the ToolDialect of a family of the table, with the frames of one template.
#include <algorithm>
#include <set>

#include "text/chat/tools/chat_tools.h"
#include "text/chat/tools/dialect_trial.h"
#include "text/chat/tools/reply_grammar.h"
#include "text/chat/tools/syntax_parser.h"
#include "text/chat/tools/tool_dialect.h"

namespace ingot {

namespace {

/// Adds the texts in `text` that may be control tokens: <...> and [...].
void add_markers(std::string_view text, std::set<std::string>& markers) {
  for (std::size_t at = 0; at < text.size(); ++at) {
    const char open = text[at];
    if (open != '<' && open != '[') continue;
    const std::size_t end = text.find_first_of(open == '<' ? "<> \n" : "[] \n\"{", at + 1);
    if (end == std::string_view::npos || end == at + 1) continue;
    if (text[end] == (open == '<' ? '>' : ']')) markers.emplace(text.substr(at, end + 1 - at));
  }
  // DeepSeek's tags have one control token behind their '<'.
  constexpr std::string_view kDsml = "｜DSML｜";
  if (text.find(kDsml) != std::string_view::npos) markers.emplace(kDsml);
}

std::string_view trimmed(std::string_view text) {
  const std::size_t end = text.find_last_not_of(" \t\r\n");
  return text.substr(0, end == std::string_view::npos ? 0 : end + 1);
}

class SyntaxDialect : public ToolDialect {
 public:
  explicit SyntaxDialect(DialectFacts facts) : facts_(std::move(facts)) {
    std::set<std::string> markers;
    for (const CallFrames& frames : facts_.frames) {
      for (const std::string* text :
           {&frames.lead, &frames.open, &frames.middle, &frames.close, &frames.key_begin,
            &frames.string_key_end, &frames.value_end, &frames.quote}) {
        add_markers(*text, markers);
      }
      if (frames.between) add_markers(*frames.between, markers);
    }
    const ReplySyntax& syntax = *facts_.syntax;
    for (const std::string_view text : {syntax.content_begin, syntax.content_end}) {
      add_markers(text, markers);
    }
    for (const std::string_view text : syntax.frames) add_markers(text, markers);
    const ReasoningSyntax& reasoning = facts_.reasoning;
    for (const std::string_view text : {reasoning.open, reasoning.close, reasoning.next}) {
      add_markers(text, markers);
    }
    markers_.assign(markers.begin(), markers.end());
  }

  std::string_view name() const override { return facts_.syntax->name; }
  bool is_native() const override { return facts_.syntax->name != "generic"; }
  std::span<const std::string> markers() const override { return markers_; }
  std::string_view reasoning_begin() const override { return facts_.reasoning.open; }
  std::string_view reasoning_end() const override { return facts_.reasoning.close; }

  std::vector<LostParts> add_tools(ChatInput& input, std::span<const Tool> tools,
                                   const ToolChoice& /*choice*/) const override {
    return add_chat_tools(input, tools, facts_);
  }

  ReplyBegin begin_of(std::string_view prompt) const override {
    const ReasoningSyntax& reasoning = facts_.reasoning;
    if (reasoning.close.empty()) return {};
    std::string_view text = trimmed(prompt);
    if (text.ends_with(reasoning.open)) return {.in_reasoning = true, .can_reason = true};
    if (!reasoning.next.empty() && text.ends_with(reasoning.next)) {
      text = trimmed(text.substr(0, text.size() - reasoning.next.size()));
    }
    return {.can_reason = !text.ends_with(reasoning.close) || reasoning.anywhere};
  }

  std::unique_ptr<ReplyParser> make_parser(const ReplyBegin& begin,
                                           std::span<const Tool> tools) const override {
    const SyntaxParser::Setup setup{.syntax = facts_.syntax,
                                    .reasoning = facts_.reasoning,
                                    .in_reasoning = begin.in_reasoning,
                                    .finds_calls = !tools.empty()};
    return std::make_unique<SyntaxParser>(setup, tools);
  }

  std::unique_ptr<ReplyParser> make_content_parser(const ReplyBegin& begin) const override {
    const SyntaxParser::Setup setup{.syntax = facts_.syntax,
                                    .reasoning = facts_.reasoning,
                                    .in_reasoning = begin.in_reasoning,
                                    .finds_calls = false,
                                    .has_format = true};
    return std::make_unique<SyntaxParser>(setup, std::span<const Tool>());
  }

  NodeId add_reply(Grammar& grammar, const ReplyBegin& begin, std::span<const Tool> tools,
                   const ToolChoice& choice, std::vector<SchemaNote>& notes,
                   CompileBudget& budget) const override {
    return add_reply_grammar(grammar, facts_, begin, tools, choice, notes, budget);
  }
  NodeId add_content_reply(Grammar& grammar, const ReplyBegin& begin, NodeId content,
                           CompileBudget& budget) const override {
    return add_content_grammar(grammar, facts_, begin, content, budget);
  }

 private:
  DialectFacts facts_;
  std::vector<std::string> markers_{};
};

}  // namespace

std::shared_ptr<const ToolDialect> find_tool_dialect(const ChatTemplate& chat_template) {
  return std::make_shared<SyntaxDialect>(find_dialect_facts(chat_template, chat_template.source()));
}

}  // namespace ingot
