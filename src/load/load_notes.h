// LoadNotes: what opening a model tells users, and which of its unknown keys they accept.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace ingot {

/// Collects lines about a model's files while they are opened.
class LoadNotes {
 public:
  LoadNotes() = default;
  /// `accepted`: keys that do not refuse the model, although ingot does not apply them.
  explicit LoadNotes(std::span<const std::string> accepted);

  /// Adds a line on which a user can act: by another option, file or model.
  void warn(std::string line) { warnings_.push_back(std::move(line)); }
  /// Adds a line on which no user can act. Only `ingot inspect` shows it.
  void detail(std::string line) { details_.push_back(std::move(line)); }

  /// Returns whether the user accepts the key of `file`, and then warns that it is not applied.
  /// `value`: the key's value for display.
  bool accepts(std::string_view file, std::string_view key, std::string_view value);
  /// Returns the end of an error about a key that the user could accept.
  static std::string advice(std::string_view key);
  /// Warns of accepted keys for which nothing asked. Call it once, at the end.
  void warn_of_unused_keys();

  const std::vector<std::string>& warnings() const { return warnings_; }
  const std::vector<std::string>& details() const { return details_; }

 private:
  std::vector<std::string> accepted_;
  std::vector<bool> used_;  ///< for each of `accepted_`
  std::vector<std::string> warnings_;
  std::vector<std::string> details_;
};

}  // namespace ingot
