// AdapterStore: the adapters that an engine's requests can name; they come and go while it runs.
#pragma once

#include <atomic>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>

#include "backend/backend.h"
#include "load/adapter/adapter_file.h"
#include "model/adapter.h"
#include "model/model.h"
#include "runtime/adapters/adapter_list.h"

namespace ingot {

/// An adapter to load.
struct AdapterSource {
  std::string name;
  std::string path;
  float scale = 1;  ///< factor of every request that names the adapter
};

/// One load of an adapter. Immutable.
struct LoadedAdapter {
  AdapterSource source;
  std::uint64_t generation = 0;  ///< a number of its own, from 1
  std::string base_model;        ///< what the file calls its base model; may be empty
  std::unique_ptr<const Adapter> adapter;
};

/// An adapter that a request names.
struct AdapterChoice {
  std::shared_ptr<const LoadedAdapter> adapter;
  float scale = 1;  ///< the request's factor
};

/// Limits of an AdapterStore.
struct AdapterLimits {
  std::int64_t bytes = 0;     ///< limit on the bytes of all loads that are still in use
  std::int32_t adapters = 0;  ///< limit on the number of adapters with a name
};

/// Loads adapters of one model, and names them. From any thread; a load does not block the others.
///
/// A load that is replaced or unloaded stays in memory until the last request that uses it ends.
class AdapterStore {
 public:
  /// `model` and `backend` must outlive this object and all lists.
  AdapterStore(const Model& model, Backend& backend, const AdapterLimits& limits)
      : model_(model), backend_(backend), limits_(limits), bytes_max_(limits.bytes) {}

  /// Takes bytes from the limit on bytes, for other memory that needs them. Loads stay.
  void lower_bytes_max(std::int64_t bytes) { bytes_max_ -= bytes; }

  /// Loads an adapter, and then gives it the name of `source`, which may be that of an earlier
  /// load. If it fails, nothing has changed, except that adapters may have made room for its bytes.
  ///
  /// Errors: those of `open_adapter` and `load_adapter`; Error{kInvalid} if there are too many
  /// adapters; Error{kDoesNotFit} if the bytes are more than the limit.
  std::shared_ptr<const LoadedAdapter> load(const AdapterSource& source);
  /// Loads an opened file. If there are too many adapters or bytes, first unloads adapters of
  /// `evictable`, in its order, but none of them if that does not make enough room.
  ///
  /// Errors: those of `load` except those of `open_adapter`.
  std::shared_ptr<const LoadedAdapter> load(const AdapterSource& source, const AdapterFile& file,
                                            std::span<const std::string> evictable = {});
  /// Takes the name from its adapter. Returns false if no adapter has the name.
  bool unload(std::string_view name);

  /// Returns the adapter with this name; null if there is none.
  std::shared_ptr<const LoadedAdapter> find(std::string_view name) const;
  /// Returns the adapters by ascending name.
  std::vector<std::shared_ptr<const LoadedAdapter>> all() const;
  /// Returns whether a request uses this load, or another reader holds it.
  bool is_in_use(std::string_view name) const;
  std::int32_t adapters_max() const { return limits_.adapters; }
  /// Returns the bytes of all loads that are still in use.
  std::int64_t bytes() const { return bytes_->load(); }

  /// Makes the list of a request; null without choices. Lists of equal choices have equal numbers.
  ///
  /// Errors: Error{kInvalid} if there are more choices than kAdaptersMax, or if one has a factor
  /// that is not finite.
  std::shared_ptr<const AdapterList> list(std::span<const AdapterChoice> choices);

 private:
  /// Generations and factors of a list's adapters.
  using ListKey = std::vector<std::pair<std::uint64_t, float>>;

  /// What makes room for a load.
  struct Room {
    std::vector<std::string> evicted;  ///< names of adapters to unload
    bool needs_bytes = false;          ///< whether the load needs their memory, not only places
  };

  std::uint64_t number_of(const ListKey& key);
  Room make_room(const AdapterSource& source, const AdapterFile& file,
                 std::span<const std::string> evictable) const;

  const Model& model_;
  Backend& backend_;
  const AdapterLimits limits_;
  std::atomic<std::int64_t> bytes_max_;  ///< limits_.bytes, less what other memory took
  std::mutex loading_;                   ///< one load at a time
  mutable std::mutex mutex_;             ///< protects the members below
  std::map<std::string, std::shared_ptr<const LoadedAdapter>, std::less<>> adapters_;
  std::map<ListKey, std::uint64_t> numbers_;  ///< numbers of lists that are not one plain adapter
  std::uint64_t last_number_ = 0;             ///< the last generation or number of a list
  /// Shared with the loads, which may outlive this object.
  std::shared_ptr<std::atomic<std::int64_t>> bytes_ =
      std::make_shared<std::atomic<std::int64_t>>(0);
};

}  // namespace ingot
