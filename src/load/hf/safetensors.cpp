// Parses the header of a safetensors file, and checks every number against the file's size.
#include "load/hf/safetensors.h"

#include <algorithm>
#include <array>
#include <string_view>
#include <tuple>
#include <utility>

#include "base/byte_reader.h"
#include "base/checked.h"
#include "base/error.h"
#include "base/text.h"
#include "base/utf8.h"
#include "load/json.h"
#include "quant/formats.h"

namespace ingot {

namespace {

constexpr std::uint64_t kDimsMax = 8;
constexpr std::uint64_t kLengthBytes = 8;
constexpr JsonLimits kHeaderLimits = {.bytes_max = kSafetensorsHeaderMax, .nodes_max = 2'000'000};

struct DType {
  std::string_view name;
  std::uint64_t bits;
  std::optional<Format> format;
};

// A tensor of a type smaller than a byte must still fill whole bytes.
constexpr std::array kDTypes = std::to_array<DType>({
    {"F32", 32, F32::kFormat},        {"F16", 16, F16::kFormat},
    {"BF16", 16, BF16::kFormat},      {"F64", 64, std::nullopt},
    {"I64", 64, std::nullopt},        {"I32", 32, std::nullopt},
    {"I16", 16, std::nullopt},        {"I8", 8, std::nullopt},
    {"U64", 64, std::nullopt},        {"U32", 32, std::nullopt},
    {"U16", 16, std::nullopt},        {"U8", 8, std::nullopt},
    {"BOOL", 8, std::nullopt},        {"F8_E4M3", 8, std::nullopt},
    {"F8_E5M2", 8, std::nullopt},     {"F8_E4M3FNUZ", 8, std::nullopt},
    {"F8_E5M2FNUZ", 8, std::nullopt}, {"F8_E8M0", 8, std::nullopt},
    {"F6_E2M3", 6, std::nullopt},     {"F6_E3M2", 6, std::nullopt},
    {"F4", 4, std::nullopt},          {"C64", 64, std::nullopt},
});

const DType* find_dtype(std::string_view name) {
  const auto it = std::find_if(kDTypes.begin(), kDTypes.end(),
                               [&](const DType& type) { return type.name == name; });
  return it == kDTypes.end() ? nullptr : it;
}

/// The reason why a tensor's name is refused; empty if it is valid.
std::string_view name_problem(std::string_view name) {
  if (name.empty()) return "is empty";
  if (name.size() > kTensorNameMax) return "is longer than 255 bytes";
  if (!is_utf8(name)) return "is not valid UTF-8";
  const bool control = std::any_of(name.begin(), name.end(), [](char c) {
    return static_cast<unsigned char>(c) < 0x20 || c == 0x7f;
  });
  return control ? "has a control character" : "";
}

/// Converts the header of a file to tensors.
class Table {
 public:
  Table(std::span<const std::byte> data, std::uint64_t data_offset, const std::string& file,
        std::int32_t file_index)
      : data_(data), data_offset_(data_offset), file_(file), file_index_(file_index) {}

  TensorInfo tensor(const std::string& name, const Json& entry) const {
    const std::string_view problem = name_problem(name);
    if (!problem.empty()) fail(cat("the tensor name '", printable(name), "' ", problem));
    if (entry.as_object() == nullptr) fail(name, cat("is ", entry.kind(), ", expected an object"));
    const std::string* dtype = member(name, entry, "dtype").as_string();
    const DType* type = dtype == nullptr ? nullptr : find_dtype(*dtype);
    if (type == nullptr) {
      fail(name,
           cat("has the unknown dtype ", dtype == nullptr ? "(no string)" : printable(*dtype, 32)));
    }
    TensorInfo info;
    info.name = name;
    info.shape = shape(name, member(name, entry, "shape"));
    info.type_name = type->name;
    info.format = type->format;
    info.bytes = bytes(name, info.shape, *type);
    const auto [begin, end] = range(name, member(name, entry, "data_offsets"));
    if (end - begin != info.bytes) {
      fail(name, cat("has ", end - begin, " bytes, its shape and type need ", info.bytes));
    }
    info.data = data_.data() + begin;
    info.offset = data_offset_ + begin;
    info.file = file_index_;
    return info;
  }

  void check_coverage(const std::vector<TensorInfo>& sorted) const {
    std::uint64_t expected = data_offset_;
    for (const TensorInfo& tensor : sorted) {
      if (tensor.offset != expected) {
        throw model_error(
            file_, "data", tensor.offset,
            cat("tensor '", printable(tensor.name), "' begins here, ",
                tensor.offset < expected ? "inside the tensor before it" : "after a gap",
                " (expected @", expected, ")"));
      }
      expected += tensor.bytes;
    }
    const std::uint64_t end = data_offset_ + data_.size();
    if (expected != end) {
      throw model_error(file_, "data", expected,
                        cat("the tensors end here, ", end - expected, " more bytes follow"));
    }
  }

