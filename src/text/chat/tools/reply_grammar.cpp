// Grammars of replies: free text up to a call, calls, and what stands around them.
#include "text/chat/tools/reply_grammar.h"

#include <algorithm>
#include <set>
#include <string>
#include <utility>

#include "base/error.h"
#include "base/text.h"
#include "constraint/language/pattern.h"
#include "text/chat/tools/argument_grammar.h"

namespace ingot {

namespace {

/// Returns the beginning of `open` from which a text is a call: its first part, up to a list or a
/// further tag.
std::string_view trigger_of(const CallFrames& frames) {
  const CallSyntax& syntax = *frames.syntax;
  std::string_view part = syntax.section_begin.empty() ? syntax.call_begin : syntax.section_begin;
  for (const std::string_view next : {" [", " <function"}) {
    part = part.substr(0, part.find(next));
  }
  const std::string_view open = frames.open;
  if (part.empty()) return open;
  for (std::size_t n = 1; n <= open.size(); ++n) {
    if (fit(part, open.substr(0, n)) == Fit::kWhole) return open.substr(0, n);
  }
  return open;
}

class ReplyBuilder {
 public:
  ReplyBuilder(CallGrammar& out, const DialectFacts& facts, const ReplyBegin& begin)
      : out_(out), facts_(facts), begin_(begin) {}

  /// Adds reasoning before `body`. `is_free`: the body begins with any text. `gap` stands between
  /// them, if it is given.
  NodeId with_reasoning(NodeId body, bool is_free, NodeId gap = kNoNode) {
    const ReasoningSyntax& reasoning = facts_.reasoning;
    if (reasoning.close.empty() || !begin_.can_reason) return body;
    std::vector<NodeId> parts;
    if (!begin_.in_reasoning) parts.push_back(literal(reasoning.open));
    parts.push_back(grammar().terminal(TextDfa::until(reasoning.close, out_.budget)));
    if (!is_free && !reasoning.next.empty()) parts.push_back(literal(reasoning.next));
    if (gap != kNoNode) parts.push_back(gap);
    parts.push_back(body);
    const NodeId reasoned = grammar().sequence(std::move(parts));
    return begin_.in_reasoning ? reasoned : grammar().choice({body, reasoned});
  }

  NodeId add(std::span<const Tool> tools, const ToolChoice& choice) {
    collect(tools, choice);
    const bool calls = choice.use != ToolChoice::Use::kNone && !tools_.empty();
    if (choice.use == ToolChoice::Use::kRequired && calls) {
      return with_reasoning(required(choice), false);
    }
    return with_reasoning(calls ? automatic(choice) : free_text(), true);
  }

  NodeId space() { return out_.pattern("[ \\n]{0,2}"); }
  NodeId literal(std::string_view text) { return grammar().literal(text, out_.budget); }

 private:
  Grammar& grammar() { return out_.grammar; }

  void collect(std::span<const Tool> tools, const ToolChoice& choice) {
    for (const Tool& tool : tools) {
      names_.push_back(tool.name);
      const bool is_allowed = choice.allowed.empty() ||
                              std::find(choice.allowed.begin(), choice.allowed.end(), tool.name) !=
                                  choice.allowed.end();
      if (is_allowed) tools_.push_back(&tool);
    }
  }

  std::string_view trigger() const { return trigger_of(facts_.frames.front()); }
  bool is_bare() const { return facts_.frames.front().syntax->is_bare; }

  /// Text in which no call begins.
  NodeId free_text() {
    const TextDfa text = TextDfa::without(triggers(), out_.budget);
    if (!is_bare()) return grammar().terminal(text);
    return grammar().terminal(text.without_texts_of(bare_calls(), out_.budget));
  }
  /// What opens calls anywhere in a text.
  std::vector<std::string> triggers() const {
    if (!is_bare()) return {std::string(trigger())};
    std::vector<std::string> found;
    for (const CallSyntax& form : facts_.syntax->calls) {
      const std::string_view part =
          form.section_begin.empty() ? form.call_begin : form.section_begin;
      if (!form.is_bare && !part.empty()) found.emplace_back(part);
    }
    return found;
  }
  /// Texts that a parser takes for a bare call of a known tool, also of one that is not allowed.
  TextDfa bare_calls() {
    const bool is_object = facts_.frames.front().syntax->body == CallBody::kObject;
    const auto pattern = [this](std::string_view text) {
      return compile_pattern(text, Anchoring::kWhole, out_.budget);
    };
    constexpr std::string_view kObjectBegin =
        "[ \\t\\r\\n]*\\{[ \\t\\r\\n]*(\"type\"[ \\t\\r\\n]*:[ \\t\\r\\n]*\"function\"[ "
        "\\t\\r\\n]*,"
        "[ \\t\\r\\n]*)?\"name\"[ \\t\\r\\n]*:[ \\t\\r\\n]*\"";
    constexpr std::string_view kObjectEnd =
        "\"[ \\t\\r\\n]*,[ \\t\\r\\n]*\"(arguments|parameters)\"[ \\t\\r\\n]*:[ \\t\\r\\n]*\\{"
        "[\\s\\S]*";
    const TextDfa begin = pattern(is_object ? kObjectBegin : "[ \\t\\r\\n]*\\[[ \\t\\r\\n]*");
    const TextDfa end = pattern(is_object ? kObjectEnd : "[ \\t\\r\\n]*\\([\\s\\S]*");
    return begin.followed_by(TextDfa::any_of(names_, out_.budget), out_.budget)
        .followed_by(end, out_.budget);
  }

