// write_peft_adapter: adapter_config.json, and the tensors "base_model.model.MODULE.lora_A.weight".
#include <algorithm>
#include <cstring>
#include <map>
#include <set>
#include <utility>

#include "base/index.h"
#include "base/output_file.h"
#include "base/output_folder.h"
#include "base/text.h"
#include "convert/adapter/adapter_scales.h"
#include "convert/adapter/write_adapter.h"
#include "load/hf/safetensors_writer.h"
#include "load/json_object.h"
#include "quant/formats.h"

namespace ingot {

namespace {

/// The version whose layout of experts' pairs this writes; see AdapterFile::old_parameters.
constexpr std::string_view kPeftVersion = "0.19.0";

/// The value that occurs most often, the smallest of several.
template <class T>
T most_frequent(const std::vector<T>& values) {
  std::map<T, int> counts;
  for (const T& value : values) ++counts[value];
  return std::max_element(counts.begin(), counts.end(),
                          [](const auto& x, const auto& y) { return x.second < y.second; })
      ->first;
}

/// A pair's module as PEFT's configuration names it. A stack is a parameter of its module.
std::string configured_name(const NewPair& pair) {
  if (pair.kind != AdapterPairKind::kParameter) return pair.module;
  const std::string_view parent = std::string_view(pair.module).substr(0, pair.module.rfind('.'));
  return parent.ends_with("experts") ? pair.module : pair.module + ".weight";
}

/// Modules with the value `of(pair)` if it is not the usual one.
template <class Of>
Json exceptions(const std::vector<NewPair>& pairs, const Json& usual, Of of) {
  Json patterns = Json::object();
  for (const NewPair& pair : pairs) {
    Json value = of(pair);
    if (value.number() != usual.number()) patterns.set(configured_name(pair), std::move(value));
  }
  return patterns;
}

/// An integer where the number is one.
Json number_json(double number) {
  const auto whole = static_cast<std::int64_t>(number);
  return static_cast<double>(whole) == number ? Json(whole) : Json(number);
}

Json alpha_json(const NewPair& pair) { return number_json(alpha_of(pair.scale, pair.rank)); }

Json peft_config(const AdapterFile& from, const std::vector<NewPair>& pairs,
                 const std::string& task) {
  std::vector<std::int64_t> ranks;
  std::vector<double> alphas;
  Json modules = Json::array(), parameters = Json::array();
  for (const NewPair& pair : pairs) {
    ranks.push_back(pair.rank);
    alphas.push_back(alpha_of(pair.scale, pair.rank));
    const bool is_parameter = pair.kind == AdapterPairKind::kParameter;
    (is_parameter ? parameters : modules).push(configured_name(pair));
  }
  const Json rank = most_frequent(ranks), alpha = number_json(most_frequent(alphas));
  const bool has_parameters = !parameters.as_array()->empty();
  Json config = json_object(
      {{"peft_type", "LORA"},
       {"task_type", task.empty() ? Json() : Json(task)},
       {"base_model_name_or_path", from.base_model},
       {"inference_mode", true},
       {"r", rank},
       {"lora_alpha", alpha},
       {"lora_dropout", 0.0},
       {"bias", "none"},
       {"fan_in_fan_out", false},
       {"use_rslora", false},
       {"use_dora", false},
       {"target_modules", std::move(modules)},
       {"rank_pattern", exceptions(pairs, rank, [](const NewPair& p) { return Json(p.rank); })},
       {"alpha_pattern", exceptions(pairs, alpha, alpha_json)}});
  if (has_parameters) {
    config.set("target_parameters", std::move(parameters));
    config.set("peft_version", kPeftVersion);
  }
  if (!from.invocation_tokens.empty()) {
    Json tokens = Json::array();
    for (const std::int32_t token : from.invocation_tokens) tokens.push(token);
    config.set("alora_invocation_tokens", std::move(tokens));
  }
  return config;
}

/// Turns a matrix.
AdapterMatrix turned_matrix(const AdapterMatrix& m) {
  const auto size = to_size(std::int64_t{format_info(m.format).block_bytes});
  AdapterMatrix out{.format = m.format, .rows = m.cols, .cols = m.rows, .bytes = m.bytes};
  for (std::int64_t i = 0; i < m.rows; ++i) {
    for (std::int64_t j = 0; j < m.cols; ++j) {
      std::memcpy(out.bytes.data() + to_size(j * m.rows + i) * size,
                  m.bytes.data() + to_size(i * m.cols + j) * size, size);
    }
  }
  return out;
}

/// Matrices of equal sizes, one below the other.
AdapterMatrix stacked(std::vector<AdapterMatrix> matrices) {
  AdapterMatrix out;
  for (const AdapterMatrix& piece : in_one_format(std::move(matrices))) {
    out.format = piece.format;
    out.cols = piece.cols;
    out.rows += piece.rows;
    out.bytes.insert(out.bytes.end(), piece.bytes.begin(), piece.bytes.end());
  }
  return out;
}

/// B of a parameter: [outputs, rank * experts], with the expert as the fastest index.
AdapterMatrix joined_outputs(const std::vector<AdapterMatrix>& b) {
  std::vector<AdapterMatrix> turned;
  turned.reserve(b.size());
  for (const AdapterMatrix& m : b) turned.push_back(turned_matrix(m));
  // Row e * rank + j is column j of the expert e. It becomes row j * experts + e.
  const std::int64_t rank = b.front().cols;
  const AdapterMatrix experts = stacked(std::move(turned));
  AdapterMatrix out = experts;
  const auto row_size = to_size(row_bytes(experts.format, experts.cols));
  const std::int64_t count = std::ssize(b);
  for (std::int64_t e = 0; e < count; ++e) {
    for (std::int64_t j = 0; j < rank; ++j) {
      std::memcpy(out.bytes.data() + to_size(j * count + e) * row_size,
                  experts.bytes.data() + to_size(e * rank + j) * row_size, row_size);
    }
  }
  return turned_matrix(out);
}

struct NamedMatrix {
  std::string name;
  AdapterMatrix matrix;
};

/// The tensor names' part before ".lora_A". PEFT wraps a module once for each parameter: of the
/// two of the experts, gate_up_proj is inside down_proj.
std::string wrapped_name(const NewPair& pair, const std::set<std::string>& configured) {
  const std::string start = "base_model.model.";
  if (pair.kind != AdapterPairKind::kParameter) return start + pair.module;
  const std::string name = configured_name(pair);
  const std::string module = name.substr(0, name.rfind('.'));
  const bool is_inner =
      name.ends_with(".gate_up_proj") && configured.contains(module + ".down_proj");
  return cat(start, module, is_inner ? ".base_layer" : "");
}

std::vector<NamedMatrix> peft_tensors(const std::vector<NewPair>& pairs) {
  std::set<std::string> configured;
  for (const NewPair& pair : pairs) configured.insert(configured_name(pair));
  std::vector<NamedMatrix> tensors;
  for (const NewPair& pair : pairs) {
    const std::string name = wrapped_name(pair, configured);
    if (pair.kind == AdapterPairKind::kEmbedding) {
      tensors.push_back({name + ".lora_embedding_A", turned_matrix(pair.a.front())});
      tensors.push_back({name + ".lora_embedding_B", pair.b.front()});
    } else {
      const bool is_stack = pair.kind == AdapterPairKind::kParameter;
      tensors.push_back({name + ".lora_A.weight", stacked(pair.a)});
      tensors.push_back(
          {name + ".lora_B.weight", is_stack ? joined_outputs(pair.b) : pair.b.front()});
    }
  }
  return tensors;
}

}  // namespace

std::vector<std::string> write_peft_adapter(const AdapterFile& from,
                                            const std::vector<NewPair>& pairs,
                                            const std::string& task, const std::string& path) {
  OutputFolder folder(path);
  OutputFile config(folder.file("adapter_config.json"));
  config.write(peft_config(from, pairs, task).dump(2) + "\n");
  config.commit();
  const std::vector<NamedMatrix> tensors = peft_tensors(pairs);
  std::vector<SafetensorsEntry> entries;
  entries.reserve(tensors.size());
  for (const auto& [name, m] : tensors) {
    entries.push_back({.name = name,
                       .dtype = format_name(m.format),
                       .shape = {m.rows, m.cols},
                       .bytes = m.bytes.size()});
  }
  SafetensorsWriter writer(folder.file("adapter_model.safetensors"), entries);
  for (const auto& [name, m] : tensors) writer.write(m.bytes);
  writer.commit();
  folder.commit();
  std::vector<std::string> notes;
  for (const std::string& note : from.notes) notes.push_back("left out: " + note);
  return notes;
}

}  // namespace ingot
