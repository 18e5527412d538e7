// random_adapters: adapters of random matrices that change most weights of a model, for tests.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "model/model.h"
#include "runtime/adapters/adapter_list.h"

namespace ingot::testing_support {

/// Makes lists of random adapters for a model: `count` lists of one adapter, and one of two of them
/// with factors. Equal seeds give equal adapters on every backend. `first` is the first list's
/// number.
std::vector<std::shared_ptr<const AdapterList>> random_adapters(const Model& model,
                                                                Backend& backend, int count,
                                                                std::uint64_t seed,
                                                                std::uint64_t first = 1);

}  // namespace ingot::testing_support
