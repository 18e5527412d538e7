// ChatSession: a conversation with a model, message by message.
#pragma once

#include <cstdint>
#include <ctime>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/function_ref.h"
#include "cli/chat/chat_file.h"
#include "cli/chat/chat_tools.h"
#include "runtime/engine.h"
#include "text/chat/chat_template.h"

namespace ingot {

/// Holds a chat's messages and generates replies. The engine keeps the keys and values of the last
/// turn, so it computes only the new tokens of the next prompt.
class ChatSession {
 public:
  /// `request` has the settings of all replies, without a prompt. All turns use the time `now`:
  /// another time could change the prompt's first line and lose the cached prefix. `tools`: the
  /// tools that the model may call; null: none. Must outlive this object.
  ChatSession(Engine& engine, const ChatTemplate& chat_template, Request request,
              std::int64_t context, const std::tm& now, ChatTools* tools = nullptr)
      : engine_(engine),
        template_(chat_template),
        request_(std::move(request)),
        context_(context),
        now_(now),
        tools_(tools) {}

  const std::vector<ChatMessage>& messages() const { return messages_; }
  void set_messages(std::vector<ChatMessage> messages) { messages_ = std::move(messages); }
  /// Replaces the messages. On errors the old messages stay. Errors: those of ChatTemplate::encode.
  void load(std::vector<ChatMessage> messages);
  /// Drops all messages except the system message.
  void clear();
  /// Returns the text of the system message; nothing if there is none.
  std::optional<std::string> system() const;
  /// Sets the system message, or removes it if `text` is absent.
  void set_system(std::optional<std::string> text);
  /// Adds a user's message; bytes that are not valid UTF-8 become U+FFFD. Errors: Error{kInvalid}
  /// if there are too many messages.
  void add_user(std::string_view text);
  /// Checks that `more` messages and a reply have a place. Errors: Error{kInvalid}.
  void expect_room(std::size_t more) const;
  /// Adds the result of a call. Errors: those of add_user.
  void add_result(const ChatCall& call, std::string text);
  /// Removes the last message if it is a reply. Returns whether the model can reply now: also if
  /// the last message is the result of a call.
  bool drop_reply();
  /// Drops all messages except the system message and the last turn.
  void start_over();
  /// Drops the oldest turns until a quarter of the context is free. Keeps the last turn, even if it
  /// is too long. Returns the number of dropped turns. Errors: those of prepare.
  std::int64_t drop_oldest();

  /// Makes the next prompt; returns its token count. Warns once if the template has no system
  /// message. Errors: those of ChatTemplate::encode.
  std::int64_t prepare();
  /// Returns the text of the prepared prompt.
  const std::string& prompt() const { return prompt_; }
  /// Returns whether the prepared prompt leaves room for a reply.
  bool fits() const;
  /// Generates the reply to the prepared prompt and adds it to the messages. `show` gets the text
  /// in pieces; the reply ends early when `stop` returns true. A reply that was stopped or cut has
  /// no calls.
  ///
  /// Errors: the error that ended the request; Interrupted.
  const Outcome& reply(FunctionRef<bool()> stop, FunctionRef<void(std::string_view)> show);

  /// Checks that the engine works. Errors: Error{kInternal} if it has failed for good.
  void require_alive() const { engine_.require_alive(); }

  /// Returns the tools; null if there are none.
  const ChatTools* tools() const { return tools_; }
  /// Returns the settings of all replies. Each reply uses a copy with its own prompt and seed.
  Request& request() { return request_; }
  std::int64_t context() const { return context_; }
  /// Returns how many tokens the messages had after the last `load`, `clear` or `reply`.
  std::int64_t used() const { return used_; }
  /// Returns how the last reply ended.
  const Outcome& outcome() const { return outcome_; }
  std::int64_t replies() const { return replies_; }
  /// Returns whether the last reply ended because the context was full.
  bool was_cut() const;

 private:
  std::int64_t first_turn() const { return system() ? 1 : 0; }
  std::vector<ChatMessage> from(std::int64_t message) const;
  MarkedText render(const std::vector<ChatMessage>& messages) const;
  std::vector<std::int32_t> encode(const std::vector<ChatMessage>& messages) const {
    return template_.encode(render(messages));
  }
  std::int64_t last_turn() const;

  Engine& engine_;
  const ChatTemplate& template_;
  Request request_;
  std::int64_t context_ = 0;
  std::tm now_{};
  ChatTools* tools_ = nullptr;
  std::vector<ChatMessage> messages_;
  std::vector<std::int32_t> ids_;  ///< ids of the prepared prompt
  std::string prompt_;             ///< its text
  std::int64_t used_ = 0;
  std::int64_t replies_ = 0;
  std::size_t calls_ = 0;    ///< number of calls so far
  bool has_warned_ = false;  ///< the warning about the template was shown
  Outcome outcome_;
};

}  // namespace ingot
