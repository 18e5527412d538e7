// Checks the names of adapters.
#include "runtime/adapters/adapter_name.h"

#include <string>

#include "base/error.h"
#include "base/text.h"
#include "base/utf8.h"

namespace ingot {

namespace {

/// The reason why a name is refused; empty if it is accepted.
std::string why_no_name(std::string_view name) {
  if (name.empty()) return "is empty";
  if (name.size() > kAdapterNameBytesMax) {
    return cat("has more than ", kAdapterNameBytesMax, " bytes");
  }
  if (name == kNoAdapter) return "stands for no adapter";
  if (name == "." || name == "..") return "is a folder's";
  if (!is_utf8(name)) return "is not UTF-8";
  for (const char c : name) {
    if (c == '/' || c == ',') return cat("has a ", std::string_view(&c, 1));
    if (static_cast<unsigned char>(c) < 0x20 || c == 0x7f) return "has a control character";
  }
  return {};
}

}  // namespace

void check_adapter_name(std::string_view name, std::string_view place) {
  const std::string reason = why_no_name(name);
  if (reason.empty()) return;
  throw Error(ErrorCode::kInvalid,
              cat(place, ": the adapter's name ", printable(name, 64), " ", reason));
}

bool is_adapter_name(std::string_view name) { return why_no_name(name).empty(); }

}  // namespace ingot
