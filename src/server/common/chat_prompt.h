// Chat prompts: turns the messages of a request into tokens.
#pragma once

#include <cstdint>
#include <vector>

#include "server/common/params.h"
#include "server/common/reasoning_params.h"
#include "server/common/service.h"
#include "server/common/tool_params.h"
#include "text/chat/system_messages.h"
#include "text/chat/tools/tool_dialect.h"

namespace ingot {

/// The tokens of a chat, rendered by the model's template.
struct ChatPrompt {
  std::vector<std::int32_t> ids;
  const ServedChat* chat = nullptr;  ///< the template that rendered the prompt; never null
  ReplyBegin begin{};                ///< how the reply begins
  bool is_continued = false;         ///< whether the reply continues the last message
  ReasoningDemand reasoning{};       ///< the endpoint sets it
};

/// Template variables that a request sets: members of `chat_template_kwargs`, and request members
/// that templates know by other names.
class ChatArguments {
 public:
  /// Reads `chat_template_kwargs` for the template `chat`. Errors: ApiError if it is not an object.
  ChatArguments(Params& params, const ServedChat& chat);

  /// Sets a template variable, unless `chat_template_kwargs` sets it. Returns false if the template
  /// does not use the variable.
  [[nodiscard]] bool set(std::string_view name, Json value);
  /// Sets the reasoning effort from the member `name`; "none" turns reasoning off if the template
  /// supports that. Warns if the template does not use an effort. Errors: ApiError if another
  /// member sets another effort.
  void read_effort(Params& params, std::string_view name);

  const Json& values() const { return values_; }
  const ServedChat& chat() const { return chat_; }

 private:
  void check_effort(const std::string& name, const std::string& effort);

  const ServedChat& chat_;
  Json values_ = Json::object();
  Json effort_{};              ///< the effort so far
  std::string effort_from_{};  ///< the member that set it; empty: none
};

/// How long a prompt may be.
enum class PromptRoom {
  kAny,      ///< any length: the tokens are only counted
  kContext,  ///< shorter than the context by at least one token
};

/// How errors and warnings name the messages of a chat.
struct ChatNames {
  std::string_view param;  ///< the JSON member with the messages
  MessageName name_of;     ///< returns where a message comes from, such as "input[3]"
};

/// Renders a chat to a prompt. `chat` has the form that `parse_chat` reads, without tools. The
/// template's dialect adds `tools`; chats with tools may have a template of their own. Warns if the
/// template needs other system messages (render_fitted).
///
/// Errors: ApiError naming the JSON member. This is `names.param` if the template refuses the
/// messages, or if the prompt is too long (context_length_exceeded).
ChatPrompt encode_chat(Params& params, const Json& chat, const Call& call, const ChatNames& names,
                       PromptRoom room, const RequestTools& tools = {});

/// Makes a prompt from `messages`, `chat_template_kwargs` and the other members of a chat. Reads
/// ChatPrompt::reasoning.
///
/// Errors: ApiError naming the JSON member; context_length_exceeded; those of Call::require_wanted.
ChatPrompt read_chat(Params& params, const Call& call, const RequestTools& tools);

/// The text of a chat's prompt, and the template that rendered it.
struct ChatText {
  MarkedText text;
  const ServedChat& chat;
};

/// Reads a chat and its tools like `read_chat`, but returns text instead of tokens. Allows any
/// length.
///
/// Errors: ApiError naming the JSON member; those of Call::require_wanted.
ChatText render_chat(Params& params, const Call& call);

/// Returns the template for a chat with these normalised messages and these tools. A history with
/// calls takes the template for tools, which can write them. Errors: those of Service::chat.
const ServedChat& chat_for(const Service& service, const Json& messages, const RequestTools& tools);

/// Converts messages to the form that templates expect: joins text parts, and stores reasoning
/// under both names in use. Calls have the members "id", "type" ("function") and "function", with
/// arguments as an object if they are one. The text of a custom tool is {"input": text}. The older
/// `function_call` and the role "function" become a call and a result of a tool.
///
/// `params` gets a warning "not_json" for arguments that are no JSON object: such arguments, of a
/// call that was cut, stay text. Null: no warnings.
///
/// Errors: ApiError naming the message, for roles and contents that templates cannot render; those
/// of Call::require_wanted.
Json normalised_messages(const Json& messages, const Call& call, Params* params = nullptr);

}  // namespace ingot
