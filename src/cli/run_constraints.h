// Constraints of `ingot run` and `ingot chat -p`: compiles them, also for replies that a chat
// template frames.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string_view>
#include <vector>

#include "constraint/constraint.h"
#include "runtime/instance.h"
#include "runtime/request.h"
#include "text/chat/chat_template.h"
#include "text/chat/tools/tool_dialect.h"

namespace ingot {

/// Compiles the constraints of requests to one model. Equal constraints are compiled once.
class RunConstraints {
 public:
  explicit RunConstraints(const Instance& instance) : instance_(instance) {}

  /// Makes `request`'s whole text obey a constraint.
  ///
  /// Errors: Error{kModel} if the model has no tokenizer; those of compile_constraint.
  void constrain_text(const ConstraintSpec& spec, Request& request);
  /// Makes the content of a reply to `prompt` obey a constraint. The model may reason before it.
  /// `chat` rendered the prompt, and must outlive this object.
  ///
  /// Errors: those of `constrain_text`.
  void constrain_reply(const ConstraintSpec& spec, const ChatTemplate& chat,
                       std::string_view prompt, Request& request);

 private:
  /// What the replies to the prompts of one template need.
  struct Replies {
    std::shared_ptr<const ToolDialect> dialect;
    std::unique_ptr<ConstraintCache> cache;  ///< with the dialect's markers
    std::vector<std::int32_t> markers;       ///< the dialect's
  };
  const Replies& replies(const ChatTemplate& chat);

  const Instance& instance_;
  std::unique_ptr<ConstraintCache> texts_;  ///< made for the first constraint of a text
  std::map<const ChatTemplate*, Replies> replies_;
};

}  // namespace ingot
