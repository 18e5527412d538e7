// Finds properties of weight formats by type number, and decodes rows.
#include "quant/formats.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <limits>

#include "base/check.h"
#include "base/index.h"

namespace ingot {

namespace {

constexpr std::size_t index(Format format) { return to_size(format); }

/// One more than the highest type number in the list of formats.
constexpr std::size_t kTypeNumbers = [] {
  std::size_t highest = 0;
  for_each_type(Formats{}, [&]<class T>() { highest = std::max(highest, index(T::kFormat)); });
  return highest + 1;
}();

/// Properties by type number. Entries without a name are not in the list of formats.
constexpr auto kInfo = [] {
  std::array<FormatInfo, kTypeNumbers> table{};
  for_each_type(Formats{}, [&]<class T>() {
    table[index(T::kFormat)] = {T::kName, T::kBlock, block_bytes<T>(), DenseFormat<T>};
  });
  return table;
}();

/// Type numbers of GGUF that are not supported, with their names.
/// Source: enum ggml_type. Numbers 4, 5, 31 to 33 and 36 to 38 were removed from it.
constexpr struct {
  std::uint32_t type;
  const char* name;
} kUnsupported[] = {
    {9, "Q8_1"},   {15, "Q8_K"},  {16, "IQ2_XXS"}, {17, "IQ2_XS"}, {18, "IQ3_XXS"}, {19, "IQ1_S"},
    {21, "IQ3_S"}, {22, "IQ2_S"}, {24, "I8"},      {25, "I16"},    {26, "I32"},     {27, "I64"},
    {28, "F64"},   {29, "IQ1_M"}, {34, "TQ1_0"},   {35, "TQ2_0"},  {40, "NVFP4"},
};

template <BlockFormat T>
void decode_blocks(const std::byte* row, std::int64_t blocks, float* out) {
  for (std::int64_t b = 0; b < blocks; ++b) {
    typename T::Block block;
    std::memcpy(&block, row + b * block_bytes<T>(), sizeof block);
    for (int group = 0; group < T::kBlock / kGroup; ++group) {
      GroupCodes codes;
      T::unpack(block, group, codes);
      decode_group<T>(codes, out);
      out += kGroup;
    }
  }
}

template <DenseFormat T>
void decode_dense(const std::byte* row, std::int64_t cols, float* out) {
  for (std::int64_t k = 0; k < cols; ++k) {
    typename T::Element element;
    std::memcpy(&element, row + k * block_bytes<T>(), sizeof element);
    out[k] = T::widen(element);
  }
}

}  // namespace

void detail::unknown_format(Format format) {
  check_failed(__FILE__, __LINE__, "known format", cat("format ", static_cast<int>(format)));
}

const FormatInfo& format_info(Format format) {
  if (!format_from_ggml(static_cast<std::uint32_t>(format))) detail::unknown_format(format);
  return kInfo[index(format)];
}

const char* format_name(Format format) { return format_info(format).name; }

std::optional<Format> format_from_ggml(std::uint32_t type) {
  if (type >= kTypeNumbers || kInfo[type].name == nullptr) return std::nullopt;
  return static_cast<Format>(type);
}

const char* ggml_type_name(std::uint32_t type) {
  if (const auto format = format_from_ggml(type)) return format_name(*format);
  for (const auto& known : kUnsupported) {
    if (known.type == type) return known.name;
  }
  return nullptr;
}

std::int64_t row_bytes(Format format, std::int64_t cols) {
  const FormatInfo& info = format_info(format);
  INGOT_CHECK(cols >= 0 && cols % info.block == 0, cols, " weights in blocks of ", info.block, " (",
              info.name, ")");
  const std::int64_t blocks = cols / info.block;
  INGOT_CHECK(blocks <= std::numeric_limits<std::int64_t>::max() / info.block_bytes, cols,
              " weights of ", info.name);
  return blocks * info.block_bytes;
}

void decode_row(Format format, const std::byte* row, std::int64_t cols, float* out) {
  row_bytes(format, cols);  // checks cols
  visit_format(format, [&]<class T>() {
    if constexpr (DenseFormat<T>) {
      decode_dense<T>(row, cols, out);
    } else {
      decode_blocks<T>(row, cols / T::kBlock, out);
    }
  });
}

}  // namespace ingot
