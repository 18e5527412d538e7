// Trial renderings: messages with calls are rendered, and each family's parser reads them back.
#include "text/chat/tools/dialect_trial.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "base/error.h"
#include "base/text.h"
#include "load/json_object.h"
#include "text/chat/tools/syntax_parser.h"

namespace ingot {

namespace {

// No template contains these texts. The keys are in alphabetical order, because some templates
// sort.
constexpr std::string_view kQuestion = "qjquestion";
constexpr std::string_view kContent = "qjcontent";
constexpr std::string_view kThought = "qjthought";
constexpr std::string_view kResult = "qjresult";
constexpr std::string_view kNames[] = {"qjlookup", "qjwrite"};
constexpr std::string_view kIds[] = {"qjcallaa0", "qjcallbb1"};
constexpr std::string_view kLongId = "call_qjabcdefghijklmnop";
constexpr std::string_view kTextKey = "qjfirst";
constexpr std::string_view kTextValue = "qj word";
constexpr std::string_view kNumberKey = "qjsecond";
constexpr int kNumberValue = 17;
constexpr std::string_view kListKey = "qjlist";

Json list_of(std::initializer_list<Json> elements) {
  Json list = Json::array();
  for (const Json& element : elements) list.push(element);
  return list;
}

Json trial_parameters(bool is_described) {
  const auto property = [&](std::string_view type) {
    Json schema = json_object({{"type", type}});
    if (is_described) schema.set("description", "a value");
    return schema;
  };
  return json_object({{"type", "object"},
                      {"properties", json_object({{kTextKey, property("string")},
                                                  {kNumberKey, property("integer")}})},
                      {"required", list_of({kTextKey, kNumberKey})}});
}

std::vector<Tool> trial_tools() {
  std::vector<Tool> tools;
  for (const std::string_view name : kNames) {
    tools.push_back({.name = std::string(name),
                     .description = "does something",
                     .parameters = trial_parameters(true)});
  }
  return tools;
}

Json trial_tools_json(bool is_described) {
  Json tools = Json::array();
  for (const std::string_view name : kNames) {
    tools.push(
        json_object({{"type", "function"},
                     {"function", json_object({{"name", name},
                                               {"description", "does something"},
                                               {"parameters", trial_parameters(is_described)}})}}));
  }
  return tools;
}

/// What a trial's assistant message has.
struct TrialReply {
  std::size_t calls = 1;
  bool is_string = false;         ///< arguments as JSON text
  bool has_null_content = false;  ///< content is null; else a text, empty if `content` is
  std::string_view content{};
  std::string_view reasoning_key{};
  bool is_empty = false;  ///< calls without arguments
  bool has_list = false;  ///< calls with a list among the arguments
  bool has_results = false;
  std::string_view id{};  ///< id of the first call, if not kIds[0]
};

Json trial_arguments(const TrialReply& reply) {
  Json arguments = Json::object();
  if (!reply.is_empty) {
    arguments.set(std::string(kTextKey), kTextValue);
    arguments.set(std::string(kNumberKey), kNumberValue);
  }
  if (reply.has_list) arguments.set(std::string(kListKey), list_of({"qj item"}));
  return reply.is_string ? Json(arguments.dump()) : arguments;
}

Json trial_message(const TrialReply& reply) {
  Json message = json_object({{"role", "assistant"}});
  message.set("content", reply.has_null_content ? Json() : Json(reply.content));
  if (!reply.reasoning_key.empty()) message.set(std::string(reply.reasoning_key), kThought);
  if (reply.calls == 0) return message;
  Json calls = Json::array();
  for (std::size_t i = 0; i < reply.calls; ++i) {
    const std::string_view id = i == 0 && !reply.id.empty() ? reply.id : kIds[i];
    calls.push(json_object(
        {{"id", id},
         {"type", "function"},
         {"function", json_object({{"name", kNames[i]}, {"arguments", trial_arguments(reply)}})}}));
  }
  message.set("tool_calls", std::move(calls));
  return message;
}

class Trials {
 public:
  Trials(const ChatTemplate& chat_template, bool writes_tools, bool is_described = true)
      : template_(chat_template), writes_tools_(writes_tools), is_described_(is_described) {
    header_ = behind_question(render(Json::array(), true).value_or(""));
  }

  /// The prompt of a question and more messages; nothing if the template refuses.
  std::optional<std::string> render(const Json& messages, bool generates) const {
    ChatInput input{.add_generation_prompt = generates};
    input.now.tm_year = 124;
    input.now.tm_mday = 1;
    input.messages.push(json_object({{"role", "user"}, {"content", kQuestion}}));
    for (const Json& message : *messages.as_array()) input.messages.push(message);
    if (writes_tools_) input.tools = trial_tools_json(is_described_);
    try {
      return template_.render(input).bytes;
    } catch (const Error&) {
      return std::nullopt;
    }
  }

