// Reads and writes files of packed weights.
#include "model/pack_cache.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <cstring>
#include <filesystem>
#include <system_error>
#include <utility>

#include "base/check.h"
#include "base/checksum.h"
#include "base/error.h"
#include "base/index.h"
#include "base/output_file.h"
#include "base/text.h"

namespace ingot {

namespace {

constexpr std::array<char, 8> kMagic{'i', 'n', 'g', 'o', 't', 'p', 'k', '2'};
constexpr std::uint64_t kPage = 4096;
/// Bytes of one write: file systems cache the file in large memory pages.
constexpr std::size_t kPieceBytes = 2 << 20;

struct FileHead {
  std::array<char, 8> magic = kMagic;
  std::uint64_t key_bytes = 0;
  std::uint64_t weights = 0;
};

struct Entry {
  std::uint64_t offset = 0;
  std::uint64_t bytes = 0;
  std::uint64_t checksum = 0;
};

/// A file's parts behind its key.
struct Layout {
  std::vector<Entry> table;       ///< without checksums
  std::uint64_t table_at = 0;     ///< offset of the table
  std::uint64_t checksum_at = 0;  ///< offset of the checksum of key and table, which ends the file
};

std::uint64_t to_page(std::uint64_t offset) { return (offset + kPage - 1) / kPage * kPage; }

Layout lay_out(std::size_t key_bytes, std::span<const std::int64_t> sizes) {
  Layout layout;
  std::uint64_t at = sizeof(FileHead) + key_bytes;
  for (const std::int64_t bytes : sizes) {
    layout.table.push_back({.offset = to_page(at), .bytes = static_cast<std::uint64_t>(bytes)});
    at = layout.table.back().offset + layout.table.back().bytes;
  }
  layout.table_at = at;
  layout.checksum_at = at + sizes.size() * sizeof(Entry);
  return layout;
}

std::uint64_t table_checksum(std::string_view key, std::span<const Entry> table) {
  std::string all(key);
  all.append(reinterpret_cast<const char*>(table.data()), table.size_bytes());
  return checksum(std::as_bytes(std::span(all)));
}

[[noreturn]] void refuse(const MappedFile& file, std::uint64_t at, std::string_view reason) {
  throw model_error(file.name(), "packed weights", at, reason);
}

/// Reads a file's table. Offsets and sizes are compared with the expected ones, never trusted.
std::vector<Entry> read_table(const MappedFile& file, std::string_view key,
                              std::span<const std::int64_t> sizes) {
  const auto bytes = file.bytes();
  const Layout layout = lay_out(key.size(), sizes);
  const std::vector<Entry>& want = layout.table;
  const std::uint64_t end = layout.checksum_at + sizeof(std::uint64_t);
  constexpr std::string_view kOther = "it belongs to another model or version";
  FileHead head;  // a shorter file keeps the right magic here, and is refused by its size
  std::ranges::copy(bytes.first(std::min(bytes.size(), sizeof head)),
                    std::as_writable_bytes(std::span(&head, 1)).begin());
  if (head.magic != kMagic) refuse(file, 0, kOther);
  if (bytes.size() != end) {
    refuse(file, 0, cat("the file has ", bytes.size(), " bytes, expected ", end));
  }
  if (head.key_bytes != key.size() || head.weights != want.size() ||
      std::memcmp(bytes.data() + sizeof head, key.data(), key.size()) != 0) {
    refuse(file, 0, kOther);
  }
  std::vector<Entry> table(want.size());
  if (!table.empty()) {
    std::memcpy(table.data(), bytes.data() + layout.table_at, table.size() * sizeof(Entry));
  }
  std::uint64_t sum = 0;
  std::memcpy(&sum, bytes.data() + layout.checksum_at, sizeof sum);
  if (table_checksum(key, table) != sum) refuse(file, layout.table_at, "the table is damaged");
  for (std::size_t i = 0; i < table.size(); ++i) {
    if (table[i].offset != want[i].offset || table[i].bytes != want[i].bytes) {
      refuse(file, layout.table_at + i * sizeof(Entry), "the table is damaged");
    }
  }
  return table;
}

std::span<const std::byte> slice(const MappedFile& file, const Entry& entry) {
  return file.bytes().subspan(entry.offset, entry.bytes);
}

void compare_checksums(const MappedFile& file, std::span<const Entry> table, ThreadPool& pool) {
  std::atomic<std::uint64_t> damaged{file.bytes().size()};
  const auto lease = pool.acquire();
  pool.parallel_for(std::ssize(table), [&](std::int64_t i, int) {
    const Entry& entry = at(table, i);
    if (checksum(slice(file, entry)) == entry.checksum) return;
    std::uint64_t first = damaged.load();
    while (entry.offset < first && !damaged.compare_exchange_weak(first, entry.offset)) {
    }
  });
  if (damaged != file.bytes().size()) refuse(file, damaged, "a weight is damaged");
}

/// Opens the file; nothing if there is none, also because another process just deleted it.
std::optional<File> open_if_there(const std::string& path) {
  try {
    return File(path);
  } catch (const Error& error) {
    std::error_code code;
    if (std::filesystem::status(path, code).type() == std::filesystem::file_type::not_found) {
      return std::nullopt;
    }
    throw Error(ErrorCode::kIo, error.plain_message());
  }
}

MappedFile map(File file) {
  try {
    return MappedFile(std::move(file));
  } catch (const Error& error) {
    throw Error(ErrorCode::kIo, error.plain_message());
  }
}

/// Checks the file, and returns its weights as views.
std::vector<std::span<const std::byte>> read_weights(const MappedFile& file, std::string_view key,
                                                     std::span<const std::int64_t> sizes,
                                                     ThreadPool& pool) {
  const std::vector<Entry> table = read_table(file, key, sizes);
  compare_checksums(file, table, pool);
  file.expect_not_overwritten();  // the time of use may change at any time
  std::vector<std::span<const std::byte>> weights;
  weights.reserve(table.size());
  for (const Entry& entry : table) weights.push_back(slice(file, entry));
  return weights;
}

template <class T>
std::span<const std::byte> bytes_of(const T& value) {
  return std::as_bytes(std::span(&value, 1));
}

}  // namespace

std::string packed_path(std::string_view folder, std::string_view key) {
  constexpr std::string_view kDigits = "0123456789abcdef";
  std::uint64_t sum = checksum(std::as_bytes(std::span(key)));
  std::string name;
  for (int i = 0; i < 16; ++i, sum >>= 4) name += kDigits[sum & 15];
  return cat(folder, folder.ends_with('/') ? "" : "/", name, kPackedSuffix);
}

std::optional<PackedFile> open_packed(const std::string& path, std::string_view key,
                                      std::span<const std::int64_t> sizes, ThreadPool& pool,
                                      bool private_only) {
  std::optional<File> there = open_if_there(path);
  if (!there) return std::nullopt;
  const FileIdentity identity = there->identity();
  if (private_only && !there->is_private()) {
    throw BadPackedFile(model_error(path, "packed weights",
                                    "the file belongs to another user or others can write to it"),
                        identity);
  }
  MappedFile file = map(std::move(*there));
  file.prefer_large_pages();
  try {
    auto weights = read_weights(file, key, sizes, pool);
    return PackedFile{.file = std::move(file), .weights = std::move(weights)};
  } catch (const Error& error) {
    throw BadPackedFile(error, identity);
  }
}

void write_packed(const std::string& path, unsigned mode, std::string_view key,
                  std::span<const std::int64_t> sizes,
                  FunctionRef<std::span<const std::byte>(std::size_t i)> packed) {
  std::vector<Entry> table = lay_out(key.size(), sizes).table;
  const std::vector<std::byte> zeros(kPage);
  const FileHead head{.key_bytes = key.size(), .weights = sizes.size()};
  OutputFile out(path, {.piece_bytes = kPieceBytes, .mode = mode, .synced = false, .locked = true});
  out.write(bytes_of(head));
  out.write(key);
  std::uint64_t at = sizeof head + key.size();
  for (std::size_t i = 0; i < table.size(); ++i) {
    const std::span<const std::byte> weight = packed(i);
    INGOT_CHECK(weight.size() == table[i].bytes, weight.size(), " bytes for ", table[i].bytes);
    table[i].checksum = checksum(weight);
    out.write(std::span(zeros).first(table[i].offset - at));
    out.write(weight);
    at = table[i].offset + table[i].bytes;
  }
  out.write(std::as_bytes(std::span(table)));
  out.write(bytes_of(table_checksum(key, table)));
  out.commit();
}

}  // namespace ingot
