// Reads an architecture's keys and checks their bounds.
#include "load/gguf/architecture_keys.h"

#include "base/index.h"
#include "base/text.h"

namespace ingot {

std::string ArchitectureKeys::key(std::string_view rest) const {
  return cat(architecture_, ".", rest);
}

void ArchitectureKeys::refuse(std::string_view rest, std::string_view reason) const {
  keys_->refuse(key(rest), reason);
}

void ArchitectureKeys::missing(std::string_view rest) const {
  keys_->fail(cat(key(rest), " is missing"));
}

std::optional<std::int64_t> ArchitectureKeys::integer(std::string_view rest, std::int64_t min,
                                                      std::int64_t max) const {
  const std::optional<std::int64_t> value = keys_->uint32(key(rest));
  if (value && (*value < min || *value > max)) {
    refuse(rest, cat("must be from ", min, " to ", max));
  }
  return value;
}

std::int64_t ArchitectureKeys::required(std::string_view rest, std::int64_t min,
                                        std::int64_t max) const {
  const std::optional<std::int64_t> value = integer(rest, min, max);
  if (!value) missing(rest);
  return *value;
}

std::optional<double> ArchitectureKeys::number(std::string_view rest) const {
  return keys_->float32(key(rest));
}

std::optional<double> ArchitectureKeys::positive(std::string_view rest) const {
  const std::optional<double> value = number(rest);
  if (value && !(*value > 0)) refuse(rest, "must be greater than 0");
  return value;
}

std::optional<bool> ArchitectureKeys::flag(std::string_view rest) const {
  return keys_->boolean(key(rest));
}

std::optional<std::string_view> ArchitectureKeys::text(std::string_view rest) const {
  return keys_->text(key(rest));
}

bool ArchitectureKeys::is_list(std::string_view rest) const {
  const GgufEntry* entry = keys_->any(key(rest));
  return entry != nullptr && entry->is_array();
}

const GgufEntry& ArchitectureKeys::list(std::string_view rest, GgufType element,
                                        std::int64_t blocks) const {
  const GgufEntry& entry = *keys_->array(key(rest), element);
  if (entry.count != static_cast<std::uint64_t>(blocks)) {
    refuse(rest, cat("must have an element for each of the ", blocks, " layers"));
  }
  return entry;
}

std::vector<std::int64_t> ArchitectureKeys::per_block(std::string_view rest, std::int64_t blocks,
                                                      std::int64_t min, std::int64_t max) const {
  if (!is_list(rest)) {
    const std::optional<std::int64_t> value = integer(rest, min, max);
    return value ? std::vector<std::int64_t>(to_size(blocks), *value) : std::vector<std::int64_t>();
  }
  const bool is_signed = keys_->any(key(rest))->element == GgufType::kInt32;
  const GgufEntry& entry = list(rest, is_signed ? GgufType::kInt32 : GgufType::kUint32, blocks);
  std::vector<std::int64_t> values;
  for (std::uint64_t i = 0; i < entry.count; ++i) {
    const std::int64_t value = is_signed ? std::int64_t{entry.number<std::int32_t>(i)}
                                         : std::int64_t{entry.number<std::uint32_t>(i)};
    if (value < min || value > max) {
      refuse(rest, cat("has the element ", value, ", must be from ", min, " to ", max));
    }
    values.push_back(value);
  }
  return values;
}

std::vector<bool> ArchitectureKeys::flags(std::string_view rest, std::int64_t blocks) const {
  std::vector<bool> values;
  if (keys_->any(key(rest)) == nullptr) return values;
  const GgufEntry& entry = list(rest, GgufType::kBool, blocks);
  for (std::uint64_t i = 0; i < entry.count; ++i) values.push_back(entry.number<bool>(i));
  return values;
}

}  // namespace ingot
