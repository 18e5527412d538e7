// Arrivals: draws requests of all sizes, some of which share prompts.
#pragma once

#include <array>
#include <memory>
#include <vector>

#include "runtime/request.h"
#include "sim/client.h"
#include "sim/settings.h"

namespace ingot::sim {

/// Draws requests for a world.
class Arrivals {
 public:
  Arrivals(const Settings& settings, Random& random);

  /// A request, perhaps one that the engine must refuse. `before` are the earlier requests.
  Request draw(const std::vector<std::unique_ptr<Client>>& before);
  /// Whether the engine must accept the request.
  /// Unloads all adapters. Requests keep theirs.
  void unload_adapters() { adapters_ = {}; }
  /// Returns the number of loads that something still uses.
  std::int64_t loads_in_use() const;
  bool is_possible(const Request& request) const;

 private:
  void draw_prompt(Request& r, const std::vector<std::unique_ptr<Client>>& before);
  void draw_length(Request& r);
  void draw_key(Request& r);
  void draw_stops(Request& r);
  void draw_extras(Request& r);
  void draw_host(Request& r);
  void draw_rules(Request& r);
  void draw_pooled(Request& r);
  void draw_drafts(Request& r);
  std::shared_ptr<const AdapterList> load_adapter();
  std::int64_t pool_tokens() const { return std::int64_t{settings_.blocks} * kBlockTokens; }

  const Settings& settings_;
  Random& random_;
  Random sampling_;  ///< a separate stream, so that other fields of requests do not change
  Random rules_;     ///< another separate stream
  Random kinds_;     ///< another separate stream
  Random drafts_;    ///< another separate stream
  std::vector<std::vector<std::int32_t>> stems_;  ///< beginnings of prompts
  /// The loaded generation of each adapter; null: it is not loaded.
  std::array<std::shared_ptr<const AdapterList>, 3> adapters_{};
  /// All loads. A load's number becomes 0 after its last use.
  std::vector<std::shared_ptr<AdapterList>> loads_;
};

}  // namespace ingot::sim
