// errno_text: messages for system error numbers (errno).
#pragma once

#include <string>

namespace ingot {

/// Returns the meaning of an errno value in lower-case English, such as "no space left on device".
/// The text does not depend on the locale.
std::string errno_text(int error);

}  // namespace ingot
