// load_adapter: finds the rows that each pair changes, gathers them in the weights' order, and
// stacks the pairs of a weight.
#include "model/adapter.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <map>
#include <set>

#include "base/error.h"
#include "base/index.h"
#include "base/text.h"
#include "quant/formats.h"

#define XXH_INLINE_ALL
#include <xxhash.h>

namespace ingot {

namespace {

/// A matrix inside a tensor: element (i, j) is the tensor's element
/// first + i * row_step + j * col_step.
struct Strided {
  const TensorInfo* tensor = nullptr;
  std::int64_t rows = 0;
  std::int64_t cols = 0;
  std::int64_t first = 0;
  std::int64_t row_step = 0;
  std::int64_t col_step = 1;

  View view() const {
    return {nullptr, *tensor->format, rows, cols, row_bytes(*tensor->format, cols)};
  }
};

/// A matrix that a tensor stores as [.., rows, cols], from element `first` on.
Strided plain(const TensorInfo& t, std::int64_t rows, std::int64_t cols, std::int64_t first = 0) {
  return {.tensor = &t, .rows = rows, .cols = cols, .first = first, .row_step = cols};
}

/// A and B of one matrix: y = y + scale * B (A x).
struct MatrixPair {
  Strided a;
  Strided b;
};

/// Rows of a Weight that a pair changes.
struct PlannedPart {
  const AdapterTarget* target = nullptr;
  Strided b;
  std::int64_t first_rank = 0;
  double scale = 0;
};

/// All that an adapter changes of a Weight.
struct PlannedLinear {
  std::vector<Strided> a;  ///< stacked
  std::vector<PlannedPart> parts;
};

struct AdapterPlan {
  std::map<std::int32_t, PlannedLinear> linears;  ///< by Weight::number
  const AdapterPair* embedding = nullptr;
  std::int32_t embedding_number = -1;  ///< Weight::number of the embedding matrix
};

class AdapterPlanner {
 public:
  AdapterPlanner(const AdapterFile& file, const AdapterTargets& targets)
      : file_(file), targets_(targets) {}

  AdapterPlan plan() {
    check_model();
    for (const AdapterPair& pair : file_.pairs) add_pair(pair);
    for (auto& [number, linear] : plan_.linears) check_overlap(linear);
    check_copies();
    check_scope();
    return std::move(plan_);
  }

 private:
  void check_model() const;
  void check_copies() const;
  void check_scope() const;
  void check_overlap(PlannedLinear& linear) const;
  void add_pair(const AdapterPair& pair);
  void add_embedding(const AdapterPair& pair, const AdapterTarget& target);
  void add_expert(const AdapterPair& pair, const AdapterTargetList& found, std::int64_t expert,
                  std::int64_t experts);
  void check_rank(const AdapterPair& pair, std::int64_t inputs, std::int64_t outputs) const;
  void check_dim(const TensorInfo& t, std::int64_t dim, std::int64_t size,
                 std::string_view what) const;
  MatrixPair matrix_pair(const AdapterPair& pair, const AdapterTargetList& found,
                         std::int64_t expert, std::int64_t experts) const;
  MatrixPair parameter_pair(const AdapterPair& pair, const AdapterTargetList& found,
                            std::int64_t expert, std::int64_t experts) const;
  AdapterTargetList find(std::string_view module, const TensorInfo& t) const;

