// Helpers for GGUF tests: open a file from bytes, and check error messages.
#pragma once

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "load/gguf/gguf.h"

namespace ingot::testing_gguf {

/// Copies `text` to memory of its exact size, so that a sanitizer detects reads past the end.
inline std::vector<std::byte> exact(std::string_view text) {
  const auto* first = reinterpret_cast<const std::byte*>(text.data());
  return {first, first + text.size()};
}

/// Checks that `error` has a short, one-line message "<file>: <section> @<offset>: <reason>".
inline ::testing::AssertionResult is_model_error(const Error& error, std::string_view file) {
  const std::string& message = error.message();
  const auto wrong = [&](const char* what) {
    return ::testing::AssertionFailure() << what << ": " << message;
  };
  if (error.code() != ErrorCode::kModel) return wrong("the code is not kModel");
  if (message.size() > 1000 + file.size()) return wrong("too long");
  if (printable(message, message.size() + 1) != message) return wrong("not on one clean line");
  std::string_view rest = message;
  if (!rest.starts_with(file) || !rest.substr(file.size()).starts_with(": ")) {
    return wrong("does not begin with the file");
  }
  rest.remove_prefix(file.size() + 2);
  const std::size_t at = rest.find(" @");
  if (at == std::string_view::npos) return wrong("no offset");
  bool known = false;
  for (const std::string_view section :
       {"file", "header", "metadata", "tensor table", "data", "config"}) {
    known = known || rest.substr(0, at) == section;
  }
  if (!known) return wrong("unknown section");
  rest.remove_prefix(at + 2);
  const std::size_t digits = rest.find_first_not_of("0123456789");
  if (digits == 0 || digits == std::string_view::npos) return wrong("no offset");
  rest.remove_prefix(digits);
  if (!rest.starts_with(": ") || rest.size() < 8) return wrong("no reason");
  return ::testing::AssertionSuccess();
}

/// Opens `bytes` and returns the error message. Fails the test if there is no error.
inline std::string refusal(std::string_view bytes) {
  const std::vector<std::byte> copy = exact(bytes);
  try {
    open_gguf_bytes(copy, "test.gguf");
  } catch (const Error& error) {
    EXPECT_TRUE(is_model_error(error, "test.gguf"));
    return error.message();
  }
  ADD_FAILURE() << "accepted";
  return {};
}

/// Returns whether `bytes` can be opened. Fails the test if an error's message is not well-formed.
inline bool opens(std::string_view bytes) {
  const std::vector<std::byte> copy = exact(bytes);
  try {
    open_gguf_bytes(copy, "test.gguf");
    return true;
  } catch (const Error& error) {
    EXPECT_TRUE(is_model_error(error, "test.gguf"));
    return false;
  }
}

/// Expects that opening `bytes` fails with a message that contains `text`.
inline void expect_refusal(std::string_view bytes, std::string_view text) {
  const std::string message = refusal(bytes);
  EXPECT_NE(message.find(text), std::string::npos) << message << "\n  lacks: " << text;
}

/// An open checkpoint, and the bytes into which it points.
struct Opened {
  std::vector<std::byte> bytes;
  std::unique_ptr<Checkpoint> checkpoint;

  const Config& config() const { return checkpoint->config(); }
};

inline Opened open_bytes(std::string_view text) {
  Opened out{exact(text), nullptr};
  out.checkpoint = open_gguf_bytes(out.bytes, "test.gguf");
  return out;
}

}  // namespace ingot::testing_gguf
