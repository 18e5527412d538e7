// ingot lora merge: writes a model whose weights have an adapter's changes.
#include <algorithm>
#include <memory>
#include <optional>

#include "base/text.h"
#include "cli/log.h"
#include "cli/lora/lora_commands.h"
#include "cli/options/adapter_options.h"
#include "cli/options/conversion_options.h"
#include "cli/options/model_options.h"
#include "cli/options/options.h"
#include "cli/options/own_input.h"
#include "cli/output.h"
#include "cli/progress.h"
#include "cli/tensor_reports.h"
#include "convert/adapter/adapter_changes.h"
#include "convert/adapter/merge_folder.h"
#include "convert/quantise.h"
#include "load/adapter/adapter_file.h"
#include "load/json_object.h"
#include "model/adapter.h"
#include "model/model.h"

namespace ingot {

namespace {

struct LoraMergeValues {
  ModelOptionValues model;
  std::string adapter;  ///< "PATH[:SCALE]"
  std::string out;
  std::optional<std::string> type;
  bool no_tokenizer = false;
  bool json = false;
};

bool is_gguf_out(const LoraMergeValues& v) { return v.out.ends_with(".gguf"); }

void check_out(const LoraMergeValues& v, const Checkpoint& checkpoint) {
  if (is_gguf_out(v)) return;
  if (checkpoint.config().naming == Naming::kGguf) {
    throw bad_option("OUT", v.out, "MODEL is a GGUF file, so expected a name that ends in .gguf");
  }
  if (v.type)
    throw bad_option("--type", *v.type, "a folder keeps its types: name a .gguf file as OUT");
}

std::vector<TensorReport> merge_gguf(const LoraMergeValues& v, Checkpoint& checkpoint,
                                     const AdapterChanges& adapter, ThreadPool& pool) {
  const std::vector<SamplingKey> sampling = sampling_keys();
  const QuantisePlan plan =
      plan_quantised(checkpoint, {.recipe = v.type ? &recipe_option(*v.type) : nullptr,
                                  .tokenizer = !v.no_tokenizer,
                                  .sampling = sampling,
                                  .adapter = &adapter});
  for (const std::string& warning : plan.warnings) log_warning(warning);
  ProgressBar bar("merging");
  return write_quantised(checkpoint, plan, v.out, pool, interruptible(bar));
}

std::vector<TensorReport> merge_folder(const LoraMergeValues& v, const std::string& folder,
                                       Checkpoint& checkpoint, const AdapterChanges& adapter,
                                       ThreadPool& pool) {
  ProgressBar bar("merging");
  return write_merged_folder(checkpoint, folder, adapter, v.out, pool, interruptible(bar));
}

void lora_merge(const LoraMergeValues& v) {
  const InstanceOptions options = instance_options(v.model);
  const ScaledPath path = parse_scaled_path(v.adapter, "PATH");
  if (v.type) recipe_option(*v.type);
  const auto pool = make_pool(v.model);
  const auto checkpoint = Checkpoint::open(options.path, options.bytes, {});
  refuse_own_input("OUT", v.out, *checkpoint, {path.path});
  check_out(v, *checkpoint);
  const AdapterFile file = open_adapter(path.path);
  const BoundModel bound = bind_model(*checkpoint);
  const AdapterTargets targets(bound, checkpoint->config().naming, ModelOptions{});
  const AdapterChanges adapter(file, bound, targets, static_cast<double>(path.scale));
  for (const std::string& warning : checkpoint->warnings()) log_warning(warning);
  for (const std::string& warning : file.warnings) log_warning(warning);
  const std::string base = base_model_warning(file, checkpoint->name());
  if (!base.empty()) log_warning(base);
  if (!adapter.unused_warning().empty()) log_warning(adapter.unused_warning());
  std::vector<TensorReport> reports =
      is_gguf_out(v) ? merge_gguf(v, *checkpoint, adapter, *pool)
                     : merge_folder(v, options.path, *checkpoint, adapter, *pool);
  std::erase_if(reports, [](const TensorReport& r) { return !r.merged; });
  const Json json =
      json_object({{"changed", std::uint64_t{reports.size()}}, {"tensors", tensors_json(reports)}});
  write_stdout(v.json ? json.dump() + "\n" : tensors_text(reports));
}

}  // namespace

Command add_lora_merge_command(CLI::App& app) {
  auto values = std::make_shared<LoraMergeValues>();
  CLI::App& sub =
      add_command(app, "merge", "Write a model whose weights have an adapter's changes");
  add_text(sub, values->model.path.emplace(),
           {.name = "MODEL",
            .help = "The base model, a GGUF file or a Hugging Face folder",
            .is_required = true});
  add_text(sub, values->adapter,
           {.name = "PATH",
            .help = "A folder of PEFT or a GGUF adapter; PATH:SCALE multiplies its own scale",
            .is_required = true});
  add_text(sub, values->out,
           {.name = "OUT",
            .help = "The GGUF file to write, or the folder to make from a folder",
            .is_required = true});
  add_text(
      sub, values->type, "--type",
      cat("The type of a GGUF file, one of ", recipe_names(), "; default: tensors keep theirs"));
  add_switch(sub, values->no_tokenizer, "--no-tokenizer",
             "Leave the tokenizer and the chat template of a folder out of a GGUF file");
  add_work_options(sub, values->model);
  add_switch(sub, values->json, "--json", "One JSON object");
  return make_command(
      sub, [values] { lora_merge(*values); },
      "ingot lora merge model.gguf my-adapter:0.5 merged.gguf");
}

}  // namespace ingot
