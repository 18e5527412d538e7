// Error messages for HTTP statuses and the hub's error codes.
#include "hub/hub_error.h"

#include "base/text.h"

namespace ingot {

namespace {

/// Why a request was refused, or its target does not exist; empty for other statuses.
std::string refusal_text(const HttpReply& reply, const ModelName& name, const HubOptions& options) {
  const std::string& code = reply.error_code;
  const bool has_token = !options.token.empty();
  if (code == "GatedRepo" || reply.status == 403) {
    return cat("access is restricted: accept its terms at ", options.endpoint, "/", name.repo,
               has_token ? " with the account of the token in HF_TOKEN"
                         : ", then set HF_TOKEN to a token of that account");
  }
  if (code == "RevisionNotFound") return cat("it has no revision '", name.revision, "'");
  if (code == "EntryNotFound") return "the file is not there";
  if (reply.status == 401 || reply.status == 404) {
    return cat("there is no such model, or it is private: ",
               has_token ? "the token in HF_TOKEN may not read it"
                         : "set HF_TOKEN to a token that may read it");
  }
  return {};
}

}  // namespace

std::string problem_text(const HttpReply& reply) {
  return reply.transport == Transport::kDone ? cat("the server answered ", reply.status)
                                             : reply.problem;
}

Error hub_error(const HttpReply& reply, const ModelName& name, std::string_view what,
                const HubOptions& options) {
  const bool is_reply = reply.transport == Transport::kDone;
  if (const auto text = refusal_text(reply, name, options); is_reply && !text.empty()) {
    return model_error(what, "hub", 0, text);
  }
  return {ErrorCode::kUnavailable,
          cat(printable(what), ": ", problem_text(reply), " (", printable(options.endpoint, 256),
              reply.status == 429 ? ": too many requests)" : ")")};
}

}  // namespace ingot
