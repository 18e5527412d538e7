// Formats reports of tensors.
#include "cli/tensor_reports.h"

#include <algorithm>
#include <cmath>

#include "base/text.h"
#include "quant/formats.h"

namespace ingot {

namespace {

/// `text` padded with blanks to `width` columns.
std::string column(std::string text, std::size_t width) {
  if (text.size() < width) text.append(width - text.size(), ' ');
  return text;
}

/// A ratio as a percentage with three significant digits: 0.0123 as "1.23 %".
std::string percent(double ratio) {
  const double value = 100 * ratio;
  const int whole_digits = value > 0 ? static_cast<int>(std::floor(std::log10(value))) + 1 : 1;
  const double unit = std::pow(10.0, std::min(whole_digits - 3, 0));
  return cat(std::round(value / unit) / std::round(1 / unit), " %");
}

}  // namespace

std::uint64_t total_bytes(std::span<const TensorReport> reports) {
  std::uint64_t bytes = 0;
  for (const TensorReport& r : reports) bytes += r.bytes;
  return bytes;
}

Json tensors_json(std::span<const TensorReport> reports) {
  Json tensors = Json::array();
  for (const TensorReport& r : reports) {
    Json t = Json::object();
    t.set("name", r.name);
    t.set("source", r.source_type);
    t.set("format", format_name(r.format));
    if (r.wanted) t.set("wanted", format_name(*r.wanted));
    t.set("bytes", r.bytes);
    t.set("error", r.error);
    if (r.weighted_error) t.set("weighted_error", *r.weighted_error);
    tensors.push(std::move(t));
  }
  return tensors;
}

std::string tensors_text(std::span<const TensorReport> reports) {
  std::size_t width = 0;
  for (const TensorReport& r : reports) width = std::max(width, r.name.size());
  std::string out;
  for (const TensorReport& r : reports) {
    out += cat(column(r.name, width), "  ", column(format_name(r.format), 6), "  ",
               column(cat(r.bytes, " bytes"), 20), "  error ", percent(r.error));
    if (r.weighted_error) out += cat(", weighted ", percent(*r.weighted_error));
    if (r.wanted) out += cat(", in place of ", format_name(*r.wanted));
    out += "\n";
  }
  return out + cat(total_bytes(reports), " bytes of tensors\n");
}

}  // namespace ingot