  const AdapterFile& file_;
  const AdapterTargets& targets_;
  AdapterPlan plan_;
};

void AdapterPlanner::check_model() const {
  if (!file_.architecture.empty() && file_.architecture != targets_.architecture()) {
    throw model_error(file_.name, "metadata",
                      cat("general.architecture is ", printable(file_.architecture),
                          ", but the model's is ", targets_.architecture()));
  }
  for (const std::int32_t token : file_.invocation_tokens) {
    if (token < targets_.vocab()) continue;
    throw model_error(file_.name, "config",
                      cat("the invocation token ", token, " is not one of ", targets_.vocab()));
  }
}

AdapterTargetList AdapterPlanner::find(std::string_view module, const TensorInfo& t) const {
  const auto found = targets_.find(file_.naming, module);
  if (!found) file_.fail(t, targets_.why_not(file_.naming, module));
  return *found;
}

void AdapterPlanner::check_dim(const TensorInfo& t, std::int64_t dim, std::int64_t size,
                               std::string_view what) const {
  const std::int64_t has = at(t.shape, dim);
  if (has != size) file_.fail(t, cat("it has ", has, " ", what, ", but the model ", size));
}

void AdapterPlanner::check_rank(const AdapterPair& pair, std::int64_t inputs,
                                std::int64_t outputs) const {
  const std::int64_t most = std::min({inputs, outputs, kAdapterRankMax});
  if (pair.rank >= 1 && pair.rank <= most) return;
  file_.fail(*pair.a, cat("its rank is ", pair.rank, ", expected 1 to ", most, " for a matrix of ",
                          outputs, " x ", inputs));
}

void AdapterPlanner::add_pair(const AdapterPair& pair) {
  const AdapterTargetList found = find(pair.module, *pair.a);
  const AdapterTarget& target = found.targets->front();
  const bool embedding = pair.kind == AdapterPairKind::kEmbedding;
  if (embedding != target.embedding) {
    file_.fail(*pair.a, embedding ? "its module is no embedding"
                                  : "its module is an embedding, but the pair is of a matrix");
  }
  if (embedding) return add_embedding(pair, target);
  const bool stacked =
      pair.kind == AdapterPairKind::kStack || pair.kind == AdapterPairKind::kParameter;
  const bool is_stack = target.experts > 0 && found.expert < 0;
  if (stacked != is_stack) {
    file_.fail(*pair.a, stacked ? "it is of a stack of experts, but its module is one matrix"
                                : "it is of one matrix, but its module is a stack of experts");
  }
  if (found.expert >= target.experts && found.expert >= 0) {
    file_.fail(*pair.a, cat("the model has ", target.experts, " experts"));
  }
  for (std::int64_t e = 0; e < (is_stack ? target.experts : 1); ++e) {
    add_expert(pair, found, is_stack ? e : std::max<std::int64_t>(found.expert, 0),
               is_stack ? target.experts : 0);
  }
}

void AdapterPlanner::add_embedding(const AdapterPair& pair, const AdapterTarget& target) {
  const bool gguf = file_.naming == Naming::kGguf;
  check_dim(*pair.a, gguf ? 0 : 1, target.rows, gguf ? "rows" : "columns");
  check_dim(*pair.b, 0, target.cols, "rows");
  check_rank(pair, target.rows, target.cols);
  if (target.number < 0) return;
  plan_.embedding = &pair;
  plan_.embedding_number = target.number;
}

MatrixPair AdapterPlanner::parameter_pair(const AdapterPair& pair, const AdapterTargetList& found,
                                          std::int64_t expert, std::int64_t experts) const {
  const AdapterTarget& target = found.targets->front();
  const std::int64_t r = pair.rank;
  const std::int64_t in = target.cols, out = target.module_rows;
  check_dim(*pair.a, 0, experts * r, cat("rows of rank ", r));
  const std::int64_t a_cols = pair.a->shape[1], b_rows = pair.b->shape[0];
  const bool fits = a_cols == in && b_rows == out;
  const bool reversed_fits = a_cols == out && b_rows == in;
  if (!fits && !reversed_fits) {
    file_.fail(*pair.a, cat("its pair is for matrices of ", b_rows, " x ", a_cols,
                            ", but the model's have ", out, " outputs and ", in, " inputs"));
  }
  // A square matrix does not show which of A and B reads the inputs.
  const bool reversed = fits && reversed_fits ? file_.old_parameters && !found.turned : !fits;
  const Strided a = plain(*pair.a, r, a_cols, expert * r * a_cols);
  const Strided b{.tensor = pair.b,
                  .rows = b_rows,
                  .cols = r,
                  .first = expert,
                  .row_step = r * experts,
                  .col_step = experts};
  if (!reversed) return {a, b};
  const auto transposed = [](Strided m) {
    std::swap(m.rows, m.cols);
    std::swap(m.row_step, m.col_step);
    return m;
  };
  return {transposed(b), transposed(a)};
}

MatrixPair AdapterPlanner::matrix_pair(const AdapterPair& pair, const AdapterTargetList& found,
                                       std::int64_t expert, std::int64_t experts) const {
  if (pair.kind == AdapterPairKind::kParameter) return parameter_pair(pair, found, expert, experts);
  const AdapterTarget& target = found.targets->front();
  const std::int64_t r = pair.rank;
  const std::int64_t in = target.cols, out = target.module_rows;
  const bool stack = pair.kind == AdapterPairKind::kStack;
  if (stack) check_dim(*pair.a, 0, experts, "experts");
  check_dim(*pair.a, stack ? 2 : 1, in, "columns");
  check_dim(*pair.b, stack ? 1 : 0, out, "rows");
  return {plain(*pair.a, r, in, stack ? expert * r * in : 0),
          plain(*pair.b, out, r, stack ? expert * out * r : 0)};
}

/// Adds a pair to one expert's Weight, or to a Weight that no experts have.
void AdapterPlanner::add_expert(const AdapterPair& pair, const AdapterTargetList& found,
                                std::int64_t expert, std::int64_t experts) {
  const MatrixPair m = matrix_pair(pair, found, expert, experts);
  check_rank(pair, m.a.cols, m.b.rows);
  std::set<std::int32_t> seen;
  for (const AdapterTarget& target : *found.targets) {
    if (target.number < 0) continue;
    const auto number = static_cast<std::int32_t>(target.number + expert);
    PlannedLinear& linear = plan_.linears[number];
    if (seen.insert(number).second) linear.a.push_back(m.a);
    std::int64_t first = -m.a.rows;
    for (const Strided& a : linear.a) first += a.rows;
    linear.parts.push_back({.target = &target, .b = m.b, .first_rank = first, .scale = pair.scale});
  }
}

/// Sorts a weight's parts by rows, and refuses rows with two pairs: of a fused matrix and of one of
/// its pieces.
void AdapterPlanner::check_overlap(PlannedLinear& linear) const {
  std::sort(linear.parts.begin(), linear.parts.end(),
            [](const auto& a, const auto& b) { return a.target->first_row < b.target->first_row; });
  for (std::size_t i = 1; i < linear.parts.size(); ++i) {
    const AdapterTarget& before = *linear.parts[i - 1].target;
    if (before.first_row + before.rows <= linear.parts[i].target->first_row) continue;
    file_.fail(*linear.parts[i].b.tensor,
               cat("tensor ", printable(linear.parts[i - 1].b.tensor->name),
                   " changes the same outputs of the model"));
  }
}

void AdapterPlanner::check_copies() const {
  for (const AdapterCopy& copy : file_.copies) {
    const AdapterTarget& target = find(copy.module, *copy.tensor).targets->front();
    if (copy.tensor->shape == std::vector<std::int64_t>{target.module_rows, target.cols}) continue;
    file_.fail(*copy.tensor, cat("its shape is not that of the model's matrix, ",
                                 target.module_rows, " x ", target.cols));
  }
}

/// PEFT gives a pair to each module that the configuration names.
void AdapterPlanner::check_scope() const {
  if (file_.scope == nullptr) return;
  std::set<std::string_view> has;
  std::string_view known;
  for (const AdapterPair& pair : file_.pairs) {
    has.insert(pair.module);
    if (pair.kind == AdapterPairKind::kLinear) known = pair.module;
  }
  for (const std::string& module : targets_.layer_modules(known)) {
    if (has.contains(module) || !file_.scope->requires_pair(module)) continue;
    throw model_error(file_.tensor_file, "header",
                      cat("the configuration names module ", module,
                          ", but the tensors lora_A and lora_B of the module are missing"));
  }
}

/// Copies a matrix. Row i of the result is row `row_of(i)` of the matrix.
template <class RowOf>
std::vector<std::byte> gathered(const Strided& m, std::int64_t rows, RowOf row_of) {
  const std::int64_t size = format_info(*m.tensor->format).block_bytes;
  std::vector<std::byte> out(to_size(rows * m.cols * size));
  std::byte* to = out.data();
  for (std::int64_t i = 0; i < rows; ++i) {
    const std::byte* from = m.tensor->data + (m.first + row_of(i) * m.row_step) * size;
    for (std::int64_t j = 0; j < m.cols; ++j, to += size) {
      std::memcpy(to, from + j * m.col_step * size, to_size(size));
    }
  }
  return out;
}

std::vector<std::byte> gathered(const Strided& m) {
  return gathered(m, m.rows, [](std::int64_t i) { return i; });
}

Weight packed(Backend& backend, const std::vector<Strided>& stack) {
  std::vector<std::vector<std::byte>> memory;
  std::vector<View> views;
  for (const Strided& m : stack) {
    memory.push_back(gathered(m));
    views.push_back(m.view());
    views.back().data = memory.back().data();
  }
  return backend.prepare(views, {}, Use::kAdapter);
}

Weight packed_rows(Backend& backend, const PlannedPart& part) {
  std::vector<std::byte> memory = gathered(
      part.b, part.target->rows, [&](std::int64_t i) { return part.target->module_row(i); });
  View view = part.b.view();
  view.rows = part.target->rows;
  view.data = memory.data();
  return backend.prepare(std::span(&view, 1), {}, Use::kAdapter);
}

/// The matrices of AdapterEmbedding: A [V, rank] and B [H, rank].
MatrixPair embedding_matrices(const AdapterPair& pair, Naming naming) {
  const std::int64_t r = pair.rank;
  Strided a = plain(*pair.a, pair.a->shape[0], pair.a->shape[1]);
  if (naming != Naming::kGguf) {
    std::swap(a.rows, a.cols);
    std::swap(a.row_step, a.col_step);
  }
  return {a, plain(*pair.b, pair.b->shape[0], r)};
}

void hash_text(XXH3_state_t& state, std::string_view text) {
  const std::uint64_t size = text.size();
  XXH3_128bits_update(&state, &size, sizeof size);
  XXH3_128bits_update(&state, text.data(), text.size());
}

void hash_tensor(XXH3_state_t& state, const TensorInfo& t) {
  std::string text = t.type_name;
  for (const std::int64_t dim : t.shape) text += cat(" ", dim);
  hash_text(state, text);
  XXH3_128bits_update(&state, t.data, t.bytes);
}

}  // namespace

std::unique_ptr<const Adapter> load_adapter(const AdapterFile& file, const AdapterTargets& targets,
                                            Backend& backend) {
  const AdapterPlan plan = AdapterPlanner(file, targets).plan();
  auto adapter = std::make_unique<Adapter>();
  AdapterWeights& weights = adapter->weights;
  weights.places.assign(to_size(targets.weights()), -1);
  for (const auto& [number, linear] : plan.linears) {
    at(weights.places, number) = static_cast<std::int32_t>(weights.linears.size());
    AdapterLinear& out = weights.linears.emplace_back();
    out.a = packed(backend, linear.a);
    for (const PlannedPart& part : linear.parts) {
      out.parts.push_back({.first_row = part.target->first_row,
                           .first_rank = part.first_rank,
                           .scale = static_cast<float>(part.scale),
                           .b = packed_rows(backend, part)});
    }
  }
  if (plan.embedding != nullptr) {
    const MatrixPair m = embedding_matrices(*plan.embedding, file.naming);
    weights.embedding = {
        .number = plan.embedding_number,
        .a = packed(backend, {m.a}),
        .part = {.scale = static_cast<float>(plan.embedding->scale), .b = packed(backend, {m.b})}};
  }
  adapter->invocation_tokens = file.invocation_tokens;
  adapter->identity = adapter_identity(file);
  adapter->bytes = adapter_bytes(file, targets, backend);
  adapter->warnings = file.warnings;
  return adapter;
}

std::int64_t adapter_bytes(const AdapterFile& file, const AdapterTargets& targets,
                           const Backend& backend) {
  const AdapterPlan plan = AdapterPlanner(file, targets).plan();
  std::int64_t bytes = 0;
  const auto add = [&](const std::vector<View>& views) {
    bytes += backend.prepared_bytes(views, false);
  };
  for (const auto& [number, linear] : plan.linears) {
    std::vector<View> stack;
    for (const Strided& a : linear.a) stack.push_back(a.view());
    add(stack);
    for (const PlannedPart& part : linear.parts) {
      View view = part.b.view();
      view.rows = part.target->rows;
      add({view});
    }
  }
  if (plan.embedding != nullptr) {
    const MatrixPair m = embedding_matrices(*plan.embedding, file.naming);
    add({m.a.view()});
    add({m.b.view()});
  }
  return bytes;
}

AdapterIdentity adapter_identity(const AdapterFile& file) {
  XXH3_state_t state;
  XXH3_INITSTATE(&state);
  XXH3_128bits_reset(&state);
  for (const AdapterPair& pair : file.pairs) {
    hash_text(state, pair.module);
    XXH3_128bits_update(&state, &pair.scale, sizeof pair.scale);
    hash_tensor(state, *pair.a);
    hash_tensor(state, *pair.b);
  }
  const std::uint64_t pairs = file.pairs.size();
  XXH3_128bits_update(&state, &pairs, sizeof pairs);
  for (const std::int32_t token : file.invocation_tokens) {
    XXH3_128bits_update(&state, &token, sizeof token);
  }
  const bool old = file.old_parameters;
  XXH3_128bits_update(&state, &old, sizeof old);
  const XXH128_hash_t hash = XXH3_128bits_digest(&state);
  return {hash.low64, hash.high64};
}

namespace {

std::string_view last_part(std::string_view path) {
  while (path.ends_with('/')) path.remove_suffix(1);
  return path.substr(path.rfind('/') + 1);
}

std::string lower(std::string_view text) {
  std::string name(text);
  std::transform(name.begin(), name.end(), name.begin(),
                 [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c; });
  return name;
}

/// Returns whether a file's or folder's name says nothing about the model: "model.gguf", or the
/// revision of a snapshot.
bool is_no_name(std::string_view name) {
  constexpr std::size_t kRevisionDigits = 40;
  const bool is_revision = name.size() == kRevisionDigits &&
                           name.find_first_not_of("0123456789abcdef") == std::string_view::npos;
  return name.empty() || name.starts_with("model.") || name.starts_with("model-") || is_revision;
}

}  // namespace

std::string base_model_warning(const AdapterFile& file, std::string_view model_name) {
  const std::string wanted = lower(last_part(file.base_model)), has = lower(last_part(model_name));
  if (is_no_name(wanted) || is_no_name(has)) return {};
  if (wanted.starts_with(has) || has.starts_with(wanted)) return {};
  return cat("adapter ", printable(file.name), " names the base model ", printable(file.base_model),
             ", but the model is ", printable(std::string(last_part(model_name))));
}

}  // namespace ingot
