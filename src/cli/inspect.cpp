// ingot inspect: what is in a model file, and what it needs.
#include <algorithm>
#include <memory>

#include "base/text.h"
#include "cli/command.h"
#include "cli/options/model_options.h"
#include "cli/options/options.h"
#include "cli/output.h"
#include "load/json.h"
#include "text/chat/end_tokens.h"
#include "text/chat/named_templates.h"

namespace ingot {

namespace {

struct InspectValues {
  ModelOptionValues model;
  std::int32_t sequences = 1;
  bool json = false;
};

/// Rows of the step that a plan assumes: a prefill chunk.
constexpr std::int32_t kPlanRows = 512;

Json shape_json(const TensorInfo& t) {
  Json shape = Json::array();
  for (const std::int64_t dim : t.shape) shape.push(dim);
  return shape;
}

Json plan_json(const Instance& instance, const MemoryPlan& plan) {
  const Ledger& memory = plan.op_memory();
  Json j = Json::object();
  j.set("weights_bytes", memory.weights_bytes);
  j.set("kv_type", kv_type_name(instance));
  j.set("kv_bytes_per_token", plan.kv_bytes_per_token);
  j.set("kv_bytes", memory.kv_bytes);
  j.set("scratch_bytes", memory.scratch_bytes);
  j.set("rounding_bytes", memory.loading_bytes);
  j.set("available_bytes", memory.available_bytes);
  j.set("context", plan.context);
  j.set("max_context", plan.max_context);
  j.set("max_sequences", plan.max_sequences);
  j.set("fits", plan.fits);
  if (plan.device_name.empty()) return j;
  Json host = Json::object();
  host.set("scratch_bytes", plan.host.scratch_bytes);
  host.set("loading_bytes", plan.host.loading_bytes);
  host.set("available_bytes", plan.host.available_bytes);
  host.set("fits", plan.host.fits());
  j.set("host", std::move(host));
  return j;
}

std::int64_t parameters(const Checkpoint& checkpoint) {
  std::int64_t count = 0;
  for (const TensorInfo& t : checkpoint.tensors()) count += t.elements();
  return count;
}

Json lines_json(const std::vector<std::string>& lines) {
  Json list = Json::array();
  for (const std::string& line : lines) list.push(line);
  return list;
}

TemplateSet templates_of(const Checkpoint& checkpoint) {
  return checkpoint.tokenizer() == nullptr ? TemplateSet() : checkpoint.tokenizer()->templates;
}

/// The names of the model's chat templates.
Json template_list(const Checkpoint& checkpoint) {
  const TemplateSet templates = templates_of(checkpoint);
  Json names = Json::array();
  if (templates.standard) names.push("default");
  for (const NamedTemplate& one : templates.named) names.push(one.name);
  return names;
}

std::string as_json(const Instance& instance, const MemoryPlan& plan) {
  const Checkpoint& checkpoint = instance.checkpoint();
  Json tensors = Json::array();
  for (const TensorInfo& t : checkpoint.tensors()) {
    Json entry = Json::object();
    entry.set("name", t.name);
    entry.set("shape", shape_json(t));
    entry.set("format", t.type_name);
    entry.set("bytes", t.bytes);
    tensors.push(std::move(entry));
  }
  Json metadata = Json::object();
  for (const auto& [key, value] : checkpoint.metadata()) metadata.set(key, value);
  Json j = Json::object();
  j.set("architecture", checkpoint.config().architecture);
  j.set("parameters", parameters(checkpoint));
  j.set("tensors", std::move(tensors));
  j.set("metadata", std::move(metadata));
  j.set("chat_templates", template_list(checkpoint));
  j.set("end_tokens", end_tokens_json(instance.end_tokens(), instance.tokenizer()));
  j.set("plan", plan_json(instance, plan));
  j.set("warnings", lines_json(instance.warnings()));
  j.set("details", lines_json(instance.details()));
  return j.dump() + "\n";
}

std::string end_tokens_text(const Instance& instance) {
  std::string out;
  for (const EndToken& end : instance.end_tokens()) {
    const std::string_view text =
        instance.tokenizer() == nullptr ? "" : instance.tokenizer()->piece(end.id);
    out += cat("  ", end.id, "  ", printable(text, 64), "  ", end.source, "\n");
  }
  return out.empty() ? "  none\n" : out;
}

/// One line for each memory of a device with its own memory; no line without such a device.
std::string memories_text(const MemoryPlan& plan) {
  if (plan.device_name.empty()) return "";
  std::string out;
  for (const Ledger* ledger : {&plan.device, &plan.host}) {
    const std::string name = ledger == &plan.host ? "host" : cat("device ", plan.device_name);
    out += cat("  ", name, ": needs ", ledger->total_bytes(), " bytes, ", ledger->available_bytes,
               " are available: it ", ledger->fits() ? "fits" : "does not fit", "\n");
  }
  return out;
}

std::string as_text(const Instance& instance, const MemoryPlan& plan) {
  const Checkpoint& checkpoint = instance.checkpoint();
  std::string out = cat("architecture  ", checkpoint.config().architecture, "\nparameters    ",
                        parameters(checkpoint), "\n\nmetadata\n");
  for (const auto& [key, value] : checkpoint.metadata()) {
    out += cat("  ", printable(key, 256), " = ", printable(value.dump(), 200), "\n");
  }
  out += cat("\nchat templates\n  ", template_names(templates_of(checkpoint)), "\n");
  out += cat("\nend tokens\n", end_tokens_text(instance), "\nspec\n", to_string(instance.spec()),
             "\ntensors\n");
  for (const TensorInfo& t : checkpoint.tensors()) {
    out += cat("  ", printable(t.name, 256), "  ", t.type_name, "  ", shape_json(t).dump(), "  ",
               t.bytes, " bytes\n");
  }
  if (!instance.details().empty()) out += "\ndetails\n";
  for (const std::string& line : instance.details()) out += cat("  ", line, "\n");
  const Ledger& memory = plan.op_memory();
  const std::string rounding =
      memory.loading_bytes == 0
          ? std::string()
          : cat("  rounding      ", memory.loading_bytes, " bytes, before there is a kv cache\n");
  out += cat("\nmemory plan for ", plan.context, " tokens of context\n  weights       ",
             memory.weights_bytes, " bytes\n  kv cache      ", memory.kv_bytes, " bytes (",
             plan.kv_bytes_per_token, " a token, ", kv_type_name(instance), ")\n  scratch       ",
             memory.scratch_bytes, " bytes\n", rounding, "  available     ", memory.available_bytes,
             " bytes: it ", plan.fits ? "fits" : "does not fit", "\n  max context   ",
             plan.max_context, " tokens\n  max sequences ", plan.max_sequences, " of ",
             plan.context, " tokens\n", memories_text(plan));
  return out;
}

void inspect(const InspectValues& values) {
  const OpenModel model(values.model);
  const Instance& instance = model.instance;
  StartOptions start{
      .context = values.model.ctx, .sequences = values.sequences, .rows = kPlanRows, .out_rows = 1};
  if (instance.needs_whole_sequences()) {
    const std::int64_t context = start.context > 0 ? start.context : instance.spec().context;
    start.rows = static_cast<std::int32_t>(std::max<std::int64_t>(kPlanRows, context));
  }
  const MemoryPlan plan = instance.plan(start);
  const Checkpoint& checkpoint = instance.checkpoint();
  if (values.model.check_tensors) {
    for (const TensorInfo& t : checkpoint.tensors()) require_finite(checkpoint, t);
  }
  const std::string text = values.json ? as_json(instance, plan) : as_text(instance, plan);
  checkpoint.expect_unchanged();
  write_stdout(text);
}

}  // namespace

Command add_inspect_command(CLI::App& app) {
  auto values = std::make_shared<InspectValues>();
  CLI::App& sub =
      add_command(app, "inspect",
                  "Show a model's metadata, tensors and memory plan, without loading its weights");
  add_model_options(sub, values->model);
  add_number(
      sub, values->sequences,
      {.name = "--sequences", .help = "Sequences at once to plan for", .low = 1, .high = 65536});
  add_switch(sub, values->json, "--json", "One JSON object");
  return make_command(
      sub, [values] { inspect(*values); }, "ingot inspect model.gguf --ctx 32768 --sequences 8");
}

}  // namespace ingot
