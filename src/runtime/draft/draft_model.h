// DraftModel: opens a draft model beside a target model, and checks that both have the same tokens.
#pragma once

#include <memory>

#include "base/function_ref.h"
#include "runtime/draft/model_drafter.h"
#include "runtime/instance.h"

namespace ingot {

/// Checks that the tokenizers of a draft model and its target have the same tokens: bytes and type
/// of each id. The embedding matrices may have more rows.
///
/// Errors: model_error of the draft's file that names the first difference.
void require_same_tokens(const Instance& draft, const Instance& target);

/// A draft model, its KV cache and its drafter.
class DraftModel {
 public:
  /// Starts an instance with options: see Instance::start.
  using Start = FunctionRef<void(Instance& draft, const StartOptions& options)>;

  /// Opens the draft model of `options` and checks it. Then calls `start` with the target's context
  /// and number of sequences, and a KV pool as large as the target's, or as large as fits into the
  /// memory that the target's plan leaves. `target` was started with `target_options`. `report`:
  /// see ModelDrafter. `pool` and `target` must outlive this object.
  ///
  /// Errors: those of Instance, of `require_same_tokens` and of `start`; model_error for a draft
  /// model that generates no text.
  DraftModel(ThreadPool& pool, const InstanceOptions& options, Instance& target,
             const StartOptions& target_options, Start start, DraftErrorReport report);

  const Instance& instance() const { return instance_; }
  Drafter& drafter() { return *drafter_; }

 private:
  StartOptions start_options(Instance& target, const StartOptions& target_options) const;

  Instance instance_;
  std::unique_ptr<ModelDrafter> drafter_;
};

/// Opens a draft model for SpeculationOptions::model, which then owns it. Arguments and errors:
/// those of DraftModel.
std::shared_ptr<Drafter> open_draft_model(ThreadPool& pool, const InstanceOptions& options,
                                          Instance& target, const StartOptions& target_options,
                                          DraftModel::Start start, DraftErrorReport report);

}  // namespace ingot
