// SystemRule: what a chat template does with system messages, found by trial renderings.
#pragma once

namespace ingot {

class ChatTemplate;

/// What a chat template does with messages of the role "system".
struct SystemRule {
  bool is_known = false;   ///< false: the trials failed, so `one`, `several` and `later` are true
  bool one = true;         ///< the template writes a system message in front
  bool several = true;     ///< the template writes several in front, in order
  bool later = true;       ///< the template writes one behind other messages, where it stands
  bool developer = false;  ///< the template writes messages of the role "developer"
};

/// Finds a template's rule: renders a few short chats, and looks for the messages' texts in the
/// prompts. `mentions_developer`: whether the template's source contains "developer".
SystemRule find_system_rule(const ChatTemplate& chat_template, bool mentions_developer);

}  // namespace ingot
