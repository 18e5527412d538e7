// Outcome and FinishReason: names of finish reasons, and the digest as text.
#include "runtime/outcome.h"

#include "base/index.h"
#include "runtime/sampling/digest.h"

namespace ingot {

std::string_view to_string(FinishReason reason) {
  static constexpr std::string_view kNames[kFinishReasons] = {"stop", "length", "cancelled",
                                                              "error"};
  return at(kNames, reason);
}

std::string Outcome::digest_text() const {
  return digest ? ingot::digest_text(*digest) : std::string();
}

}  // namespace ingot
