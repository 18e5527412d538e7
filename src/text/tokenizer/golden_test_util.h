// Reads the vocabularies that golden files of tokenizers name, and tiktoken files.
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

#include "base/error.h"
#include "base/text.h"
#include "load/base64.h"
#include "load/json.h"
#include "load/tokenizer/tokenizer_data.h"
#include "load/tokenizer/tokenizer_files.h"
#include "quant/test_data.h"
#include "text/tokenizer/tokenizer_test_util.h"

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

/// A vocabulary's pieces by id. Ids without a piece become unused tokens.
class PieceList {
 public:
  void set(std::size_t id, TestPiece piece) {
    while (pieces_.size() <= id)
      pieces_.push_back({cat("[unused", pieces_.size(), "]"), TokenType::kUnused});
    pieces_[id] = std::move(piece);
  }
  const std::vector<TestPiece>& pieces() const { return pieces_; }

 private:
  std::vector<TestPiece> pieces_;
};

/// Merges a token's bytes, using only ranks below the token's rank. Returns the parts, usually two.
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

/// Reads a tiktoken file. The golden file's `header` has the pattern and the special tokens.
inline TokenizerData read_tiktoken(const std::filesystem::path& file, const Json& header) {
  PieceList list;
  std::map<std::string, std::size_t> ranks;
  std::vector<std::string> in_order;
  for (const std::string& line : lines_of(read_text(file))) {
    const std::size_t space = line.find(' ');
    std::size_t rank = 0;
    std::from_chars(line.data() + space + 1, line.data() + line.size(), rank);
    const std::string bytes = *decode_base64(std::string_view(line).substr(0, space));
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
  TokenizerData data = byte_level_pieces("gpt-2", list.pieces());
  data.file = file.string();
  data.pretokenizers[0].kind = PretokenizerStep::Kind::kSplit;
  // {1,3}+ is possessive in Rust, but repeats {1,3} in Oniguruma (tokenizer.json): drop the +.
  std::string pattern = *facts.find("pat_str")->as_string();
  const std::size_t at = pattern.find("{1,3}+");
  if (at != std::string::npos) pattern.erase(at + 5, 1);
  data.pretokenizers[0].pattern = {std::move(pattern), true};
  data.pretokenizers[0].behavior = SplitBehavior::kIsolated;
  for (const std::string& bytes : in_order) {
    if (bytes.size() < 2) continue;
    const auto parts = parts_by_rank(bytes, ranks);
    if (parts.size() == 2) data.merges.add(to_letters(parts[0]) + " " + to_letters(parts[1]));
  }
  return data;
}

/// Returns the tokenizer files that `header` names, or only the first if all hold one model.
inline std::vector<std::string> golden_files(const Json& header) {
  std::vector<std::string> files;
  for (const std::string& name : strings_of(header.find("tokenizer"))) {
    files.push_back((shared_folder("data") / name).string());
  }
  if (files.size() > 1 && contains(files[0], ".model.")) files.resize(1);
  return files;
}

/// Reads the tokenizer that a golden file's header names.
inline TokenizerData read_golden_tokenizer(const Json& header) {
  const std::vector<std::string> files = golden_files(header);
  if (files.at(0).ends_with(".tiktoken")) return read_tiktoken(files[0], header);
  return read_tokenizer_files(files);
}

}  // namespace ingot::testing
