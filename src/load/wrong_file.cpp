// Looks at the first bytes of files that are no models.
#include "load/wrong_file.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <span>

#include "base/byte_reader.h"
#include "base/error.h"
#include "base/text.h"

namespace ingot {

namespace {

/// The first bytes of a file, at most `bytes_max`.
std::string first_bytes(const File& file, std::size_t bytes_max) {
  std::string bytes(std::min<std::uint64_t>(file.size(), bytes_max), '\0');
  file.read_at(0, std::as_writable_bytes(std::span(bytes)));
  return bytes;
}

/// The size that a pointer states, as text: " of 123 bytes"; empty if it states none.
std::string stated_size(std::string_view pointer) {
  constexpr std::string_view kKey = "\nsize ";
  const std::size_t at = pointer.find(kKey);
  if (at == pointer.npos) return {};
  const std::string_view rest = pointer.substr(at + kKey.size());
  const std::string_view digits =
      rest.substr(0, std::min(rest.find_first_not_of("0123456789"), std::size_t{19}));
  return digits.empty() ? std::string() : cat(" of ", digits, " bytes");
}

}  // namespace

void refuse_lfs_pointer(const File& file) {
  constexpr std::uint64_t kPointerBytesMax = 1023;
  // The tool's first releases wrote the second version.
  constexpr std::array<std::string_view, 2> kVersions{"version https://git-lfs.github.com/spec/v1",
                                                      "version https://hawser.github.com/spec/v1"};
  if (file.size() > kPointerBytesMax) return;
  const std::string text = first_bytes(file, kPointerBytesMax);
  // A checkout on Windows may end lines with CR LF.
  const std::string_view line = std::string_view(text).substr(0, text.find_first_of("\r\n"));
  const bool is_pointer = line.size() < text.size() &&
                          std::find(kVersions.begin(), kVersions.end(), line) != kVersions.end();
  if (!is_pointer) return;
  throw model_error(file.name(), "file",
                    cat("is a Git LFS pointer to a file", stated_size(text),
                        ", which is not here: run git lfs pull in its folder, or get the model "
                        "with ingot pull USER/NAME"));
}

File open_model_file(const Directory& folder, std::string_view name) {
  File file = folder.open(name);
  refuse_lfs_pointer(file);
  return file;
}

void refuse_old_importance(const File& file) {
  constexpr std::uint32_t kEntriesMax = 65536;
  constexpr std::uint32_t kNameBytesMax = 255;
  constexpr std::size_t kHeadBytes = 2 * sizeof(std::uint32_t);
  const std::string head = first_bytes(file, kHeadBytes + kNameBytesMax);
  if (head.size() <= kHeadBytes) return;
  ByteReader reader(std::as_bytes(std::span(head)), {});
  const auto entries = reader.read<std::uint32_t>();
  const auto length = reader.read<std::uint32_t>();
  const std::string_view name = std::string_view(head).substr(kHeadBytes).substr(0, length);
  const bool is_name =
      name.size() == length && name.ends_with(".weight") && printable(name, kNameBytesMax) == name;
  if (entries == 0 || entries > kEntriesMax || !is_name) return;
  throw model_error(file.name(), "file", kImportanceReason);
}

}  // namespace ingot
