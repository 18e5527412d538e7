// errno_text: messages for system error numbers (errno).
#pragma once

#include <string>

namespace ingot {

/// The meaning of an errno value in lower case, independent of the locale, such as "no space left
/// on device".
std::string errno_text(int error);

}  // namespace ingot
