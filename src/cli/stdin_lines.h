// Reading stdin a line at a time.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

namespace ingot {

/// The lines of stdin, each as soon as it is there.
class StdinLines {
 public:
  explicit StdinLines(std::size_t bytes_max) : bytes_max_(bytes_max) {}

  /// The next line without its end, valid until the next call; nothing after the last one.
  ///
  /// Errors: Error{kIo}; Error{kInvalid} for a line of more than `bytes_max` bytes; Interrupted.
  std::optional<std::string_view> next();

 private:
  std::size_t bytes_max_;
  std::string held_;
  std::size_t at_ = 0;  // bytes of held_ that were given out
  bool ended_ = false;
};

}  // namespace ingot
