// Tables of options: declares their rows on CLI11, and reports their values as JSON.
#include "cli/options/option_row.h"

#include <CLI/CLI.hpp>
#include <cmath>
#include <set>

#include "base/check.h"
#include "cli/options/options.h"

namespace ingot {

namespace {

using std::chrono::milliseconds;

constexpr std::size_t kBytesPerMib = std::size_t{1} << 20;

/// A bound as text, without an exponent if it is whole.
std::string bound_text(double bound) {
  return bound == std::floor(bound) ? cat(static_cast<std::int64_t>(bound)) : cat(bound);
}

template <class Int>
Int whole(std::string_view text, const OptionRow& row) {
  return parse_whole(text, row.flag, static_cast<Int>(row.low), static_cast<Int>(row.high));
}

// Reads a number into a member, in the option's unit.
void read(std::string_view text, const OptionRow& row, std::int32_t& out) {
  out = whole<std::int32_t>(text, row);
}
void read(std::string_view text, const OptionRow& row, std::int64_t& out) {
  out = whole<std::int64_t>(text, row);
}
void read(std::string_view text, const OptionRow& row, double& out) {
  out = parse_real(text, row.flag, row.low, row.high);
}
void read(std::string_view text, const OptionRow& row, milliseconds& out) {
  out = milliseconds(std::llround(1000 * parse_real(text, row.flag, row.low, row.high)));
}
void read(std::string_view text, const OptionRow& row, std::optional<milliseconds>& out) {
  out = milliseconds(whole<std::int64_t>(text, row));
}
void read(std::string_view text, const OptionRow& row, std::size_t& out) {
  out = whole<std::size_t>(text, row) * kBytesPerMib;
}

template <class Number>
Json shown(const Number& value) {
  return Json(value);
}
Json shown(const milliseconds& value) { return Json(static_cast<double>(value.count()) / 1000); }
Json shown(const std::optional<milliseconds>& value) {
  return value ? Json(static_cast<std::int64_t>(value->count())) : Json();
}
Json shown(std::size_t value) { return Json(static_cast<std::int64_t>(value / kBytesPerMib)); }

/// Declares a row on a command, according to its member's type.
struct Declaration {
  CLI::App& app;
  const OptionRow& row;

  void operator()(bool* value) const {
    const bool becomes = !row.flag.starts_with("--no-");
    app.add_flag_function(
           row.flag, [value, becomes](std::int64_t) { *value = becomes; }, row.help)
        ->disable_flag_override();
  }
  void operator()(std::string* value) const {
    add_text(app, *value, {.name = row.flag, .help = row.help, .takes = row.unit});
  }
  void operator()(std::optional<std::string>* value) const {
    add_text(app, *value, row.flag, row.help, row.unit);
  }
  void operator()(std::vector<std::string>* value) const {
    add_texts(app, *value, row.flag, row.help);
  }
  template <class Number>
  void operator()(Number* value) const {
    auto* option = app.add_option_function<std::string>(
        row.flag, [value, row = row](const std::string& text) { read(text, row, *value); },
        row.help);
    option->type_name(cat(row.unit.empty() ? "NUMBER" : row.unit, " in [", bound_text(row.low),
                          " - ", bound_text(row.high), "]"));
    const Json initial = shown(*value);
    if (row.show_default && !initial.is_null()) option->default_str(initial.dump());
  }
};

/// A row's value in a report; nothing for a text that only operators may see.
struct Entry {
  const OptionRow& row;
  bool texts;

  std::optional<Json> operator()(const std::string* value) const {
    const bool is_name = row.unit.find('|') != row.unit.npos;
    return texts || is_name ? std::optional(Json(*value)) : std::nullopt;
  }
  std::optional<Json> operator()(const std::optional<std::string>* value) const {
    const bool is_name = row.unit.find('|') != row.unit.npos;
    if (!texts && !is_name) return std::nullopt;
    return *value ? Json(**value) : Json();
  }
  std::optional<Json> operator()(const std::vector<std::string>* value) const {
    if (!texts) return Json(static_cast<std::int64_t>(value->size()));
    Json list = Json::array();
    for (const std::string& text : *value) list.push(text);
    return list;
  }
  template <class Number>
  std::optional<Json> operator()(const Number* value) const {
    return shown(*value);
  }
};

/// The option's name in a report, if its row has no other one: "--no-prefix-cache" is
/// "prefix_cache".
std::string report_name(const OptionRow& row) {
  if (!row.report.empty()) return std::string(row.report);
  std::string_view name = std::string_view(row.flag).substr(2);
  if (std::holds_alternative<bool*>(row.value) && name.starts_with("no-")) name.remove_prefix(3);
  std::string out(name);
  std::replace(out.begin(), out.end(), '-', '_');
  return out;
}

}  // namespace

void add_options(CLI::App& app, const std::vector<OptionRow>& rows) {
  for (const OptionRow& row : rows) std::visit(Declaration{app, row}, row.value);
  for (const OptionRow& row : rows) {
    if (!row.needs.empty()) need(app, row.flag, std::string(row.needs));
  }
}

void report_options(const std::vector<OptionRow>& rows, bool texts, Json& report) {
  std::set<std::string> names;
  for (const OptionRow& row : rows) {
    std::string name = report_name(row);
    INGOT_CHECK(names.insert(name).second, "two options are reported as ", name);
    if (report.find(name) != nullptr) continue;
    if (auto entry = std::visit(Entry{row, texts}, row.value)) {
      report.set(std::move(name), std::move(*entry));
    }
  }
}

}  // namespace ingot
