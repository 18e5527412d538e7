// kernel_tables: finds the tables that this machine can run, by features of CPU and system.
#include <algorithm>
#include <vector>

#include "backend/cpu/kernel_table.h"

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

/// Bits 24 and 25 of EDX of leaf 7. The system must also allow this process to use tiles, since it
/// saves tiles with a thread's state (Linux, Documentation/arch/x86/xstate.rst).
bool has_amx_int8() {
  unsigned a = 0, b = 0, c = 0, d = 0;
  if (__get_cpuid_count(7, 0, &a, &b, &c, &d) == 0 || (d >> 24 & 3) != 3) return false;
  constexpr long kRequestPermission = 0x1023;  // ARCH_REQ_XCOMP_PERM
  constexpr long kTileData = 18;               // XFEATURE_XTILEDATA
  return syscall(SYS_arch_prctl, kRequestPermission, kTileData) == 0;
}
#endif

std::vector<const KernelTable*> find_tables() {
  std::vector<const KernelTable*> tables{&scalar_kernels()};
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
  if (vnni && has_amx_int8()) tables.push_back(&avx512_amx_kernels());
#endif
#ifdef INGOT_ARM_TABLES
  constexpr unsigned long kDotProducts = 1UL << 20;  // HWCAP_ASIMDDP of Linux
  if ((getauxval(AT_HWCAP) & kDotProducts) != 0) tables.push_back(&neon_kernels());
#endif
  return tables;
}

}  // namespace

std::span<const KernelTable* const> kernel_tables() {
  static const std::vector<const KernelTable*> tables = find_tables();
  return tables;
}

}  // namespace ingot
