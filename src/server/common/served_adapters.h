// ServedAdapters: the adapters that requests of a server can name, and the folder of further ones.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/adapters/adapter_store.h"
#include "server/common/adapter_folder.h"
#include "server/common/load_failures.h"

namespace ingot {

/// Settings of ServedAdapters.
struct AdapterSettings {
  std::optional<AdapterFolder> folder{};  ///< --lora-dir
  std::vector<std::string> ids{};         ///< names of --lora in order: see `name_of`
  std::string model_path{};  ///< the model's file, for warnings about other base models
  bool can_load = false;     ///< whether adapters may be loaded while requests run
};

/// An adapter, as operators see it.
struct AdapterState {
  std::shared_ptr<const LoadedAdapter> adapter;
  std::vector<std::string> warnings{};  ///< warnings of its last load
  std::uint64_t requests = 0;           ///< requests that named it, since its name was loaded
};

/// Loads, names and unloads adapters. Thread-safe. Loads run one after the other.
///
/// If an adapter finds no place or no memory, adapters that have the name and scale of the folder
/// make room, since requests load them again: idle ones first, and of these the least recently
/// used. Requests under way keep theirs.
class ServedAdapters {
 public:
  /// `store` must outlive this object; the adapters that it has stay until they are unloaded.
  ServedAdapters(AdapterStore& store, AdapterSettings settings);

  bool can_load() const { return settings_.can_load; }
  bool has_folder() const { return settings_.folder.has_value(); }
  /// Returns whether there is or may be an adapter.
  bool are_possible() const { return can_load() || !store_.all().empty(); }
  /// Returns how many adapters there may be; 0 if none is possible.
  std::int32_t adapters_max() const { return are_possible() ? store_.adapters_max() : 0; }
  /// Returns the bytes of all loads that are still in use.
  std::int64_t bytes() const { return store_.bytes(); }

  /// Returns the name of an adapter of --lora by its index there; null: there is none.
  const std::string* name_of(std::int64_t id) const;
  /// Returns the loaded adapter, for a new request; null: none is loaded under this name.
  std::shared_ptr<const LoadedAdapter> use(std::string_view name);
  /// Returns whether an adapter is loaded, without using it.
  bool has(std::string_view name) const { return store_.find(name) != nullptr; }
  /// Returns whether the folder can have an adapter of this name, without a look at the files.
  bool may_be_in_folder(std::string_view name) const {
    return has_folder() && AdapterFolder::is_name(name);
  }
  /// Returns whether the folder has an adapter of this name, which may be damaged. Slow.
  bool is_in_folder(std::string_view name) const;
  /// Makes a request's list: see AdapterStore::list.
  std::shared_ptr<const AdapterList> list(std::span<const AdapterChoice> choices) {
    return store_.list(choices);
  }
  /// Counts a request that uses the list, which may be null.
  void count(const std::shared_ptr<const AdapterList>& list);
  std::vector<AdapterState> states() const;

  /// Loads an adapter from a path, and replaces the adapter of this name. Slow. Returns warnings.
  ///
  /// Errors: those of AdapterStore::load.
  std::vector<std::string> load(const AdapterSource& source);
  /// Loads the adapter `source.path` of the folder. Slow.
  ///
  /// Errors: as `load`.
  std::vector<std::string> load_from_folder(const AdapterSource& source);
  /// Returns the adapter of a request. If it is not loaded, loads it from the folder, which is
  /// slow. A failure counts for some seconds: see LoadFailures. Errors: as `load`.
  std::shared_ptr<const LoadedAdapter> use_or_load(const std::string& name);
  /// Takes the name from its adapter. Returns false if no adapter has the name.
  bool unload(std::string_view name);

 private:
  /// What this object knows of a loaded adapter.
  struct Entry {
    std::uint64_t last_use = 0;  ///< number of the last use
    std::uint64_t requests = 0;
    bool comes_back = false;  ///< whether a request that names it loads it again as it is
    std::vector<std::string> warnings{};
  };

  std::vector<std::string> load_file(const AdapterSource& source, const AdapterFile& file,
                                     bool comes_back);
  std::vector<std::string> load_entry(const AdapterSource& source, bool comes_back);
  void load_for_request(const std::string& name);
  void require_place(std::string_view name) const;
  std::vector<std::string> evictable() const;

  AdapterStore& store_;
  const AdapterSettings settings_;
  std::mutex loading_;  ///< one load or unload at a time; protects `failures_`
  LoadFailures failures_;
  mutable std::mutex mutex_;  ///< protects the members below
  std::map<std::string, Entry, std::less<>> entries_;
  std::uint64_t uses_ = 0;
};

}  // namespace ingot
