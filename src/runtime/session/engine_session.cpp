// Saves and restores sessions: copies blocks in the engine's thread, uses files in the caller's.
#include "runtime/session/engine_session.h"

#include <algorithm>
#include <utility>

#include "runtime/session/session_copy.h"

namespace ingot {

std::int64_t save_session(Engine& engine, const std::string& path, Session session,
                          const PrefixKey& key) {
  session.model = session_model(engine.cache(), session.model.weights);
  SessionReader reader(session.tokens, key, engine.cache(), engine.prefixes());
  engine.between_steps([&] { reader.find(); });
  while (reader.prepare(engine.options().session_bytes)) {
    engine.between_steps([&] { reader.read(); });
  }
  const SessionBlocks blocks = reader.blocks();
  write_session(path, session, blocks,
                [&](std::int64_t i, std::int32_t g, std::span<std::byte> out) {
                  const std::span<const std::byte> rows = reader.rows(i, g);
                  std::copy(rows.begin(), rows.end(), out.begin());
                });
  return blocks.blocks * kBlockTokens;
}

std::int64_t restore_session(Engine& engine, const SessionFile& file,
                             const ModelFingerprint& weights, const PrefixKey& key) {
  file.require_model(session_model(engine.cache(), weights));
  if (engine.prefixes() == nullptr) return 0;
  SessionLoader loader(file, key, engine.cache(), *engine.prefixes());
  engine.between_steps([&] { loader.find(); });
  while (loader.prepare(engine.options().session_bytes)) {
    engine.between_steps([&] { loader.load(); });
  }
  return loader.tokens();
}

}  // namespace ingot
