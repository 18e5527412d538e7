// AdapterTargets: lists the modules of a bound model in both namings, and finds them by name.
#include "model/adapter_targets.h"

#include <algorithm>
#include <charconv>
#include <unordered_map>
#include <utility>

#include "base/index.h"
#include "base/text.h"
#include "load/architectures.h"
#include "model/bind.h"
#include "model/model.h"
#include "model/weight_list.h"

namespace ingot {

namespace {

using R = TensorRole;

constexpr std::string_view kWeightEnd = ".weight";

/// A module's name with "%" in place of the numbers of its layer and its expert.
struct ParsedName {
  std::string pattern;
  std::int64_t layer = -1;
  std::int64_t expert = -1;
};

/// The number that a part of a name is, written as `cat` writes it; otherwise -1.
std::int64_t number_of(std::string_view part) {
  std::int64_t value = -1;
  const auto [end, error] = std::from_chars(part.data(), part.data() + part.size(), value);
  const bool whole = error == std::errc{} && end == part.data() + part.size();
  return whole && cat(value) == part ? value : -1;
}

ParsedName parse_name(std::string_view name) {
  ParsedName parsed;
  while (!name.empty()) {
    const std::size_t size = name.find('.');
    const std::string_view part = name.substr(0, size);
    name.remove_prefix(size == std::string_view::npos ? name.size() : size + 1);
    std::int64_t& slot = parsed.layer < 0 ? parsed.layer : parsed.expert;
    const std::int64_t number = slot < 0 ? number_of(part) : -1;
    if (number >= 0) slot = number;
    parsed.pattern += cat(parsed.pattern.empty() ? "" : ".", number >= 0 ? "%" : part);
  }
  return parsed;
}

/// The patterns that "|" separates.
std::vector<std::string_view> patterns_of(std::string_view names) {
  std::vector<std::string_view> patterns;
  while (!names.empty() && names != "-") {
    const std::size_t end = names.find('|');
    patterns.push_back(names.substr(0, end));
    names.remove_prefix(end == std::string_view::npos ? names.size() : end + 1);
  }
  return patterns;
}

/// A tensor's name as a module's name: PEFT names modules, GGUF adapters name tensors.
std::string module_pattern(std::string_view tensor, Naming naming) {
  if (tensor.starts_with('^')) tensor.remove_prefix(1);
  if (naming == Naming::kHuggingFace && tensor.ends_with(kWeightEnd)) {
    tensor.remove_suffix(kWeightEnd.size());
  }
  return std::string(tensor);
}

/// The name with a number in place of the first "%".
std::string filled(std::string name, std::int64_t number) {
  const std::size_t at = name.find('%');
  return at == std::string::npos ? name : name.replace(at, 1, cat(number));
}

/// Which files have a module of a name.
struct Uses {
  bool is_module = true;  ///< whether transformers has it
  bool usual = true;      ///< whether files of the naming have it
};

/// One of the matrices that stand one below the other in a weight.
struct Piece {
  TensorRole role{};
  std::int64_t rows = 0;
  std::int64_t turned_heads = 0;  ///< number of heads with rotary pairs; 0: none
};

}  // namespace

/// Fills the tables of AdapterTargets.
class AdapterTargetLister {
 public:
  AdapterTargetLister(AdapterTargets& out, const BoundModel& bound, Naming stored,
                      const ModelOptions& options)
      : out_(out),
        bound_(bound),
        family_(find_family(bound.spec.architecture, bound.spec.architecture)),
        stored_(stored) {
    for (const BoundWeight* w : all_weights(bound, options)) {
      numbers_.emplace(w, static_cast<std::int32_t>(numbers_.size()));
    }
    out_.weights_ = static_cast<std::int32_t>(numbers_.size());
    for (auto& layers : out_.layers_) layers.resize(to_size(bound.spec.layers));
  }

  void list() {
    list_ends();
    for (i_ = 0; i_ < bound_.spec.layers; ++i_) list_layer(at(bound_.layers, i_));
  }

 private:
  using Entry = AdapterTargets::Entry;

  std::int32_t number(const BoundWeight& w) const {
    const auto found = numbers_.find(&w);
    return found == numbers_.end() ? -1 : found->second;
  }

