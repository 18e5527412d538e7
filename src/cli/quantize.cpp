// ingot quantize: writes a model as a GGUF file of another type.
#include <memory>
#include <optional>

#include "base/text.h"
#include "cli/command.h"
#include "cli/log.h"
#include "cli/options/conversion_options.h"
#include "cli/options/model_options.h"
#include "cli/options/options.h"
#include "cli/options/own_input.h"
#include "cli/output.h"
#include "cli/progress.h"
#include "cli/tensor_reports.h"
#include "convert/quantise.h"
#include "load/json_object.h"

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

std::string as_json(const Recipe& recipe, std::span<const TensorReport> reports) {
  const Json j = json_object(
      {{"type", recipe.name}, {"bytes", total_bytes(reports)}, {"tensors", tensors_json(reports)}});
  return j.dump() + "\n";
}

void quantize(const QuantizeValues& v) {
  const InstanceOptions options = instance_options(v.model);
  const Recipe& recipe = recipe_option(v.type);
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
  write_stdout(v.json ? as_json(recipe, reports) : tensors_text(reports));
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
