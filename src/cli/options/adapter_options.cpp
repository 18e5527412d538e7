// Parses --lora and --adapter.
#include "cli/options/adapter_options.h"

#include <algorithm>
#include <charconv>
#include <cmath>

#include "base/error.h"
#include "base/text.h"
#include "cli/options/option_row.h"
#include "cli/options/options.h"

namespace ingot {

namespace {

/// The name of an adapter without NAME=: the last part of its path, without a file's extension.
std::string name_of(std::string_view path) {
  while (path.size() > 1 && path.ends_with('/')) path.remove_suffix(1);
  path.remove_prefix(path.rfind('/') + 1);
  for (const std::string_view extension : {".gguf", ".safetensors"}) {
    if (path.ends_with(extension)) path.remove_suffix(extension.size());
  }
  return std::string(path);
}

/// Takes ":SCALE" from the end of `text`. A text behind the last colon that is no number belongs to
/// the path.
std::optional<float> take_scale(std::string_view& text) {
  const std::size_t colon = text.rfind(':');
  if (colon == std::string_view::npos) return std::nullopt;
  const std::string_view digits = text.substr(colon + 1);
  float scale = 0;
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), scale);
  if (error != std::errc() || end != digits.data() + digits.size()) return std::nullopt;
  text = text.substr(0, colon);
  return scale;
}

AdapterSource parse(std::string_view text) {
  AdapterSource source;
  std::string_view rest = text;
  const std::size_t equals = text.find('=');
  const bool has_name = equals != std::string_view::npos &&
                        text.substr(0, equals).find('/') == std::string_view::npos;
  if (has_name) rest = text.substr(equals + 1);
  ScaledPath scaled = parse_scaled_path(rest, "--lora");
  if (scaled.path.empty()) throw bad_option("--lora", text, "expected [NAME=]PATH[:SCALE]");
  source.scale = scaled.scale;
  source.path = std::move(scaled.path);
  source.name = has_name ? std::string(text.substr(0, equals)) : name_of(source.path);
  check_adapter_name(source.name, "--lora");
  return source;
}

[[noreturn]] void refuse_unknown(std::string_view name, std::string_view place,
                                 const std::vector<std::string>& known) {
  std::string list;
  for (const std::string& one : known) list += cat(list.empty() ? "" : ", ", printable(one));
  throw Error(ErrorCode::kInvalid,
              cat(place, ": no adapter is named ", printable(std::string(name)),
                  known.empty() ? ": --lora loads adapters" : cat(", possible are ", list)));
}

}  // namespace

ScaledPath parse_scaled_path(std::string_view text, std::string_view option) {
  std::string_view path = text;
  const float scale = take_scale(path).value_or(1);
  if (!(std::abs(scale) <= kAdapterScaleMax)) {
    throw bad_option(option, text,
                     cat("expected a SCALE from -", kAdapterScaleMax, " to ", kAdapterScaleMax));
  }
  return {std::string(path), scale};
}

void add_adapter_options(CLI::App& app, AdapterValues& values, bool takes_choice) {
  std::vector<OptionRow> rows{
      {.flag = "--lora",
       .value = &values.lora,
       .help = "A LoRA adapter to load: [NAME=]PATH[:SCALE], a PEFT folder or a GGUF adapter; may "
               "be repeated",
       .unit = "ADAPTER"}};
  if (takes_choice) {
    rows.push_back({.flag = "--adapter",
                    .value = &values.adapter,
                    .help = "Name of the adapter to use, or none (default: the first --lora)",
                    .unit = "NAME"});
  }
  add_options(app, rows);
}

std::vector<AdapterSource> adapter_sources(const AdapterValues& values) {
  std::vector<AdapterSource> sources;
  for (const std::string& text : values.lora) {
    AdapterSource source = parse(text);
    for (const AdapterSource& other : sources) {
      if (other.name != source.name) continue;
      throw bad_option("--lora", text, cat("another one is named ", printable(source.name)));
    }
    sources.push_back(std::move(source));
  }
  if (values.adapter && *values.adapter != kNoAdapter) {
    check_is_loaded(values, *values.adapter, "--adapter");
  }
  return sources;
}

std::shared_ptr<const AdapterList> adapters_named(std::string_view name, AdapterStore& adapters,
                                                  std::string_view place) {
  if (name == kNoAdapter) return nullptr;
  const AdapterChoice choice{.adapter = adapters.find(name)};
  if (choice.adapter != nullptr) return adapters.list({&choice, 1});
  std::vector<std::string> known;
  for (const auto& one : adapters.all()) known.push_back(one->source.name);
  refuse_unknown(name, place, known);
}

std::string default_adapter(const AdapterValues& values) {
  if (values.adapter) return *values.adapter;
  return values.lora.empty() ? std::string(kNoAdapter) : parse(values.lora.front()).name;
}

std::shared_ptr<const AdapterList> default_adapters(const AdapterValues& values,
                                                    AdapterStore& adapters) {
  return adapters_named(default_adapter(values), adapters, "--adapter");
}

void check_is_loaded(const AdapterValues& values, std::string_view name, std::string_view place) {
  if (name == kNoAdapter) return;
  std::vector<std::string> known;
  for (const std::string& text : values.lora) known.push_back(parse(text).name);
  if (std::find(known.begin(), known.end(), name) == known.end()) {
    refuse_unknown(name, place, known);
  }
}

}  // namespace ingot
