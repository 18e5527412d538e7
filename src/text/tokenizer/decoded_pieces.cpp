// Decodes every token of a vocabulary once, into a table of texts.
#include "text/tokenizer/decoded_pieces.h"

#include <algorithm>
#include <optional>
#include <string_view>
#include <utility>

#include "base/text.h"
#include "load/tokenizer/tokenizer_kinds.h"
#include "text/tokenizer/byte_alphabet.h"
#include "text/tokenizer/vocabulary.h"

namespace ingot {
namespace {

using Kind = DecoderStep::Kind;

/// The text to which SentencePiece decodes an unknown token: U+2047 between spaces.
constexpr std::string_view kUnknownText = " \xE2\x81\x87 ";

/// Most bytes that a Replace step writes for a match. Real files write a space.
constexpr std::size_t kReplacementBytesMax = 64;

std::string replaced(std::string_view text, std::string_view from, std::string_view to) {
  if (from.empty()) return std::string(text);
  std::string out;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t found = std::min(text.find(from, at), text.size());
    out += text.substr(at, found - at);
    if (found < text.size()) out += to;
    at = found + from.size();
  }
  return out;
}

std::string_view stripped(std::string_view text, const DecoderStep& step) {
  const std::string& strip = step.content;
  if (strip.empty()) return text;
  for (std::int32_t i = 0; i < step.start && text.starts_with(strip); ++i) {
    text.remove_prefix(strip.size());
  }
  for (std::int32_t i = 0; i < step.stop && text.ends_with(strip); ++i) {
    text.remove_suffix(strip.size());
  }
  return text;
}

/// Source:  the WordPiece decoder of Hugging Face's tokenizers.
std::string without_odd_spaces(std::string text) {
  constexpr std::pair<std::string_view, std::string_view> kRules[] = {
      {" .", "."},   {" ?", "?"},     {" !", "!"},    {" ,", ","},
      {" ' ", "'"},  {" n't", "n't"}, {" 'm", "'m"},  {" do not", " don't"},
      {" 's", "'s"}, {" 've", "'ve"}, {" 're", "'re"}};
  for (const auto& [from, to] : kRules) text = replaced(text, from, to);
  return text;
}

/// Runs the decoding steps that apply to a single token.
class PieceDecoder {
 public:
  explicit PieceDecoder(const TokenizerData& data) : data_(data) {}

  /// The decoded text of token `id`; `first`: at the start of a text.
  std::string decode(std::size_t id, bool first) const {
    const TokenType type = data_.types[id];
    if (type == TokenType::kUnknown) return std::string(kUnknownText);
    std::string text(data_.tokens[id]);
    const bool literal =
        type == TokenType::kControl || (type == TokenType::kUserDefined && !data_.space_marks);
    for (const DecoderStep& step : data_.decoders) {
      if (step.kind == Kind::kFuse) return text;
      if (step.kind == Kind::kWordPiece) {
        text = word_piece(std::move(text), step, first);
      } else if (!literal) {
        text = apply(step, std::move(text), type, first);
      }
      if (text.size() > kPieceBytesMax) {
        throw vocabulary_error(
            data_, cat("token ", id, " is decoded to more than ", kPieceBytesMax, " bytes"));
      }
    }
    if (data_.join_with_spaces && !first) text.insert(text.begin(), ' ');
    return text;
  }

 private:
  std::string apply(const DecoderStep& step, std::string text, TokenType type, bool first) const {
    switch (step.kind) {
      case Kind::kByteLevel: {
        auto bytes = letters_to_bytes(text);
        return bytes ? std::move(*bytes) : std::move(text);
      }
      case Kind::kByteFallback: {
        const bool is_byte = type == TokenType::kByte || !data_.space_marks;
        const auto byte = is_byte ? byte_of_token(text) : std::nullopt;
        return byte ? std::string(1, static_cast<char>(*byte)) : std::move(text);
      }
      case Kind::kReplace:
        return replaced(text, step.pattern.text, step.content);
      case Kind::kStrip:
        return std::string(stripped(text, step));
      case Kind::kMetaspace:
        return replaced(text, step.content, first && step.add_prefix ? "" : " ");
      case Kind::kFuse:
      case Kind::kWordPiece:
        break;
    }
    return text;
  }

  static std::string word_piece(std::string text, const DecoderStep& step, bool first) {
    if (!first) {
      if (!step.content.empty() && text.starts_with(step.content)) {
        text.erase(0, step.content.size());
      } else {
        text.insert(text.begin(), ' ');
      }
    }
    return step.cleanup ? without_odd_spaces(std::move(text)) : text;
  }

  const TokenizerData& data_;
};

/// Reads the steps behind Fuse. They apply to the whole text; only Strip at its start can stream.
void read_fused(const TokenizerData& data, DecodedPieces& out) {
  bool fused = false;
  for (const DecoderStep& step : data.decoders) {
    fused = fused || step.kind == Kind::kFuse;
    if (!fused || step.kind == Kind::kFuse) continue;
    if (step.kind != Kind::kStrip || step.stop != 0 || out.strip_count != 0) {
      throw vocabulary_error(data,
                             "a decoder behind Fuse that is not supported: only Strip is, "
                             "once, of the text's beginning");
    }
    out.strip = step.content;
    out.strip_count = step.content.empty() ? 0 : step.start;
  }
}

}  // namespace

DecodedPieces decode_pieces(const TokenizerData& data) {
  check_steps(data, data.decoders.size(), "decoding");
  DecodedPieces out;
  read_fused(data, out);
  bool by_place = data.join_with_spaces;
  for (const DecoderStep& step : data.decoders) {
    by_place = by_place || step.kind == Kind::kMetaspace || step.kind == Kind::kWordPiece;
    out.replace_every_byte = out.replace_every_byte || step.kind == Kind::kByteFallback;
    if (step.kind != Kind::kReplace || step.pattern.text.empty()) continue;
    if (step.content.size() > kReplacementBytesMax) {
      throw vocabulary_error(data, cat("a decoder's replacement has ", step.content.size(),
                                       " bytes, more than ", kReplacementBytesMax));
    }
    const std::size_t content = std::max<std::size_t>(step.content.size(), 1);
    out.shrink_max *= std::max<std::size_t>(step.pattern.text.size() / content, 1);
  }
  const PieceDecoder decoder(data);
  std::size_t bytes = 0;
  for (std::size_t i = 0; i < data.tokens.size(); ++i) {
    out.pieces.add(decoder.decode(i, false));
    if (by_place) out.first_pieces.add(decoder.decode(i, true));
    bytes += out.pieces[i].size();
    if (bytes > kAllPieceBytesMax) {
      throw vocabulary_error(
          data, cat("the tokens are decoded to more than ", kAllPieceBytesMax, " bytes"));
    }
  }
  return out;
}

}  // namespace ingot
