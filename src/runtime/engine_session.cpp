// Engine: sessions out of the prefix index and back into it.
#include <algorithm>

#include "runtime/engine.h"
#include "runtime/session/session_copy.h"

namespace ingot {

std::int64_t Engine::save_session(const std::string& path, Session session,
                                  const std::array<std::uint64_t, 2>& domain) {
  session.model = session_model(steps_->cache(), session.model.weights);
  SessionReader reader(session.tokens, {.domain = domain}, steps_->cache(), scheduler_.prefixes());
  between_steps([&] { reader.find(); });
  while (reader.prepare(options_.session_bytes)) between_steps([&] { reader.read(); });
  const SessionBlocks blocks = reader.blocks();
  write_session(path, session, blocks,
                [&](std::int64_t i, std::int32_t g, std::span<std::byte> out) {
                  const std::span<const std::byte> rows = reader.rows(i, g);
                  std::copy(rows.begin(), rows.end(), out.begin());
                });
  return blocks.blocks * kBlockTokens;
}

std::int64_t Engine::restore_session(const SessionFile& file, const ModelFingerprint& weights,
                                     const std::array<std::uint64_t, 2>& domain) {
  file.require_model(session_model(steps_->cache(), weights));
  if (scheduler_.prefixes() == nullptr) return 0;
  SessionLoader loader(file, {.domain = domain}, steps_->cache(), *scheduler_.prefixes());
  between_steps([&] { loader.find(); });
  while (loader.prepare(options_.session_bytes)) between_steps([&] { loader.load(); });
  return loader.tokens();
}

}  // namespace ingot
