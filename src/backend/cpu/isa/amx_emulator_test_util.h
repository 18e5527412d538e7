// AmxEmulator: runs the kernels for AMX on machines without AMX. For tests only.
#pragma once

#include <signal.h>

#include <cstdint>

namespace ingot::testing_support {

/// Instructions that an AmxEmulator computed, on all threads.
struct AmxCounts {
  std::int64_t configurations = 0;  ///< LDTILECFG
  std::int64_t releases = 0;        ///< TILERELEASE of configured tiles
  std::int64_t products = 0;        ///< TDPBF16PS, TDPBSSD and TDPBSUD
};

/// Computes AMX instructions of all threads. A processor without AMX raises SIGILL; the handler
/// computes the instruction and continues after it. A thread keeps its tiles, as on a processor
/// with AMX.
///
/// The emulator knows LDTILECFG, TILELOADD, TILESTORED, TILEZERO, TILERELEASE, TDPBF16PS, TDPBSSD
/// and TDPBSUD. Other instructions end the process with SIGILL, as without the emulator. So do
/// operands that AMX refuses: tiles that are not configured, unequal shapes, equal tile numbers in
/// a product. A configuration must give all eight tiles a shape. At most one emulator exists at a
/// time.
class AmxEmulator {
 public:
  AmxEmulator();
  /// Restores the handler of SIGILL that the constructor replaced.
  ~AmxEmulator();
  AmxEmulator(const AmxEmulator&) = delete;
  AmxEmulator& operator=(const AmxEmulator&) = delete;

  /// Returns what was computed since the constructor. Kernels must not run meanwhile.
  AmxCounts counts() const;

 private:
  struct sigaction before_ {};
};

}  // namespace ingot::testing_support
