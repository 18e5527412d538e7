// ingot synth: writes a model of a real shape with random weights, for measuring speed.
#include <memory>
#include <optional>

#include "base/text.h"
#include "cli/command.h"
#include "cli/options/model_options.h"
#include "cli/options/options.h"
#include "cli/output.h"
#include "cli/progress.h"
#include "convert/synthetic.h"
#include "load/config.h"
#include "quant/formats.h"

namespace ingot {

namespace {

struct SynthValues {
  ModelOptionValues model;
  std::string shape;
  std::string out;
  std::string type = "Q4_K_M";
  std::int64_t layers = 0;
  std::int64_t seed = 0;
};

std::string shape_names() {
  std::string names;
  for (const SyntheticShape& s : synthetic_shapes())
    names += cat(names.empty() ? "" : ", ", s.name);
  return names;
}

std::string type_names() {
  std::string names = "Q4_K_M";
  for_each_type(Formats{}, [&]<class F>() { names += cat(", ", F::kName); });
  return names;
}

void synth(const SynthValues& v) {
  apply_log_level(v.model);
  const SyntheticShape* shape = find_synthetic_shape(v.shape);
  if (shape == nullptr) throw bad_option("SHAPE", v.shape, cat("expected one of ", shape_names()));
  const std::optional<Recipe> recipe = synthetic_recipe(v.type);
  if (!recipe) throw bad_option("--type", v.type, cat("expected one of ", type_names()));
  const std::int64_t layers = v.layers == 0 ? shape->layers : v.layers;
  const auto pool = make_pool(v.model);
  const SyntheticPlan plan =
      plan_synthetic(*shape, *recipe, layers, static_cast<std::uint32_t>(v.seed));
  {
    ProgressBar bar("writing");
    write_synthetic(plan, v.out, *pool, interruptible(bar));
  }
  write_stdout(cat(v.out, ": ", v.shape, ", ", layers, layers == 1 ? " layer, " : " layers, ",
                   plan.bytes(), " bytes of random weights in ", recipe->name, "\n"));
}

}  // namespace

Command add_synth_command(CLI::App& app) {
  auto values = std::make_shared<SynthValues>();
  CLI::App& sub = add_command(
      app, "synth", "Write a model of a real shape with random weights, to measure speed with");
  add_text(sub, values->shape,
           {.name = "SHAPE", .help = cat("One of ", shape_names()), .is_required = true});
  add_text(sub, values->out,
           {.name = "OUT", .help = "The GGUF file to write", .is_required = true});
  add_text(sub, values->type, {.name = "--type", .help = cat("One of ", type_names())});
  add_number(sub, values->layers,
             NumberOption<std::int64_t>{.name = "--layers",
                                        .help = "Layers, as many as the real one where not given",
                                        .low = 1,
                                        .high = kLayersMax,
                                        .show_default = false});
  add_number(sub, values->seed,
             NumberOption<std::int64_t>{.name = "--seed",
                                        .help = "Another seed gives other weights",
                                        .low = 0,
                                        .high = 0xFFFFFFFF});
  add_work_options(sub, values->model);
  return make_command(
      sub, [values] { synth(*values); },
      "ingot synth qwen3-0.6b model.gguf --type Q4_K_M && ingot bench model.gguf");
}

}  // namespace ingot
