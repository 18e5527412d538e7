// Fuzz target: any bytes as a session file. An accepted file is complete: written again its head is
// equal, and its blocks have the model's sizes.
#include <cstddef>
#include <cstdint>

#include "base/check.h"
#include "base/error.h"
#include "runtime/session/session_file.h"

namespace {

using Bytes = std::span<const std::byte>;

/// An accepted head, written again, reads as an equal head. The bytes may differ: JSON has
/// several spellings of a value.
void check_head(Bytes bytes) {
  const auto rewritten = [](Bytes head) {
    ingot::ByteReader in(head, "fuzz");
    ingot::Session session;
    const ingot::SessionBlocks blocks = ingot::parse_session_head(in, session);
    return ingot::format_session_head(session, blocks);
  };
  const std::string once = rewritten(bytes);
  INGOT_CHECK(rewritten(std::as_bytes(std::span(once))) == once,
              "a head changed when it was written");
}

void check_file(Bytes bytes) {
  const ingot::SessionFile file(bytes, "fuzz");
  const ingot::Session& session = file.session();
  INGOT_CHECK(session.generated <= std::ssize(session.tokens), "more drawn than there is");
  const auto groups = ingot::session_groups(session.model);
  for (std::int64_t i = 0; i < file.blocks(); ++i) {
    for (std::size_t g = 0; g < groups.size(); ++g) {
      const auto rows = std::ssize(file.block(i, static_cast<std::int32_t>(g)));
      INGOT_CHECK(rows == 0 || rows == groups[g].block_bytes, "a block of ", rows, " bytes");
    }
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const Bytes bytes = std::as_bytes(std::span(data, size));
  // The checksum keeps most inputs from being accepted, so the head is looked at on its own too.
  for (auto* const check : {&check_head, &check_file}) {
    try {
      check(bytes);
    } catch (const ingot::Error& error) {
      INGOT_CHECK(error.code() == ingot::ErrorCode::kModel, "refused with another code");
      INGOT_CHECK(error.message().find('\n') == std::string::npos, "an error of several lines");
    }
  }
  return 0;
}
