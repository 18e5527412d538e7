// Reads importance matrices of two layouts, and writes the newer layout.
#include "convert/importance.h"

#include <algorithm>
#include <cmath>
#include <cstring>

#include "base/byte_reader.h"
#include "base/error.h"
#include "base/index.h"
#include "base/mapped_file.h"
#include "base/text.h"
#include "load/gguf/gguf_writer.h"
#include "load/wrong_file.h"
#include "quant/f32.h"

namespace ingot {

namespace {

constexpr std::string_view kSums = ".in_sum2";
constexpr std::string_view kCounts = ".counts";
constexpr std::int32_t kOldEntriesMax = 65536;
constexpr std::int32_t kOldNameMax = 255;
constexpr std::uint64_t kFileBytesMax = std::uint64_t{1} << 32;

Error refusal(const std::string& file, std::uint64_t offset, std::string_view reason) {
  return model_error(file, "importance", offset, reason);
}

/// Reads a tensor's floats; check_values checks them.
std::vector<float> read_values(const GgufFile& file, const TensorInfo& tensor) {
  if (tensor.format != F32::kFormat) {
    throw refusal(file.name, tensor.offset,
                  cat(tensor.name, " is ", tensor.type_name, ", not F32"));
  }
  std::vector<float> values(to_size(tensor.elements()));
  std::memcpy(values.data(), tensor.data, tensor.bytes);
  return values;
}

void check_values(const std::string& file, std::uint64_t offset, std::string_view tensor,
                  std::span<const float> values) {
  const auto bad = std::find_if(values.begin(), values.end(),
                                [](float v) { return !(v >= 0 && std::isfinite(v)); });
  if (bad == values.end()) return;
  throw refusal(
      file, offset,
      cat(printable(tensor), " has the value ", *bad, ", expected at least 0 and finite"));
}

/// Turns sums into means. An expert that received no row keeps zeros.
void divide(std::vector<float>& sums, std::span<const float> counts) {
  const std::size_t cols = sums.size() / counts.size();
  for (std::size_t i = 0; i < sums.size(); ++i) {
    const float count = counts[i / cols];
    sums[i] = count > 0 ? sums[i] / count : 0;
  }
}

}  // namespace

ImportanceMatrix ImportanceMatrix::read(const std::string& path) {
  File file(path);
  refuse_lfs_pointer(file);
  if (file.size() > kFileBytesMax) {
    throw model_error(path, "file",
                      cat("it has ", file.size(), " bytes, at most ", kFileBytesMax,
                          " are accepted for an importance matrix"));
  }
  const MappedFile mapped(std::move(file));
  ImportanceMatrix matrix = parse(mapped.bytes(), mapped.name());
  mapped.expect_unchanged();
  return matrix;
}

ImportanceMatrix ImportanceMatrix::parse(std::span<const std::byte> bytes,
                                         const std::string& name) {
  ImportanceMatrix matrix;
  matrix.name_ = name;
  const bool gguf = bytes.size() >= 4 && std::memcmp(bytes.data(), "GGUF", 4) == 0;
  if (gguf) {
    matrix.take_gguf(parse_gguf(bytes, name));
  } else {
    matrix.take_old(bytes);
  }
  if (matrix.values_.empty()) throw refusal(name, 0, "it holds no values for any tensor");
  return matrix;
}

void ImportanceMatrix::take_gguf(const GgufFile& file) {
  const GgufEntry* type = file.find("general.type");
  if (type == nullptr || type->type != GgufType::kString || type->text() != "imatrix") {
    throw refusal(file.name, 0, "general.type is not imatrix: this is another kind of GGUF file");
  }
  std::map<std::string_view, const TensorInfo*> by_name;
  for (const TensorInfo& tensor : file.tensors) by_name.emplace(tensor.name, &tensor);
  for (const TensorInfo& tensor : file.tensors) {
    if (!std::string_view(tensor.name).ends_with(kSums)) continue;
    const std::string name = tensor.name.substr(0, tensor.name.size() - kSums.size());
    const auto counts = by_name.find(name + std::string(kCounts));
    if (counts == by_name.end()) {
      throw refusal(file.name, tensor.offset, cat(tensor.name, " has no ", name, kCounts));
    }
    std::vector<float> sums = read_values(file, tensor);
    const std::vector<float> rows = read_values(file, *counts->second);
    if (std::ssize(rows) != std::ssize(sums) / tensor.shape.back()) {
      throw refusal(file.name, tensor.offset,
                    cat(tensor.name, " has ", std::ssize(sums) / tensor.shape.back(),
                        " rows of sums, ", counts->second->name, " has ", rows.size()));
    }
    check_values(file.name, tensor.offset, tensor.name, sums);
    check_values(file.name, counts->second->offset, counts->second->name, rows);
    divide(sums, rows);
    values_.emplace(name, std::move(sums));
  }
}

/// Layout, integers as little-endian int32: number of entries; for each entry: size of its name,
/// name, calls, number of values, values as float32. The rest of the file is not read.
void ImportanceMatrix::take_old(std::span<const std::byte> bytes) {
  ByteReader reader(bytes, name_);
  reader.section("importance");
  const auto bounded = [&](std::string_view what, std::int32_t low, std::int64_t high) {
    const std::uint64_t at = reader.offset();
    const auto value = reader.read<std::int32_t>();
    if (value < low || value > high) {
      reader.fail_at(at, cat(value, " ", what, ", expected ", low, " to ", high,
                             "; this is no importance matrix, or it is damaged"));
    }
    return static_cast<std::uint64_t>(value);
  };
  const std::uint64_t entries = bounded("entries", 1, kOldEntriesMax);
  for (std::uint64_t i = 0; i < entries; ++i) {
    const std::uint64_t at = reader.offset();
    const std::string name(reader.text(bounded("bytes of a name", 1, kOldNameMax)));
    bounded("calls", 0, INT32_MAX);  // a common factor of the tensor's values
    const std::uint64_t count = bounded("values", 1, INT32_MAX);
    const auto raw =
        reader.bytes(count * sizeof(float));  // fails before memory of this size is allocated
    std::vector<float> values(count);
    std::memcpy(values.data(), raw.data(), raw.size());
    check_values(name_, at, name, values);
    if (!values_.emplace(name, std::move(values)).second) {
      reader.fail_at(at, cat(printable(name), " appears twice"));
    }
  }
}

std::span<const float> ImportanceMatrix::find(std::string_view tensor) const {
  const auto found = values_.find(tensor);
  if (found == values_.end()) return {};
  return found->second;
}

namespace {

std::vector<float> narrow(const std::string& tensor, std::span<const double> values) {
  std::vector<float> out;
  out.reserve(values.size());
  for (const double value : values) {
    out.push_back(static_cast<float>(value));
    if (!std::isfinite(out.back())) {
      throw Error(ErrorCode::kNotFinite,
                  cat("the inputs of ", tensor, " are not finite over this text"));
    }
  }
  return out;
}

}  // namespace

void write_importance(const std::string& path, std::span<const InputSums> sums,
                      const ImportanceSource& source) {
  GgufValues values;
  values.set_text("general.type", "imatrix");
  StringTable texts;
  texts.add(source.text);
  values.set_texts("imatrix.datasets", texts);
  values.set_uint32("imatrix.chunk_count", source.windows);
  values.set_uint32("imatrix.chunk_size", source.window_tokens);
  std::vector<GgufTensor> tensors;
  std::vector<std::vector<float>> data;
  for (const InputSums& s : sums) {
    const auto experts = static_cast<std::int64_t>(s.rows.size());
    tensors.push_back({s.tensor + std::string(kSums), {experts, s.cols}, F32::kFormat});
    data.push_back(narrow(s.tensor, s.squares));
    tensors.push_back({s.tensor + std::string(kCounts), {experts, 1}, F32::kFormat});
    data.push_back(narrow(s.tensor, s.rows));
  }
  GgufWriter writer(path, values, std::move(tensors));
  for (const std::vector<float>& v : data) writer.write(std::as_bytes(std::span(v)));
  writer.commit();
}

}  // namespace ingot
