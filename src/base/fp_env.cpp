// Control registers of the floating-point units: MXCSR on x86-64, FPCR on AArch64.
#include "base/fp_env.h"

#include <cstdint>

namespace ingot {

namespace {

#if defined(__x86_64__)
// Intel SDM volume 1, section 10.2.3: bit 15 FTZ, 14-13 rounding, 12-7 exception masks, 6 DAZ, 5-0
// sticky flags.
constexpr std::uint64_t kControlBits = 0xFFC0;
constexpr std::uint64_t kCanonical = 0x1F80;

std::uint64_t read_control() { return __builtin_ia32_stmxcsr(); }
void write_control(std::uint64_t value) {
  __builtin_ia32_ldmxcsr(static_cast<std::uint32_t>(value));
}
#elif defined(__aarch64__)
// Arm ARM, FPCR: bit 26 AHP, 25 DN, 24 FZ, 23-22 rounding, 19 FZ16, 15 and 12-8 trap enables, 2-0
// AH, FIZ, NEP.
constexpr std::uint64_t kControlBits = 0x07C89F07;
constexpr std::uint64_t kCanonical = 0;

std::uint64_t read_control() {
  std::uint64_t value;
  asm volatile("mrs %0, fpcr" : "=r"(value));
  return value;
}
void write_control(std::uint64_t value) { asm volatile("msr fpcr, %0" : : "r"(value)); }
#else
#error "exactness is defined for x86-64 and AArch64 only"
#endif

}  // namespace

void set_canonical_fp() {
  if (fp_is_canonical()) return;
  write_control((read_control() & ~kControlBits) | kCanonical);
}

CanonicalFp::CanonicalFp() : before_(read_control()) { set_canonical_fp(); }

CanonicalFp::~CanonicalFp() {
  if (read_control() != before_) write_control(before_);
}

bool fp_is_canonical() { return (read_control() & kControlBits) == kCanonical; }

}  // namespace ingot
