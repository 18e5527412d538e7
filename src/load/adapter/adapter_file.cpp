// open_adapter: chooses the files of an adapter, and checks the values of its tensors.
#include "load/adapter/adapter_file.h"

#include <algorithm>

#include "base/index.h"
#include "load/adapter/gguf_adapter.h"
#include "load/adapter/peft_config.h"
#include "load/adapter/peft_tensors.h"
#include "load/hf/hf_folder.h"
#include "load/hf/safetensors.h"
#include "load/wrong_file.h"
#include "quant/formats.h"

namespace ingot {

namespace {

/// Limit on a file's bytes, because they are read into memory: larger than any adapter.
constexpr std::uint64_t kAdapterBytesMax = std::uint64_t{16} << 30;

constexpr std::string_view kAdapterConfig = "adapter_config.json";
constexpr std::string_view kAdapterTensors = "adapter_model.safetensors";

/// The first element whose exponent bits are all ones; -1 if all elements are finite.
template <class T>
std::int64_t first_not_finite(const TensorInfo& t, T exponent) {
  for (std::int64_t i = 0; i < t.elements(); ++i) {
    T bits;
    __builtin_memcpy(&bits, t.data + i * std::int64_t{sizeof(T)}, sizeof bits);
    if ((bits & exponent) == exponent) return i;
  }
  return -1;
}

void check_values(const AdapterFile& file, const TensorInfo& t) {
  std::int64_t bad = -1;
  if (t.format == F32::kFormat) {
    bad = first_not_finite<std::uint32_t>(t, 0x7f800000);
  } else if (t.format == F16::kFormat) {
    bad = first_not_finite<std::uint16_t>(t, 0x7c00);
  } else if (t.format == BF16::kFormat) {
    bad = first_not_finite<std::uint16_t>(t, 0x7f80);
  } else {
    file.fail(t, cat("its type is ", t.type_name, ", expected F32, F16 or BF16"));
  }
  if (bad < 0) return;
  const std::int64_t cols = t.shape.back();
  file.fail(t, cat("row ", bad / cols, " holds a value that is not finite"));
}

/// Checks what holds for all files, after the pairs are made.
void check_pairs(AdapterFile& file) {
  std::sort(file.pairs.begin(), file.pairs.end(),
            [](const AdapterPair& a, const AdapterPair& b) { return a.module < b.module; });
  const auto same = std::adjacent_find(
      file.pairs.begin(), file.pairs.end(),
      [](const AdapterPair& a, const AdapterPair& b) { return a.module == b.module; });
  if (same != file.pairs.end()) file.fail(*std::next(same)->a, "another pair has the same module");
  for (const AdapterPair& pair : file.pairs) {
    for (const TensorInfo* t : {pair.a, pair.b}) check_values(file, *t);
  }
}

std::unique_ptr<PeftConfig> read_config(std::string_view text, const std::string& name) {
  return std::make_unique<PeftConfig>(parse_json_file(text, name, "config", kAdapterConfigLimits),
                                      name);
}

/// Fills `file`, whose names are set, from a configuration and the bytes of the tensors.
void read_peft(std::unique_ptr<PeftConfig> config, std::span<const std::byte> tensors,
               AdapterFile& file) {
  file.tensors = parse_safetensors(tensors, file.tensor_file).tensors;
  config->allow_pairs(file.tensors.size() / 2);
  file.base_model = config->base_model();
  file.invocation_tokens = config->invocation_tokens();
  file.old_parameters = config->is_old();
  peft_pairs(*config, file);
  const bool has_embedding =
      std::any_of(file.pairs.begin(), file.pairs.end(),
                  [](const AdapterPair& p) { return p.kind == AdapterPairKind::kEmbedding; });
  if (config->ties_weights() && has_embedding) {
    throw model_error(config->file(), "config",
                      "ensure_weight_tying is true, which ingot does not apply to embeddings");
  }
  file.scope = std::move(config);
  check_pairs(file);
}

AdapterFile open_peft(const Directory& folder, std::string_view tensors) {
  const File config_file = open_model_file(folder, kAdapterConfig);
  // The file with the tensors may be large: it is read last.
  auto config =
      read_config(config_file.read_all(kAdapterConfigLimits.bytes_max), config_file.name());
  AdapterFile file;
  file.name = folder.name();
  const File opened = open_model_file(folder, tensors);
  file.tensor_file = opened.name();
  file.content = opened.read_all(kAdapterBytesMax);
  read_peft(std::move(config), std::as_bytes(std::span(file.content)), file);
  return file;
}

/// Refuses a large GGUF file that is no adapter, such as a base model, without reading the file.
void refuse_large_model(const File& opened) {
  // Adapters hold no tokenizer, so their keys take a few KB.
  constexpr std::uint64_t kBeginning = 1 << 20;
  if (opened.size() <= kBeginning) return;
  std::string beginning(kBeginning, '\0');
  opened.read_at(0, std::as_writable_bytes(std::span(beginning)));
  const auto type = find_gguf_text(std::as_bytes(std::span(beginning)), opened.size(),
                                   opened.name(), "general.type");
  if (type == "adapter") return;
  throw model_error(opened.name(), "metadata",
                    cat("the first ", kBeginning, " bytes do not say general.type = 'adapter'",
                        type ? cat(", but '", printable(*type), "'") : std::string(),
                        ": the file is no adapter"));
}

AdapterFile open_gguf_adapter(const File& opened) {
  refuse_lfs_pointer(opened);
  refuse_large_model(opened);
  AdapterFile file;
  file.name = file.tensor_file = opened.name();
  file.content = opened.read_all(kAdapterBytesMax);
  gguf_pairs(parse_gguf(std::as_bytes(std::span(file.content)), file.name), file);
  check_pairs(file);
  return file;
}

/// The error for a folder without an adapter.
std::string why_no_adapter(const std::vector<std::string>& names) {
  const auto has = [&](std::string_view name) {
    return std::find(names.begin(), names.end(), name) != names.end();
  };
  if (has("adapter_model.bin")) {
    return "pickle files are not supported, convert to safetensors: found adapter_model.bin";
  }
  return cat("no adapter found: looked for ", kAdapterConfig, " with ", kAdapterTensors,
             ", and for one .gguf file");
}

}  // namespace

std::uint64_t AdapterFile::tensor_bytes() const {
  std::uint64_t bytes = 0;
  for (const AdapterPair& pair : pairs) bytes += pair.a->bytes + pair.b->bytes;
  return bytes;
}

AdapterFile read_peft_adapter(std::string_view config, std::span<const std::byte> tensors,
                              const std::string& name) {
  AdapterFile file;
  file.name = file.tensor_file = name;
  read_peft(read_config(config, name), tensors, file);
  return file;
}

AdapterFile read_gguf_adapter(std::span<const std::byte> bytes, const std::string& name) {
  AdapterFile file;
  file.name = file.tensor_file = name;
  gguf_pairs(parse_gguf(bytes, name), file);
  check_pairs(file);
  return file;
}

std::string adapter_tensor_file(const Directory& folder) {
  if (folder.contains(kAdapterConfig) && folder.contains(kAdapterTensors)) {
    return std::string(kAdapterTensors);
  }
  std::vector<std::string> names = folder.list();
  std::vector<std::string> gguf;
  std::copy_if(names.begin(), names.end(), std::back_inserter(gguf),
               [](const std::string& name) { return name.ends_with(".gguf"); });
  if (gguf.size() != 1) throw model_error(folder.name(), "folder", why_no_adapter(names));
  return gguf.front();
}

AdapterFile open_adapter(const Directory& folder) {
  const std::string tensors = adapter_tensor_file(folder);
  if (tensors == kAdapterTensors) return open_peft(folder, tensors);
  return open_gguf_adapter(folder.open(tensors));
}

AdapterFile open_adapter(const std::string& path) {
  if (is_folder(path)) return open_adapter(Directory(path));
  if (!path.ends_with(".safetensors")) return open_gguf_adapter(File(path));
  const std::size_t slash = path.rfind('/');
  const bool here = slash == std::string::npos;
  const Directory folder(here ? "." : path.substr(0, slash + 1));
  return open_peft(folder, here ? path : path.substr(slash + 1));
}

}  // namespace ingot
