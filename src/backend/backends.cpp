// Finds backends by the name of a device, and host kernels by the name of an instruction set.
#include "backend/backends.h"

#include <algorithm>
#include <iterator>
#include <string>
#include <vector>

#include "backend/cpu/cpu_backend.h"
#include "base/error.h"
#include "base/text.h"

namespace ingot {

namespace {

/// Names of all instruction sets, whether this build and machine offer them or not.
constexpr std::string_view kIsas[] = {"scalar", "avx2-novnni", "avx2",       "avx512-novnni",
                                      "avx512", "avx512-bf16", "avx512-amx", "neon"};

void check_device(std::string_view device) {
  if (device == "auto" || device == "cpu") return;
  const bool is_cuda = device == "cuda" || device.starts_with("cuda:");
  throw Error(ErrorCode::kInvalid,
              cat("`device` ", printable(device),
                  is_cuda ? " is not offered: this build has no CUDA; it offers auto, cpu"
                          : " is unknown; this build offers auto, cpu"));
}

void check_numerics(std::string_view numerics, const Backend& backend) {
  if (numerics == "auto" || numerics == "canon") return;
  if (numerics != "fast") {
    throw Error(ErrorCode::kInvalid, cat("`numerics` ", printable(numerics),
                                         " is unknown; the possible names are auto, canon, fast"));
  }
  throw Error(ErrorCode::kInvalid,
              cat("`numerics` fast is not offered on device ", backend.name(), ", which computes ",
                  backend.numerics(), "; it offers auto, canon"));
}

}  // namespace

std::unique_ptr<Backend> make_backend(ThreadPool& pool, const BackendOptions& options) {
  check_device(options.device);
  // All host kernels are part of a kernel table.
  const auto& table = static_cast<const KernelTable&>(find_host_kernels(options.isa));
  auto backend = std::make_unique<CpuBackend>(pool, table);
  check_numerics(options.numerics, *backend);
  backend->observe(options.observer);
  return backend;
}

std::span<const HostKernels* const> host_kernels() {
  static const std::vector<const HostKernels*> all(kernel_tables().begin(), kernel_tables().end());
  return all;
}

const char* host_kernel_warning() { return kernel_warning(); }

const HostKernels& find_host_kernels(std::string_view isa) {
  if (isa == "auto") return *host_kernels().back();
  std::string offered;
  for (const HostKernels* kernels : host_kernels()) {
    if (kernels->name == isa) return *kernels;
    offered += cat(offered.empty() ? "" : ", ", kernels->name);
  }
  const bool known = std::find(std::begin(kIsas), std::end(kIsas), isa) != std::end(kIsas);
  throw Error(ErrorCode::kInvalid,
              cat("`isa` ", printable(isa), known ? " is not offered here" : " is unknown",
                  "; this machine and build offer auto, ", offered));
}

}  // namespace ingot
