// ingot quantize: writes a model as a GGUF file of another type.
#include <cmath>
#include <memory>
#include <optional>

#include "base/text.h"
#include "cli/command.h"
#include "cli/log.h"
#include "cli/options/model_options.h"
#include "cli/options/options.h"
#include "cli/options/own_input.h"
#include "cli/output.h"
#include "cli/progress.h"
#include "convert/quantise.h"
#include "load/json.h"
#include "quant/formats.h"
#include "runtime/request_fields.h"

namespace ingot {

namespace {

struct QuantizeValues {
  ModelOptionValues model;
  std::string out;
  std::string type;
  std::optional<std::string> importance;
  bool no_tokenizer = false;
  bool json = false;
};

std::string recipe_names() {
  std::string names;
  for (const Recipe& recipe : recipes()) names += cat(names.empty() ? "" : ", ", recipe.name);
  return names;
}

const Recipe& find_type(const std::string& name) {
  const Recipe* recipe = find_recipe(name);
  if (recipe == nullptr) throw bad_option("--type", name, cat("expected one of ", recipe_names()));
  return *recipe;
}

/// The request fields that model files have defaults for.
std::vector<SamplingKey> sampling_keys() {
  std::vector<SamplingKey> keys;
  for (const RequestField& field : request_fields()) {
    if (field.gguf.empty()) continue;
    const bool whole = std::holds_alternative<InSampling<std::int32_t>>(field.member);
    keys.push_back({.name = field.name, .key = field.gguf, .whole = whole});
  }
  return keys;
}

std::uint64_t total_bytes(std::span<const TensorReport> reports) {
  std::uint64_t bytes = 0;
  for (const TensorReport& r : reports) bytes += r.bytes;
  return bytes;
}

std::string as_json(const Recipe& recipe, std::span<const TensorReport> reports) {
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
  Json j = Json::object();
  j.set("type", recipe.name);
  j.set("bytes", total_bytes(reports));
  j.set("tensors", std::move(tensors));
  return j.dump() + "\n";
}

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

std::string as_text(std::span<const TensorReport> reports) {
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

void quantize(const QuantizeValues& v) {
  const InstanceOptions options = instance_options(v.model);
  const Recipe& recipe = find_type(v.type);
  const auto pool = make_pool(v.model);
  const auto checkpoint =
      Checkpoint::open(options.path, options.bytes, {.accept_unknown = options.accept_unknown});
  refuse_own_input("OUT", v.out, *checkpoint, {v.importance.value_or("")});
  std::optional<ImportanceMatrix> importance;
  if (v.importance) importance = ImportanceMatrix::read(*v.importance);
  const std::vector<SamplingKey> sampling = sampling_keys();
  const QuantisePlan plan =
      plan_quantised(*checkpoint, {.recipe = &recipe,
                                   .importance = importance ? &*importance : nullptr,
                                   .tokenizer = !v.no_tokenizer,
                                   .sampling = sampling});
  for (const std::string& warning : checkpoint->warnings()) log_warning(warning);
  for (const std::string& warning : plan.warnings) log_warning(warning);
  std::vector<TensorReport> reports;
  {
    ProgressBar bar("quantising");
    reports = write_quantised(*checkpoint, plan, v.out, *pool, interruptible(bar));
  }
  write_stdout(v.json ? as_json(recipe, reports) : as_text(reports));
}

}  // namespace

Command add_quantize_command(CLI::App& app) {
  auto values = std::make_shared<QuantizeValues>();
  CLI::App& sub =
      add_command(app, "quantize",
                  "Write a model as a GGUF file of another type, and show each tensor's error");
  add_text(sub, values->model.path.emplace(),
           {.name = "IN", .help = "A GGUF file or a Hugging Face folder", .is_required = true});
  add_text(sub, values->out,
           {.name = "OUT", .help = "The GGUF file to write", .is_required = true});
  add_text(sub, values->type,
           {.name = "--type", .help = cat("One of ", recipe_names()), .is_required = true});
  add_text(sub, values->importance, "--imatrix",
           "An importance matrix, from ingot imatrix or of the common formats");
  add_switch(sub, values->no_tokenizer, "--no-tokenizer",
             "Leave the tokenizer and the chat template out");
  add_work_options(sub, values->model);
  add_switch(sub, values->json, "--json", "One JSON object");
  return make_command(
      sub, [values] { quantize(*values); },
      "ingot quantize model/ model-q4_k_m.gguf --type Q4_K_M");
}

}  // namespace ingot