  void list_ends();
  void list_layer(const BoundLayer& layer);
  void list_attention(const BoundLayer& layer);
  void list_experts(const BoundLayer& layer);
  void add_matrix(TensorRole role, const BoundWeight& w);
  void add_pieces(const BoundWeight& w, TensorRole whole, const std::vector<Piece>& pieces);
  void add_stack(TensorRole role, const std::vector<BoundWeight>& experts, AdapterTarget target);
  void add_fused_experts(TensorRole first, TensorRole fused, std::string_view parameter,
                         const std::vector<BoundWeight>& experts, std::int64_t rows);
  void add_without_target(TensorRole role);
  void add_unused(TensorRole role, std::int64_t rows);
  void add(TensorRole role, Naming naming, const AdapterTarget& target, Uses uses = {});
  Entry& entry(const std::string& pattern, Naming naming);
  std::string_view names_of(TensorRole role, Naming naming) const;
  bool is_fused(TensorRole whole, TensorRole first, Naming naming) const;
  bool has_fused(TensorRole whole, TensorRole first, const BoundWeight& w, Naming naming) const;
  RowOrder order_of(Naming naming) const;

  AdapterTargets& out_;
  const BoundModel& bound_;
  const Family& family_;
  Naming stored_;
  std::unordered_map<const BoundWeight*, std::int32_t> numbers_;
  std::int64_t i_ = -1;  ///< the current layer; -1: outside of layers
};

std::string_view AdapterTargetLister::names_of(TensorRole role, Naming naming) const {
  const RoleRule* rule = family_.rule_of(role);
  return rule == nullptr ? "-" : rule->spelled().of(naming);
}

AdapterTargetLister::Entry& AdapterTargetLister::entry(const std::string& pattern, Naming naming) {
  const auto index = to_size(naming);
  return i_ < 0 ? out_.ends_[index][pattern] : at(out_.layers_[index], i_)[pattern];
}

void AdapterTargetLister::add(TensorRole role, Naming naming, const AdapterTarget& target,
                              Uses uses) {
  for (const std::string_view pattern : patterns_of(names_of(role, naming))) {
    Entry& e = entry(module_pattern(pattern, naming), naming);
    e.targets.push_back(target);
    if (uses.is_module) e.role = role;
    e.usual |= std::exchange(uses.usual, false);  // the first spelling is the usual one
    e.rooted |= pattern.starts_with('^');
  }
}

/// Adds a module of transformers that adapters cannot change here.
void AdapterTargetLister::add_without_target(TensorRole role) {
  for (const std::string_view pattern : patterns_of(names_of(role, Naming::kHuggingFace))) {
    entry(module_pattern(pattern, Naming::kHuggingFace), Naming::kHuggingFace).role = role;
  }
}

/// Adds a module that files may have, but whose outputs nothing reads.
void AdapterTargetLister::add_unused(TensorRole role, std::int64_t rows) {
  for (const Naming naming : {Naming::kGguf, Naming::kHuggingFace}) {
    add(role, naming,
        {.rows = rows, .cols = bound_.spec.hidden, .module_rows = rows, .unused = true},
        {.is_module = false, .usual = false});
  }
}

/// Whether files of a naming usually have matrices fused, of which `first` is the first.
bool AdapterTargetLister::is_fused(TensorRole whole, TensorRole first, Naming naming) const {
  const RoleRule* rule = family_.rule_of(whole);
  if (rule == nullptr || rule->spelled().of(naming) == "-") return false;
  return rule->presence == Presence::kRequired || family_.rule_of(first) == nullptr;
}

/// Whether this model's file of a naming has the matrices fused.
bool AdapterTargetLister::has_fused(TensorRole whole, TensorRole first, const BoundWeight& w,
                                    Naming naming) const {
  return naming == stored_ ? w.parts.size() == 1 : is_fused(whole, first, naming);
}

/// How the rows of rotary heads differ between the model's file and an adapter.
RowOrder AdapterTargetLister::order_of(Naming naming) const {
  const ArchitectureTraits* traits = find_architecture(bound_.spec.architecture);
  if (naming == stored_ || traits == nullptr || traits->gguf_style != RopeStyle::kAdjacent ||
      traits->hf_style != RopeStyle::kHalfSplit) {
    return RowOrder::kSame;
  }
  return stored_ == Naming::kGguf ? RowOrder::kToAdjacent : RowOrder::kToHalves;
}

void AdapterTargetLister::add_matrix(TensorRole role, const BoundWeight& w) {
  if (!w) return;
  std::int64_t rows = 0;
  for (const BoundPart& part : w.parts) rows += part.rows;
  for (const Naming naming : {Naming::kGguf, Naming::kHuggingFace}) {
    add(role, naming,
        {.number = number(w), .rows = rows, .cols = w.parts.front().cols, .module_rows = rows});
  }
}

/// Adds the pieces of a weight under their own names, and under the name of all together.
void AdapterTargetLister::add_pieces(const BoundWeight& w, TensorRole whole,
                                     const std::vector<Piece>& pieces) {
  if (!w) return;
  const bool fused = is_fused(whole, pieces.front().role, Naming::kHuggingFace);
  std::int64_t all_rows = 0;
  for (const Piece& piece : pieces) all_rows += piece.rows;
  for (const Naming naming : {Naming::kGguf, Naming::kHuggingFace}) {
    const bool whole_is_usual =
        pieces.size() > 1 && has_fused(whole, pieces.front().role, w, naming);
    std::int64_t first = 0;
    for (const Piece& piece : pieces) {
      AdapterTarget target{.number = number(w),
                           .first_row = first,
                           .rows = piece.rows,
                           .cols = w.parts.front().cols,
                           .module_rows = piece.rows,
                           .heads = piece.turned_heads};
      if (piece.turned_heads > 0) target.order = order_of(naming);
      add(piece.role, naming, target, {.is_module = !fused, .usual = !whole_is_usual});
      target.module_first = first;
      target.module_rows = all_rows;
      if (whole != piece.role) {
        add(whole, naming, target, {.is_module = fused, .usual = whole_is_usual});
      }
      first += piece.rows;
    }
  }
}

/// Adds matrices of all experts under the name of a stack, or under a name for each expert.
void AdapterTargetLister::add_stack(TensorRole role, const std::vector<BoundWeight>& experts,
                                    AdapterTarget target) {
  const bool fused = stored_ == Naming::kGguf && experts.front().parts.size() == 1;
  const bool is_part = role == R::kExpertGate || role == R::kExpertUp;
  const bool is_whole = role == R::kExpertGateUp;
  target.number = number(experts.front());
  target.cols = experts.front().parts.front().cols;
  target.module_rows = target.rows;
  target.experts = std::ssize(experts);
  for (const Naming naming : {Naming::kGguf, Naming::kHuggingFace}) {
    // GGUF files have gate and up apart, or, a few, fused. No Hugging Face family has both names.
    const bool usual = naming == Naming::kHuggingFace || (is_part ? !fused : !is_whole || fused);
    add(role, naming, target, {.usual = usual});
  }
}

/// Adds the parameter in which transformers 5 keeps the matrices of all experts.
void AdapterTargetLister::add_fused_experts(TensorRole first, TensorRole fused,
                                            std::string_view parameter,
                                            const std::vector<BoundWeight>& experts,
                                            std::int64_t rows) {
  const std::string_view apart = names_of(first, Naming::kHuggingFace);
  if (!counts_experts(apart)) return;
  constexpr std::string_view kExperts = ".experts.";
  const std::string_view module = apart.substr(0, apart.find(kExperts) + kExperts.size());
  const AdapterTarget target{.number = number(experts.front()),
                             .rows = rows,
                             .cols = experts.front().parts.front().cols,
                             .module_rows = rows,
                             .experts = std::ssize(experts)};
  for (const std::string_view start : {module, std::string_view("layers.%.mlp.experts.")}) {
    Entry& e = entry(cat(start, parameter), Naming::kHuggingFace);
    e.targets = {target};
    e.role = fused;
  }
}

void AdapterTargetLister::list_experts(const BoundLayer& layer) {
  const std::int64_t f = bound_.spec.moe.ffn, h = bound_.spec.hidden;
  add_matrix(R::kRouter, layer.router);
  if (!layer.expert_gate_up.empty()) {
    const auto& gate_up = layer.expert_gate_up;
    add_stack(R::kExpertGate, gate_up, {.rows = f});
    add_stack(R::kExpertUp, gate_up, {.first_row = f, .rows = f});
    add_stack(R::kExpertGateUp, gate_up, {.rows = 2 * f});
    add_stack(R::kExpertGateUpTurned, gate_up, {.rows = 2 * f, .order = RowOrder::kAlternating});
    add_fused_experts(R::kExpertGate, R::kExpertGateUpTurned, "gate_up_proj", gate_up, 2 * f);
    add_stack(R::kExpertDown, layer.expert_down, {.rows = h});
    add_stack(R::kExpertDownTurned, layer.expert_down, {.rows = h});
    add_fused_experts(R::kExpertDown, R::kExpertDownTurned, "down_proj", layer.expert_down, h);
  }
  for (const R role : {R::kExpertGateUpTurned, R::kExpertDownTurned}) {
    for (const std::string_view pattern : patterns_of(names_of(role, Naming::kHuggingFace))) {
      entry(module_pattern(pattern, Naming::kHuggingFace), Naming::kHuggingFace).turned = true;
    }
  }
  const std::int64_t shared = bound_.spec.shared_ffn;
  add_pieces(layer.shared_gate_up, R::kSharedGateUp,
             {{R::kSharedGate, shared}, {R::kSharedUp, shared}});
  add_matrix(R::kSharedDown, layer.shared_down);
  add_matrix(R::kSharedRouter, layer.shared_router);
}

void AdapterTargetLister::list_attention(const BoundLayer& layer) {
  if (layer.kv_down) {
    add_matrix(R::kQDown, layer.q_down);
    add_matrix(layer.q_down ? R::kQUp : R::kQ, layer.q_up);
    add_matrix(R::kKvDown, layer.kv_down);
    add_without_target(R::kKvUp);
    return;
  }
  const LayerSpec& s = bound_.spec.layer(i_);
  std::vector<Piece> pieces{{R::kQ, s.q_cols(), s.heads}};
  if (s.kv_source < 0) {
    pieces.push_back({R::kK, s.k_cols(), s.kv_heads});
    const bool from_keys = s.values_from_keys;
    pieces.push_back({from_keys ? R::kK : R::kV, s.v_cols(), from_keys ? s.kv_heads : 0});
  } else {
    add_unused(R::kK, s.k_cols());
    add_unused(R::kV, s.v_cols());
  }
  add_pieces(layer.qkv, R::kQkv, pieces);
}

void AdapterTargetLister::list_layer(const BoundLayer& layer) {
  list_attention(layer);
  add_matrix(R::kAttnOut, layer.attn_out);
  const std::int64_t f = bound_.spec.layer(i_).ffn;
  if (bound_.spec.gated) {
    add_pieces(layer.gate_up, R::kGateUp, {{R::kGate, f}, {R::kUp, f}});
  } else {
    add_matrix(R::kUp, layer.gate_up);
  }
  add_matrix(R::kDown, layer.down);
  if (bound_.spec.layer(i_).sparse) list_experts(layer);
  add_matrix(R::kLayerInputGate, layer.input_gate);
  add_matrix(R::kLayerInputOut, layer.input_out);
}

void AdapterTargetLister::list_ends() {
  const Spec& spec = bound_.spec;
  const BoundWeight& head = spec.tied ? bound_.embedding : bound_.head;
  for (const Naming naming : {Naming::kGguf, Naming::kHuggingFace}) {
    const AdapterTarget all{.rows = spec.vocab, .cols = spec.hidden, .module_rows = spec.vocab};
    if (bound_.embedding) {
      AdapterTarget target = all;
      target.number = number(bound_.embedding);
      target.embedding = true;
      add(R::kEmbedding, naming, target);
    }
    if (!head) continue;
    AdapterTarget target = all;
    target.number = number(head);
    const bool usual = naming == Naming::kHuggingFace || !spec.tied;
    add(R::kHead, naming, target, {.usual = usual});
    // A reranker by tokens has rows of the head as a layer after pooling.
    for (const BoundWeight& dense : bound_.dense) {
      if (dense.parts.front().tensor != head.parts.front().tensor) continue;
      for (std::size_t row = 0; row < dense.parts.size(); ++row) {
        target.number = number(dense);
        target.first_row = static_cast<std::int64_t>(row);
        target.rows = 1;
        target.module_first = dense.parts[row].first_row;
        add(R::kHead, naming, target, {.usual = usual});
      }
    }
  }
  add_matrix(R::kLayerProjection, bound_.layer_projection);
  if (bound_.layer_projection) add_without_target(R::kLayerEmbedding);
}

std::int64_t AdapterTarget::module_row(std::int64_t row) const {
  if (order == RowOrder::kSame) return module_first + row;
  const std::int64_t size = order == RowOrder::kAlternating ? rows : rows / heads;
  const std::int64_t i = row % size;
  const std::int64_t start = module_first + row - i;
  if (order == RowOrder::kToAdjacent) return start + i % 2 * (size / 2) + i / 2;
  return start + i % (size / 2) * 2 + i / (size / 2);
}

AdapterTargets::AdapterTargets(const BoundModel& bound, Naming stored, const ModelOptions& options)
    : architecture_(bound.spec.architecture),
      vocab_(bound.spec.vocab),
      has_latents_(bound.spec.mla.kv_rank > 0) {
  AdapterTargetLister(*this, bound, stored, options).list();
}

std::optional<AdapterTargetList> AdapterTargets::find(Naming naming,
                                                      std::string_view module) const {
  const auto index = to_size(naming);
  const auto find_in = [&](std::string_view name) -> std::optional<AdapterTargetList> {
    const ParsedName parsed = parse_name(name);
    if (parsed.layer >= std::ssize(layers_[index])) return std::nullopt;
    const Entries& entries = parsed.layer < 0 ? ends_[index] : at(layers_[index], parsed.layer);
    const auto found = entries.find(parsed.pattern);
    if (found == entries.end() || found->second.targets.empty()) return std::nullopt;
    const Entry& e = found->second;
    return AdapterTargetList{.targets = &e.targets, .expert = parsed.expert, .turned = e.turned};
  };
  if (naming == Naming::kGguf) return find_in(module);
  for (const std::string_view prefix : kModelPrefixes) {
    if (!module.starts_with(prefix)) continue;
    if (auto found = find_in(module.substr(prefix.size()))) return found;
  }
  return std::nullopt;
}

std::vector<AdapterModule> AdapterTargets::modules(Naming naming, std::string_view prefix) const {
  std::vector<AdapterModule> all;
  const auto add = [&](const Entries& entries, std::int64_t layer) {
    for (const auto& [pattern, e] : entries) {
      if (!e.usual) continue;
      const std::string name =
          cat(e.rooted || naming == Naming::kGguf ? "" : prefix, filled(pattern, layer));
      AdapterTargetList list{.targets = &e.targets, .turned = e.turned};
      const std::int64_t experts = counts_experts(pattern) ? e.targets.front().experts : 0;
      if (experts == 0) all.push_back({name, list});
      for (list.expert = 0; list.expert < experts; ++list.expert) {
        all.push_back({filled(name, list.expert), list});
      }
    }
  };
  add(ends_[to_size(naming)], 0);
  const std::vector<Entries>& layers = layers_[to_size(naming)];
  for (std::size_t i = 0; i < layers.size(); ++i) add(layers[i], static_cast<std::int64_t>(i));
  return all;
}

std::string AdapterTargets::why_not(Naming naming, std::string_view module) const {
  const auto layers = std::ssize(layers_[to_size(naming)]);
  if (parse_name(module).layer >= layers) return cat("the model has ", layers, " layers");
  for (const std::string_view end :
       {".kv_b_proj", ".attn_kv_b.weight", ".attn_k_b.weight", ".attn_v_b.weight"}) {
    if (has_latents_ && module.ends_with(end)) {
      return "adapters of this matrix of multi-head latent attention are not supported";
    }
  }
  return "the model has no such matrix, or none that adapters can change";
}

std::optional<std::string_view> AdapterTargets::prefix_of(std::string_view module) const {
  const auto& layers = layers_[to_size(Naming::kHuggingFace)];
  for (const std::string_view prefix : kModelPrefixes) {
    if (!module.starts_with(prefix)) continue;
    const ParsedName parsed = parse_name(module.substr(prefix.size()));
    if (parsed.layer < 0 || parsed.layer >= std::ssize(layers)) continue;
    if (at(layers, parsed.layer).contains(parsed.pattern)) return prefix;
  }
  return std::nullopt;
}

/// Adds the modules of a layer, or of what is outside of layers.
void AdapterTargets::add_scope_modules(const Entries& entries, std::string_view prefix,
                                       std::int64_t layer, std::vector<ScopeModule>& all) {
  std::map<std::pair<TensorRole, std::int64_t>, std::vector<std::string>> names;
  constexpr std::string_view kInner = "language_model.";
  for (const auto& [pattern, e] : entries) {
    if (!e.role) continue;
    // A model has one head, which is beside its layers or beside what holds them.
    if (e.role == R::kHead && pattern.starts_with(kInner) != prefix.starts_with(kInner)) continue;
    const std::int64_t experts = counts_experts(pattern) ? e.targets.front().experts : 1;
    for (std::int64_t expert = 0; expert < experts; ++expert) {
      const std::string_view start = e.role == R::kHead ? "" : prefix;
      names[{*e.role, expert}].push_back(spellings(pattern, start, layer, expert).front());
    }
  }
  for (auto& [key, spelled] : names) {
    std::sort(spelled.begin(), spelled.end(),
              [](const auto& a, const auto& b) { return a.size() < b.size(); });
    all.push_back({key.first, std::move(spelled)});
  }
}

std::vector<ScopeModule> AdapterTargets::scope_modules(std::string_view prefix) const {
  const auto hf = to_size(Naming::kHuggingFace);
  std::vector<ScopeModule> all;
  add_scope_modules(ends_[hf], prefix, -1, all);
  if (prefix.empty()) {
    std::erase_if(all, [](const ScopeModule& module) { return module.role == R::kHead; });
  }
  for (std::int64_t i = 0; i < std::ssize(layers_[hf]); ++i) {
    add_scope_modules(at(layers_[hf], i), prefix, i, all);
  }
  return all;
}

}  // namespace ingot
