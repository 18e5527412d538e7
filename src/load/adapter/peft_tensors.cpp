// peft_pairs: reads the names of PEFT's tensors: "base_model.model.MODULE.lora_A.weight".
#include "load/adapter/peft_tensors.h"

#include <algorithm>
#include <map>

#include "base/error.h"
#include "base/index.h"
#include "base/text.h"

namespace ingot {

namespace {

constexpr std::string_view kBase = "base_model.model.";
constexpr std::string_view kInner = ".base_layer";

/// What the name of a tensor says.
struct TensorPlace {
  std::string_view module;  ///< with ".base_layer" behind it for each parameter around this one
  bool is_a = false;
  bool embedding = false;
};

/// The place of a tensor; nothing if it is no half of a pair. Some tools leave the adapter's name
/// in the tensor's: "lora_A.default.weight", "lora_embedding_A.default".
std::optional<TensorPlace> place_of(std::string_view name) {
  if (name.starts_with(kBase)) name.remove_prefix(kBase.size());
  for (const auto& [mark, is_a, embedding] :
       {std::tuple(".lora_A.", true, false), std::tuple(".lora_B.", false, false),
        std::tuple(".lora_embedding_A", true, true),
        std::tuple(".lora_embedding_B", false, true)}) {
    const std::size_t at = name.rfind(mark);
    if (at == std::string_view::npos || at == 0) continue;
    std::string_view rest = name.substr(at + std::string_view(mark).size());
    if (embedding && !rest.empty()) {
      if (rest.front() != '.') continue;
      rest.remove_prefix(1);
    }
    if (!embedding) {
      if (rest != "weight" && !rest.ends_with(".weight")) continue;
      rest.remove_suffix(std::min(rest.size(), std::string_view(".weight").size()));
    }
    if (rest.find('.') != std::string_view::npos) continue;
    return TensorPlace{name.substr(0, at), is_a, embedding};
  }
  return std::nullopt;
}

/// The two halves of a pair.
struct Halves {
  const TensorInfo* a = nullptr;
  const TensorInfo* b = nullptr;
  bool embedding = false;

  const TensorInfo& any() const { return a != nullptr ? *a : *b; }
};

class PairMaker {
 public:
  PairMaker(const PeftConfig& config, AdapterFile& file) : config_(config), file_(file) {}

  void make() {
    for (const TensorInfo& t : file_.tensors) add_tensor(t);
    for (const auto& [module, halves] : halves_) add_pair(module, halves);
    for (const auto& [module, tensor] : copies_) add_copy(module, *tensor);
    if (file_.pairs.empty()) {
      throw model_error(file_.tensor_file, "header", "it holds no tensors of an adapter");
    }
  }

 private:
  void add_tensor(const TensorInfo& t);
  void add_pair(const std::string& module, const Halves& halves);
  void add_copy(const std::string& module, const TensorInfo& t);
  std::string parameter_of(std::string_view module, std::size_t around, const TensorInfo& t) const;

