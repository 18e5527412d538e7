// MoeStage: the stages of the op moe, which a profile lists one by one.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

namespace ingot {

/// Stages of `Backend::moe`. A backend that computes experts in waves repeats the middle ones.
enum class MoeStage : std::uint8_t {
  kRoute,     ///< router, scores, and each row's choice of experts
  kGateUp,    ///< gate and up linears, with the distribution of rows to experts
  kActivate,  ///< activation
  kDown,      ///< down linears
  kSum,       ///< weighted sum of the experts' results
};
inline constexpr std::size_t kMoeStages = 5;

/// Returns the name of a stage, such as "gate and up".
std::string_view to_string(MoeStage stage);

/// Seconds of each stage, in the order of MoeStage.
using MoeSeconds = std::array<double, kMoeStages>;

}  // namespace ingot
