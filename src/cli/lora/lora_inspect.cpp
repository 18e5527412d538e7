// ingot lora inspect: shows what is in an adapter.
#include <map>
#include <memory>
#include <set>

#include "base/error.h"
#include "base/text.h"
#include "cli/lora/lora_commands.h"
#include "cli/options/options.h"
#include "cli/output.h"
#include "load/adapter/adapter_file.h"
#include "load/json_object.h"

namespace ingot {

namespace {

struct LoraInspectValues {
  std::string path;
  bool json = false;
};

std::string_view kind_name(AdapterPairKind kind) {
  switch (kind) {
    case AdapterPairKind::kLinear:
      return "linear";
    case AdapterPairKind::kEmbedding:
      return "embedding";
    case AdapterPairKind::kStack:
    case AdapterPairKind::kParameter:
      return "experts";
  }
  return "";
}

Json tensor_json(const TensorInfo& t) {
  Json shape = Json::array();
  for (const std::int64_t dim : t.shape) shape.push(dim);
  return json_object({{"name", t.name}, {"format", t.type_name}, {"shape", std::move(shape)}});
}

Json pairs_json(const AdapterFile& file) {
  Json pairs = Json::array();
  for (const AdapterPair& p : file.pairs) {
    pairs.push(json_object({{"module", p.module},
                            {"kind", kind_name(p.kind)},
                            {"rank", p.rank},
                            {"alpha", p.alpha},
                            {"scale", p.scale},
                            {"a", tensor_json(*p.a)},
                            {"b", tensor_json(*p.b)}}));
  }
  return pairs;
}

template <class Values>
Json list_json(const Values& values) {
  Json list = Json::array();
  for (const auto& value : values) list.push(value);
  return list;
}

std::string lora_json(const AdapterFile& file) {
  const bool gguf = file.naming == Naming::kGguf;
  Json out = json_object({{"format", gguf ? "gguf" : "peft"},
                          {"base_model", file.base_model},
                          {"architecture", file.architecture},
                          {"bytes", file.tensor_bytes()},
                          {"invocation_tokens", list_json(file.invocation_tokens)},
                          {"pairs", pairs_json(file)},
                          {"warnings", list_json(file.warnings)},
                          {"notes", list_json(file.notes)}});
  return out.dump() + "\n";
}

/// Distinct values, "8" or "4, 8, 16".
template <class Of>
std::string distinct(const AdapterFile& file, Of of) {
  std::set<decltype(of(file.pairs.front()))> values;
  for (const AdapterPair& pair : file.pairs) values.insert(of(pair));
  std::string text;
  for (const auto& value : values) text += cat(text.empty() ? "" : ", ", value);
  return text;
}

/// A shape with its type: "F32 [8, 128]".
std::string tensor_text(const TensorInfo& t) {
  std::string text = cat(t.type_name, " [");
  for (std::size_t i = 0; i < t.shape.size(); ++i) text += cat(i == 0 ? "" : ", ", t.shape[i]);
  return text + "]";
}

std::string lora_text(const AdapterFile& file) {
  const bool gguf = file.naming == Naming::kGguf;
  std::string out =
      cat("format      ", gguf ? "GGUF" : "PEFT", "\nbase model  ",
          file.base_model.empty() ? "not named" : printable(file.base_model, 256), "\nmodules     ",
          file.pairs.size(), "\nrank        ",
          distinct(file, [](const AdapterPair& p) { return p.rank; }), "\nalpha       ",
          distinct(file, [](const AdapterPair& p) { return p.alpha; }), "\nscale       ",
          distinct(file, [](const AdapterPair& p) { return p.scale; }), "\nbytes       ",
          file.tensor_bytes(), "\n");
  if (!file.invocation_tokens.empty()) {
    out += "invoked by ";
    for (const std::int32_t token : file.invocation_tokens) out += cat(" ", token);
    out += " (token ids)\n";
  }
  for (const std::string& line : file.warnings) out += cat("warning     ", line, "\n");
  for (const std::string& line : file.notes) out += cat("note        ", line, "\n");
  out += "\nmodules\n";
  for (const AdapterPair& p : file.pairs) {
    out += cat("  ", printable(p.module, 256), "  ", kind_name(p.kind), "  rank ", p.rank,
               "  scale ", p.scale, "  A ", tensor_text(*p.a), "  B ", tensor_text(*p.b), "\n");
  }
  return out;
}

}  // namespace

Command add_lora_inspect_command(CLI::App& app) {
  auto values = std::make_shared<LoraInspectValues>();
  CLI::App& sub = add_command(app, "inspect", "Show what is in an adapter, and check its values");
  add_text(sub, values->path,
           {.name = "PATH",
            .help = "A folder of PEFT with adapter_config.json, or a GGUF file",
            .is_required = true});
  add_switch(sub, values->json, "--json", "One JSON object");
  return make_command(
      sub,
      [values] {
        const AdapterFile file = open_adapter(values->path);
        write_stdout(values->json ? lora_json(file) : lora_text(file));
      },
      "ingot lora inspect my-adapter");
}

}  // namespace ingot
