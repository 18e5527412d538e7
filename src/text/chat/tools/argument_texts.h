// ArgumentTexts: the texts of single values in a call, for arguments that stand one by one.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "constraint/language/text_dfa.h"
#include "text/chat/tools/argument_grammar.h"

namespace ingot {

/// Adds strings and JSON values of one tool's arguments, with the keys and ends around them.
class ArgumentTexts {
 public:
  /// Makes the JSON pointer of a schema, if a note needs it.
  using Place = std::function<std::string()>;

  /// The references must outlive this. `parameters`: the schema of a function's arguments.
  ///
  /// Errors: those of SchemaParts.
  ArgumentTexts(CallGrammar& out, const CallFrames& frames, const Tool& tool,
                const Json& parameters);

  Grammar& grammar() { return out_.grammar; }
  CompileBudget& budget() { return out_.budget; }
  const Json& parameters() const { return parameters_; }
  const CallFrames& frames() const { return frames_; }
  bool is_element() const { return frames_.syntax->body == CallBody::kElements; }
  bool is_literal() const { return frames_.syntax->body == CallBody::kLiteral; }
  /// A literal in quotes of one byte is a JSON string too.
  bool has_json_strings() const { return is_literal() && frames_.quote.size() == 1; }

  NodeId literal(std::string_view text) { return out_.grammar.literal(text, out_.budget); }
  /// Adds a key with what stands around it.
  NodeId add_key(NodeId key, std::string_view key_end);
  /// Adds a string's text with its quotes or tags. The text does not have what ends it. Returns
  /// kNoNode if there is none.
  NodeId add_text(const TextDfa& language, std::string_view key);
  /// Adds the strings of `schema`, which reads as `types`. Returns kNoNode if there are none.
  NodeId add_strings(const Json& schema, JsonTypes types, std::string_view key, const Place& place);
  /// Adds the JSON texts of `schema` that have one of `types`. Returns kNoNode if there are none.
  NodeId add_json(const Json& schema, JsonTypes types);
  /// Texts that no string has, as it is written.
  std::vector<std::string> marks() const;

  /// Notes that what stands at `pointer` is not enforced. Errors: Error{kInvalid} if the tool is
  /// strict.
  void refuse_or_note(const std::string& pointer, std::string_view reason);
  /// Errors: Error{kInvalid} for a schema whose values have no text.
  [[noreturn]] void fail_without_text(std::string_view pointer) const;
  /// Passes the schema's notes on. Call it last.
  void take_notes();

 private:
  TextDfa json_texts(JsonTypes types);
  TextDfa string_language(const Json& schema, JsonTypes types, const Place& place);
  TextDfa with_length(const SchemaParts::Strings& strings, const Place& place);
  NodeId add_key_end(std::string_view key_end);
  bool tells_type() const { return frames_.string_key_end != frames_.other_key_end; }

  CallGrammar& out_;
  const CallFrames& frames_;
  const Tool& tool_;
  const Json& parameters_;
  std::vector<SchemaNote> notes_{};        ///< notes of the schema
  std::unique_ptr<SchemaParts> schema_{};  ///< null for a custom tool
};

/// Why a schema is refused whose values have no text.
inline constexpr std::string_view kNoText = "allows no text in this model's form of calls";
inline constexpr std::string_view kNoName =
    "has a name that cannot be written in this model's form of calls";
/// Why a keyword is noted.
inline constexpr std::string_view kNotEnforced = "cannot be enforced in this model's form of calls";

/// Where the schema of a tool's arguments is in the request.
std::string schema_name(const Tool& tool);

}  // namespace ingot
