// Chooses a backend by the name of its device, and the host's kernels by their instruction set.
#pragma once

#include <memory>
#include <span>
#include <string_view>

#include "backend/backend.h"
#include "backend/host_kernels.h"
#include "backend/observer.h"
#include "base/thread_pool.h"

namespace ingot {

/// Options of make_backend.
struct BackendOptions {
  std::string_view device = "auto";    ///< "auto" or "cpu": this build has no other device
  std::string_view numerics = "auto";  ///< "auto", "canon", or "fast" if the device offers it
  std::string_view isa = "auto";       ///< an instruction set's name for find_host_kernels
  LinearObserver* observer = nullptr;  ///< null, or gets each linear's input; outlives the backend
};

/// Makes the backend of a device. `pool` must outlive the backend.
///
/// Errors: Error{kInvalid} if the device or its numerics are not offered; the message lists the
/// possible names. Those of find_host_kernels.
std::unique_ptr<Backend> make_backend(ThreadPool& pool, const BackendOptions& options);

/// Returns the host kernels of all instruction sets of this machine: scalar first, fastest last.
std::span<const HostKernels* const> host_kernels();

/// Returns why kernels that this processor seems to have are not offered; null if all are offered.
const char* host_kernel_warning();

/// Returns the host kernels of instruction set `isa`; for "auto", the fastest on this machine.
///
/// Errors: Error{kInvalid} if this machine cannot run `isa` or the name is unknown; the message
/// lists the possible names.
const HostKernels& find_host_kernels(std::string_view isa);

}  // namespace ingot
