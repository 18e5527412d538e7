// Arrivals: requests of all sizes, with and without something in common.
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

  /// A request, perhaps one that cannot be taken. `before` came before it.
  Request draw(const std::vector<std::unique_ptr<Client>>& before);
  /// Whether an engine has to take it in.
  bool is_possible(const Request& request) const;

 private:
  void draw_prompt(Request& r, const std::vector<std::unique_ptr<Client>>& before);
  void draw_length(Request& r);
  void draw_key(Request& r);
  void draw_stops(Request& r);
  void draw_extras(Request& r);
  std::int64_t pool_tokens() const { return std::int64_t{settings_.blocks} * kBlockTokens; }

  const Settings& settings_;
  Random& random_;
  std::vector<std::vector<std::int32_t>> stems_;  ///< that prompts begin with
  std::array<std::uint64_t, 3> adapters_{};       ///< the generation that is loaded of each
  std::uint64_t loads_ = 0;
};

}  // namespace ingot::sim
