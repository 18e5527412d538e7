// Reads the vocabularies that the tokenizer goldens name into the form a GGUF file would give.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <charconv>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "base/byte_reader.h"
#include "base/error.h"
#include "base/text.h"
#include "load/gguf.h"
#include "load/json.h"
#include "load/tokenizer_data.h"
#include "quant/test_data.h"
#include "text/tokenizer_test_util.h"

namespace ingot::testing {

inline std::string read_text(const std::filesystem::path& path) {
  std::ifstream in(path, std::ios::binary);
  EXPECT_TRUE(in.good()) << path;
  return {std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>()};
}

inline std::vector<std::string> lines_of(const std::string& text) {
  std::vector<std::string> lines;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = std::min(text.find('\n', at), text.size());
    lines.push_back(text.substr(at, end - at));
    at = end + 1;
  }
  return lines;
}

inline std::vector<std::string> strings_of(const Json* json) {
  std::vector<std::string> strings;
  if (json != nullptr && json->as_array() != nullptr) {
    for (const Json& s : *json->as_array()) strings.push_back(*s.as_string());
  }
  return strings;
}

inline bool contains(std::string_view text, std::string_view part) {
  return text.find(part) != std::string_view::npos;
}

/// Pieces by id, filled up with unused ones.
class PieceList {
 public:
  void set(std::size_t id, TestPiece piece) {
    while (pieces_.size() <= id)
      pieces_.push_back({cat("[unused", pieces_.size(), "]"), TokenType::kUnused});
    pieces_[id] = std::move(piece);
  }
  TestPiece* find(std::string_view text) {
    const auto at = std::find_if(pieces_.begin(), pieces_.end(),
                                 [&](const TestPiece& p) { return p.text == text; });
    return at == pieces_.end() ? nullptr : &*at;
  }
  const std::vector<TestPiece>& pieces() const { return pieces_; }

 private:
  std::vector<TestPiece> pieces_;
};

/// vocab.json, merges.txt and, where given, the added tokens of tokenizer_config.json.
inline TokenizerData read_vocab_and_merges(const std::vector<std::filesystem::path>& files,
                                           const Json& header, std::string pre) {
  PieceList list;
  const Json vocab = parse_json(read_text(files[0]), files[0].string(), "vocab");
  for (const auto& [piece, id] : *vocab.as_object())
    list.set(static_cast<std::size_t>(*id.as_int()), {piece});
  for (const std::string& special : strings_of(header.find("special_tokens"))) {
    if (TestPiece* piece = list.find(special)) piece->type = TokenType::kControl;
  }
  if (files.size() > 2) {
    const Json config = parse_json(read_text(files[2]), files[2].string(), "config");
    for (const auto& [id, token] : *config.find("added_tokens_decoder")->as_object()) {
      const bool special = *token.find("special")->as_bool();
      std::size_t value = 0;
      std::from_chars(id.data(), id.data() + id.size(), value);
      list.set(value, {*token.find("content")->as_string(),
                       special ? TokenType::kControl : TokenType::kUserDefined});
    }
  }
  TokenizerData data = make_data("gpt2", std::move(pre), list.pieces());
  for (const std::string& line : lines_of(read_text(files[1]))) {
    if (!line.empty() && line.substr(0, 9) != "#version:") data.merges.add(line);
  }
  return data;
}

inline std::string from_base64(std::string_view text) {
  constexpr std::string_view kDigits =
      "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  std::string bytes;
  std::uint32_t bits = 0;
  int count = 0;
  for (const char c : text) {
    const std::size_t digit = kDigits.find(c);
    if (digit == std::string_view::npos) break;
    bits = bits << 6 | static_cast<std::uint32_t>(digit);
    if ((count += 6) >= 8) bytes += static_cast<char>(bits >> (count -= 8));
  }
  return bytes;
}

/// The two tokens whose merge made `bytes`: what is left when merging only with ranks below its
/// own.
inline std::vector<std::string> parts_by_rank(const std::string& bytes,
                                              const std::map<std::string, std::size_t>& ranks) {
  const std::size_t own = ranks.at(bytes);
  std::vector<std::string> parts;
  for (const char c : bytes) parts.emplace_back(1, c);
  while (parts.size() > 2) {
    std::size_t best = own;
    std::size_t at = 0;
    for (std::size_t i = 0; i + 1 < parts.size(); ++i) {
      const auto found = ranks.find(parts[i] + parts[i + 1]);
      if (found != ranks.end() && found->second < best) {
        best = found->second;
        at = i;
      }
    }
    if (best == own) break;
    parts[at] += parts[at + 1];
    parts.erase(parts.begin() + static_cast<std::ptrdiff_t>(at) + 1);
  }
  return parts;
}

