// Backends: which device computes, and with which instruction set of the host, chosen by name.
#pragma once

#include <memory>
#include <span>
#include <string_view>

#include "backend/backend.h"
#include "backend/host_kernels.h"
#include "backend/observer.h"
#include "base/thread_pool.h"

namespace ingot {

/// Settings of a backend.
struct BackendOptions {
  std::string_view isa = "auto";       ///< see find_host_kernels
  LinearObserver* observer = nullptr;  ///< sees the inputs of linears; outlives the backend
};

/// The backend that runs on the host's processors. `pool` outlives it.
///
/// Errors: as find_host_kernels.
std::unique_ptr<Backend> make_backend(ThreadPool& pool, const BackendOptions& options);

/// The kernels that this machine can run, scalar first, the fastest last.
std::span<const HostKernels* const> host_kernels();

/// The kernels of an instruction set; "auto" gives the fastest that this machine can run.
///
/// Errors: Error{kInvalid} with the names that are offered, for a name that is unknown or not
/// offered here.
const HostKernels& find_host_kernels(std::string_view isa);

}  // namespace ingot
