// kernel_tables: finds the tables that this machine can run, by features of CPU and system.
#include <algorithm>
#include <vector>

#include "backend/cpu/kernel_table.h"
#include "backend/cpu/table_check.h"

#ifdef INGOT_X86_TABLES
#include <cpuid.h>
#include <sys/syscall.h>
#include <unistd.h>
#endif
#ifdef INGOT_ARM_TABLES
#include <sys/auxv.h>
#endif

namespace ingot {

namespace {

#ifdef INGOT_X86_TABLES
// Features that __builtin_cpu_supports does not know in every compiler. Source of the bits: Intel
// SDM, volume 2, CPUID.

/// Bit 29 of ECX of leaf 1.
bool has_f16c() {
  unsigned a = 0, b = 0, c = 0, d = 0;
  return __get_cpuid(1, &a, &b, &c, &d) != 0 && (c >> 29 & 1) != 0;
}

/// Bit 4 of EAX of leaf 7, sub-leaf 1.
bool has_avx_vnni() {
  unsigned a = 0, b = 0, c = 0, d = 0;
  return __get_cpuid_count(7, 1, &a, &b, &c, &d) != 0 && (a >> 4 & 1) != 0;
}

/// Bits 22, 24 and 25 of EDX of leaf 7: tiles, of bfloat16 and of 8-bit integers. The system must
/// also allow this process to use tiles, since it saves tiles with a thread's state (Linux,
/// Documentation/arch/x86/xstate.rst).
bool has_amx() {
  unsigned a = 0, b = 0, c = 0, d = 0;
  if (__get_cpuid_count(7, 0, &a, &b, &c, &d) == 0 || (d >> 22 & 13) != 13) return false;
  constexpr long kRequestPermission = 0x1023;  // ARCH_REQ_XCOMP_PERM
  constexpr long kTileData = 18;               // XFEATURE_XTILEDATA
  return syscall(SYS_arch_prctl, kRequestPermission, kTileData) == 0;
}
#endif

struct Found {
  std::vector<const KernelTable*> tables;
  const char* warning = nullptr;
};

Found find_tables() {
  Found found{.tables = {&scalar_kernels()}};
  [[maybe_unused]] auto& tables = found.tables;  // plain C++ alone needs no more
#ifdef INGOT_X86_TABLES
  // These functions also check that the system saves the registers.
  const bool avx2 = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") && has_f16c();
  const bool avx512 = avx2 && __builtin_cpu_supports("avx512f") &&
                      __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512dq") &&
                      __builtin_cpu_supports("avx512vl");
  if (avx2) tables.push_back(&avx2_novnni_kernels());
  if (avx2 && has_avx_vnni()) tables.push_back(&avx2_kernels());
  if (avx512) tables.push_back(&avx512_novnni_kernels());
  const bool vnni = avx512 && __builtin_cpu_supports("avx512vnni");
  if (vnni) tables.push_back(&avx512_kernels());
  if (vnni && has_amx()) {
    if (multiplies_as(avx512_amx_kernels(), avx512_kernels())) {
      tables.push_back(&avx512_amx_kernels());
    } else {
      found.warning =
          "the kernels avx512-amx are not offered: on this processor, sums of bfloat16 products "
          "have other bits than on other machines";
    }
  }
#endif
#ifdef INGOT_ARM_TABLES
  constexpr unsigned long kDotProducts = 1UL << 20;  // HWCAP_ASIMDDP of Linux
  if ((getauxval(AT_HWCAP) & kDotProducts) != 0) tables.push_back(&neon_kernels());
#endif
  return found;
}

const Found& found_tables() {
  static const Found found = find_tables();
  return found;
}

}  // namespace

std::span<const KernelTable* const> kernel_tables() { return found_tables().tables; }

const char* kernel_warning() { return found_tables().warning; }

}  // namespace ingot