/// A tiktoken file of ranks. Its special tokens stand in the golden's note, as JSON.
inline TokenizerData read_tiktoken(const std::filesystem::path& file, const Json& header,
                                   std::string pre) {
  PieceList list;
  std::map<std::string, std::size_t> ranks;
  std::vector<std::string> in_order;
  for (const std::string& line : lines_of(read_text(file))) {
    const std::size_t space = line.find(' ');
    std::size_t rank = 0;
    std::from_chars(line.data() + space + 1, line.data() + line.size(), rank);
    const std::string bytes = from_base64(std::string_view(line).substr(0, space));
    ranks[bytes] = rank;
    in_order.push_back(bytes);
    list.set(rank, {to_letters(bytes)});
  }
  const std::string& note = *header.find("note")->as_string();
  const Json facts =
      parse_json(std::string_view(note).substr(note.find('{')), file.string(), "note");
  for (const auto& [text, id] : *facts.find("special_tokens")->as_object()) {
    list.set(static_cast<std::size_t>(*id.as_int()), {text, TokenType::kControl});
  }
  TokenizerData data = make_data("gpt2", std::move(pre), list.pieces());
  for (const std::string& bytes : in_order) {
    if (bytes.size() < 2) continue;
    const auto parts = parts_by_rank(bytes, ranks);
    if (parts.size() == 2) data.merges.add(to_letters(parts[0]) + " " + to_letters(parts[1]));
  }
  return data;
}

/// The pieces of a SentencePiece model, which is a protocol buffer: field 1 of the message,
/// repeated, holds piece (1), score (2) and type (3).
///
/// Source:  sentencepiece_model.proto of google/sentencepiece.
inline TokenizerData read_sentencepiece(const std::filesystem::path& file) {
  const std::vector<std::byte> bytes = read_bytes(file);
  const auto varint = [](ByteReader& in) {
    std::uint64_t value = 0;
    for (unsigned shift = 0; shift < 64; shift += 7) {
      const auto b = in.read<std::uint8_t>();
      value |= std::uint64_t{b & 0x7Fu} << shift;
      if (b < 0x80) break;
    }
    return value;
  };
  std::vector<TestPiece> pieces;
  ByteReader in(bytes, file.string());
  while (in.remaining() > 0) {
    const std::uint64_t key = varint(in);
    EXPECT_EQ(key & 7, 2u) << "a field of the model that is no message";
    ByteReader field(in.bytes(varint(in)), file.string());
    if (key >> 3 != 1) continue;
    TestPiece piece;
    while (field.remaining() > 0) {
      const std::uint64_t inner = varint(field);
      if (inner == (1 << 3 | 2)) piece.text = field.text(varint(field));
      if (inner == (2 << 3 | 5)) piece.score = field.read<float>();
      if (inner == (3 << 3 | 0)) piece.type = static_cast<TokenType>(varint(field));
    }
    pieces.push_back(piece);
  }
  TokenizerData data = make_data("llama", "default", pieces);
  data.unknown = 0;
  data.bos = 1;
  data.eos = 2;
  data.add_bos = true;
  return data;
}

/// The vocabulary that a golden's header names.
///
/// Errors:  Error naming what is not supported, the reason to skip the golden.
inline TokenizerData read_golden_tokenizer(const Json& header) {
  std::vector<std::filesystem::path> files;
  for (const std::string& name : strings_of(header.find("tokenizer"))) {
    files.push_back(shared_folder("data") / name);
  }
  const std::string& kind = *header.find("kind")->as_string();
  const std::string name = files.at(0).filename().string();
  const bool gpt2_pattern =
      contains(kind, "GPT-2 pattern)") || contains(kind, "r50k") || contains(kind, "p50k");
  std::string pre;
  if (gpt2_pattern) pre = "gpt-2";
  if (contains(kind, "Qwen2 pattern")) pre = "qwen2";
  if (contains(kind, "cl100k")) pre = "llama-bpe";
  if (name.ends_with(".gguf")) return std::move(*read_gguf_tokenizer(files[0].string()));
  if (name == "vocab.json" && !pre.empty()) return read_vocab_and_merges(files, header, pre);
  if (name.ends_with(".tiktoken") && !pre.empty()) return read_tiktoken(files[0], header, pre);
  if (contains(kind, "SentencePiece BPE,")) return read_sentencepiece(files[0]);
  throw Error(ErrorCode::kModel, cat("no reader for ", name, ", ", kind));
}

}  // namespace ingot::testing
