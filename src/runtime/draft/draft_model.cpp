// DraftModel: compares vocabularies, plans the draft's memory, and makes the drafter.
#include "runtime/draft/draft_model.h"

#include <algorithm>
#include <array>
#include <string_view>
#include <utility>

#include "backend/backends.h"
#include "base/error.h"
#include "base/index.h"
#include "base/text.h"

namespace ingot {

namespace {

/// Bytes of a token that an error shows.
constexpr std::size_t kPieceShown = 32;

std::string_view type_name(TokenType type) {
  constexpr std::array<std::string_view, 7> kNames{
      "", "normal", "unknown", "control", "user-defined", "unused", "byte"};
  return at(kNames, type);
}

/// Describes a token for an error: `"the" (normal)`.
std::string described(const Tokenizer& tokenizer, std::int32_t id) {
  if (id >= tokenizer.size()) return "missing";
  return cat("\"", printable(std::string(tokenizer.piece(id)), kPieceShown), "\" (",
             type_name(tokenizer.type(id)), ")");
}

bool is_same(const Tokenizer& a, const Tokenizer& b, std::int32_t id) {
  if (id >= std::min(a.size(), b.size())) return false;
  const TokenType type = a.type(id);
  return type == b.type(id) && (type == TokenType::kUnused || a.piece(id) == b.piece(id));
}

const Tokenizer& tokenizer_of(const Instance& one, const Instance& draft) {
  if (one.tokenizer() != nullptr) return *one.tokenizer();
  throw model_error(draft.name(), "tokenizer",
                    cat(one.name(),
                        " has no tokenizer, so the tokens of a draft model cannot be "
                        "compared with those of its target"));
}

/// The draft's options: those of a model that only drafts for `target`.
InstanceOptions draft_options(InstanceOptions options, Instance& target) {
  options.adapters.clear();
  options.end_ids.clear();
  options.context = target.executor().limits().context;
  // A limit of 0 would mean none.
  options.memory_limit = std::max<std::int64_t>(1, target.memory_left());
  return options;
}

}  // namespace

void require_same_tokens(const Instance& draft, const Instance& target) {
  const Tokenizer& theirs = tokenizer_of(target, draft);
  const Tokenizer& own = tokenizer_of(draft, draft);
  for (std::int32_t id = 0; id < std::max(own.size(), theirs.size()); ++id) {
    if (is_same(own, theirs, id)) continue;
    throw model_error(draft.name(), "tokenizer",
                      cat("token ", id, " is ", described(own, id), ", but ", described(theirs, id),
                          " in ", target.name(), ": a draft model needs its target's tokens"));
  }
}

DraftModel::DraftModel(ThreadPool& pool, const InstanceOptions& options, Instance& target,
                       const StartOptions& target_options, Start start, DraftErrorReport report)
    : instance_(pool, draft_options(options, target)) {
  instance_.require(ModelUse::kText);
  require_same_tokens(instance_, target);
  start(instance_, start_options(target, target_options));
  drafter_ = std::make_unique<ModelDrafter>(
      instance_.executor(), pool, find_host_kernels(options.isa),
      std::min(instance_.sampled_ids(), target.sampled_ids()), std::move(report));
  drafter_->warm_up();
}

StartOptions DraftModel::start_options(Instance& target, const StartOptions& target_options) const {
  const ExecutorLimits& limits = target.executor().limits();
  StartOptions start{.model = {.check_tensors = target_options.model.check_tensors},
                     .context = limits.context,
                     .sequences = limits.sequences,
                     // Most sequences miss two rows: an accepted draft, and the token behind it.
                     .rows = std::max(limits.rows, 2 * limits.sequences),
                     .generates = true};
  const std::int32_t wanted = target_options.pool_sequences;
  const std::int32_t fitting = instance_.fitting_pool(start);
  start.pool_sequences = wanted > 0 ? std::min(wanted, fitting) : fitting;
  return start;
}

std::shared_ptr<Drafter> open_draft_model(ThreadPool& pool, const InstanceOptions& options,
                                          Instance& target, const StartOptions& target_options,
                                          DraftModel::Start start, DraftErrorReport report) {
  const auto model =
      std::make_shared<DraftModel>(pool, options, target, target_options, start, std::move(report));
  return {model, &model->drafter()};
}

}  // namespace ingot
