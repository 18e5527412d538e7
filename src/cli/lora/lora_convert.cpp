// ingot lora convert: writes an adapter in its other form.
#include <memory>

#include "base/text.h"
#include "cli/log.h"
#include "cli/lora/lora_commands.h"
#include "cli/options/model_options.h"
#include "cli/options/options.h"
#include "cli/options/own_input.h"
#include "convert/adapter/convert_adapter.h"
#include "load/adapter/adapter_file.h"
#include "model/adapter.h"

namespace ingot {

namespace {

struct LoraConvertValues {
  ModelOptionValues model;
  std::string path;
  std::string out;
};

void lora_convert(const LoraConvertValues& v) {
  const InstanceOptions options = instance_options(v.model);
  const auto checkpoint = Checkpoint::open(options.path, options.bytes, {});
  refuse_own_input("OUT", v.out, *checkpoint, {v.path});
  const AdapterFile file = open_adapter(v.path);
  const bool to_gguf = file.naming == Naming::kHuggingFace;
  if (to_gguf != v.out.ends_with(".gguf")) {
    throw bad_option("OUT", v.out,
                     to_gguf ? "PATH is an adapter of PEFT, so expected a name that ends in .gguf"
                             : "PATH is a GGUF adapter, so expected the name of a folder");
  }
  for (const std::string& warning : checkpoint->warnings()) log_warning(warning);
  for (const std::string& warning : file.warnings) log_warning(warning);
  const std::string base = base_model_warning(file, checkpoint->name());
  if (!base.empty()) log_warning(base);
  for (const std::string& note : convert_adapter(file, *checkpoint, v.out)) log_warning(note);
}

}  // namespace

Command add_lora_convert_command(CLI::App& app) {
  auto values = std::make_shared<LoraConvertValues>();
  CLI::App& sub = add_command(app, "convert",
                              "Write a PEFT adapter as a GGUF file, or a GGUF adapter for PEFT");
  add_text(sub, values->model.path.emplace(),
           {.name = "MODEL",
            .help = "The base model, a GGUF file or a Hugging Face folder",
            .is_required = true});
  add_text(sub, values->path,
           {.name = "PATH",
            .help = "A folder of PEFT with adapter_config.json, or a GGUF file",
            .is_required = true});
  add_text(sub, values->out,
           {.name = "OUT",
            .help = "The GGUF file to write, or the folder to make",
            .is_required = true});
  add_work_options(sub, values->model);
  return make_command(
      sub, [values] { lora_convert(*values); },
      "ingot lora convert model.gguf my-adapter my-adapter.gguf");
}

}  // namespace ingot
