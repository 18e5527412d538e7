// HfKeys: reads members of config.json by the names of the table of families, with the family's
// spellings and defaults.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "load/hf/hf_families.h"
#include "load/json_keys.h"
#include "load/load_notes.h"

namespace ingot {

/// Reads the members of config.json. A key that the family does not read counts as absent.
///
/// An absent key has the family's default; a note says so. JSON null has no value.
/// Errors: those of JsonKeys; they name the key as the file spells it.
class HfKeys {
 public:
  /// All arguments must outlive HfKeys.
  HfKeys(const JsonKeys& members, const HfFamily& family, LoadNotes& notes)
      : members_(members), family_(family), notes_(notes) {}

  const JsonKeys& members() const { return members_; }
  const HfFamily& family() const { return family_; }
  LoadNotes& notes() const { return notes_; }

  /// Returns whether the family reads the key.
  bool reads(std::string_view name) const { return family_.find(name) != nullptr; }
  /// Returns whether the file has the key and its value is not null.
  bool states(std::string_view name) const;
  /// Returns whether the key has a value: the file's, or the family's default if the file lacks the
  /// key.
  bool has_value(std::string_view name) const { return states(name) || defaults(name); }
  /// Returns the key as the file spells it, or its first spelling if the file lacks it.
  std::string_view spelled(std::string_view name) const;

  std::optional<std::int64_t> integer(std::string_view name, std::int64_t min,
                                      std::int64_t max) const;
  std::int64_t required_integer(std::string_view name, std::int64_t min, std::int64_t max) const;
  std::optional<double> number(std::string_view name) const;
  std::optional<bool> boolean(std::string_view name) const;
  bool flag(std::string_view name) const { return boolean(name).value_or(false); }
  const std::string* text(std::string_view name) const;
  const Json::Array* array(std::string_view name) const;

  /// Throws the error "<key> is <value>, <expectation>". The file must state the key.
  [[noreturn]] void refuse(std::string_view name, std::string_view expectation) const {
    members_.refuse(spelled(name), expectation);
  }

 private:
  /// Returns whether the file lacks the key and the family has a default for it.
  bool defaults(std::string_view name) const;
  /// Returns the key's default if the file lacks the key, and then adds a note.
  std::optional<double> fallback(std::string_view name) const;

  const JsonKeys& members_;
  const HfFamily& family_;
  LoadNotes& notes_;
};

}  // namespace ingot
