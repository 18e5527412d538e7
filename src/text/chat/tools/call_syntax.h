// CallSyntax, ReplySyntax: how a family of models writes calls of tools, reasoning and content.
#pragma once

#include <array>
#include <cstddef>
#include <span>
#include <string_view>

namespace ingot {

/// How a call writes its arguments.
enum class CallBody {
  kObject,  ///< a JSON object with members for the name and the arguments
  kNamed,   ///< the name, then the arguments as a JSON object
  kTagged,  ///< each argument between tags: strings as they are, others as JSON
  /// Each argument is an element with its name, strings as they are. Arrays and objects have
  /// elements inside, those of arrays with the name "item".
  kElements,
  kLiteral,  ///< Python's or Gemma's literals: f(a='x', b=[1, True]), f{a:<|"|>x<|"|>}
};

/// The parts of a call's text, in order. Between the parts of a call, any white space may stand,
/// and each space in a part stands for any white space. "%d" in a part is a number, "%i" an id,
/// "%h" any text without '<' and newlines.
///
/// A reply: section_begin, calls with `separator` between, section_end. A call: call_begin, the
/// name, arguments_begin, the arguments, arguments_end, call_end. kObject: the whole object stands
/// for the parts from the name to arguments_end.
struct CallSyntax {
  CallBody body = CallBody::kObject;
  std::string_view section_begin{};
  std::string_view call_begin{};
  std::string_view arguments_begin{};
  std::string_view arguments_end{};
  std::string_view call_end{};
  std::string_view separator{};
  std::string_view section_end{};
  std::string_view name_key = "name";            ///< for kObject
  std::string_view arguments_key = "arguments";  ///< for kObject
  /// An argument of kTagged: key_begin, the key, key_end, the value, value_end. kLiteral: key_end
  /// stands between the key and the value. In key_end, "%s" is the value's type: "true" or "string"
  /// means a string, anything else JSON. kElements: value_end is followed by the key and key_end.
  std::string_view key_begin{};
  std::string_view key_end{};
  std::string_view value_end{};
  bool has_value_lines = false;  ///< a value stands on lines of its own
  /// kTagged: a value may stand between these, as in XML's CDATA.
  std::string_view raw_begin{};
  std::string_view raw_end{};
  std::string_view quote{};  ///< kLiteral: a quote without escapes
  bool is_bare = false;      ///< only at the beginning of a reply, and only known names
};

/// Bytes that no key of CallBody::kLiteral has, and the most bytes of such a key.
inline constexpr std::string_view kNotInLiteralKeys = "()[]{},'=:";
inline constexpr std::size_t kLiteralKeyMax = 256;

/// How a model writes reasoning.
struct ReasoningSyntax {
  std::string_view open{};   ///< "<think>"
  std::string_view close{};  ///< "</think>"
  std::string_view next{};   ///< what must follow `close` in a grammar, before calls or content
  bool anywhere = false;     ///< also behind content
};

/// A family's replies.
struct ReplySyntax {
  std::string_view name{};                   ///< "hermes"
  std::array<CallSyntax, 2> calls{};         ///< a call of either form; the second may be absent
  std::size_t forms = 1;                     ///< number of `calls`
  ReasoningSyntax reasoning{};               ///< empty: the template decides
  std::string_view content_begin{};          ///< stands before content
  std::string_view content_end{};            ///< stands behind content
  std::array<std::string_view, 6> frames{};  ///< texts that are neither content nor calls
  /// A text of prompts with tools, by which a family is known whose template writes no calls.
  std::string_view hint{};
  std::string_view needs{};  ///< a text that the template must contain
  /// Two calls of the trial, and one without arguments, for a family with a hint; for others, a
  /// further exact form of a single call.
  std::string_view sample{};
  std::string_view empty_sample{};
};

/// All families, special ones first. The last is the form of templates that do not know tools.
std::span<const ReplySyntax> reply_syntaxes();
/// The forms of reasoning, special ones first.
std::span<const ReasoningSyntax> reasoning_syntaxes();

/// How far a text agrees with a part of a syntax.
enum class Fit {
  kNo,
  kBegun,  ///< the text is a beginning of the part
  kWhole,  ///< the text is the part
};
/// Compares. White space may stand before the part.
Fit fit(std::string_view part, std::string_view text);

/// Whether a byte is white space in replies.
inline bool is_space(char c) { return c == ' ' || c == '\t' || c == '\r' || c == '\n'; }

}  // namespace ingot
