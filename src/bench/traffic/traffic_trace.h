// Reads published traces: arrival times and lengths of requests that a real service recorded.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "bench/traffic/traffic.h"

namespace ingot {

/// Largest accepted trace: 256 MiB, since the whole file is read into memory.
inline constexpr std::uint64_t kTraceBytesMax = std::uint64_t{1} << 28;
/// Largest number of requests that a trace may have; parsing fails beyond this number.
inline constexpr std::int64_t kTraceRequestsMax = 1 << 20;

/// Parses the first `requests_max` requests of a trace. Sorts them by arrival; the first is at 0 s.
///
/// Azure's form is CSV with the columns TIMESTAMP,ContextTokens,GeneratedTokens. Mooncake's form
/// has one JSON object per line with timestamp (milliseconds), input_length, output_length and
/// hash_ids (one number for each 512 tokens of the prompt). The first line decides the form. A
/// length of 0 is read as 1.
///
/// Errors: model_error(file, "line N", offset, reason).
Traffic parse_trace(std::string_view text, const std::string& file, std::int64_t requests_max);

/// Reads and parses a trace file. Errors: also those of File::read_all.
Traffic read_trace(const std::string& path, std::int64_t requests_max);

}  // namespace ingot
