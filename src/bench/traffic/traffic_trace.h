// Traces: arrivals and lengths that a real service recorded, in the forms in which they are
// published.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "bench/traffic/traffic.h"

namespace ingot {

/// The largest trace that is read.
inline constexpr std::uint64_t kTraceBytesMax = std::uint64_t{1} << 28;
/// The most requests of a trace.
inline constexpr std::int64_t kTraceRequestsMax = 1 << 20;

/// The first `requests_max` requests of a trace, sorted by arrival; the first one's is 0.
///
/// Azure's form is CSV with the columns TIMESTAMP,ContextTokens,GeneratedTokens. Mooncake's is an
/// object a line with timestamp (milliseconds), input_length, output_length and hash_ids, one
/// number for each 512 tokens of the prompt. Which one it is follows from the first line. A length
/// of 0 is taken as 1.
///
/// Errors: model_error(file, "line N", offset, reason).
Traffic parse_trace(std::string_view text, const std::string& file, std::int64_t requests_max);

/// The same of a file. Errors: as of File::read_all too.
Traffic read_trace(const std::string& path, std::int64_t requests_max);

}  // namespace ingot
