// errno_text: messages for system error numbers (errno); retry repeats interrupted calls.
#pragma once

#include <cerrno>
#include <string>

namespace ingot {

/// Returns the meaning of an errno value in lower-case English, such as "no space left on device".
/// The text does not depend on the locale.
std::string errno_text(int error);

/// Makes a system call, and repeats it while signals interrupt it (EINTR). Returns the last result.
template <class Call>
auto retry(Call call) {
  auto result = call();
  while (result < 0 && errno == EINTR) result = call();
  return result;
}

}  // namespace ingot
