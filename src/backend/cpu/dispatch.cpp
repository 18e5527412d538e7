// kernel_tables: finds the tables that this machine can run, by features of CPU and system.
#include <string>
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

/// A bit of EAX of leaf 7, sub-leaf 1.
bool has_feature(int bit) {
  unsigned a = 0, b = 0, c = 0, d = 0;
  return __get_cpuid_count(7, 1, &a, &b, &c, &d) != 0 && (a >> bit & 1) != 0;
}

bool has_avx_vnni() { return has_feature(4); }

bool has_avx512_bf16() { return has_feature(5); }

/// Whether products of pairs of bfloat16 are faster than fused multiply-adds. Zen 4 adds twice as
/// many products in a second. Xeons of the fourth generation add fewer (docs/kernels.md).
bool has_fast_pair_products() { return __builtin_cpu_is("amd") != 0; }

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

ChosenTables find_tables() {
  std::vector<TableCandidate> all{{.table = scalar_kernels, .runs = true}};
  const KernelTable& (*judge)() = scalar_kernels;  // its table runs where checked ones do
#ifdef INGOT_X86_TABLES
  // These functions also check that the system saves the registers.
  const bool avx2 = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") && has_f16c();
  const bool avx512 = avx2 && __builtin_cpu_supports("avx512f") &&
                      __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512dq") &&
                      __builtin_cpu_supports("avx512vl");
  const bool vnni = avx512 && __builtin_cpu_supports("avx512vnni");
  all.push_back({.table = avx2_novnni_kernels, .runs = avx2});
  all.push_back({.table = avx2_kernels, .runs = avx2 && has_avx_vnni()});
  all.push_back({.table = avx512_novnni_kernels, .runs = avx512});
  all.push_back({.table = avx512_kernels, .runs = vnni});
  judge = avx512_kernels;
  all.push_back({.table = avx512_bf16_kernels,
                 .runs = vnni && has_avx512_bf16(),
                 .is_checked = true,
                 .is_fastest = has_fast_pair_products()});
  all.push_back({.table = avx512_amx_kernels, .runs = vnni && has_amx(), .is_checked = true});
#endif
#ifdef INGOT_ARM_TABLES
  constexpr unsigned long kDotProducts = 1UL << 20;  // HWCAP_ASIMDDP of Linux
  all.push_back({.table = neon_kernels, .runs = (getauxval(AT_HWCAP) & kDotProducts) != 0});
#endif
  return choose_tables(all, [&](const KernelTable& t) { return multiplies_as(t, judge()); });
}

const ChosenTables& found_tables() {
  static const ChosenTables found = find_tables();
  return found;
}

}  // namespace

std::span<const KernelTable* const> kernel_tables() { return found_tables().tables; }

const char* kernel_warning() {
  const std::string& warning = found_tables().warning;
  return warning.empty() ? nullptr : warning.c_str();
}

}  // namespace ingot
