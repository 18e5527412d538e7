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

namespace {

SessionShape shape_of(const Attention& a, std::int32_t source) {
  return {.kv_heads = a.kv_heads,
          .head_dim = a.head_dim,
          .value_dim = a.values_in_keys ? 0 : a.v_dim(),
          .source = source};
}

/// Sets the shapes of a model's layers: two numbers if all layers have keys and values of the same
/// shape, with values as wide as keys.
void set_shapes(const std::vector<SessionShape>& shapes, SessionModel& model) {
  if (shapes.empty()) return;
  const SessionShape& first = shapes.front();
  const bool equal = std::all_of(shapes.begin(), shapes.end(), [&](const SessionShape& s) {
    return s == first && s.value_dim == s.head_dim && s.source < 0;
  });
  if (equal) {
    model.kv_heads = first.kv_heads;
    model.head_dim = first.head_dim;
  } else {
    model.shapes = shapes;
  }
}

/// The shape of layer `i`.
SessionShape shape_at(const SessionModel& model, std::size_t i) {
  if (!model.shapes.empty()) return model.shapes[i];
  return {.kv_heads = model.kv_heads, .head_dim = model.head_dim, .value_dim = model.head_dim};
}

Attention attention_of(const SessionShape& s) {
  return {.kv_heads = s.kv_heads,
          .head_dim = s.head_dim,
          .value_dim = s.value_dim,
          .values_in_keys = s.value_dim == 0};
}

}  // namespace

SessionModel session_model(const Spec& spec, KvType type, std::string_view numerics,
                           const ModelFingerprint& weights) {
  SessionModel model{.weights = weights, .numerics = std::string(numerics), .kv_type = type};
  std::vector<SessionShape> shapes;
  for (std::int64_t i = 0; i < spec.layers; ++i) {
    shapes.push_back(shape_of(ingot::attention_of(spec, i), spec.layer(i).kv_source));
    model.windows.push_back(spec.layer(i).window);
  }
  set_shapes(shapes, model);
  return model;
}

SessionModel session_model(const KvCache& cache, const ModelFingerprint& weights) {
  SessionModel model{
      .weights = weights, .numerics = std::string(cache.numerics()), .kv_type = cache.type()};
  std::vector<SessionShape> shapes(to_size(cache.layer_count()));
  model.windows.resize(shapes.size());
  for (std::int32_t g = 0; g < cache.groups(); ++g) {
    const KvGroup& group = cache.group(g);
    const auto set = [&](std::int32_t layer, std::int32_t source) {
      at(shapes, layer) = shape_of(group.shape, source);
      at(model.windows, layer) = group.window;
    };
    for (const std::int32_t layer : group.layers) set(layer, -1);
    for (const KvReader& reader : group.readers) set(reader.layer, reader.source);
  }
  set_shapes(shapes, model);
  return model;
}

std::vector<SessionGroup> session_groups(const SessionModel& model) {
  std::vector<SessionGroup> groups;
  for (std::size_t i = 0; i < model.windows.size(); ++i) {
    const SessionShape shape = shape_at(model, i);
    if (shape.source >= 0) continue;
    auto group = std::find_if(groups.begin(), groups.end(), [&](const SessionGroup& g) {
      return g.window == model.windows[i] && g.shape == shape;
    });
    if (group == groups.end()) {
      group = groups.insert(groups.end(), {.window = model.windows[i], .shape = shape});
    }
    group->block_bytes += KvRows(attention_of(shape), model.kv_type).block_bytes;
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
