// SchemaReport: the errors and notes of one compilation of a JSON Schema.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "constraint/schema/json_schema.h"

namespace ingot::schema {

/// Writes what is wrong with a schema, and what cannot be enforced.
class SchemaReport {
 public:
  SchemaReport(const SchemaOptions& options, std::vector<SchemaNote>& notes)
      : options_(options), notes_(notes) {}

  bool is_strict() const { return options_.is_strict; }
  /// Errors: always Error{kInvalid}: "<name><pointer>: <reason>".
  [[noreturn]] void fail(std::string_view pointer, std::string_view reason) const;
  /// Records that the keyword at `pointer` is not enforced, once.
  ///
  /// Errors: that of `fail` if the compilation is strict.
  void cannot_enforce(const std::string& pointer, std::string_view reason);

 private:
  const SchemaOptions& options_;
  std::vector<SchemaNote>& notes_;
};

/// Appends "/" and `key` to a JSON pointer; escapes ~ and /.
std::string pointer_to(std::string_view pointer, std::string_view key);

}  // namespace ingot::schema
