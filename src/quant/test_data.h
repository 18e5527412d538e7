// Reads shared test data for the tests of weight formats, and makes random numbers.
#pragma once

#include <gtest/gtest.h>

#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <string>
#include <vector>

#include "base/shared_data_test_util.h"
#include "quant/formats.h"

namespace ingot::testing {

/// Returns the bytes of a whole file.
inline std::vector<std::byte> read_bytes(const std::filesystem::path& path) {
  std::ifstream in(path, std::ios::binary);
  EXPECT_TRUE(in.good()) << path;
  const std::string text((std::istreambuf_iterator<char>(in)), std::istreambuf_iterator<char>());
  std::vector<std::byte> bytes(text.size());
  if (!text.empty()) std::memcpy(bytes.data(), text.data(), text.size());
  return bytes;
}

/// Returns the float32 numbers of a whole file.
inline std::vector<float> read_floats(const std::filesystem::path& path) {
  const std::vector<std::byte> bytes = read_bytes(path);
  std::vector<float> floats(bytes.size() / sizeof(float));
  if (!floats.empty()) std::memcpy(floats.data(), bytes.data(), floats.size() * sizeof(float));
  return floats;
}

/// Returns all formats by their names in lower case, as in the names of test files.
inline std::map<std::string, Format> formats_by_file_name() {
  std::map<std::string, Format> formats;
  for_each_type(Formats{}, [&]<class T>() {
    std::string name = T::kName;
    for (char& c : name) {
      if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
    }
    formats[name] = T::kFormat;
  });
  return formats;
}

/// Generates random numbers with SplitMix64 (Steele et al. 2014). Every machine gets the same ones.
class Random {
 public:
  explicit Random(std::uint64_t seed) : state_(seed) {}
  std::uint64_t next() {
    std::uint64_t z = state_ += 0x9E3779B97F4A7C15u;
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9u;
    z = (z ^ (z >> 27)) * 0x94D049BB133111EBu;
    return z ^ (z >> 31);
  }
  /// Returns a uniform number in [-1, 1).
  float uniform() {
    return static_cast<float>(static_cast<std::int64_t>(next() >> 40)) * 0x1p-23f - 1.0f;
  }

 private:
  std::uint64_t state_;
};

}  // namespace ingot::testing
