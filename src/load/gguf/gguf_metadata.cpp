// Reads typed values from GGUF metadata, and formats values for messages and `ingot inspect`.
#include "load/gguf/gguf_metadata.h"

#include <charconv>
#include <cmath>

#include "base/text.h"

namespace ingot {

namespace {

constexpr std::size_t kShownTextMax = 4096;
constexpr std::uint64_t kShownElementsMax = 16;

std::string_view scalar_name(GgufType type) {
  switch (type) {
    case GgufType::kUint8:
      return "uint8";
    case GgufType::kInt8:
      return "int8";
    case GgufType::kUint16:
      return "uint16";
    case GgufType::kInt16:
      return "int16";
    case GgufType::kUint32:
      return "uint32";
    case GgufType::kInt32:
      return "int32";
    case GgufType::kFloat32:
      return "float32";
    case GgufType::kBool:
      return "bool";
    case GgufType::kString:
      return "string";
    case GgufType::kArray:
      return "array";
    case GgufType::kUint64:
      return "uint64";
    case GgufType::kInt64:
      return "int64";
    case GgufType::kFloat64:
      return "float64";
  }
  return "unknown";
}

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

Json shown_number(const GgufEntry& entry, std::uint64_t i) {
  switch (entry.element) {
    case GgufType::kUint8:
      return Json(std::int64_t{entry.number<std::uint8_t>(i)});
    case GgufType::kInt8:
      return Json(std::int64_t{entry.number<std::int8_t>(i)});
    case GgufType::kUint16:
      return Json(std::int64_t{entry.number<std::uint16_t>(i)});
    case GgufType::kInt16:
      return Json(std::int64_t{entry.number<std::int16_t>(i)});
    case GgufType::kUint32:
      return Json(std::int64_t{entry.number<std::uint32_t>(i)});
    case GgufType::kInt32:
      return Json(std::int64_t{entry.number<std::int32_t>(i)});
    case GgufType::kUint64:
      return Json(entry.number<std::uint64_t>(i));
    case GgufType::kInt64:
      return Json(entry.number<std::int64_t>(i));
    case GgufType::kFloat32:
      return Json(as_written(entry.number<float>(i)));
    case GgufType::kFloat64:
      return Json(entry.number<double>(i));
    case GgufType::kBool:
      return Json(entry.number<std::uint8_t>(i) != 0);
    case GgufType::kString:
    case GgufType::kArray:
      break;
  }
  return Json();
}

/// A short form of a value for a message, on one line.
std::string brief(const GgufEntry& entry) {
  if (entry.is_array()) return cat("[", scalar_name(entry.element), " x ", entry.count, "]");
  if (entry.type == GgufType::kString) return cat("'", printable(entry.text(), 64), "'");
  if (entry.type == GgufType::kFloat32) return cat(entry.number<float>());
  if (entry.type == GgufType::kFloat64) return cat(entry.number<double>());
  return shown_number(entry, 0).dump();
}

}  // namespace

std::string gguf_type_name(const GgufEntry& entry) {
  return cat(entry.is_array() ? "array of " : "", scalar_name(entry.element));
}

Json gguf_json(const GgufEntry& entry) {
  if (!entry.is_array()) {
    return entry.type == GgufType::kString ? shown_text(entry.text()) : shown_number(entry, 0);
  }
  if (entry.count > kShownElementsMax) return Json(brief(entry));
  Json out = Json::array();
  if (entry.element == GgufType::kString) {
    entry.for_each_string([&](std::string_view text) { out.push(shown_text(text)); });
  } else {
    for (std::uint64_t i = 0; i < entry.count; ++i) out.push(shown_number(entry, i));
  }
  return out;
}

const GgufEntry* GgufKeys::any(std::string_view key) {
  const GgufEntry* entry = file_->find(key);
  if (entry != nullptr) asked_[static_cast<std::size_t>(entry - file_->entries.data())] = true;
  return entry;
}

const GgufEntry* GgufKeys::typed(std::string_view key, GgufType type) {
  const GgufEntry* entry = any(key);
  if (entry != nullptr && entry->type != type) wrong_type(*entry, scalar_name(type));
  return entry;
}

std::optional<std::int64_t> GgufKeys::uint16(std::string_view key) {
  const GgufEntry* entry = typed(key, GgufType::kUint16);
  if (entry == nullptr) return std::nullopt;
  return entry->number<std::uint16_t>();
}

std::optional<std::int64_t> GgufKeys::uint32(std::string_view key) {
  const GgufEntry* entry = typed(key, GgufType::kUint32);
  if (entry == nullptr) return std::nullopt;
  return entry->number<std::uint32_t>();
}

std::optional<std::int64_t> GgufKeys::int32(std::string_view key) {
  const GgufEntry* entry = typed(key, GgufType::kInt32);
  if (entry == nullptr) return std::nullopt;
  return entry->number<std::int32_t>();
}

std::optional<double> GgufKeys::float32(std::string_view key) {
  const GgufEntry* entry = typed(key, GgufType::kFloat32);
  if (entry == nullptr) return std::nullopt;
  const auto value = entry->number<float>();
  if (!std::isfinite(value)) refuse(key, "must be finite");
  return double{value};
}

std::optional<bool> GgufKeys::boolean(std::string_view key) {
  const GgufEntry* entry = typed(key, GgufType::kBool);
  if (entry == nullptr) return std::nullopt;
  return entry->number<std::uint8_t>() != 0;
}

std::optional<std::string_view> GgufKeys::text(std::string_view key) {
  const GgufEntry* entry = typed(key, GgufType::kString);
  if (entry == nullptr) return std::nullopt;
  return entry->text();
}

const GgufEntry* GgufKeys::array(std::string_view key, GgufType element) {
  const GgufEntry* entry = any(key);
  if (entry != nullptr && (!entry->is_array() || entry->element != element)) {
    wrong_type(*entry, cat("array of ", scalar_name(element)));
  }
  return entry;
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
