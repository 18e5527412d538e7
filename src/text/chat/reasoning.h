// Reasoning: what a model writes between <think> and </think>, apart from what it says.
#pragma once

#include <string>
#include <string_view>

namespace ingot {

/// Splits a text as it comes, also where a tag comes in pieces. White space right behind either tag
/// belongs to nobody.
class ReasoningSplitter {
 public:
  struct Parts {
    std::string reasoning;
    std::string content;
  };

  /// `begins_inside`: the prompt ends in <think>, so that the text begins with reasoning.
  explicit ReasoningSplitter(bool begins_inside = false)
      : state_(begins_inside ? State::kInside : State::kStart), trims_(begins_inside) {}

  /// What `text` adds.
  Parts add(std::string_view text);
  /// The rest, at the text's end.
  Parts finish();
  /// Whether what comes next is reasoning.
  bool is_inside() const { return state_ == State::kInside; }

 private:
  enum class State { kStart, kInside, kOutside };
  void release(std::string_view text, Parts& parts);

  State state_;
  bool trims_ = false;  ///< white space is dropped until something else comes
  std::string held_;    ///< what may become a tag
};

/// Whether a chat template knows of <think>.
bool has_reasoning(std::string_view chat_template);
/// Whether a prompt ends in an open <think>.
bool opens_reasoning(std::string_view prompt);

}  // namespace ingot
