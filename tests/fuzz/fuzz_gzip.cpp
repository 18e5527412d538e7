// Fuzz target: any bytes as a gzip body. The data stays within the limit and the budget, and two
// bodies in a row give the data of both.
#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>

#include "base/check.h"
#include "server/http/gzip.h"

namespace {

/// Small, so that inputs reach the bounds.
constexpr std::size_t kBytesMax = 100'000;

struct Result {
  int status = 200;
  std::string data{};
};

Result read(std::string body) {
  const std::string before = body;
  ingot::Budget budget(body.size() + kBytesMax);
  ingot::BudgetShare share(budget);
  const auto refusal = ingot::gunzip(body, kBytesMax, share);
  if (!refusal) {
    INGOT_CHECK(body.size() <= kBytesMax, body.size(), " bytes");
    return {.data = std::move(body)};
  }
  INGOT_CHECK(refusal->status == 400 || refusal->status == 413, "status ", refusal->status);
  INGOT_CHECK(body == before, "a refused body was changed");
  return {.status = refusal->status};
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string body(reinterpret_cast<const char*>(data), size);
  const Result once = read(body);
  if (once.status != 200) return 0;
  const Result twice = read(body + body);
  const bool fits = once.data.size() * 2 <= kBytesMax;
  INGOT_CHECK(twice.status == (fits ? 200 : 413), "status ", twice.status, " of both");
  INGOT_CHECK(!fits || twice.data == once.data + once.data, "other data of both");
  return 0;
}
