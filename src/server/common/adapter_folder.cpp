// AdapterFolder: opens adapters below one open folder, and follows no links.
#include "server/common/adapter_folder.h"

#include <fcntl.h>
#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <utility>

#include "base/errno_text.h"
#include "base/error.h"
#include "base/text.h"
#include "runtime/adapters/adapter_name.h"

namespace ingot {

namespace {

constexpr std::string_view kDescriptors = "/proc/self/fd/";

/// The text with `name` in place of the paths of descriptors.
std::string name_in(std::string text, std::string_view name) {
  for (std::size_t at = text.find(kDescriptors); at != text.npos;
       at = text.find(kDescriptors, at + name.size())) {
    const std::size_t end = text.find_first_not_of("0123456789", at + kDescriptors.size());
    text.replace(at, std::min(end, text.size()) - at, name);
  }
  return text;
}

}  // namespace

AdapterFolder::AdapterFolder(const std::string& path)
    : fd_(::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC)) {
  if (!fd_) throw model_error(path, "folder", errno_text(errno));
}

Fd AdapterFolder::open_entry(std::string_view name, int flags) const {
  if (!is_name(name)) return {};
  return Fd(
      ::openat(fd_.get(), std::string(name).c_str(), flags | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
}

bool AdapterFolder::is_name(std::string_view name) {
  return is_adapter_name(name) && !name.starts_with('.');
}

Error AdapterFolder::with_name(const Error& error, std::string_view name) {
  return {error.code(), name_in(error.plain_message(), name)};
}

std::optional<FolderState> AdapterFolder::state(std::string_view name) const {
  const Fd entry = open_entry(name, O_PATH);
  struct stat st {};
  if (!entry || ::fstat(entry.get(), &st) != 0) return std::nullopt;
  return FolderState{
      .device = st.st_dev,
      .inode = st.st_ino,
      .modified_ns = std::int64_t{st.st_mtim.tv_sec} * 1'000'000'000 + st.st_mtim.tv_nsec};
}

/// The bytes of the file of a folder that holds an adapter's tensors; nothing if there is none.
std::optional<std::uint64_t> AdapterFolder::file_bytes(std::string_view name) const {
  const Fd entry = open_entry(name, O_RDONLY);
  if (!entry) return std::nullopt;
  try {
    const Directory folder(cat(kDescriptors, entry.get()));
    return folder.open(adapter_tensor_file(folder)).size();
  } catch (const Error&) {
    return std::nullopt;  // the first request for the adapter gets the reason
  }
}

std::vector<FolderBytes> AdapterFolder::all_by_bytes() const {
  std::vector<FolderBytes> all;
  for (std::string& name : Directory(cat(kDescriptors, fd_.get())).list()) {
    if (const auto bytes = file_bytes(name)) all.push_back({std::move(name), *bytes});
  }
  std::sort(all.begin(), all.end(), [](const FolderBytes& a, const FolderBytes& b) {
    return a.bytes != b.bytes ? a.bytes > b.bytes : a.name < b.name;
  });
  return all;
}

AdapterFile AdapterFolder::open(std::string_view name) const {
  const Fd entry = open_entry(name, O_RDONLY);
  if (!entry) throw model_error(name, "folder", "is no folder of --lora-dir");
  // Leads to the open folder, whatever its path names by now.
  const std::string path = cat(kDescriptors, entry.get());
  try {
    AdapterFile file = open_adapter(Directory(path));
    for (auto* lines : {&file.warnings, &file.notes}) {
      for (std::string& line : *lines) line = name_in(std::move(line), name);
    }
    file.name = std::string(name);
    file.tensor_file = name_in(std::move(file.tensor_file), name);
    return file;
  } catch (const Error& error) {
    throw with_name(error, name);
  }
}

}  // namespace ingot
