// File and Directory: open and read untrusted files safely, and detect changes of open files.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace ingot {

/// Owns a file descriptor; the destructor closes it.
class Fd {
 public:
  Fd() = default;
  explicit Fd(int number) : number_(number) {}
  ~Fd() { reset(); }
  Fd(Fd&& other) noexcept : number_(other.release()) {}
  Fd& operator=(Fd&& other) noexcept;

  int get() const { return number_; }
  explicit operator bool() const { return number_ >= 0; }
  /// Gives up ownership and returns the descriptor. The caller must close it.
  int release();
  /// Closes the descriptor. Returns whether the system reported success.
  bool reset();

 private:
  int number_ = -1;
};

/// Identifies a file and a state of its contents, to detect changes.
struct FileIdentity {
  std::uint64_t device = 0;
  std::uint64_t inode = 0;
  std::uint64_t bytes = 0;
  std::uint64_t links = 0;  ///< number of hard links
  std::int64_t modified_ns = 0;
  /// Time of the last status change (ctime). Programs can set modified_ns back, but not this time.
  std::int64_t changed_ns = 0;
};

/// Returns whether file, size and modification time are equal. Names, mode and owner may differ.
bool has_same_bytes(const FileIdentity& before, const FileIdentity& after);

/// Returns whether no program wrote to the file between `before` and `after`.
///
/// A new or removed hard link changes `changed_ns` but no bytes. So if `links` differs, as after a
/// rename over the file, the function ignores `changed_ns`.
bool is_same_state(const FileIdentity& before, const FileIdentity& after);

/// A regular file, open for reading. `size` is its size in bytes when it was opened.
///
/// Errors: every function throws model_error(name, "file", ...) (code kModel).
class File {
 public:
  /// Makes an object without a file, to which a File can be assigned.
  File() = default;
  /// Opens a file that a user named, and follows symbolic links. Refuses folders, FIFOs, sockets,
  /// devices and entries of /proc, without reading them and without blocking.
  explicit File(std::string path);

  const std::string& name() const { return name_; }
  std::uint64_t size() const { return identity_.bytes; }
  const FileIdentity& identity() const { return identity_; }
  int fd() const { return fd_.get(); }

  /// Fills `out` with the bytes from `offset` on. Fails if the file ends before `out` is full.
  void read_at(std::uint64_t offset, std::span<std::byte> out) const;
  /// Reads the whole file. Fails if it has more than `bytes_max` bytes or changes meanwhile.
  std::string read_all(std::uint64_t bytes_max) const;
  /// Returns whether the file is in the state in which it was opened (is_same_state is true).
  bool is_unchanged() const;
  /// Returns whether the file belongs to this user, and no other user may write to it.
  bool is_private() const;
  /// Returns whether a program wrote to the file after it was opened (has_same_bytes is false).
  bool is_overwritten() const;

 private:
  friend class Directory;
  File(std::string name, Fd fd);

  std::string name_;
  Fd fd_;
  FileIdentity identity_;
};

/// An open folder that opens files safely by untrusted names.
///
/// Errors: those of File.
class Directory {
 public:
  explicit Directory(std::string path);

  const std::string& name() const { return name_; }

  /// Opens a file in this folder. `name` must be a plain file name: not empty, not "." or "..", and
  /// without '/' and NUL. Follows only two kinds of symbolic links: links whose whole
  /// path stays in the folder, and links of the Hugging Face hub's cache (base/blob_link.h).
  File open(std::string_view name) const;
  /// Returns whether the folder has a regular file `name` that `open` accepts.
  bool contains(std::string_view name) const;
  /// Returns the names of all entries except "." and "..", sorted by bytes.
  std::vector<std::string> list() const;

 private:
  std::string name_;
  Fd fd_;
};

}  // namespace ingot