  /// The text of a reply: what the model would have written, and what the template writes behind.
  std::optional<std::string> reply_text(const TrialReply& reply) const {
    Json messages = list_of({trial_message(reply)});
    if (reply.has_results) add_results(messages, reply);
    const auto prompt = render(messages, false);
    if (!prompt) return std::nullopt;
    return std::string(without_header(behind_question(*prompt)));
  }

  void add_results(Json& messages, const TrialReply& reply) const {
    for (std::size_t i = 0; i < reply.calls; ++i) {
      const std::string_view id = i == 0 && !reply.id.empty() ? reply.id : kIds[i];
      messages.push(json_object({{"role", "tool"},
                                 {"tool_call_id", id},
                                 {"name", kNames[i]},
                                 {"content", cat(kResult, i)}}));
    }
  }

 private:
  static std::string behind_question(const std::string& prompt) {
    const std::size_t at = prompt.rfind(kQuestion);
    return at == std::string::npos ? std::string() : prompt.substr(at + kQuestion.size());
  }
  /// Removes the header of the assistant's message, which the generation prompt shows. Behind it,
  /// the generation prompt may have a tag that this reply does not have.
  std::string_view without_header(const std::string& text) const {
    const std::string_view all = text;
    if (all.starts_with(header_)) return all.substr(header_.size());
    std::size_t same = 0;
    while (same < std::min(text.size(), header_.size()) && text[same] == header_[same]) ++same;
    const std::size_t end = all.substr(0, same).find_last_of(">]\n");
    const std::string_view rest = all.substr(end == std::string_view::npos ? 0 : end + 1);
    // The generation prompt may have a message more in front of its last tag.
    const std::size_t tag = header_.find_last_of("<[");
    if (tag == std::string::npos) return rest;
    const std::string_view last = std::string_view(header_).substr(tag);
    return rest.starts_with(last) ? rest.substr(last.size()) : rest;
  }

