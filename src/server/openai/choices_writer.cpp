// ChoicesWriter: writes chunks, token counts and whole responses.
#include "server/openai/choices_writer.h"

#include <utility>

#include "base/text.h"

namespace ingot {

void ChoicesWriter::append_head(std::string& out) {
  out += head_;
  out += std::exchange(once_, {});
  out += ",\"choices\":[";
}

void ChoicesWriter::begin_chunk(std::string& out) {
  out += kEventBegin;
  append_head(out);
}

void ChoicesWriter::end_chunk(std::string& out) const {
  if (stream_.usage_in_chunks) {
    out += cat("],\"usage\":", so_far_.json_so_far(), "}");
  } else {
    out += stream_.include_usage ? "],\"usage\":null}" : "]}";
  }
  out += kEventEnd;
}

void ChoicesWriter::finish(std::string& out) {
  const std::string usage = cat("],\"usage\":", usage_.json().dump(), "}");
  if (!stream_.stream) {
    append_head(out);
    for (std::size_t i = 0; i < choices_; ++i) {
      if (i > 0) out += ',';
      append_choice(out, i);
    }
    out += usage;
    return;
  }
  if (stream_.include_usage) append_event(out, cat(head_, ",\"choices\":[", usage));
  out += kDoneEvent;
}

void ChoicesWriter::write_error(const ApiError& error, std::string& out) {
  append_event(out, error_json(error));
}

std::string finish_json(std::string_view finish) {
  return finish.empty() ? "null" : json_string(finish);
}

std::string warnings_member(const Json& warnings) {
  return warnings.is_null() ? "" : cat(",\"warnings\":", warnings.dump());
}

}  // namespace ingot
