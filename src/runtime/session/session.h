// Session: tokens and sampling parameters of a sequence, to continue it in another process.
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

/// The shape of a layer's keys and values.
struct SessionShape {
  std::int32_t kv_heads = 0;
  std::int32_t head_dim = 0;
  std::int32_t value_dim = 0;  ///< elements of a value; 0: values are a part of the keys
  std::int32_t source = -1;    ///< layer whose keys and values the layer reads; -1: its own

  bool operator==(const SessionShape&) const = default;
};

/// Everything that decides keys and values, apart from the tokens. If this struct is equal in two
/// processes, one process can continue from the other's KV cache and compute equal bits.
///
/// Layers of equal shapes have `kv_heads` and `head_dim`. If shapes differ, both are 0 and `shapes`
/// has them.
struct SessionModel {
  ModelFingerprint weights{};
  std::int32_t order_version = kOrderVersion;
  std::string numerics = kNumericsProfile;
  KvType kv_type = KvType::kF16;
  std::int32_t kv_heads = 0;
  std::int32_t head_dim = 0;
  std::vector<std::int32_t> windows{};  ///< window of each layer in tokens; 0 = none
  std::vector<SessionShape> shapes{};   ///< empty: all layers have equal shapes

  bool operator==(const SessionModel&) const = default;
};

/// Returns "F32", "F16", "BF16" or "INT8".
std::string_view to_string(KvType type);

/// Makes the SessionModel of a model from its Spec, before a KvCache exists. `numerics`: name of
/// the order in which the backend computes.
SessionModel session_model(const Spec& spec, KvType type, std::string_view numerics,
                           const ModelFingerprint& weights);
/// Makes the SessionModel of a model whose layers are all in `cache`.
SessionModel session_model(const KvCache& cache, const ModelFingerprint& weights);

/// The layers of a model that have equal windows and shapes and share block tables: see kv_groups.
struct SessionGroup {
  std::int32_t window = 0;
  SessionShape shape{};
  std::int64_t block_bytes = 0;  ///< bytes of a block in KvRows format, for all layers of the group
};

/// Groups a model's layers by window and shape, in the order of each group's first layer.
std::vector<SessionGroup> session_groups(const SessionModel& model);

/// Tokens, and what is needed to continue them: the next token depends only on the tokens, the
/// parameters and the number of drawn tokens.
struct Session {
  SessionModel model;
  std::vector<std::int32_t> tokens{};
  std::int64_t generated = 0;  ///< number of drawn tokens, which are the last ones of `tokens`
  /// Sampling parameters. `end_ids` lacks the model's own end tokens. `logprobs` is off.
  SamplingParams sampling{};
  std::vector<std::string> stop{};
  bool ignore_eos = false;
};

/// Makes the session of a request for which the tokens `drawn` were drawn.
Session session_of(const Request& request, std::span<const std::int32_t> drawn);
/// Makes a request that continues a session. The caller must set max_tokens, which is still 0.
Request request_of(const Session& session);
/// Checks a session like a request, with `check_request`, but allows any length.
///
/// Errors: those of `check_request`.
void check_session(const Session& session, RequestLimits limits);

}  // namespace ingot
