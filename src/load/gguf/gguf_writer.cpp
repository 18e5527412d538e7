// GgufWriter: encodes header and tensor table, and checks the data stream against the table.
#include "load/gguf/gguf_writer.h"

#include <algorithm>
#include <bit>

#include "base/check.h"
#include "base/checked.h"
#include "base/error.h"
#include "base/text.h"
#include "quant/formats.h"

namespace ingot {

namespace {

template <class T>
void put(std::string& out, T number) {
  out.append(reinterpret_cast<const char*>(&number), sizeof(T));
}

void put(std::string& out, GgufType type) { put(out, static_cast<std::uint32_t>(type)); }

void put_text(std::string& out, std::string_view text) {
  put(out, std::uint64_t{text.size()});
  out += text;
}

void put_raw(std::string& out, std::span<const std::byte> bytes) {
  out.append(reinterpret_cast<const char*>(bytes.data()), bytes.size());
}

void put_array_head(std::string& out, GgufType element, std::uint64_t count) {
  put(out, GgufType::kArray);
  put(out, element);
  put(out, count);
}

template <class T>
void put_numbers(std::string& out, GgufType element, std::span<const T> values) {
  put_array_head(out, element, values.size());
  put_raw(out, std::as_bytes(values));
}

/// The offset of a tensor behind `end` bytes of data: rounded up to the alignment.
std::uint64_t aligned(std::uint64_t end, std::uint32_t alignment) {
  const auto at = Checked(end).align_up(alignment).value();
  INGOT_CHECK(at, "a file of ", end, " bytes");
  return *at;
}

void expect_at_most(std::string_view what, std::uint64_t count, std::uint64_t limit,
                    const std::string& path) {
  if (count <= limit) return;
  throw Error(ErrorCode::kInvalid, cat(printable(path), ": ", count, " ", what,
                                       " are more than a GGUF file may have (", limit, ")"));
}

void check_tensor(const GgufTensor& tensor) {
  INGOT_CHECK(!tensor.name.empty() && tensor.name.size() <= kGgufNameMax, "a tensor's name of ",
              tensor.name.size(), " bytes");
  INGOT_CHECK(!tensor.shape.empty() && tensor.shape.size() <= 4, "tensor ", tensor.name, " of ",
              tensor.shape.size(), " dimensions");
  for (const std::int64_t size : tensor.shape) {
    INGOT_CHECK(size > 0, "tensor ", tensor.name, " has a dimension of ", size);
  }
}

/// The bytes before the tensor table.
std::string head_of(const GgufValues& values, std::uint64_t tensors) {
  std::string head = "GGUF";
  put(head, std::uint32_t{3});
  put(head, tensors);
  put(head, std::uint64_t{values.size()});
  return head + values.bytes();
}

std::string tensor_table(std::span<const GgufTensor> tensors, std::uint32_t alignment) {
  std::string out;
  std::uint64_t end = 0;
  for (const GgufTensor& tensor : tensors) {
    check_tensor(tensor);
    const std::uint64_t at = aligned(end, alignment);
    put_text(out, tensor.name);
    put(out, static_cast<std::uint32_t>(tensor.shape.size()));
    // GGUF stores the row length first.
    const std::vector<std::int64_t> sizes(tensor.shape.rbegin(), tensor.shape.rend());
    for (const std::int64_t size : sizes) put(out, static_cast<std::uint64_t>(size));
    put(out, static_cast<std::uint32_t>(tensor.format));
    put(out, at);
    end = at + tensor.bytes();
  }
  return out;
}

}  // namespace

std::string& GgufValues::value(std::string_view key) {
  INGOT_CHECK(!key.empty() && key.size() <= kGgufKeyMax, "a key of ", key.size(), " bytes");
  const auto found = std::find_if(entries_.begin(), entries_.end(),
                                  [&](const auto& entry) { return entry.first == key; });
  if (found == entries_.end()) return entries_.emplace_back(key, "").second;
  found->second.clear();
  return found->second;
}

void GgufValues::set_uint32(std::string_view key, std::uint32_t number) {
  std::string& out = value(key);
  put(out, GgufType::kUint32);
  put(out, number);
}

void GgufValues::set_int32(std::string_view key, std::int32_t number) {
  std::string& out = value(key);
  put(out, GgufType::kInt32);
  put(out, number);
}

void GgufValues::set_float32(std::string_view key, float number) {
  std::string& out = value(key);
  put(out, GgufType::kFloat32);
  put(out, number);
}

void GgufValues::set_boolean(std::string_view key, bool flag) {
  std::string& out = value(key);
  put(out, GgufType::kBool);
  put(out, static_cast<std::uint8_t>(flag));
}

void GgufValues::set_text(std::string_view key, std::string_view text) {
  std::string& out = value(key);
  put(out, GgufType::kString);
  put_text(out, text);
}

void GgufValues::set_texts(std::string_view key, const StringTable& texts) {
  std::string& out = value(key);
  put_array_head(out, GgufType::kString, texts.size());
  for (std::size_t i = 0; i < texts.size(); ++i) put_text(out, texts[i]);
}

void GgufValues::set_floats(std::string_view key, std::span<const float> numbers) {
  put_numbers(value(key), GgufType::kFloat32, numbers);
}

void GgufValues::set_ints(std::string_view key, std::span<const std::int32_t> numbers) {
  put_numbers(value(key), GgufType::kInt32, numbers);
}

void GgufValues::set_counts(std::string_view key, std::span<const std::uint32_t> numbers) {
  put_numbers(value(key), GgufType::kUint32, numbers);
}

void GgufValues::set_booleans(std::string_view key, const std::vector<bool>& flags) {
  const std::vector<std::uint8_t> bytes(flags.begin(), flags.end());
  put_numbers(value(key), GgufType::kBool, std::span(bytes));
}

void GgufValues::set_bytes(std::string_view key, std::string_view bytes) {
  put_numbers(value(key), GgufType::kUint8, std::span(bytes));
}

void GgufValues::add(const GgufEntry& entry) {
  std::string& out = entries_.emplace_back(entry.key, "").second;
  if (entry.is_array()) {
    put_array_head(out, entry.element, entry.count);
  } else {
    put(out, entry.type);
    if (entry.type == GgufType::kString) put(out, std::uint64_t{entry.data.size()});
  }
  put_raw(out, entry.data);
}

void GgufValues::remove(std::string_view key) {
  std::erase_if(entries_, [&](const auto& entry) { return entry.first == key; });
}

std::string GgufValues::bytes() const {
  std::string out;
  for (const auto& [key, content] : entries_) {
    put_text(out, key);
    out += content;
  }
  return out;
}

std::string GgufValues::file() const { return head_of(*this, 0); }

std::uint64_t GgufTensor::bytes() const {
  Checked rows(1);
  for (std::size_t i = 0; i + 1 < shape.size(); ++i) {
    rows = rows * static_cast<std::uint64_t>(shape[i]);
  }
  const auto all = (rows * static_cast<std::uint64_t>(row_bytes(format, shape.back()))).value();
  INGOT_CHECK(all, "tensor ", name, " is too large");
  return *all;
}

GgufWriter::GgufWriter(const std::string& path, const GgufValues& values,
                       std::vector<GgufTensor> tensors, std::uint32_t alignment)
    : file_(path), tensors_(std::move(tensors)), alignment_(alignment) {
  INGOT_CHECK(std::has_single_bit(alignment) && alignment >= kGgufAlignmentMin &&
                  alignment <= kGgufAlignmentMax,
              "an alignment of ", alignment);
  expect_at_most("tensors", tensors_.size(), kGgufTensorsMax, path);
  expect_at_most("keys", values.size(), kGgufEntriesMax, path);
  std::string head = head_of(values, tensors_.size());
  head += tensor_table(tensors_, alignment);
  expect_at_most("bytes of metadata and tensor table", head.size(), kGgufHeadMax, path);
  file_.write(head);
  at_ = head.size();
  pad();
  if (!tensors_.empty()) left_ = tensors_.front().bytes();
}

void GgufWriter::pad() {
  const std::uint64_t begin = aligned(at_, alignment_);
  file_.write(std::string(begin - at_, '\0'));
  at_ = begin;
}

void GgufWriter::write(std::span<const std::byte> bytes) {
  if (bytes.empty()) return;
  INGOT_CHECK(tensor_ < tensors_.size() && bytes.size() <= left_, bytes.size(), " bytes where ",
              left_, " are missing, in tensor ", tensor_, " / ", tensors_.size());
  file_.write(bytes);
  at_ += bytes.size();
  left_ -= bytes.size();
  if (left_ > 0) return;
  pad();
  if (++tensor_ < tensors_.size()) left_ = tensors_[tensor_].bytes();
}

void GgufWriter::commit() {
  INGOT_CHECK(tensor_ == tensors_.size(), tensors_.size() - tensor_, " tensors are missing");
  file_.commit();
}

}  // namespace ingot