  /// A call from its name to the end of its arguments, of any of the tools.
  NodeId any_call(const CallFrames& frames) {
    std::vector<NodeId> calls;
    for (const Tool* tool : tools_) calls.push_back(call(frames, *tool));
    return calls.size() == 1 ? calls.front() : grammar().choice(std::move(calls));
  }
  NodeId call(const CallFrames& frames, const Tool& tool) {
    return grammar().sequence({literal(tool.name), add_arguments(out_, frames, tool)});
  }

  /// Calls behind `open`, to the end of their section.
  NodeId calls_behind_open(const CallFrames& frames, bool parallel) {
    NodeId calls = any_call(frames);
    if (parallel && frames.between) {
      calls = grammar().add(
          grammar::Repeat{.part = calls, .count_min = 1, .separator = out_.frame(*frames.between)});
    }
    if (frames.close.empty()) return calls;
    return grammar().sequence({calls, out_.frame(frames.close)});
  }

  /// Free text until a call opens; its rest; and so on.
  NodeId automatic(const ToolChoice& choice) {
    const CallFrames& first = facts_.frames.front();
    const NodeId text = free_text();
    if (is_bare()) {
      const NodeId calls =
          grammar().sequence({out_.frame(first.open), calls_behind_open(first, choice.parallel)});
      return grammar().choice({text, calls});
    }
    const std::string_view begin = trigger();
    std::vector<NodeId> forms;
    for (const CallFrames& frames : facts_.frames) {
      const std::string_view own = trigger_of(frames);
      if (!own.ends_with(begin)) continue;
      const std::string_view rest = std::string_view(frames.open).substr(own.size());
      const NodeId calls = calls_behind_open(frames, choice.parallel);
      forms.push_back(rest.empty() ? calls : grammar().sequence({out_.frame(rest), calls}));
    }
    const NodeId calls = forms.size() == 1 ? forms.front() : grammar().choice(std::move(forms));
    const NodeId unit =
        grammar().sequence({grammar().terminal(TextDfa::until(begin, out_.budget)), calls});
    if (!choice.parallel) return grammar().choice({text, unit});
    return grammar().sequence({grammar().add(grammar::Repeat{.part = unit}), text});
  }

  /// Calls alone.
  NodeId required(const ToolChoice& choice) {
    std::vector<NodeId> forms;
    for (const CallFrames& frames : facts_.frames) {
      std::string_view lead = frames.lead;
      const std::size_t close = facts_.reasoning.close.empty() ? std::string_view::npos
                                                               : lead.rfind(facts_.reasoning.close);
      if (close != std::string_view::npos)
        lead.remove_prefix(close + facts_.reasoning.close.size());
      lead.remove_prefix(std::min(lead.find_first_not_of(" \t\r\n"), lead.size()));
      if (lead.find(kNameHole) == std::string_view::npos) {
        forms.push_back(grammar().sequence({space(), out_.frame(cat(lead, frames.open)),
                                            calls_behind_open(frames, choice.parallel)}));
        continue;
      }
      for (const Tool* tool : tools_) {
        forms.push_back(grammar().sequence({space(), out_.frame(cat(lead, frames.open), tool->name),
                                            call(frames, *tool), out_.frame(frames.close)}));
      }
    }
    return forms.size() == 1 ? forms.front() : grammar().choice(std::move(forms));
  }

  CallGrammar& out_;
  const DialectFacts& facts_;
  const ReplyBegin& begin_;
  std::vector<const Tool*> tools_{};
  std::vector<std::string> names_{};  // all tools, also if the model may not call them
};

}  // namespace

NodeId add_reply_grammar(Grammar& grammar, const DialectFacts& facts, const ReplyBegin& begin,
                         std::span<const Tool> tools, const ToolChoice& choice,
                         std::vector<SchemaNote>& notes, CompileBudget& budget) {
  std::vector<SchemaNote> found;
  CallGrammar out{grammar, found, budget, facts.has_short_ids};
  const NodeId reply = ReplyBuilder(out, facts, begin).add(tools, choice);
  // A tool that may be called in several forms has the same notes for each.
  std::set<std::pair<std::string, std::string>> seen;
  for (SchemaNote& note : found) {
    if (seen.emplace(note.pointer, note.reason).second) notes.push_back(std::move(note));
  }
  return reply;
}

NodeId add_content_grammar(Grammar& grammar, const DialectFacts& facts, const ReplyBegin& begin,
                           NodeId content, CompileBudget& budget) {
  std::vector<SchemaNote> notes;
  CallGrammar out{grammar, notes, budget, facts.has_short_ids};
  ReplyBuilder builder(out, facts, begin);
  std::vector<NodeId> parts;
  if (!facts.syntax->content_begin.empty()) {
    parts.push_back(builder.literal(facts.syntax->content_begin));
  }
  parts.push_back(content);
  if (!facts.syntax->content_end.empty()) {
    parts.push_back(builder.literal(facts.syntax->content_end));
  }
  // The parser drops white space behind reasoning. Elsewhere it would be content.
  const NodeId gap = facts.syntax->content_begin.empty() ? builder.space() : kNoNode;
  return builder.with_reasoning(grammar.sequence(std::move(parts)), false, gap);
}

}  // namespace ingot
