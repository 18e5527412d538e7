// Reads typed values from GGUF metadata, and formats values for messages and `ingot inspect`.
#include "load/gguf/gguf_metadata.h"

#include <charconv>
#include <cmath>
#include <concepts>

#include "base/index.h"
#include "base/text.h"

namespace ingot {

namespace {

constexpr std::size_t kShownTextMax = 4096;
constexpr std::uint64_t kShownElementsMax = 16;

/// The double with the float's shortest decimal spelling: 1e-05, not 9.99999974e-06.
double as_written(float value) {
  if (!std::isfinite(value)) return double{value};
  const std::string digits = cat(value);
  double out = 0;
  std::from_chars(digits.data(), digits.data() + digits.size(), out);
  return out;
}

Json shown_text(std::string_view text) {
  if (text.size() <= kShownTextMax) return Json(text);
  return Json(cat(text.substr(0, kShownTextMax), "... (", text.size(), " bytes)"));
}

/// Element `i`, a number of type T.
template <class T>
Json shown_number(const GgufEntry& entry, std::uint64_t i) {
  const T value = entry.number<T>(i);
  if constexpr (std::same_as<T, float>) {
    return Json(as_written(value));
  } else if constexpr (std::same_as<T, bool> || sizeof(T) == sizeof(std::int64_t)) {
    return Json(value);
  } else {
    return Json(std::int64_t{value});
  }
}

/// A type's name, and its values for display. The index is a GgufType.
struct TypeFacts {
  std::string_view name;
  Json (*shown)(const GgufEntry& entry, std::uint64_t i);
};

constexpr TypeFacts kTypes[] = {{"uint8", shown_number<std::uint8_t>},
                                {"int8", shown_number<std::int8_t>},
                                {"uint16", shown_number<std::uint16_t>},
                                {"int16", shown_number<std::int16_t>},
                                {"uint32", shown_number<std::uint32_t>},
                                {"int32", shown_number<std::int32_t>},
                                {"float32", shown_number<float>},
                                {"bool", shown_number<bool>},
                                {"string", nullptr},
                                {"array", nullptr},
                                {"uint64", shown_number<std::uint64_t>},
                                {"int64", shown_number<std::int64_t>},
                                {"float64", shown_number<double>}};

const TypeFacts& facts_of(GgufType type) { return at(kTypes, type); }

/// A short form of a value for a message, on one line.
std::string brief(const GgufEntry& entry) {
  if (entry.is_array()) return cat("[", facts_of(entry.element).name, " x ", entry.count, "]");
  if (entry.type == GgufType::kString) return cat("'", printable(entry.text(), 64), "'");
  if (entry.type == GgufType::kFloat32) return cat(entry.number<float>());
  if (entry.type == GgufType::kFloat64) return cat(entry.number<double>());
  return facts_of(entry.type).shown(entry, 0).dump();
}

}  // namespace

std::string gguf_type_name(const GgufEntry& entry) {
  return cat(entry.is_array() ? "array of " : "", facts_of(entry.element).name);
}

Json gguf_json(const GgufEntry& entry) {
  if (!entry.is_array()) {
    return entry.type == GgufType::kString ? shown_text(entry.text())
                                           : facts_of(entry.type).shown(entry, 0);
  }
  if (entry.count > kShownElementsMax) return Json(brief(entry));
  Json out = Json::array();
  if (entry.element == GgufType::kString) {
    entry.for_each_string([&](std::string_view text) { out.push(shown_text(text)); });
  } else {
    const auto shown = facts_of(entry.element).shown;
    for (std::uint64_t i = 0; i < entry.count; ++i) out.push(shown(entry, i));
  }
  return out;
}

const GgufEntry* GgufKeys::find(std::string_view key) const {
  if (wanted_ != nullptr) wanted_->emplace(key);
  return file_->find(key);
}

const GgufEntry* GgufKeys::any(std::string_view key) {
  const GgufEntry* entry = find(key);
  if (entry != nullptr) at(asked_, entry - file_->entries.data()) = true;
  return entry;
}

const GgufEntry* GgufKeys::typed(std::string_view key, GgufType type) {
  const GgufEntry* entry = any(key);
  if (entry != nullptr && entry->type != type) wrong_type(*entry, facts_of(type).name);
  return entry;
}

template <class T>
std::optional<T> GgufKeys::number(std::string_view key, GgufType type) {
  const GgufEntry* entry = typed(key, type);
  return entry == nullptr ? std::nullopt : std::optional(entry->number<T>());
}

std::optional<std::int64_t> GgufKeys::uint16(std::string_view key) {
  return number<std::uint16_t>(key, GgufType::kUint16);
}

std::optional<std::int64_t> GgufKeys::uint32(std::string_view key) {
  return number<std::uint32_t>(key, GgufType::kUint32);
}

std::optional<std::int64_t> GgufKeys::int32(std::string_view key) {
  return number<std::int32_t>(key, GgufType::kInt32);
}

std::optional<double> GgufKeys::float32(std::string_view key) {
  const auto value = number<float>(key, GgufType::kFloat32);
  if (value && !std::isfinite(*value)) refuse(key, "must be finite");
  return value;
}

std::optional<bool> GgufKeys::boolean(std::string_view key) {
  return number<bool>(key, GgufType::kBool);
}

std::optional<std::string_view> GgufKeys::text(std::string_view key) {
  const GgufEntry* entry = typed(key, GgufType::kString);
  if (entry == nullptr) return std::nullopt;
  return entry->text();
}

const GgufEntry* GgufKeys::array(std::string_view key, GgufType element) {
  const GgufEntry* entry = any(key);
  if (entry != nullptr && (!entry->is_array() || entry->element != element)) {
    wrong_type(*entry, cat("array of ", facts_of(element).name));
  }
  return entry;
}

bool GgufKeys::is_unread(std::string_view key) const {
  const GgufEntry* entry = find(key);
  return entry != nullptr && !at(asked_, entry - file_->entries.data());
}

std::vector<const GgufEntry*> GgufKeys::unread(std::string_view prefix) const {
  std::vector<const GgufEntry*> found;
  for (std::size_t i = 0; i < asked_.size(); ++i) {
    const GgufEntry& entry = file_->entries[i];
    if (!asked_[i] && entry.key.starts_with(prefix)) found.push_back(&entry);
  }
  return found;
}

void GgufKeys::wrong_type(const GgufEntry& entry, std::string_view expected) const {
  throw model_error(
      file_->name, "metadata", entry.offset,
      cat(printable(entry.key), " is of type ", gguf_type_name(entry), ", must be ", expected));
}

std::string GgufKeys::shown(std::string_view key) const {
  const GgufEntry* entry = file_->find(key);
  return entry == nullptr ? std::string() : brief(*entry);
}

void GgufKeys::refuse(std::string_view key, std::string_view reason) const {
  const GgufEntry* entry = file_->find(key);
  if (entry == nullptr) fail(cat(printable(key), " is missing: ", reason));
  throw model_error(file_->name, "metadata", entry->offset,
                    cat(printable(key), " = ", brief(*entry), " ", reason));
}

void GgufKeys::fail(std::string_view reason) const {
  throw model_error(file_->name, "metadata", file_->metadata_begin, reason);
}

}  // namespace ingot