  void check_metadata(const Json& metadata) const {
    if (metadata.is_null()) return;
    const Json::Object* members = metadata.as_object();
    if (members == nullptr) fail(cat("__metadata__ is ", metadata.kind(), ", expected an object"));
    for (const auto& [key, value] : *members) {
      if (value.as_string() == nullptr) {
        fail(cat("__metadata__ member '", printable(key), "' is ", value.kind(),
                 ", expected a string"));
      }
    }
  }

 private:
  [[noreturn]] void fail(std::string_view reason) const {
    throw model_error(file_, "header", kLengthBytes, reason);
  }
  [[noreturn]] void fail(std::string_view tensor, std::string_view reason) const {
    fail(cat("tensor '", printable(tensor), "' ", reason));
  }

  const Json& member(const std::string& tensor, const Json& entry, std::string_view key) const {
    const Json* value = entry.find(key);
    if (value == nullptr) fail(tensor, cat("has no ", key));
    return *value;
  }

  std::vector<std::int64_t> shape(const std::string& tensor, const Json& list) const {
    const Json::Array* dims = list.as_array();
    if (dims == nullptr) fail(tensor, cat("has ", list.kind(), " as its shape"));
    if (dims->size() > kDimsMax) {
      fail(tensor, cat("has ", dims->size(), " dimensions, at most ", kDimsMax, " are accepted"));
    }
    std::vector<std::int64_t> shape;
    for (const Json& dim : *dims) {
      const std::int64_t* n = dim.as_int();
      if (n == nullptr || *n < 0) fail(tensor, "has a dimension that is no size");
      shape.push_back(*n);
    }
    return shape;
  }

  std::uint64_t bytes(const std::string& tensor, const std::vector<std::int64_t>& shape,
                      const DType& type) const {
    // Overflow is sticky: [2^62, 4, 0] has no elements, but no sane arithmetic either.
    Checked bits(type.bits);
    for (const std::int64_t dim : shape) bits = bits * static_cast<std::uint64_t>(dim);
    const auto value = bits.value();
    if (!value) fail(tensor, "has a shape whose product overflows");
    if (*value % 8 != 0)
      fail(tensor, cat("has type ", type.name, " and does not fill whole bytes"));
    return *value / 8;
  }

  std::pair<std::uint64_t, std::uint64_t> range(const std::string& tensor, const Json& list) const {
    const Json::Array* ends = list.as_array();
    if (ends == nullptr || ends->size() != 2) fail(tensor, "has data_offsets that are no pair");
    const std::int64_t* begin = (*ends)[0].as_int();
    const std::int64_t* end = (*ends)[1].as_int();
    if (begin == nullptr || end == nullptr || *begin < 0 || *end < 0) {
      fail(tensor, "has data_offsets that are no offsets");
    }
    if (*end < *begin) fail(tensor, cat("ends at ", *end, ", before its begin ", *begin));
    const auto last = static_cast<std::uint64_t>(*end);
    if (last > data_.size()) {
      fail(tensor, cat("ends at ", last, ", the file has ", data_.size(), " bytes of data"));
    }
    return {static_cast<std::uint64_t>(*begin), last};
  }

  std::span<const std::byte> data_;
  std::uint64_t data_offset_;  ///< byte of the file at which data_ begins
  const std::string& file_;
  std::int32_t file_index_;
};

/// The header's JSON text, between its length and the data.
std::string_view header_text(ByteReader& reader) {
  const auto length = reader.read<std::uint64_t>();
  if (length == 0) reader.fail_at(0, "the header is empty");
  if (length > kSafetensorsHeaderMax) {
    reader.fail_at(0, cat("the header has ", length, " bytes, at most ", kSafetensorsHeaderMax,
                          " are accepted"));
  }
  if (length > reader.remaining()) {
    reader.fail_at(0, cat("the header has ", length, " bytes, ", reader.remaining(), " are left"));
  }
  return reader.text(length);
}

}  // namespace

Safetensors parse_safetensors(std::span<const std::byte> bytes, const std::string& file,
                              std::int32_t file_index) {
  ByteReader reader(bytes, file);
  const std::string_view text = header_text(reader);
  const Json header = parse_json(text, file, "header", kHeaderLimits, kLengthBytes);
  if (header.as_object() == nullptr) {
    reader.fail_at(kLengthBytes, cat("the header is ", header.kind(), ", expected an object"));
  }
  const std::uint64_t data_offset = reader.offset();
  const Table table(bytes.subspan(data_offset), data_offset, file, file_index);
  Safetensors result;
  for (const auto& [name, entry] : *header.as_object()) {
    if (name == "__metadata__") {
      table.check_metadata(entry);
      result.metadata = entry;
    } else {
      result.tensors.push_back(table.tensor(name, entry));
    }
  }
  // A tensor without elements begins where the next tensor begins, and is sorted before it.
  std::sort(result.tensors.begin(), result.tensors.end(),
            [](const TensorInfo& a, const TensorInfo& b) {
              return std::tie(a.offset, a.bytes, a.name) < std::tie(b.offset, b.bytes, b.name);
            });
  table.check_coverage(result.tensors);
  return result;
}

}  // namespace ingot
