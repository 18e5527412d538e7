// Session: a sequence's tokens and parameters, which another process continues.
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

/// Everything that keys and values depend on besides tokens. If all of it is equal, one process can
/// continue with another's keys and values, to the same bits.
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

/// The SessionModel of a model without a cache.
SessionModel session_model(const Spec& spec, KvType type, const ModelFingerprint& weights);
/// The SessionModel of a model whose layers are all in `cache`.
SessionModel session_model(const KvCache& cache, const ModelFingerprint& weights);

/// Layers of one window, which share block tables: see kv_groups.
struct SessionGroup {
  std::int32_t window = 0;
  std::int64_t block_bytes = 0;  ///< bytes of KvRows of one block, all layers together
};

/// The groups of a model's layers, in the order of their first layers.
std::vector<SessionGroup> session_groups(const SessionModel& model);

/// Tokens and how to continue them. The next token depends on the parameters and the number of
/// drawn tokens alone, so there is no other state.
struct Session {
  SessionModel model;
  std::vector<std::int32_t> tokens{};
  std::int64_t generated = 0;  ///< how many of the last tokens were drawn
  /// Its `end_ids` exclude the model's own; `logprobs` is not kept.
  SamplingParams sampling{};
  std::vector<std::string> stop{};
  bool ignore_eos = false;
};

/// The session of a request for which `drawn` was drawn.
Session session_of(const Request& request, std::span<const std::int32_t> drawn);
/// A request that continues a session. Its max_tokens is 0.
Request request_of(const Session& session);
/// Checks a session like a request that continues it, except for its length.
///
/// Errors: those of `check_request`.
void check_session(const Session& session, RequestLimits limits);

}  // namespace ingot