  const ChatTemplate& template_;
  bool writes_tools_, is_described_;
  std::string header_{};
};

/// Whether arguments are those of a trial.
bool are_trial_arguments(const std::string& text, const TrialReply& reply) {
  try {
    const Json value = parse_json(text, "arguments", "");
    if (value.as_object() == nullptr) return false;
    if (reply.is_empty) return value.as_object()->empty();
    const std::string* word = value.find_string(kTextKey);
    const Json* number = value.find(kNumberKey);
    if (reply.has_list) {
      const Json* list = value.find(kListKey);
      if (list == nullptr || list->as_array() == nullptr) return false;
    }
    return word != nullptr && *word == kTextValue && number != nullptr &&
           number->whole() == kNumberValue;
  } catch (const Error&) {
    return false;
  }
}

/// Parses a reply's text by a syntax. Returns where the calls stand, if they are those of the trial
/// and nothing but white space (and reasoning, content, if the reply has them) stands before them.
std::optional<CallText> parse_trial(const ReplySyntax& syntax, const ReasoningSyntax& reasoning,
                                    const TrialReply& reply, const std::string& text) {
  const std::vector<Tool> tools = trial_tools();
  // The header may have opened reasoning, which this reply does not have.
  const std::size_t first = text.find_first_not_of(" \t\r\n");
  const bool closes = !reasoning.close.empty() && first != std::string::npos &&
                      std::string_view(text).substr(first).starts_with(reasoning.close);
  SyntaxParser parser({.syntax = &syntax, .reasoning = reasoning, .in_reasoning = closes}, tools);
  std::vector<ReplyEvent> events;
  parser.add(text, events);
  parser.finish(events);
  std::string before;
  std::vector<std::string> names, arguments;
  for (const ReplyEvent& event : events) {
    if (event.kind == ReplyEvent::Kind::kCallBegin) {
      names.push_back(event.text);
      arguments.emplace_back();
    } else if (event.kind == ReplyEvent::Kind::kCallArguments) {
      arguments.back() += event.text;
    } else if (event.kind == ReplyEvent::Kind::kContent && names.empty()) {
      before += event.text;
    }
  }
  if (names.size() != reply.calls || parser.spans().size() != reply.calls) return std::nullopt;
  for (std::size_t i = 0; i < names.size(); ++i) {
    if (names[i] != kNames[i] || !are_trial_arguments(arguments[i], reply)) return std::nullopt;
  }
  const std::size_t begin = before.find_first_not_of(" \t\r\n");
  const std::size_t end = before.find_last_not_of(" \t\r\n");
  const std::string_view rest = begin == std::string::npos
                                    ? std::string_view()
                                    : std::string_view(before).substr(begin, end + 1 - begin);
  if (rest != reply.content && !rest.empty()) return std::nullopt;
  return CallText{
      .text = text, .spans = parser.spans(), .ids = {std::string(kIds[0]), std::string(kIds[1])}};
}

std::optional<CallFrames> frames_of_sample(const ReplySyntax& syntax) {
  if (syntax.sample.empty()) return std::nullopt;
  const auto parse = [&](std::string_view text, std::size_t calls, bool is_empty) {
    return parse_trial(syntax, syntax.reasoning, {.calls = calls, .is_empty = is_empty},
                       std::string(text));
  };
  auto calls = parse(syntax.sample, 2, false);
  if (!calls) calls = parse(syntax.sample, 1, false);
  if (!calls) return std::nullopt;
  std::optional<CallText> empty;
  if (!syntax.empty_sample.empty()) {
    // The empty sample calls the second tool.
    std::string text(syntax.empty_sample);
    text.replace(text.find(kNames[1]), kNames[1].size(), kNames[0]);
    empty = parse(text, 1, true);
  }
  // The form that the sample has is the first.
  return learn_frames(syntax.calls[0], *calls, empty ? &*empty : nullptr);
}

ReasoningSyntax reasoning_of(const ReplySyntax& syntax, std::string_view source) {
  if (!syntax.reasoning.open.empty()) return syntax.reasoning;
  for (const ReasoningSyntax& reasoning : reasoning_syntaxes()) {
    if (source.find(reasoning.close) != std::string_view::npos) return reasoning;
  }
  return {};
}

/// Tries all families with one way to give calls to the template.
bool find_syntax(const Trials& trials, std::string_view source, TrialReply reply,
                 DialectFacts& facts) {
  const auto one = trials.reply_text(reply);
  if (!one || one->find(kNames[0]) == std::string::npos) return false;
  reply.calls = 2;
  const auto two = trials.reply_text(reply);
  TrialReply none = reply;
  none.calls = 1;
  none.is_empty = true;
  const auto empty = trials.reply_text(none);
  for (const ReplySyntax& syntax : reply_syntaxes()) {
    if (!syntax.needs.empty() && source.find(syntax.needs) == std::string_view::npos) continue;
    if (syntax.name == "generic") continue;
    const ReasoningSyntax reasoning = reasoning_of(syntax, source);
    reply.calls = 1;
    const auto first = parse_trial(syntax, reasoning, reply, *one);
    if (!first) continue;
    reply.calls = 2;
    auto both = two ? parse_trial(syntax, reasoning, reply, *two) : std::nullopt;
    const auto bare = empty ? parse_trial(syntax, reasoning, none, *empty) : std::nullopt;
    for (std::size_t i = 0; i < syntax.forms; ++i) {
      const CallSyntax& form = syntax.calls[i];
      const std::string_view part =
          form.section_begin.empty() ? form.call_begin : form.section_begin;
      const std::string_view first_byte =
          std::string_view(first->text).substr(first->spans[0].begin, 1);
      const Fit begins = part.empty() ? Fit::kWhole : fit(part, first_byte);
      if (i + 1 < syntax.forms && begins == Fit::kNo) continue;
      auto frames = learn_frames(form, both ? *both : *first, bare ? &*bare : nullptr);
      if (!frames) continue;
      facts.syntax = &syntax;
      facts.reasoning = reasoning;
      facts.frames = {std::move(*frames)};
      facts.calls = reply.is_string ? DialectFacts::Calls::kString : DialectFacts::Calls::kObject;
      facts.has_null_content = reply.has_null_content;
      auto more = frames_of_sample(syntax);
      if (more && more->open != facts.frames[0].open) facts.frames.push_back(std::move(*more));
      return true;
    }
  }
  return false;
}

/// Tries the ways to give calls: arguments as object or text; content with text, empty, or null.
bool find_native(const Trials& trials, std::string_view source, DialectFacts& facts) {
  for (const bool has_null : {false, true}) {
    for (const bool is_string : {false, true}) {
      const TrialReply reply{.is_string = is_string, .has_null_content = has_null};
      if (!find_syntax(trials, source, reply, facts)) continue;
      return true;
    }
  }
  return false;
}

/// Whether a reply's calls are found also with the given members.
bool still_fits(const Trials& trials, const DialectFacts& facts, const TrialReply& reply) {
  const auto text = trials.reply_text(reply);
  return text && parse_trial(*facts.syntax, facts.reasoning, reply, *text);
}

bool has_text_and_calls(const std::optional<std::string>& text) {
  return text && text->find(kContent) != std::string::npos &&
         text->find(kNames[0]) != std::string::npos;
}

/// Finds where the text of a reply with calls may stand.
void find_places_of_text(const Trials& trials, TrialReply reply, DialectFacts& facts) {
  TrialReply said{.calls = 0, .content = kContent};
  reply.has_results = true;
  Json messages = list_of({trial_message(said), trial_message(reply)});
  trials.add_results(messages, reply);
  said.content = "qjend";
  messages.push(trial_message(said));
  facts.has_text_before = has_text_and_calls(trials.render(messages, false));
  reply.content = kContent;
  facts.joins_text = !facts.has_null_content && has_text_and_calls(trials.reply_text(reply));
}

void find_details(const Trials& trials, DialectFacts& facts) {
  TrialReply reply{.is_string = facts.calls == DialectFacts::Calls::kString,
                   .has_null_content = facts.has_null_content};
  if (!facts.has_null_content) {
    // Some templates write calls only in messages whose content is null.
    TrialReply spoken = reply;
    spoken.content = kContent;
    const auto text = trials.reply_text(spoken);
    if (!text || text->find(kNames[0]) == std::string::npos) {
      spoken.content = {};
      spoken.has_null_content = true;
      facts.has_null_content = still_fits(trials, facts, spoken);
      reply.has_null_content = facts.has_null_content;
    }
  }
  find_places_of_text(trials, reply, facts);
  TrialReply listed = reply;
  listed.has_list = true;
  facts.has_nested_text = facts.calls == DialectFacts::Calls::kObject &&
                          facts.frames.front().syntax->body == CallBody::kTagged &&
                          !still_fits(trials, facts, listed);
  TrialReply answered = reply;
  answered.has_results = true;
  const auto prompt = trials.reply_text(answered);
  facts.writes_results = prompt && prompt->find(cat(kResult, 0)) != std::string::npos;
  answered.id = kLongId;
  facts.has_short_ids = prompt && !trials.reply_text(answered);
}

void find_reasoning_key(const Trials& trials, DialectFacts& facts) {
  const bool is_native = facts.calls != DialectFacts::Calls::kText;
  for (const std::string_view key : {"reasoning_content", "reasoning", "thinking"}) {
    TrialReply reply{.calls = is_native ? std::size_t{1} : std::size_t{0},
                     .is_string = facts.calls == DialectFacts::Calls::kString,
                     .has_null_content = facts.has_null_content,
                     .reasoning_key = key};
    const auto text = trials.reply_text(reply);
    if (!text || text->find(kThought) == std::string::npos) continue;
    facts.reasoning_key = key;
    reply.content = kContent;
    facts.joins_thoughts = facts.joins_text && has_text_and_calls(trials.reply_text(reply));
    return;
  }
}

/// Whether the template writes a tool's result behind a reply whose calls are text.
bool tells_results(const Trials& trials) {
  TrialReply reply{.calls = 0, .content = kContent};
  Json messages = list_of({trial_message(reply)});
  reply.calls = 1;
  trials.add_results(messages, reply);
  const auto prompt = trials.render(messages, true);
  return prompt && prompt->find(cat(kResult, 0)) != std::string::npos;
}

/// Finds a family whose template tells the tools but writes no calls.
bool find_by_hint(const Trials& trials, std::string_view source, const std::string& prompt,
                  DialectFacts& facts) {
  for (const ReplySyntax& syntax : reply_syntaxes()) {
    const bool is_hinted =
        !syntax.hint.empty() && (source.find(syntax.hint) != std::string_view::npos ||
                                 prompt.find(syntax.hint) != std::string::npos);
    if (!is_hinted) continue;
    auto frames = frames_of_sample(syntax);
    if (!frames) continue;
    facts.syntax = &syntax;
    facts.reasoning = reasoning_of(syntax, source);
    facts.frames = {std::move(*frames)};
    facts.writes_results = tells_results(trials);
    return true;
  }
  return false;
}

}  // namespace

DialectFacts find_dialect_facts(const ChatTemplate& chat_template, std::string_view source) {
  DialectFacts facts;
  const auto prompt = Trials(chat_template, true).render(Json::array(), true);
  facts.writes_tools = prompt && prompt->find(kNames[0]) != std::string::npos;
  facts.needs_descriptions =
      facts.writes_tools && !Trials(chat_template, true, false).render(Json::array(), true);
  const Trials trials(chat_template, facts.writes_tools);
  if (find_native(trials, source, facts)) {
    find_details(trials, facts);
  } else if (!facts.writes_tools || !find_by_hint(trials, source, *prompt, facts)) {
    facts.syntax = &reply_syntaxes().back();
    facts.reasoning = reasoning_of(*facts.syntax, source);
    if (auto frames = frames_of_sample(*facts.syntax)) facts.frames = {std::move(*frames)};
    facts.writes_tools = false;
  }
  find_reasoning_key(trials, facts);
  return facts;
}

}  // namespace ingot