  const PeftConfig& config_;
  AdapterFile& file_;
  std::map<std::string, Halves, std::less<>> halves_;
  std::map<std::string, const TensorInfo*, std::less<>> copies_;
};

void PairMaker::add_tensor(const TensorInfo& t) {
  const auto place = place_of(t.name);
  if (!place) {
    std::string_view name = t.name;
    if (name.starts_with(kBase)) name.remove_prefix(kBase.size());
    constexpr std::string_view kCopy = ".base_layer.weight";
    if (!name.ends_with(kCopy)) {
      file_.fail(t, "it is no matrix of a LoRA pair, and ingot applies nothing else");
    }
    copies_.emplace(name.substr(0, name.size() - kCopy.size()), &t);
    return;
  }
  Halves& halves = halves_[std::string(place->module)];
  const bool first = halves.a == nullptr && halves.b == nullptr;
  if (!first && halves.embedding != place->embedding) {
    file_.fail(t, "its module has tensors of an embedding and of a matrix");
  }
  halves.embedding = place->embedding;
  const TensorInfo*& half = place->is_a ? halves.a : halves.b;
  if (half != nullptr) {
    file_.fail(t, cat("its module has this half already, as tensor ", printable(half->name)));
  }
  half = &t;
}

/// Names the parameter of which a pair is. PEFT wraps a module once for each parameter; the first
/// wrapper is the innermost.
std::string PairMaker::parameter_of(std::string_view module, std::size_t around,
                                    const TensorInfo& t) const {
  const std::vector<std::string> parameters = config_.parameters_of(module);
  std::size_t wrappers = 0;
  for (std::string name(module); halves_.contains(name); name += kInner) ++wrappers;
  if (parameters.size() != wrappers || around >= wrappers) {
    file_.fail(t,
               cat("its module has ", wrappers, " pairs, but target_parameters of ",
                   printable(config_.file()), " names ", parameters.size(), " of its parameters"));
  }
  return parameters[wrappers - 1 - around];
}

void PairMaker::add_pair(const std::string& name, const Halves& halves) {
  const TensorInfo& any = halves.any();
  if (halves.a == nullptr || halves.b == nullptr) {
    file_.fail(any, cat("the other half of its pair is missing, ",
                        halves.a == nullptr ? "lora_A" : "lora_B"));
  }
  std::string_view module = name;
  std::size_t around = 0;
  for (; module.ends_with(kInner); ++around) module.remove_suffix(kInner.size());
  AdapterPair pair{.module = std::string(module), .a = halves.a, .b = halves.b};
  if (halves.embedding) pair.kind = AdapterPairKind::kEmbedding;
  std::string key(module);
  if (!halves.embedding && (around > 0 || !config_.parameters_of(module).empty())) {
    const std::string parameter = parameter_of(module, around, any);
    key += "." + parameter;
    if (parameter != "weight") pair.module = key;
    pair.kind = AdapterPairKind::kParameter;
  } else if (!config_.targets(module)) {
    file_.fail(any,
               cat("target_modules of ", printable(config_.file()), " does not name its module"));
  }
  pair.rank = config_.rank(key);
  pair.alpha = config_.alpha(key);
  pair.scale = config_.scale(pair.rank, pair.alpha);
  for (const TensorInfo* t : {pair.a, pair.b}) {
    if (t->shape.size() != 2)
      file_.fail(*t, cat("it has ", t->shape.size(), " dimensions, expected 2"));
  }
  // A matrix that PEFT reaches as a parameter is one matrix, not a stack.
  if (pair.kind == AdapterPairKind::kParameter && pair.module == module &&
      pair.a->shape[0] == pair.rank) {
    pair.kind = AdapterPairKind::kLinear;
  }
  const bool stacked = pair.kind == AdapterPairKind::kParameter;
  const std::int64_t rows = pair.a->shape[0];
  if (stacked ? rows == 0 || rows % pair.rank != 0 : rows != pair.rank) {
    file_.fail(*pair.a, cat("it has ", rows, " rows, but ", printable(config_.file()),
                            " gives its module the rank ", pair.rank));
  }
  if (pair.b->shape[1] != rows) {
    file_.fail(*pair.b,
               cat("it has ", pair.b->shape[1], " columns, but lora_A has ", rows, " rows"));
  }
  file_.pairs.push_back(std::move(pair));
}

/// PEFT stores a copy of an embedding or a head that has a pair. Nothing reads the copy.
void PairMaker::add_copy(const std::string& module, const TensorInfo& t) {
  if (!halves_.contains(module)) {
    file_.fail(t, "it is no matrix of a LoRA pair, and ingot applies nothing else");
  }
  file_.copies.push_back({module, &t});
  file_.warnings.push_back(
      cat("tensor ", printable(t.name), " is taken to equal the base model's, and is not used"));
}

}  // namespace

void peft_pairs(const PeftConfig& config, AdapterFile& file) { PairMaker(config, file).make(); }

}  // namespace ingot
