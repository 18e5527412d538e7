// Finds and checks the byte tokens of a vocabulary, "<0x00>" to "<0xFF>".
#include "text/tokenizer/byte_tokens.h"

#include "base/error.h"
#include "base/text.h"
#include "load/tokenizer/tokenizer_kinds.h"
#include "text/tokenizer/vocabulary.h"

namespace ingot {

std::optional<ByteIds> read_byte_ids(const TokenizerData& data) {
  ByteIds ids;
  ids.fill(-1);
  int found = 0;
  for (std::size_t i = 0; i < data.types.size(); ++i) {
    if (data.types[i] != TokenType::kByte) continue;
    const std::optional<std::uint8_t> byte = byte_of_token(data.tokens[i]);
    if (!byte) {
      throw vocabulary_error(data, cat("byte token ", i, " is '", printable(data.tokens[i]),
                                       "', expected <0x00> to <0xFF>"));
    }
    if (ids[*byte] >= 0) {
      throw vocabulary_error(
          data, cat("byte token '", data.tokens[i], "' is both ", ids[*byte], " and ", i));
    }
    ids[*byte] = static_cast<std::int32_t>(i);
    ++found;
  }
  if (found == 0 || !data.byte_fallback) return std::nullopt;
  if (found < 256) throw vocabulary_error(data, cat(found, " byte tokens, expected 256"));
  return ids;
}

}  // namespace ingot
