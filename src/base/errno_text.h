// Texts for the system's error numbers.
#pragma once

#include <string>

namespace ingot {

/// The meaning of an errno value in lower case, independent of the locale: "no such file", "no
/// space left on device".
std::string errno_text(int error);

}  // namespace ingot
