// save_session and restore_session: copy a chat's tokens, keys and values between engine and file.
#pragma once

#include <cstdint>
#include <string>

#include "runtime/engine.h"
#include "runtime/session/session_file.h"

namespace ingot {

/// Writes a session to `path`, with the cached keys and values of its tokens. `key` is that of
/// the session's requests. The caller sets only `weights` in `session.model`. Copies a
/// few blocks between two steps, so that other requests continue. A block that is evicted before it
/// is copied is missing from the file. Returns how many tokens have keys in the file.
///
/// Errors: Error{kIo}; those of Engine::between_steps; std::bad_alloc.
std::int64_t save_session(Engine& engine, const std::string& path, Session session,
                          const PrefixKey& key = {});

/// Loads a session's keys and values into the prefix cache, so that requests with `key` and the
/// session's tokens find them. Loads a few blocks between two steps, while blocks are available.
/// Requests compute missing keys, with equal bits. Returns how many tokens have cached keys.
///
/// Errors: Error{kModel}, without any change, if the session belongs to another model; Error{kIo};
/// those of Engine::between_steps; std::bad_alloc.
std::int64_t restore_session(Engine& engine, const SessionFile& file,
                             const ModelFingerprint& weights, const PrefixKey& key = {});

}  // namespace ingot
