// Helpers for tests of Hugging Face folders: temporary folders, small files, and checks of error
// messages.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/error.h"
#include "base/full_run_test_util.h"
#include "base/shared_data_test_util.h"
#include "base/text.h"

namespace ingot::testing_hf {

/// Returns the entries of a folder, sorted by name.
inline std::vector<std::filesystem::path> entries(const std::filesystem::path& folder) {
  std::vector<std::filesystem::path> found;
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    found.push_back(entry.path());
  }
  std::sort(found.begin(), found.end());
  return found;
}

inline std::string read_file(const std::filesystem::path& path) {
  std::ifstream in(path, std::ios::binary);
  EXPECT_TRUE(in.good()) << path;
  return {std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>()};
}

inline std::span<const std::byte> bytes_of(std::string_view text) {
  return std::as_bytes(std::span(text.data(), text.size()));
}

/// Returns the number of damaged files that a test tries.
inline int damaged_files() { return random_runs(20'000, 1'000'000); }

/// Returns whether a message has the form "<file>: <section> @<offset>: <reason>", on one line of
/// limited length.
inline bool is_well_formed(std::string_view message) {
  const auto at = message.find(" @");
  if (at == std::string_view::npos || message.find(": ") >= at) return false;
  std::size_t i = at + 2;
  while (i < message.size() && message[i] >= '0' && message[i] <= '9') ++i;
  if (i == at + 2 || message.substr(i, 2) != ": " || message.size() <= i + 2) return false;
  return message.size() < 6000 && std::none_of(message.begin(), message.end(), [](char c) {
           return static_cast<unsigned char>(c) < 0x20 || c == 0x7f;
         });
}

/// Runs `fn` and returns its error message, or an empty text if `fn` succeeds. Fails the test if
/// the error is not a well-formed Error{kModel}.
template <class Fn>
std::string refusal(Fn&& fn) {
  try {
    fn();
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::kModel) << error.message();
    EXPECT_TRUE(is_well_formed(error.message())) << error.message();
    return error.message();
  }
  return {};
}

/// Expects that `fn` fails with a message that contains `part`.
template <class Fn>
void expect_refused(Fn&& fn, std::string_view part) {
  const std::string message = refusal(fn);
  ASSERT_FALSE(message.empty()) << "accepted; expected: " << part;
  EXPECT_NE(message.find(part), std::string::npos) << message << "\nexpected: " << part;
}

/// A temporary folder. Its destructor removes it.
class TempFolder {
 public:
  TempFolder() {
    std::string pattern = (std::filesystem::temp_directory_path() / "ingot-XXXXXX").string();
    EXPECT_NE(::mkdtemp(pattern.data()), nullptr);
    path_ = pattern;
  }
  ~TempFolder() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  TempFolder(const TempFolder&) = delete;
  TempFolder& operator=(const TempFolder&) = delete;

  const std::filesystem::path& path() const { return path_; }
  std::string string() const { return path_.string(); }
  void write(std::string_view name, std::string_view bytes) const {
    std::ofstream out(path_ / name, std::ios::binary);
    out << bytes;
    EXPECT_TRUE(out.good()) << name;
  }

 private:
  std::filesystem::path path_;
};

/// Encodes `n` as eight little-endian bytes.
inline std::string length_bytes(std::uint64_t n) {
  std::string out;
  for (int i = 0; i < 8; ++i) out += static_cast<char>((n >> (8 * i)) & 0xff);
  return out;
}

/// Returns the bytes of a safetensors file: length of the header, header, data.
inline std::string safetensors_file(std::string_view header, std::string_view data) {
  return length_bytes(header.size()).append(header).append(data);
}

/// Formats a tensor's member for the JSON header of a safetensors file.
inline std::string tensor_entry(std::string_view name, std::string_view dtype,
                                std::string_view shape, std::string_view offsets) {
  return cat("\"", name, "\":{\"dtype\":\"", dtype, "\",\"shape\":", shape,
             ",\"data_offsets\":", offsets, "}");
}

/// Makes a valid file with one F32 tensor of two elements for each name.
inline std::string small_safetensors(const std::vector<std::string>& names) {
  std::string header = "{";
  for (std::size_t i = 0; i < names.size(); ++i) {
    if (i > 0) header += ",";
    header += tensor_entry(names[i], "F32", "[2]", cat("[", 8 * i, ",", 8 * i + 8, "]"));
  }
  return safetensors_file(header + "}", std::string(8 * names.size(), 'x'));
}

/// Builds the text of a config.json. Tests can replace the members with JSON texts.
class ConfigText {
 public:
  /// Starts with a valid configuration of a small model of type `model_type`.
  explicit ConfigText(std::string_view model_type = "llama") {
    set("model_type", cat("\"", model_type, "\""));
    set("num_hidden_layers", "4");
    set("hidden_size", "64");
    set("num_attention_heads", "4");
    set("num_key_value_heads", "2");
    set("intermediate_size", "128");
    set("max_position_embeddings", "512");
    set("vocab_size", "320");
    set("rms_norm_eps", "1e-05");
    set("rope_theta", "10000");
    set("sliding_window", "null");
    if (model_type == "qwen3_moe") {
      set("num_experts", "8");
      set("num_experts_per_tok", "2");
      set("moe_intermediate_size", "32");
    }
  }
  ConfigText& set(std::string_view key, std::string_view json) {
    remove(key);
    members_.emplace_back(key, json);
    return *this;
  }
  ConfigText& remove(std::string_view key) {
    std::erase_if(members_, [&](const auto& member) { return member.first == key; });
    return *this;
  }
  std::string text() const {
    std::string out = "{";
    for (const auto& [key, value] : members_) {
      if (out.size() > 1) out += ", ";
      out += cat("\"", key, "\": ", value);
    }
    return out + "}";
  }

 private:
  std::vector<std::pair<std::string, std::string>> members_;
};

}  // namespace ingot::testing_hf
