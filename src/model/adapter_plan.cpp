// plan_adapter: finds the rows that each pair of an adapter changes.
#include "model/adapter_plan.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <set>
#include <utility>

#include "backend/adapter.h"
#include "base/error.h"
#include "base/index.h"
#include "base/text.h"
#include "quant/formats.h"

namespace ingot {

namespace {

/// A matrix that a tensor stores as [.., rows, cols], from element `first` on.
StridedMatrix plain(const TensorInfo& t, std::int64_t rows, std::int64_t cols,
                    std::int64_t first = 0) {
  return {.tensor = &t, .rows = rows, .cols = cols, .first = first, .row_step = cols};
}

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
  if (target.unused && plan_.unused_pairs++ == 0) plan_.unused = pair.a;
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
  const StridedMatrix a = plain(*pair.a, r, a_cols, expert * r * a_cols);
  const StridedMatrix b{.tensor = pair.b,
                        .rows = b_rows,
                        .cols = r,
                        .first = expert,
                        .row_step = r * experts,
                        .col_step = experts};
  if (!reversed) return {a, b};
  return {b.transposed(), a.transposed()};
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
    for (const StridedMatrix& a : linear.a) first += a.rows;
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

/// The roles of single experts, which PEFT reaches as modules in some versions of transformers.
constexpr std::array kExpertRoles{TensorRole::kExpertGate, TensorRole::kExpertUp,
                                  TensorRole::kExpertDown};

bool is_expert(TensorRole role) {
  return std::find(kExpertRoles.begin(), kExpertRoles.end(), role) != kExpertRoles.end();
}

/// Whether PEFT gives a pair to modules of a role that the configuration names. `has`: the roles
/// that have pairs. Versions of transformers differ in whether routers and single experts are
/// linear modules, so the file shows whether they were.
bool is_wrapped(TensorRole role, const std::set<TensorRole>& has, bool all_linear) {
  switch (role) {
    case TensorRole::kExpertGateUp:
    case TensorRole::kExpertGateUpTurned:
    case TensorRole::kExpertDownTurned:
      return false;  // parameters, no modules
    case TensorRole::kEmbedding:
    case TensorRole::kLayerEmbedding:
    case TensorRole::kHead:
      return !all_linear;
    case TensorRole::kRouter:
      return !all_linear || has.contains(role);
    default:
      return !is_expert(role) || std::any_of(has.begin(), has.end(), is_expert);
  }
}

/// Each module to which PEFT gives a pair has it.
void AdapterPlanner::check_scope() const {
  if (file_.scope == nullptr) return;
  std::set<std::string_view> pairs;
  std::string_view prefix = kModelPrefix;
  for (const AdapterPair& pair : file_.pairs) {
    pairs.insert(pair.module);
    prefix = targets_.prefix_of(pair.module).value_or(prefix);
  }
  std::set<TensorRole> roles;
  std::vector<ScopeModule> without;
  for (ScopeModule& module : targets_.scope_modules(prefix)) {
    const bool has_pair = std::any_of(module.names.begin(), module.names.end(),
                                      [&](const auto& name) { return pairs.contains(name); });
    if (has_pair) {
      roles.insert(module.role);
    } else {
      without.push_back(std::move(module));
    }
  }
  for (const ScopeModule& module : without) {
    const bool wrapped = is_wrapped(module.role, roles, file_.scope->is_all_linear());
    for (const std::string& name : module.names) {
      if (!file_.scope->targets_parameter(name) && !(wrapped && file_.scope->targets(name))) {
        continue;
      }
      throw model_error(
          file_.tensor_file, "header",
          cat("the configuration names ", name, ", but the tensors of its pair are missing"));
    }
  }
}

}  // namespace

StridedMatrix StridedMatrix::transposed() const {
  StridedMatrix m = *this;
  std::swap(m.rows, m.cols);
  std::swap(m.row_step, m.col_step);
  return m;
}

View StridedMatrix::view() const {
  return {nullptr, format(), rows, cols, row_bytes(format(), cols)};
}

std::vector<std::byte> gathered(const StridedMatrix& m, std::int64_t rows,
                                FunctionRef<std::int64_t(std::int64_t)> row_of) {
  const std::int64_t size = format_info(m.format()).block_bytes;
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

std::vector<std::byte> gathered(const StridedMatrix& m) {
  return gathered(m, m.rows, [](std::int64_t i) { return i; });
}

const StridedMatrix& PlannedLinear::a_of(const PlannedPart& part) const {
  std::int64_t rank = 0;
  std::size_t i = 0;
  while (rank < part.first_rank) rank += a[i++].rows;
  return a[i];
}

std::string AdapterPlan::unused_warning() const {
  if (unused == nullptr) return {};
  return cat(unused_pairs, " pairs have no effect, the first with tensor ", printable(unused->name),
             ": their layers read keys and values of other layers");
}

AdapterPlan plan_adapter(const AdapterFile& file, const AdapterTargets& targets) {
  return AdapterPlanner(file, targets).plan();
}

MatrixPair embedding_matrices(const AdapterPair& pair, Naming naming) {
  const std::int64_t r = pair.rank;
  const StridedMatrix a = plain(*pair.a, pair.a->shape[0], pair.a->shape[1]);
  return {naming == Naming::kGguf ? a : a.transposed(), plain(*pair.b, pair.b->shape[0], r)};
}

}  // namespace ingot
