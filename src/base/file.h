// Opening files that others wrote: regular files only, never blocking, identity remembered.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace ingot {

/// A file descriptor that is closed when it goes.
class Fd {
 public:
  Fd() = default;
  explicit Fd(int number) : number_(number) {}
  ~Fd() { reset(); }
  Fd(Fd&& other) noexcept : number_(other.release()) {}
  Fd& operator=(Fd&& other) noexcept;

  int get() const { return number_; }
  explicit operator bool() const { return number_ >= 0; }
  /// Gives the descriptor away.
  int release();
  /// Closes it; returns whether the system reported success.
  bool reset();

 private:
  int number_ = -1;
};

/// Which file, and in which state.
struct FileIdentity {
  std::uint64_t device = 0;
  std::uint64_t inode = 0;
  std::uint64_t bytes = 0;
  std::uint64_t links = 0;  ///< names that it has
  std::int64_t modified_ns = 0;
  std::int64_t changed_ns = 0;  ///< of the status: no call sets it back, as it can modified_ns
};

/// Whether its bytes are the same by size and modification time; names, mode and owner may differ.
bool has_same_bytes(const FileIdentity& before, const FileIdentity& after);

/// Whether nobody wrote to the file between two looks at it.
///
/// Losing or gaining a name sets `changed_ns` and leaves the bytes alone: where the number of names
/// differs, as after another file took this one's place, `modified_ns` decides.
bool is_same_state(const FileIdentity& before, const FileIdentity& after);

/// A regular file, open for reading. Its size is the one it had when it was opened.
///
/// Errors: every function throws model_error(name, "file", ...) (code kModel).
class File {
 public:
  /// No file yet.
  File() = default;
  /// Opens the file that a user named; a symbolic link is followed. What is not a regular file
  /// (folder, FIFO, socket, device, /proc entry) is refused without being read and without
  /// blocking.
  explicit File(std::string path);

  const std::string& name() const { return name_; }
  std::uint64_t size() const { return identity_.bytes; }
  const FileIdentity& identity() const { return identity_; }
  int fd() const { return fd_.get(); }

  /// Fills `out` from `offset` on; a file that ends before is an error.
  void read_at(std::uint64_t offset, std::span<std::byte> out) const;
  /// The whole file, refused when it has more than `bytes_max` bytes or changes while it is read.
  std::string read_all(std::uint64_t bytes_max) const;
  /// Whether the file is in the state that it had when it was opened (is_same_state).
  bool is_unchanged() const;
  /// Whether it is seen that it has not the bytes any more that it had then (has_same_bytes).
  bool is_overwritten() const;

 private:
  friend class Directory;
  File(std::string name, Fd fd);

  std::string name_;
  Fd fd_;
  FileIdentity identity_;
};

/// An open folder, through which names that come from an untrusted file are opened.
///
/// Errors: as of File.
class Directory {
 public:
  explicit Directory(std::string path);

  const std::string& name() const { return name_; }

  /// Opens a file of this folder. `name` must be a plain file name: not empty, without '/' and NUL,
  /// not "." or "..". A symbolic link is followed only where all of its way stays inside the
  /// folder, or where it is one of the hub's cache (see base/blob_link.h).
  File open(std::string_view name) const;
  /// Whether `open` would find a regular file of this name.
  bool contains(std::string_view name) const;
  /// The names of all entries but "." and "..", sorted by bytes.
  std::vector<std::string> list() const;

 private:
  std::string name_;
  Fd fd_;
};

}  // namespace ingot
