// Fuzz target: any bytes as a trace. An accepted trace has requests that can be cut and written.
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "base/check.h"
#include "base/error.h"
#include "bench/traffic/traffic_trace.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  try {
    ingot::Traffic traffic = ingot::parse_trace(text, "fuzz.csv", 100);
    INGOT_CHECK(!traffic.requests.empty(), "a trace of nothing");
    ingot::scale_lengths(traffic, 0.25);
    ingot::cut_to_context(traffic, 1000);
    const ingot::RequestWriter writer(traffic, {.ids = {1, 2, 3}});
    double last = 0;
    for (std::size_t i = 0; i < traffic.requests.size(); ++i) {
      const ingot::PlannedRequest& planned = traffic.requests[i];
      INGOT_CHECK(planned.arrival >= last, "arrivals go back");
      last = planned.arrival;
      const auto tokens = static_cast<std::int64_t>(writer.write(i).prompt.size());
      INGOT_CHECK(tokens > 0 && tokens == planned.prompt_tokens, "a prompt of another length");
      INGOT_CHECK(planned.output_tokens > 0, "no output");
      INGOT_CHECK(tokens + planned.output_tokens <= 1000, "more than the context");
    }
  } catch (const ingot::Error& error) {
    INGOT_CHECK(error.code() == ingot::ErrorCode::kModel, "refused with another code");
    INGOT_CHECK(error.message().find('\n') == std::string::npos, "an error of several lines");
  }
  return 0;
}
