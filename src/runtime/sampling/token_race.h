// TokenRace: draws a token by noise, and computes the noise only of tokens that may win.
#pragma once

#include <array>
#include <cstdint>
#include <limits>
#include <span>
#include <vector>

#include "runtime/sampling/candidates.h"
#include "runtime/sampling/draw_noise.h"

namespace ingot {

/// A token and its key.
struct Leader {
  std::int32_t id = -1;
  double key = -std::numeric_limits<double>::infinity();

  /// Takes the place if `other` is larger. If the keys are equal, the lower id leads.
  void challenge(std::int32_t other_id, double other);
};

/// A token with its noise, which gives its key.
struct Racer {
  std::int32_t id = -1;
  double distance = 0;  ///< (logit - largest) * scale
  NoiseGroup group{};
  Exponential excess{};  ///< u = 1 for NoiseGroup::first, so that its value is 0

  double key() const;
  /// Returns the key with an error below 1e-6.
  double key_estimate() const;
  /// Returns a number that is at least the key.
  double key_bound() const {
    return distance - log_lower_bound(group.least_bound() + excess.lower_bound());
  }
};

/// Finds the token with the largest key, key = (logit - largest) * scale - log(x) in double. x is
/// the token's noise. Tokens that cannot win are skipped by bounds on their keys.
///
/// The noise has a minimum in each group of 256 ids. The ids that have it enter first: among many
/// tokens, such an id wins most draws. Then most groups are skipped by one comparison of
/// their top logits. Keys are estimated; logarithms are computed only if two estimates are close.
///
/// A list of many tokens is drawn from like its row. Whether a token is on the list matters only
/// if the token would lead. All tokens of a short list enter.
class TokenRace {
 public:
  /// Allocates memory for rows of up to `room` tokens.
  explicit TokenRace(std::int64_t room);
  static std::int64_t bytes(std::int64_t room);

  /// Draws from all tokens of a row.
  std::int32_t draw(const ScannedRow& row, const DrawNoise& noise);
  /// Draws from a list of tokens of a row.
  ///
  /// Shapes: logits and ids [n], n > 0; ids rise.
  std::int32_t draw(const ScannedRow& row, std::span<const float> logits,
                    std::span<const std::int32_t> ids, const DrawNoise& noise);

 private:
  /// Number of tokens whose noise is computed together.
  static constexpr std::size_t kTogether = 64;
  /// Room for a group beyond these, and for an id that is overwritten.
  static constexpr std::size_t kWaitingMax = kTogether + kNoiseGroup + 1;

  void begin(const ScannedRow& row, const DrawNoise& noise);
  void enter_one(std::int32_t id, float logit);
  void enter_list(std::span<const float> logits, std::span<const std::int32_t> ids);
  void enter_row();
  void enter_group(std::int64_t number);
  void enter_waiting();
  void enter(const Racer& racer) {
    if (racer.key_bound() > floor_) challenge(racer);
  }
  void challenge(const Racer& racer);
  bool is_listed(std::int32_t id) const;
  double distance(float logit) const;
  float least_logit(const NoiseGroup& group) const;

  std::vector<NoiseGroup> groups_;
  std::array<std::int32_t, kWaitingMax> waiting_{};  ///< ids that enter together
  std::size_t waiting_count_ = 0;

  ScannedRow row_;
  double inverse_scale_ = 1;
  const DrawNoise* noise_ = nullptr;
  std::span<const std::int32_t> listed_;  ///< the only ids that may win; empty: all may win
  Racer leader_{};
  double leader_key_ = 0;  ///< estimate of the leader's key
  double floor_ = 0;       ///< a key that is at most this loses
};

}  // namespace ingot
