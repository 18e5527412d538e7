// HfKeys: finds members of config.json by the family's spellings, and fills in defaults.
#include "load/hf/hf_keys.h"

#include "base/text.h"

namespace ingot {

namespace {

/// Whether another value than the default is likely in a file that lacks the key, so that users
/// should know of the assumption.
bool is_doubtful(std::string_view name) {
  return name == "rope_theta" || name == "rope_local_base_freq" || name == "sliding_window";
}

}  // namespace

std::string_view HfKeys::spelled(std::string_view name) const {
  const HfKey* key = family_.find(name);
  if (key == nullptr) return name;
  const bool other = members_.get(key->key()) == nullptr && !key->also.empty() &&
                     members_.get(key->also) != nullptr;
  return other ? key->also : key->key();
}

bool HfKeys::states(std::string_view name) const {
  return reads(name) && members_.get(spelled(name)) != nullptr;
}

bool HfKeys::defaults(std::string_view name) const {
  const HfKey* key = family_.find(name);
  return key != nullptr && key->fallback && !members_.mentions(spelled(name));
}

std::optional<double> HfKeys::fallback(std::string_view name) const {
  if (!defaults(name)) return std::nullopt;
  const HfKey* key = family_.find(name);
  const std::string line =
      cat(members_.prefix(), key->key(), " is missing: taken as ", *key->fallback);
  if (is_doubtful(name)) {
    notes_.warn(line);
  } else {
    notes_.detail(line);
  }
  return key->fallback;
}

std::optional<std::int64_t> HfKeys::integer(std::string_view name, std::int64_t min,
                                            std::int64_t max) const {
  if (!states(name)) {
    const auto value = fallback(name);
    return value ? std::optional(static_cast<std::int64_t>(*value)) : std::nullopt;
  }
  const HfKey& key = *family_.find(name);
  const auto value = members_.integer(spelled(name), min, max);
  const auto other = key.also.empty() ? std::nullopt : members_.integer(key.also, min, max);
  if (other && *other != *value) {
    members_.fail(
        cat(members_.prefix(), key.key(), " is ", *value, ", but ", key.also, " is ", *other));
  }
  return value;
}

std::int64_t HfKeys::required_integer(std::string_view name, std::int64_t min,
                                      std::int64_t max) const {
  const auto value = integer(name, min, max);
  if (!value) members_.missing(spelled(name));
  return *value;
}

std::optional<double> HfKeys::number(std::string_view name) const {
  return states(name) ? members_.number(spelled(name)) : fallback(name);
}

std::optional<bool> HfKeys::boolean(std::string_view name) const {
  if (states(name)) return members_.boolean(spelled(name));
  // Defaults of booleans are not noted: almost all files leave them to the default.
  return defaults(name) ? std::optional(*family_.find(name)->fallback != 0) : std::nullopt;
}

const std::string* HfKeys::text(std::string_view name) const {
  return states(name) ? members_.text(spelled(name)) : nullptr;
}

const Json::Array* HfKeys::array(std::string_view name) const {
  return states(name) ? members_.array(spelled(name)) : nullptr;
}

}  // namespace ingot
