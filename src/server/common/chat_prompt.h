// Chat prompts: from the messages of a request to tokens.
#pragma once

#include <cstdint>
#include <vector>

#include "server/common/params.h"
#include "server/common/service.h"

namespace ingot {

/// A chat, rendered by the model's template.
struct ChatPrompt {
  std::vector<std::int32_t> ids;
  bool has_reasoning = false;    ///< the model may write <think>
  bool opens_reasoning = false;  ///< the prompt ends in <think>
};

/// The variables that a request sets in the template: chat_template_kwargs, and members of the
/// request for which templates have other names.
class ChatArguments {
 public:
  /// Reads chat_template_kwargs. Errors: ApiError for another kind.
  ChatArguments(Params& params, const Service& service);

  /// Sets a variable of the template, unless the request did so itself; false where the template
  /// does not know it.
  [[nodiscard]] bool set(std::string_view name, Json value);
  /// Reads the effort of reasoning from the member `name` and sets it; "none" turns reasoning off
  /// if the template can. Warns if the template knows no effort.
  void read_effort(Params& params, std::string_view name);

  const Json& values() const { return values_; }

 private:
  const Service& service_;
  Json values_ = Json::object();
};

/// How long a prompt may be.
enum class PromptRoom {
  kAny,      ///< any length: its tokens are only counted
  kContext,  ///< it leaves room for a token in the context
};

/// The prompt of a chat in the form of `parse_chat`.
///
/// Errors: ApiError naming the member, which is `param` where the template refuses the messages;
/// context_length_exceeded, about `param` too.
ChatPrompt encode_chat(const Json& chat, const Service& service, std::string_view param,
                       PromptRoom room);

/// Reads messages, chat_template_kwargs and the other members that make the prompt.
///
/// Errors: ApiError naming the member; context_length_exceeded.
ChatPrompt read_chat(Params& params, const Service& service);

/// Reads the members that `read_chat` reads; returns the text, of any length, before tokenizing.
///
/// Errors: ApiError naming the member.
MarkedText render_chat(Params& params, const Service& service);

/// Messages in the form that templates expect: parts of text become one text, "developer" becomes
/// "system" where the template does not know it, reasoning has both of its names.
///
/// Errors: ApiError naming the message, for roles and contents that templates cannot render.
Json normalised_messages(const Json& messages, const Service& service);

}  // namespace ingot
