// LeafMasks: which tokens stay inside a Terminal or a string, and which ones leave it and how.
#pragma once

namespace ingot {

/// Masks by leaf.
class LeafMasks {};

}  // namespace ingot
