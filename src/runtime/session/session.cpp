// Session: describes the session's model, and converts sessions from and to requests.
#include "runtime/session/session.h"

#include <algorithm>
#include <limits>

#include "backend/kv_rows.h"
#include "base/index.h"

namespace ingot {

std::string_view to_string(KvType type) {
  static constexpr std::string_view kNames[] = {"F32", "F16", "BF16", "INT8"};
  return at(kNames, type);
}

SessionModel session_model(const Spec& spec, KvType type, std::string_view numerics,
                           const ModelFingerprint& weights) {
  return {.weights = weights,
          .numerics = std::string(numerics),
          .kv_type = type,
          .kv_heads = spec.kv_heads,
          .head_dim = spec.head_dim,
          .windows = spec.window};
}

SessionModel session_model(const KvCache& cache, const ModelFingerprint& weights) {
  SessionModel model{
      .weights = weights, .numerics = std::string(cache.numerics()), .kv_type = cache.type()};
  for (std::int32_t g = 0; g < cache.groups(); ++g) {
    const KvGroup& group = cache.group(g);
    INGOT_CHECK(g == 0 || (group.kv_heads == model.kv_heads && group.head_dim == model.head_dim),
                "layers of ", group.kv_heads, " heads of ", group.head_dim, " beside others");
    model.kv_heads = group.kv_heads;
    model.head_dim = group.head_dim;
    for (const std::int32_t layer : group.layers) {
      const auto at = to_size(layer);
      model.windows.resize(std::max(model.windows.size(), at + 1));
      model.windows[at] = group.window;
    }
  }
  return model;
}

std::vector<SessionGroup> session_groups(const SessionModel& model) {
  const KvRows rows(model.kv_heads, model.head_dim, model.kv_type);
  std::vector<SessionGroup> groups;
  for (const std::int32_t window : model.windows) {
    auto group = std::find_if(groups.begin(), groups.end(),
                              [&](const SessionGroup& g) { return g.window == window; });
    if (group == groups.end()) group = groups.insert(groups.end(), {.window = window});
    group->block_bytes += rows.block_bytes;
  }
  return groups;
}

Session session_of(const Request& request, std::span<const std::int32_t> drawn) {
  Session session{.model = {},
                  .tokens = request.prompt,
                  .generated = request.continued + std::ssize(drawn),
                  .sampling = request.sampling,
                  .stop = request.stop,
                  .ignore_eos = request.ignore_eos};
  session.tokens.insert(session.tokens.end(), drawn.begin(), drawn.end());
  session.sampling.logprobs = -1;
  return session;
}

Request request_of(const Session& session) {
  Request request;
  request.prompt = session.tokens;
  request.continued = session.generated;
  request.sampling = session.sampling;
  request.stop = session.stop;
  request.ignore_eos = session.ignore_eos;
  return request;
}

void check_session(const Session& session, RequestLimits limits) {
  limits.context = std::numeric_limits<std::int64_t>::max();
  check_request(request_of(session), limits);
}

}  // namespace ingot
