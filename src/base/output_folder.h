// OutputFolder: atomic writing of folders. A folder appears complete under its name, or not at all.
#pragma once

#include <string>
#include <string_view>

namespace ingot {

/// Makes a temporary folder beside its target, and renames it to the target at the end.
///
/// Errors: kIo "<path>: cannot write: <reason>".
class OutputFolder {
 public:
  /// Errors: kInvalid if there is a file or a folder at `path`.
  explicit OutputFolder(std::string path);
  /// Removes the temporary folder with its files if `commit` was not called. Forced exits do that
  /// too, for one folder at a time.
  ~OutputFolder();
  OutputFolder(const OutputFolder&) = delete;
  OutputFolder& operator=(const OutputFolder&) = delete;

  /// Returns the path at which to write a file of the folder. `name` may have folders in it, which
  /// this makes.
  std::string file(std::string_view name) const;
  /// Renames the folder to its target. All files must be complete. Call it once.
  void commit();

 private:
  void forget();
  [[noreturn]] void fail(int error) const;

  std::string path_;
  std::string temporary_;       ///< empty: there is nothing to remove
  bool is_remembered_ = false;  ///< whether a forced exit removes the temporary folder
};

}  // namespace ingot
