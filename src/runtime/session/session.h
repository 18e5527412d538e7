// Session: a sequence and how it goes on, so that another process can take it up where it stopped.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/order.h"
#include "kv/kv_cache.h"
#include "model/fingerprint.h"
#include "runtime/request.h"

namespace ingot {

/// What keys and values depend on besides tokens: only where all of it is equal can one process go
/// on with those of another, and then to the same bits.
struct SessionModel {
  ModelFingerprint weights{};
  std::int32_t order_version = kOrderVersion;
  std::string numerics = kNumericsProfile;
  KvType kv_type = KvType::kF16;
  std::int32_t kv_heads = 0;
  std::int32_t head_dim = 0;
  std::vector<std::int32_t> windows{};  ///< by layer; 0 = none

  bool operator==(const SessionModel&) const = default;
};

/// "F32", "F16", "BF16" or "INT8".
std::string_view to_string(KvType type);

/// Of a model that is not started yet.
SessionModel session_model(const Spec& spec, KvType type, const ModelFingerprint& weights);
/// Of one whose layers are all in `cache`.
SessionModel session_model(const KvCache& cache, const ModelFingerprint& weights);

/// Layers of one window, whose blocks are kept together: the groups of kv_groups.
struct SessionGroup {
  std::int32_t window = 0;
  std::int64_t block_bytes = 0;  ///< of KvRows, all layers together
};

/// By the first layer of each.
std::vector<SessionGroup> session_groups(const SessionModel& model);

/// Tokens and how they are continued. Drawing is a function of the parameters and of how many
/// tokens were drawn: there is no other state.
struct Session {
  SessionModel model;
  std::vector<std::int32_t> tokens{};
  std::int64_t generated = 0;  ///< of the tokens, the last ones: they were drawn
  /// `end_ids` besides the model's own; `logprobs` is not kept.
  SamplingParams sampling{};
  std::vector<std::string> stop{};
  bool ignore_eos = false;
};

/// The session of a request after `drawn` was drawn for it.
Session session_of(const Request& request, std::span<const std::int32_t> drawn);
/// A request that goes on with a session. Its max_tokens is 0.
Request request_of(const Session& session);
/// A session may ask for no more than a request may, but for its length.
///
/// Errors: Error{kInvalid} as of `check_request`.
void check_session(const Session& session, RequestLimits limits);

}  // namespace ingot
