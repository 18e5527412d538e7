// The messages of a request as a prompt.
#pragma once

#include <cstdint>
#include <vector>

#include "server/common/params.h"
#include "server/common/service.h"

namespace ingot {

/// A chat through the model's template.
struct ChatPrompt {
  std::vector<std::int32_t> ids;
  bool has_reasoning = false;    ///< the model may write <think>
  bool opens_reasoning = false;  ///< the prompt ends in it
};

/// What a request says to the template itself: chat_template_kwargs, and members of the request
/// that templates know by other names.
class ChatArguments {
 public:
  /// Reads chat_template_kwargs. Errors: ApiError for another kind.
  ChatArguments(Params& params, const Service& service);

  /// Sets a variable of the template, unless the request did so itself; false where the template
  /// does not know it.
  [[nodiscard]] bool set(std::string_view name, Json value);
  /// Sets how much is reasoned, "none" where the template can leave it out; what the template does
  /// not know is reported for `param`.
  void set_effort(std::string_view param, const std::string& effort);

  const Json& values() const { return values_; }

 private:
  Params& params_;
  const Service& service_;
  Json values_ = Json::object();
};

/// How long a prompt may be.
enum class PromptRoom {
  kAny,      ///< its tokens are counted alone
  kContext,  ///< a token has to fit behind it
};

/// The prompt of a chat in the form of `parse_chat`.
///
/// Errors: ApiError naming the member, which is `param` where the template refuses the messages;
/// context_length_exceeded, about `param` too.
ChatPrompt encode_chat(const Json& chat, const Service& service, std::string_view param,
                       PromptRoom room);

/// Reads messages, chat_template_kwargs and what else makes the prompt.
///
/// Errors: ApiError naming the member; context_length_exceeded.
ChatPrompt read_chat(Params& params, const Service& service);

/// The same members as a text, before it becomes tokens: of any length.
///
/// Errors: ApiError naming the member.
MarkedText render_chat(Params& params, const Service& service);

/// Messages in the one form that templates know: parts of text become one text, "developer" speaks
/// as the system where the template does not know it, reasoning has both of its names.
///
/// Errors: ApiError naming the message, for roles and contents that cannot be shown to the model.
Json normalised_messages(const Json& messages, const Service& service);

}  // namespace ingot
