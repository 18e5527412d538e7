// Compiles what a request demands of its reply, and caches the result.
#include "server/common/reply_constraint.h"

#include <openssl/sha.h>

#include <algorithm>
#include <array>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "base/error.h"
#include "base/text.h"
#include "server/common/service.h"

namespace ingot {

namespace {

using ChoiceUse = ToolChoice::Use;

/// What the grammar of a reply depends on.
struct ReplyShape {
  const ToolDialect& dialect;
  ReplyBegin begin{};
  std::span<const Tool> tools{};
  ToolChoice choice{};
  const ConstraintSpec* format = nullptr;  ///< null: free content
};

/// Appends parts of a key, each behind its length.
class KeyText {
 public:
  KeyText& add(std::string_view part) {
    text_ += cat(part.size(), ":", part);
    return *this;
  }
  KeyText& add(int number) { return add(std::string_view(std::to_string(number))); }
  /// Returns a digest of the text, since schemas are long.
  std::string digest() const {
    std::array<unsigned char, SHA256_DIGEST_LENGTH> hash{};
    SHA256(reinterpret_cast<const unsigned char*>(text_.data()), text_.size(), hash.data());
    return {reinterpret_cast<const char*>(hash.data()), hash.size()};
  }

 private:
  std::string text_;
};

/// Returns a key that equals another's only if both shapes have the same grammar and messages.
std::string key_of(const ReplyShape& shape) {
  KeyText key;
  key.add(shape.begin.in_reasoning ? 1 : 0).add(shape.begin.can_reason ? 1 : 0);
  key.add(static_cast<int>(shape.choice.use)).add(shape.choice.parallel ? 1 : 0);
  key.add(static_cast<int>(shape.choice.allowed.size()));
  for (const std::string& name : shape.choice.allowed) key.add(name);
  key.add(static_cast<int>(shape.tools.size()));
  for (const Tool& tool : shape.tools) {
    key.add(static_cast<int>(tool.kind)).add(tool.name).add(tool.path);
    key.add(tool.parameters.dump()).add(tool.is_strict ? 1 : 0);
    key.add(static_cast<int>(tool.grammar_kind)).add(tool.grammar);
  }
  if (shape.format != nullptr) key.add(shape.format->cache_key());
  return cat("reply:", key.digest());
}

/// Adds the content that a format allows. Its notes begin with the format's name.
NodeId add_content(Grammar& grammar, const ReplyShape& shape, std::vector<SchemaNote>& notes,
                   CompileBudget& budget) {
  const std::size_t before = notes.size();
  const NodeId content = add_constraint(grammar, *shape.format, notes, budget);
  for (std::size_t i = before; i < notes.size(); ++i) {
    notes[i].pointer = cat(shape.format->name, notes[i].pointer);
  }
  return shape.dialect.add_content_reply(grammar, shape.begin, content, budget);
}

/// Adds calls, or content of the format if there is one and no call is demanded.
NodeId add_replies(Grammar& grammar, const ReplyShape& shape, std::vector<SchemaNote>& notes,
                   CompileBudget& budget) {
  if (shape.tools.empty()) return add_content(grammar, shape, notes, budget);
  ToolChoice choice = shape.choice;
  if (shape.format != nullptr) choice.use = ChoiceUse::kRequired;
  const NodeId calls =
      shape.dialect.add_reply(grammar, shape.begin, shape.tools, choice, notes, budget);
  if (shape.format == nullptr) return calls;
  return grammar.choice({calls, add_content(grammar, shape, notes, budget)});
}

std::shared_ptr<const Constraint> compile_reply(const ReplyShape& shape,
                                                std::shared_ptr<const TokenTrie> trie) {
  Grammar grammar;
  std::vector<SchemaNote> notes;
  CompileBudget budget;
  grammar.set_root(add_replies(grammar, shape, notes, budget));
  return make_constraint(std::move(grammar), std::move(notes), std::move(trie), budget);
}

/// Returns the member that a message or a pointer begins with: the format, or a tool.
std::string member_of(std::string_view message, const ReplyShape& shape) {
  if (shape.format != nullptr && message.starts_with(shape.format->name)) return shape.format->name;
  std::string_view found;
  for (const Tool& tool : shape.tools) {
    if (message.starts_with(tool.path) && tool.path.size() > found.size()) found = tool.path;
  }
  if (!found.empty()) return std::string(found);
  return shape.tools.empty() ? shape.format->name : "tools";
}

/// Compiles a shape, or finds it in the cache. Errors: ApiError that names the member.
std::shared_ptr<const Constraint> constraint_of(const ReplyShape& shape, ConstraintCache& cache) {
  try {
    return cache.get(key_of(shape), [&] { return compile_reply(shape, cache.trie()); });
  } catch (const Error& error) {
    ApiError named = api_error(error);
    if (error.code() == ErrorCode::kInvalid) named.param = member_of(error.message(), shape);
    throw ApiError(std::move(named));
  }
}

void warn(Params& params, const ReplyShape& shape, const std::vector<SchemaNote>& notes) {
  constexpr std::size_t kNotesMax = 64;
  for (std::size_t i = 0; i < std::min(notes.size(), kNotesMax); ++i) {
    params.warn(member_of(notes[i].pointer, shape), "not_enforced",
                cat(notes[i].pointer, ": ", notes[i].reason));
  }
  if (notes.size() > kNotesMax) {
    params.warn("", "not_enforced", cat(notes.size() - kNotesMax, " other keywords"));
  }
}

/// Stop strings end free content. The reader of the reply finds them, since the engine would find
/// them in calls and reasoning as well.
void move_stops(Params& params, bool is_free, Request& request, ReplyFormat& reply,
                std::string_view stop_name) {
  if (request.stop.empty()) return;
  if (is_free) {
    reply.stops = std::exchange(request.stop, {});
    reply.include_stop = request.include_stop;
    reply.min_tokens = request.sampling.min_tokens;
    return;
  }
  request.stop.clear();
  params.warn(stop_name, "not_applied", "stop strings do not end text that is constrained");
}

/// Returns the tokens of a text inside a reply. Some tokenizers put a space before a whole text.
std::vector<std::int32_t> tokens_inside(const Tokenizer& tokenizer, std::string_view text) {
  const auto whole = tokenizer.encode_prompt(text, true, false);
  const auto behind = tokenizer.encode_prompt(cat("\n", text), true, false);
  const auto is_break = [&](std::int32_t id) { return tokenizer.piece(id) == "\n"; };
  const auto at = std::find_if(behind.begin(), behind.end(), is_break);
  return at == behind.end() ? whole : std::vector<std::int32_t>(at + 1, behind.end());
}

void set_budget(Params& params, const Service& service, const ChatPrompt& prompt,
                Request& request) {
  const ReasoningDemand& demand = prompt.reasoning;
  if (demand.budget < 0) return;
  const ToolDialect& dialect = *prompt.chat->dialect;
  const std::string_view end = dialect.reasoning_end();
  if (end.empty() || !prompt.begin.can_reason) {
    params.warn(demand.budget_from, "ignored", "the reply has no reasoning");
    return;
  }
  request.reasoning = {.tokens = demand.budget,
                       .open = prompt.begin.in_reasoning,
                       .begin = std::string(dialect.reasoning_begin()),
                       .end = std::string(end),
                       .close = tokens_inside(service.tokenizer(), end)};
}

/// Returns the format that applies to a reply's content; null if none does.
const ConstraintSpec* applied_format(Params& params, const ChatPrompt& prompt,
                                     const RequestTools& tools,
                                     const std::optional<ConstraintSpec>& format) {
  if (!format) return nullptr;
  if (prompt.is_continued) {
    throw invalid_request(format->name,
                          cat(format->name, " has no meaning for a message that is continued"));
  }
  if (tools.empty() || tools.choice.use != ChoiceUse::kRequired) return &*format;
  params.warn(format->name, "not_applied", "tool_choice demands a call instead of content");
  return nullptr;
}

}  // namespace

ReplyFormat constrain_chat(Params& params, const Service& service, const ChatPrompt& prompt,
                           const RequestTools& tools, const std::optional<ConstraintSpec>& format,
                           Request& request, std::string_view stop_name) {
  ReplyFormat reply{.dialect = prompt.chat->dialect,
                    .begin = prompt.begin,
                    .tools = std::make_shared<const std::vector<Tool>>(tools.tools),
                    .hides_reasoning = prompt.reasoning.is_hidden};
  const ConstraintSpec* content = applied_format(params, prompt, tools, format);
  request.markers = prompt.chat->markers;
  if (!tools.empty() || content != nullptr) {
    ConstraintCache& cache = service.constraints(prompt.chat);
    const ReplyShape shape{.dialect = *reply.dialect,
                           .begin = prompt.begin,
                           .tools = *reply.tools,
                           .choice = tools.choice,
                           .format = content};
    request.constraint = constraint_of(shape, cache);
    warn(params, shape, request.constraint->notes);
    reply.has_format = content != nullptr;
    if (!tools.empty() && content != nullptr) {
      ReplyShape calls = shape;
      calls.choice.use = ChoiceUse::kRequired;
      calls.format = nullptr;
      reply.calls = constraint_of(calls, cache)->grammar;
      const ReplyShape alone{.dialect = shape.dialect, .begin = shape.begin, .format = content};
      reply.content = constraint_of(alone, cache)->grammar;
    }
    const bool is_free = content == nullptr && tools.choice.use == ChoiceUse::kAuto;
    move_stops(params, is_free, request, reply, stop_name);
  } else if (prompt.begin.can_reason) {
    move_stops(params, true, request, reply, stop_name);
  }
  set_budget(params, service, prompt, request);
  return reply;
}

void constrain_text(Params& params, const Service& service, const ConstraintSpec& format,
                    Request& request) {
  try {
    request.constraint = service.constraints().get(format);
  } catch (const Error& error) {
    ApiError named = api_error(error);
    if (error.code() == ErrorCode::kInvalid) named.param = format.name;
    throw ApiError(std::move(named));
  }
  warn_of_notes(params, request.constraint->notes, format.name);
  if (request.stop.empty()) return;
  request.stop.clear();
  params.warn("stop", "not_applied", "stop strings do not end text that is constrained");
}

}  // namespace ingot
