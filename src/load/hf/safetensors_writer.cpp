// SafetensorsWriter: encodes the header, and counts the bytes of the data.
#include "load/hf/safetensors_writer.h"

#include "base/check.h"
#include "load/json_object.h"

namespace ingot {

namespace {

/// Readers map files, so data begins at a multiple of the largest element's size.
constexpr std::size_t kHeaderAlignment = 8;

std::string header_of(std::span<const SafetensorsEntry> entries, const Json& metadata) {
  Json header = Json::object();
  header.set("__metadata__", metadata.is_null() ? json_object({{"format", "pt"}}) : metadata);
  std::uint64_t end = 0;
  for (const SafetensorsEntry& entry : entries) {
    Json shape = Json::array();
    for (const std::int64_t size : entry.shape) shape.push(size);
    Json offsets = Json::array();
    offsets.push(end);
    end += entry.bytes;
    offsets.push(end);
    header.set(entry.name, json_object({{"dtype", entry.dtype},
                                        {"shape", std::move(shape)},
                                        {"data_offsets", std::move(offsets)}}));
  }
  std::string text = header.dump();
  text.append((kHeaderAlignment - text.size() % kHeaderAlignment) % kHeaderAlignment, ' ');
  return text;
}

}  // namespace

SafetensorsWriter::SafetensorsWriter(const std::string& path,
                                     std::span<const SafetensorsEntry> entries,
                                     const Json& metadata)
    : file_(path) {
  const std::string header = header_of(entries, metadata);
  const std::uint64_t size = header.size();
  file_.write(std::as_bytes(std::span(&size, 1)));
  file_.write(header);
  for (const SafetensorsEntry& entry : entries) left_ += entry.bytes;
}

void SafetensorsWriter::write(std::span<const std::byte> bytes) {
  INGOT_CHECK(bytes.size() <= left_, bytes.size(), " bytes where ", left_, " are missing");
  file_.write(bytes);
  left_ -= bytes.size();
}

void SafetensorsWriter::commit() {
  INGOT_CHECK(left_ == 0, left_, " bytes are missing");
  file_.commit();
}

}  // namespace ingot
