// read_part: views stored rows, turns matrices, and joins MXFP4 codes with their scales.
#include "model/part_rows.h"

#include <cstring>

#include "base/index.h"
#include "base/text.h"
#include "quant/formats.h"

namespace ingot {

namespace {

constexpr std::int64_t kCodeBytes = MXFP4::kBlock / 2;

View stored_view(const BoundPart& part) {
  const Format format = *part.tensor->format;
  const std::int64_t stride = row_bytes(format, part.cols);
  // Kernels and packers only read weights; View has no const twin.
  auto* data = const_cast<std::byte*>(part.tensor->data);
  return {data == nullptr ? nullptr : data + part.first_row * stride, format, part.rows, part.cols,
          stride * part.row_step};
}

/// Copies the elements of a dense tensor, whose format has elements of type T.
template <class T>
void turn_elements(const BoundPart& part, std::byte* out) {
  for (std::int64_t k = 0; k < part.cols; ++k) {
    const std::byte* from =
        part.tensor->data +
        ((part.first_row + k) * part.stored_cols + part.first_col) * std::int64_t{sizeof(T)};
    for (std::int64_t r = 0; r < part.rows; ++r) {
      std::memcpy(out + (r * part.cols + k) * std::int64_t{sizeof(T)},
                  from + r * part.row_step * std::int64_t{sizeof(T)}, sizeof(T));
    }
  }
}

/// Decodes the rows of a block format, which cannot be turned as they are.
void turn_decoded(const BoundPart& part, std::byte* out) {
  const Format format = *part.tensor->format;
  const std::int64_t stride = row_bytes(format, part.stored_cols);
  std::vector<float> row(to_size(part.stored_cols));
  for (std::int64_t k = 0; k < part.cols; ++k) {
    decode_row(format, part.tensor->data + (part.first_row + k) * stride, part.stored_cols,
               row.data());
    for (std::int64_t r = 0; r < part.rows; ++r) {
      std::memcpy(out + (r * part.cols + k) * std::int64_t{sizeof(float)},
                  &at(row, part.first_col + r * part.row_step), sizeof(float));
    }
  }
}

void turn(const BoundPart& part, std::byte* out) {
  const FormatInfo& info = format_info(*part.tensor->format);
  if (!info.dense) return turn_decoded(part, out);
  if (info.block_bytes == 2) return turn_elements<std::uint16_t>(part, out);
  turn_elements<float>(part, out);
}

/// Hugging Face files store codes 2i and 2i + 1 in byte i, GGUF and ingot codes i and i + 16.
void join_mxfp4(const BoundPart& part, std::byte* out) {
  const std::int64_t blocks = part.cols / MXFP4::kBlock;
  for (std::int64_t r = 0; r < part.rows; ++r) {
    const std::int64_t first = (part.first_row + r * part.row_step) * blocks;
    for (std::int64_t b = 0; b < blocks; ++b) {
      const auto* codes =
          reinterpret_cast<const std::uint8_t*>(part.tensor->data) + (first + b) * kCodeBytes;
      MXFP4::Block block;
      block.e = static_cast<std::uint8_t>(part.scales->data[first + b]);
      const auto code = [&](int i) { return codes[i / 2] >> (i % 2 * 4) & 15; };
      for (int i = 0; i < kCodeBytes; ++i) {
        block.qs[i] = static_cast<std::uint8_t>(code(i) | code(i + MXFP4::kBlock / 2) << 4);
      }
      std::memcpy(out, &block, sizeof block);
      out += sizeof block;
    }
  }
}

}  // namespace

Format BoundPart::format() const {
  if (scales != nullptr) return MXFP4::kFormat;
  const Format stored = *tensor->format;
  return turned && !format_info(stored).dense ? F32::kFormat : stored;
}

bool BoundPart::ends_tensor() const {
  if (turned) {
    return (first_row + cols) * stored_cols == tensor->elements() &&
           first_col + (rows - 1) * row_step == stored_cols - 1;
  }
  const std::int64_t last = first_row + (rows - 1) * row_step + 1;
  const std::int64_t each = scales != nullptr ? cols / 2 : cols;
  return last * each == tensor->elements();
}

std::string BoundPart::described() const {
  std::string text = cat(tensor->file, ":", tensor->offset, "+", first_row, " ", rows, "x", cols,
                         " ", tensor->type_name);
  if (row_step != 1) text += cat(" step ", row_step);
  if (turned) text += cat(" turned ", stored_cols, "+", first_col);
  if (scales != nullptr) text += cat(" scales ", scales->file, ":", scales->offset);
  return text;
}

std::int64_t part_memory_bytes(const BoundPart& part) {
  return part.is_stored() ? 0 : part.rows * row_bytes(part.format(), part.cols);
}

PartRows read_part(const BoundPart& part) {
  if (part.is_stored()) return {.view = stored_view(part), .memory = {}};
  PartRows read;
  read.memory.resize(to_size(part_memory_bytes(part)));
  if (part.scales != nullptr) {
    join_mxfp4(part, read.memory.data());
  } else {
    turn(part, read.memory.data());
  }
  read.view = {read.memory.data(), part.format(), part.rows, part.cols,
               row_bytes(part.format(), part.cols)};
  return read;
}

}  // namespace ingot
