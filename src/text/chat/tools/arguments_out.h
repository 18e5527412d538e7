// ArgumentsOut: writes a call's arguments as JSON while they come; for custom tools, their text.
#pragma once

#include <cstdint>
#include <functional>
#include <set>
#include <string>
#include <string_view>

namespace ingot {

/// The member that holds the text of a custom tool, in dialects whose arguments have names.
inline constexpr std::string_view kCustomInput = "input";

/// Collects a call's arguments. For a custom tool: only the text of its member "input", decoded.
class ArgumentsOut {
 public:
  explicit ArgumentsOut(bool is_custom = false) : is_custom_(is_custom) {}

  bool is_custom() const { return is_custom_; }
  /// Adds JSON outside strings.
  void json(std::string_view text) {
    if (!is_custom_ && !is_dropped_) text_ += text;
  }
  void begin_string() { json("\""); }
  void end_string() { json("\""); }
  /// Adds bytes of a string, decoded.
  void string_bytes(std::string_view bytes);
  /// Adds an argument's name with its colon. For a custom tool, chooses what is taken. If the name
  /// came before, what follows is dropped up to the next name or `end_arguments`.
  void key(std::string_view name);
  /// Ends the last argument.
  void end_arguments() { is_dropped_ = false; }
  /// Adds bytes as they are, also for a custom tool.
  void raw(std::string_view bytes) { text_ += bytes; }
  /// Takes the text that was added since the last call.
  std::string take();

 private:
  bool is_custom_;
  bool is_input_ = false;  ///< custom: the current key is "input"
  bool is_dropped_ = false;
  std::set<std::string, std::less<>> names_;
  std::string text_;
};

/// Decodes the contents of a JSON or Python string byte by byte, to UTF-8.
class StringDecoder {
 public:
  /// Adds a byte between the quotes. Appends what is certain.
  void add(char c, std::string& out);
  /// Whether the next byte belongs to an escape.
  bool is_in_escape() const { return left_ > 0 || is_escape_; }

 private:
  void finish_unit(std::string& out);

  bool is_escape_ = false;  ///< behind a backslash
  int left_ = 0;            ///< digits of a number that are missing
  std::uint32_t unit_ = 0;  ///< the number
  std::uint32_t high_ = 0;  ///< the first unit of a pair
};

}  // namespace ingot
