// Parses the index of a sharded checkpoint. Its file names are untrusted: only plain names are
// accepted.
#include "load/hf/safetensors_index.h"

#include <algorithm>
#include <cmath>

#include "base/error.h"
#include "base/text.h"
#include "base/utf8.h"
#include "load/json.h"

namespace ingot {

namespace {

constexpr std::size_t kShardNameMax = 255;
constexpr std::size_t kShardsMax = 4096;
constexpr JsonLimits kIndexLimits = {.nodes_max = 2'000'000};

[[noreturn]] void fail(const std::string& file, std::string_view reason) {
  throw model_error(file, "index", reason);
}

/// Reads metadata.total_size. Some writers store it as 1.0e9, so a whole double counts as an
/// integer. A value that is no size is not an error: each tensor states its own size.
void read_total_size(const Json& root, SafetensorsIndex& index) {
  const Json* metadata = root.find("metadata");
  const Json* size = metadata == nullptr ? nullptr : metadata->find("total_size");
  if (size == nullptr || size->is_null()) return;
  constexpr double kWholeMax = 9007199254740992.0;
  const double value = size->number().value_or(-1);
  if (!(value >= 0) ||
      (size->as_int() == nullptr && (value > kWholeMax || std::floor(value) != value))) {
    index.odd_total_size = size->kind();
  } else if (const auto* whole = size->as_int()) {
    index.total_size = static_cast<std::uint64_t>(*whole);
  } else {
    index.total_size = static_cast<std::uint64_t>(value);
  }
}

}  // namespace

bool is_shard_name(std::string_view name) {
  constexpr std::string_view kSuffix = ".safetensors";
  if (name.size() <= kSuffix.size() || name.size() > kShardNameMax || !name.ends_with(kSuffix)) {
    return false;
  }
  return is_utf8(name) && std::none_of(name.begin(), name.end(), [](char c) {
           return static_cast<unsigned char>(c) < 0x20 || c == 0x7f || c == '/' || c == '\\' ||
                  c == ':';
         });
}

SafetensorsIndex parse_safetensors_index(std::string_view text, const std::string& file) {
  const Json root = parse_json_file(text, file, "index", kIndexLimits);
  const Json* map = root.find("weight_map");
  if (map == nullptr || map->as_object() == nullptr) {
    fail(file,
         cat("weight_map is ", map == nullptr ? "missing" : map->kind(), ", expected an object"));
  }
  std::vector<std::string_view> names;
  for (const auto& [tensor, shard] : *map->as_object()) {
    const std::string* name = shard.as_string();
    if (name == nullptr || !is_shard_name(*name)) {
      fail(file, cat("tensor '", printable(tensor), "' is said to be in ",
                     name == nullptr ? std::string(shard.kind()) : "'" + printable(*name) + "'",
                     ", expected a plain file name that ends in .safetensors"));
    }
    names.push_back(*name);
  }
  if (names.empty()) fail(file, "weight_map is empty");
  std::sort(names.begin(), names.end());
  names.erase(std::unique(names.begin(), names.end()), names.end());
  if (names.size() > kShardsMax) {
    fail(file, cat("it names ", names.size(), " files, at most ", kShardsMax, " are accepted"));
  }
  SafetensorsIndex index;
  index.files.assign(names.begin(), names.end());
  for (const auto& [tensor, shard] : *map->as_object()) {
    const auto at = std::lower_bound(index.files.begin(), index.files.end(), *shard.as_string());
    index.tensors.emplace_back(tensor, static_cast<std::int32_t>(at - index.files.begin()));
  }
  std::sort(index.tensors.begin(), index.tensors.end());
  read_total_size(root, index);
  return index;
}

}  // namespace ingot
