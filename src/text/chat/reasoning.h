// Separates a model's reasoning, between <think> and </think>, from its reply.
#pragma once

#include <string>
#include <string_view>

namespace ingot {

/// Splits streamed text into reasoning and reply. A tag may be spread over several calls of
/// `add`. White space directly behind a tag is dropped.
class ReasoningSplitter {
 public:
  struct Parts {
    std::string reasoning;
    std::string content;
  };

  /// `begins_inside`: true if the prompt ended in <think>, so that the text begins with reasoning.
  explicit ReasoningSplitter(bool begins_inside = false)
      : state_(begins_inside ? State::kInside : State::kStart), trims_(begins_inside) {}

  /// Adds `text`. Returns the reasoning and the reply that can be sent now.
  Parts add(std::string_view text);
  /// Ends the text. Returns the text that `add` held back as a possible tag.
  Parts finish();
  /// Whether the next text is reasoning.
  bool is_inside() const { return state_ == State::kInside; }

 private:
  enum class State { kStart, kInside, kOutside };
  /// Moves the first `size` held bytes to `parts`.
  void release(std::size_t size, Parts& parts);

  State state_;
  bool trims_ = false;  ///< whether to drop leading white space of the next text
  std::string held_;    ///< text that may be the beginning of a tag
};

/// Whether a chat template contains </think>. The model of such a template writes reasoning.
bool has_reasoning(std::string_view chat_template);
/// Whether a prompt ends in <think> (and white space), so that the reply begins with reasoning.
bool opens_reasoning(std::string_view prompt);

}  // namespace ingot
