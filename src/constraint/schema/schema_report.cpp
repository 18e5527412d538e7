// SchemaReport: formats errors and collects notes.
#include "constraint/schema/schema_report.h"

#include <algorithm>

#include "base/error.h"
#include "base/text.h"

namespace ingot::schema {

void SchemaReport::fail(std::string_view pointer, std::string_view reason) const {
  throw Error(ErrorCode::kInvalid, cat(options_.name, printable(pointer, 512), ": ", reason));
}

void SchemaReport::cannot_enforce(const std::string& pointer, std::string_view reason) {
  if (options_.is_strict) fail(pointer, reason);
  const bool is_known = std::any_of(notes_.begin(), notes_.end(), [&](const SchemaNote& note) {
    return note.pointer == pointer && note.reason == reason;
  });
  if (!is_known && notes_.size() < 100) notes_.push_back({pointer, std::string(reason)});
}

std::string pointer_to(std::string_view pointer, std::string_view key) {
  std::string out(pointer);
  out += '/';
  for (const char c : key) {
    if (c == '~') {
      out += "~0";
    } else if (c == '/') {
      out += "~1";
    } else {
      out += c;
    }
  }
  return out;
}

}  // namespace ingot::schema
