// Constraints over single bytes, for tests.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

#include "base/error.h"
#include "constraint/constraint.h"
#include "load/json.h"

namespace ingot::testing {

/// Returns a vocabulary of 256 tokens: token b is byte b.
inline std::shared_ptr<const TokenTrie> byte_trie() {
  std::string bytes;
  for (int b = 0; b < 256; ++b) bytes += static_cast<char>(b);
  return std::make_shared<const TokenTrie>(256, [&](std::int32_t id) {
    return TokenTrie::Token{std::string_view(bytes).substr(static_cast<std::size_t>(id), 1),
                            TokenUse::kText};
  });
}

/// Returns whether a constraint allows a text, byte by byte.
inline bool allows(const Constraint& constraint, std::string_view text) {
  Matcher matcher(constraint.grammar);
  for (const char byte : text) {
    if (!matcher.accept(static_cast<std::uint8_t>(byte))) return false;
  }
  return matcher.is_complete();
}

/// Compiles a spec. Returns the error's message, or "accepted".
inline std::string refusal(const ConstraintSpec& spec) {
  try {
    compile_constraint(spec, byte_trie());
  } catch (const Error& error) {
    return error.code() == ErrorCode::kInvalid ? error.message() : "wrong code";
  }
  return "accepted";
}

/// Reads a schema. Its nesting may exceed the default limit.
inline Json schema_of(std::string_view text) {
  return parse_json(text, "test", "schema", {.depth_max = 1000});
}

inline ConstraintSpec schema_spec(std::string_view text, bool is_strict = true) {
  return {.form = ConstraintSpec::JsonSchema{.schema = schema_of(text), .is_strict = is_strict}};
}
inline ConstraintSpec regex_spec(std::string pattern) {
  return {.form = ConstraintSpec::Regex{std::move(pattern)}, .name = "regex"};
}
inline ConstraintSpec gbnf_spec(std::string text) {
  return {.form = ConstraintSpec::Gbnf{std::move(text)}, .name = "grammar"};
}

}  // namespace ingot::testing
