// TensorFinder: names, prefixes and shapes of tensors, and what may be left over.
#include "model/tensor_finder.h"

#include <algorithm>
#include <array>
#include <charconv>

#include "base/error.h"
#include "base/text.h"

namespace ingot {

namespace {

/// Beginnings of names of the other parts of multimodal models, which text does not need.
constexpr std::array<std::string_view, 19> kTowers{"vision_tower.",
                                                   "model.vision_tower.",
                                                   "vision_model.",
                                                   "model.vision_model.",
                                                   "visual.",
                                                   "model.visual.",
                                                   "multi_modal_projector.",
                                                   "model.multi_modal_projector.",
                                                   "audio_tower.",
                                                   "model.audio_tower.",
                                                   "embed_vision.",
                                                   "model.embed_vision.",
                                                   "embed_audio.",
                                                   "model.embed_audio.",
                                                   "vision_embedder.",
                                                   "model.vision_embedder.",
                                                   "mm_projector.",
                                                   "model.mm_projector.",
                                                   "patch_merger."};

/// Ends of names of tensors that each layer for multi-token prediction has. They join the hidden
/// state and the next token's embedding. Source: DeepSeek-V3, arXiv:2412.19437, section 2.2.
constexpr std::array<std::string_view, 3> kMtpTensors{"eh_proj.weight", "enorm.weight",
                                                      "hnorm.weight"};

/// The shape without leading ones: files store a row as a vector or as a matrix.
Shape trimmed(Shape shape) {
  while (shape.size() > 1 && shape.front() == 1) shape.erase(shape.begin());
  return shape;
}

/// The number that follows `start` in a name; nothing if the name begins otherwise.
std::optional<std::int64_t> number_after(std::string_view name, std::string_view start) {
  if (!name.starts_with(start)) return {};
  name.remove_prefix(start.size());
  std::int64_t number = 0;
  const auto [end, error] = std::from_chars(name.data(), name.data() + name.size(), number);
  if (error != std::errc{} || end == name.data() + name.size() || *end != '.') return {};
  return number;
}

}  // namespace

std::string to_string(const Shape& shape) {
  std::string out = "[";
  for (const std::int64_t dim : shape) out += cat(out.size() == 1 ? "" : ", ", dim);
  return out + "]";
}

TensorFinder::TensorFinder(const Checkpoint& checkpoint, const Config& config,
                           TensorPlanner* planner)
    : checkpoint_(checkpoint),
      config_(config),
      planner_(planner),
      family_(find_family(config.architecture, checkpoint.name())),
      prefix_(find_prefix()) {}

void TensorFinder::fail(const TensorInfo& t, std::string_view reason) const {
  throw model_error(checkpoint_.file_of(t), cat("tensor ", printable(t.name)), t.offset, reason);
}

void TensorFinder::fail(std::string_view reason) const {
  throw model_error(checkpoint_.name(), "tensors", reason);
}

void TensorFinder::fail_missing(TensorRole role, std::int64_t layer, std::int64_t expert) const {
  const RoleRule* rule = family_.rule_of(role);
  fail(cat("tensor ",
           role_names(rule == nullptr ? default_names(role) : rule->spelled(), layer, expert),
           " is missing"));
}

/// The prefix with which most of the family's tensors are found.
std::string TensorFinder::find_prefix() const {
  if (config_.naming == Naming::kGguf) return {};
  std::string_view best = kModelPrefix;
  std::int64_t most = 0;
  for (const std::string_view prefix : kModelPrefixes) {
    const std::int64_t found = tensors_with(prefix);
    if (found <= most) continue;
    most = found;
    best = prefix;
  }
  return std::string(best);
}

/// The number of the model's own tensors and those of its first layer that have this prefix.
std::int64_t TensorFinder::tensors_with(std::string_view prefix) const {
  std::int64_t found = 0;
  for (const RoleRule& rule : family_.roles) {
    const std::string_view pattern = rule.spelled().hugging_face;
    if (pattern.starts_with('^')) continue;
    for (const std::string& name : spellings(pattern, prefix, 0, 0)) {
      if (checkpoint_.find(name) != nullptr) ++found;
    }
  }
  return found;
}

const TensorInfo* TensorFinder::find(TensorRole role, std::int64_t layer,
                                     std::int64_t expert) const {
  const RoleRule* rule = family_.rule_of(role);
  if (rule == nullptr) return nullptr;
  for (const std::string& name :
       spellings(rule->spelled().of(config_.naming), prefix_, layer, expert)) {
    if (const TensorInfo* t = checkpoint_.find(name)) return t;
  }
  return nullptr;
}

void TensorFinder::leave_out(TensorRole role, std::int64_t layer, std::string_view part) {
  if (const TensorInfo* t = find(role, layer, 0)) left_out_[t] = part;
}

void TensorFinder::use(const TensorInfo& tensor, TensorRole role, std::int64_t layer) {
  if (used_.insert(&tensor).second) list_.push_back({&tensor, role, layer});
}

const TensorInfo* TensorFinder::check(const TensorInfo& t, const Shape& shape) const {
  if (!t.format) fail(t, cat("type ", t.type_name, " holds no weights"));
  if (trimmed(t.shape) != trimmed(shape)) {
    fail(t, cat("shape is ", to_string(t.shape), ", expected ", to_string(shape)));
  }
  return &t;
}

const TensorInfo* TensorFinder::take(TensorRole role, const Shape& shape, std::int64_t layer,
                                     std::int64_t expert) {
  const RoleRule* rule = family_.rule_of(role);
  if (rule == nullptr) return nullptr;
  if (rule->presence == Presence::kAfterFirst && layer == 0) return nullptr;
  const TensorInfo* t = find(role, layer, expert);
  if (t == nullptr && is_planned(role, layer)) {
    t = planner_->plan(family_.tensor_name(role, config_.naming, layer, expert), shape);
  }
  if (t == nullptr) {
    if (!may_lack(*rule)) fail_missing(role, layer, expert);
    return nullptr;
  }
  if (rule->presence == Presence::kOptional && lacking_.contains(role)) {
    fail(*t, "other layers have no such tensor");
  }
  use(*t, role, layer);
  found_.insert(role);
  return check(*t, shape);
}

/// Whether the planner gives the tensor of a role.
bool TensorFinder::is_planned(TensorRole role, std::int64_t layer) const {
  const RoleRule* rule = family_.rule_of(role);
  if (planner_ == nullptr || rule == nullptr) return false;
  const std::string name = family_.tensor_name(role, config_.naming, layer);
  if (name.empty()) return false;
  return rule->presence != Presence::kOptional || planner_->wants(name);
}

/// Whether the tensor of a role may be absent. An optional tensor is in all layers or in none.
bool TensorFinder::may_lack(const RoleRule& rule) {
  if (rule.presence != Presence::kOptional || found_.contains(rule.role)) return false;
  lacking_.insert(rule.role);
  return true;
}

const TensorInfo* TensorFinder::take_bytes(TensorRole role, const Shape& shape,
                                           std::int64_t layer) {
  const TensorInfo* t = find(role, layer, 0);
  if (t == nullptr) fail_missing(role, layer, 0);
  use(*t, role, layer);
  if (t->type_name != "U8") fail(*t, cat("type is ", t->type_name, ", expected U8"));
  if (t->shape != shape) {
    fail(*t, cat("shape is ", to_string(t->shape), ", expected ", to_string(shape)));
  }
  return t;
}

const TensorInfo* TensorFinder::take_named(std::string_view name, const Shape& shape) {
  const TensorInfo* t = checkpoint_.find(name);
  if (t == nullptr && planner_ != nullptr) t = planner_->plan(std::string(name), shape);
  if (t == nullptr) fail(cat("tensor ", printable(name), " is missing"));
  use(*t, TensorRole::kRoles, 0);
  return check(*t, shape);
}

BoundWeight TensorFinder::take_weight(std::initializer_list<MatrixRole> matrices, std::int64_t cols,
                                      std::int64_t layer) {
  BoundWeight w;
  for (const MatrixRole& m : matrices) {
    const TensorInfo* t = take(m.role, {m.rows, cols}, layer);
    if (t == nullptr) return {};
    w.parts.push_back({.tensor = t, .rows = m.rows, .cols = cols});
    const TensorInfo* bias = m.bias ? take(*m.bias, {m.rows}, layer) : nullptr;
    if (bias != nullptr) w.biases.push_back({.tensor = bias, .count = m.rows});
  }
  if (!w.biases.empty() && w.biases.size() != w.parts.size()) {
    fail(*w.biases.front().tensor, cat("there are biases for ", w.biases.size(), " of ",
                                       w.parts.size(), " matrices that belong together"));
  }
  return w;
}

BoundNorm TensorFinder::take_norm(TensorRole role, std::optional<TensorRole> bias,
                                  std::int64_t cols, std::int64_t layer) {
  const TensorInfo* weight = take(role, {cols}, layer);
  if (weight == nullptr) return {};
  return {.weights = {weight}, .bias = bias ? take(*bias, {cols}, layer) : nullptr, .rows = 1};
}

BoundNorm TensorFinder::take_norm_rows(TensorRole role, std::int64_t rows, std::int64_t cols,
                                       std::int64_t layer) {
  const RoleRule* rule = family_.rule_of(role);
  if (rule == nullptr) return {};
  const bool apart = counts_experts(rule->spelled().of(config_.naming));
  BoundNorm norm{.weights = {}, .bias = nullptr, .rows = rows};
  for (std::int64_t i = 0; i < (apart ? rows : 1); ++i) {
    const TensorInfo* t = take(role, apart ? Shape{cols} : Shape{rows, cols}, layer, i);
    if (t == nullptr && i > 0) fail_missing(role, layer, i);
    if (t == nullptr) return {};
    norm.weights.push_back(t);
  }
  return norm;
}

/// The beginning of the name of a tensor that no result needs; empty for any other tensor.
std::string TensorFinder::unused_part(std::string_view name) const {
  for (const std::string_view tower : kTowers) {
    if (name.starts_with(tower)) return std::string(tower);
  }
  for (const std::string_view part : family_.unused) {
    for (const std::string& full : {cat(prefix_, part), std::string(part)}) {
      if (name.starts_with(full)) return full;
    }
  }
  return is_mtp(name) ? "layers for multi-token prediction" : "";
}

/// Whether a tensor belongs to a layer for multi-token prediction, which follows the other layers.
/// Such a layer has tensors that no other layer has. Without them, the configuration names too few
/// layers.
bool TensorFinder::is_mtp(std::string_view name) const {
  const bool gguf = config_.naming == Naming::kGguf;
  const std::string start = gguf ? "blk." : cat(prefix_, "layers.");
  const auto layer = number_after(name, start);
  if (layer && *layer >= config_.layers && *layer < config_.layers + config_.mtp_layers) {
    const std::string own = cat(start, *layer, gguf ? ".nextn." : ".");
    return std::all_of(kMtpTensors.begin(), kMtpTensors.end(), [&](std::string_view tensor) {
      return checkpoint_.find(cat(own, tensor)) != nullptr;
    });
  }
  return config_.mtp_layers > 0 && name.starts_with("mtp.");
}

std::string TensorFinder::check_left_over() const {
  std::map<std::string, std::int64_t> parts;
  for (const TensorInfo& t : checkpoint_.tensors()) {
    if (used_.count(&t) != 0 || is_ignorable(t.name)) continue;
    const auto known = left_out_.find(&t);
    const std::string part = known == left_out_.end() ? unused_part(t.name) : known->second;
    if (part.empty() && known == left_out_.end()) {
      fail(t, cat("architecture ", config_.architecture,
                  " has no such tensor; a model that needs it would give wrong text"));
    }
    if (!part.empty()) ++parts[part];
  }
  std::string note;
  for (const auto& [part, count] : parts) {
    note += cat(note.empty() ? "left out, because text does not need them: " : ", ",
                part.ends_with('.') ? part + "*" : part, " (", count,
                count == 1 ? " tensor)" : " tensors)");
  }
  return note;
}

}  // namespace ingot
