// Separates a model's reasoning, between <think> and </think>, from its reply.
#pragma once

#include <string>
#include <string_view>

namespace ingot {

/// Splits a text that arrives in pieces; a tag may be cut between two pieces. White space directly
/// behind a tag is dropped.
class ReasoningSplitter {
 public:
  struct Parts {
    std::string reasoning;
    std::string content;
  };

  /// `begins_inside`: the prompt ends in <think>, and the text begins with reasoning.
  explicit ReasoningSplitter(bool begins_inside = false)
      : state_(begins_inside ? State::kInside : State::kStart), trims_(begins_inside) {}

  /// Adds `text`; returns the reasoning and content that became final.
  Parts add(std::string_view text);
  /// Ends the text; returns the held rest.
  Parts finish();
  /// Whether the next text is reasoning.
  bool is_inside() const { return state_ == State::kInside; }

 private:
  enum class State { kStart, kInside, kOutside };
  void release(std::string_view text, Parts& parts);

  State state_;
  bool trims_ = false;  ///< white space is dropped up to the next other character
  std::string held_;    ///< text that may become a tag
};

/// Whether a chat template mentions <think>.
bool has_reasoning(std::string_view chat_template);
/// Whether a prompt ends in an open <think>.
bool opens_reasoning(std::string_view prompt);

}  // namespace ingot
