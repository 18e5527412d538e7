// Declaring the options of `ingot serve`.
#include "cli/options/serve_options.h"

#include "base/text.h"
#include "cli/options/chat_input.h"
#include "cli/options/options.h"

namespace ingot {

namespace {

void add_address(CLI::App& app, ServerValues& v) {
  add_text(app, v.host,
           {.name = "--host",
            .help = "Address to listen on; localhost is 127.0.0.1 and ::1",
            .takes = "ADDRESS"});
  add_number(app, v.port,
             {.name = "--port", .help = "Port; 0: the system picks one", .low = 0, .high = 65535});
  add_text(app, v.unix_socket, "--unix-socket",
           "A path to listen on too, which only its owner can use");
  add_text(
      app, v.admin_socket, "--admin-socket",
      "A path for administration (POST /admin/drain, /admin/flush-cache, /admin/check; metrics "
      "without a key), which only its owner can use");
  add_text(app, v.tls_cert, "--tls-cert", "Certificate chain (PEM): the server speaks TLS");
  add_text(app, v.tls_key, "--tls-key", "The certificate's private key (PEM)");
  need(app, "--tls-cert", "--tls-key");
  need(app, "--tls-key", "--tls-cert");
}

void add_access(CLI::App& app, ServerValues& v) {
  add_text(
      app, v.api_key_file, "--api-key-file",
      "API keys, one a line: KEY or ID:KEY, of at least 16 characters, in a file that only its "
      "owner can read. INGOT_API_KEY in the environment holds one too");
  add_switch(app, v.no_auth, "--i-accept-no-auth",
             "Listen on addresses that others reach without API keys");
  add_texts(app, v.allowed_hosts, "--allowed-hosts",
            "A name that clients may call the server by in Host, besides localhost; * for any");
  add_texts(app, v.cors_origins, "--cors-origin",
            "An origin whose pages may use the API: https://example.org; * for any, with API keys");
}

void add_sharing(CLI::App& app, ServerValues& v) {
  add_switch(app, v.no_prefix_cache, "--no-prefix-cache",
             "Compute every prompt anew, whatever others began with");
  add_texts(
      app, v.operator_keys, "--operator-key",
      "The ID of an API key that sees all of /metrics. With several keys what tells how much of "
      "others' prompts was cached is on the admin socket alone for all others");
  add_texts(app, v.key_weights, "--key-weight",
            "ID=WEIGHT: while several API keys have requests waiting, the one of this ID gets so "
            "many times the tokens of a key that is not named (0.01 to 100)");
}

void add_load(CLI::App& app, ServerValues& v) {
  add_number(app, v.sequences,
             {.name = "--sequences",
              .help = cat("Requests that run at once (default: ", kSequencesLeast, ", or one for ",
                          kTokensOfSequence, " of --kv-tokens, at most ", kSequencesMost, ")"),
              .low = 0,
              .high = 4096,
              .show_default = false});
  add_number(app, v.step_rows,
             {.name = "--step-rows",
              .help = "Tokens that a step computes at most, of all that run",
              .low = 1,
              .high = 16384});
  add_number(app, v.kv_tokens,
             {.name = "--kv-tokens",
              .help = cat("Tokens whose keys and values are kept, of all requests (default: ",
                          kKvTokensDefault, ", or what fits)"),
              .low = 0,
              .high = std::int64_t{1} << 40,
              .show_default = false});
  add_number(app, v.queue,
             {.name = "--queue",
              .help = "Requests that may wait; more are answered 429",
              .low = 1,
              .high = 65536});
  add_number(app, v.target_itl_ms,
             {.name = "--target-itl-ms",
              .help = "Milliseconds between two tokens to keep to while prompts come in; 0: in "
                      "proportion to steps without them",
              .low = 0,
              .high = 60000});
  add_number(
      app, v.max_ttft_ms,
      {.name = "--max-ttft-ms",
       .help = "Milliseconds to the first token. Who would wait for more than half of it is "
               "answered 429 at once, and who is late all the same 503: under overload those "
               "that are taken are served in time; 0: no limit",
       .low = 0,
       .high = 86'400'000});
  add_switch(app, v.by_priority, "--by-priority",
             "Requests of smaller `priority` first; they are served in their order without it");
}

void add_times(CLI::App& app, ServerValues& v) {
  add_number(app, v.queue_timeout,
             {.name = "--queue-timeout",
              .help = "Seconds that a request may wait for its turn; it is answered 503 then",
              .low = 1,
              .high = 86400});
  add_number(app, v.request_timeout,
             {.name = "--request-timeout",
              .help = "Seconds that a request may take in all",
              .low = 1,
              .high = 86400});
  add_number(app, v.drain_timeout,
             {.name = "--drain-timeout",
              .help = "Seconds that requests have to end in after SIGTERM",
              .low = 0,
              .high = 3600});
  add_number(app, v.write_stall,
             {.name = "--write-stall",
              .help = "Seconds after which a client that takes nothing is given up",
              .low = 1,
              .high = 3600});
  add_number(app, v.idle_timeout,
             {.name = "--idle-timeout",
              .help = "Seconds that a connection may wait for its next request",
              .low = 1,
              .high = 3600});
  add_number(app, v.stream_interval_ms,
             {.name = "--stream-interval-ms",
              .help = "Tokens of a stream that come within the same interval of so many "
                      "milliseconds go out together; 0: each at once. Without it each at once "
                      "while a thread's streams have few, else intervals of up to 102 ms, longer "
                      "the more streams there are",
              .low = 0,
              .high = 1000});
}

void add_limits(CLI::App& app, ServerValues& v) {
  add_number(app, v.connections,
             {.name = "--connections", .help = "Connections at once", .low = 1, .high = 65536});
  add_number(app, v.body_mib,
             {.name = "--max-body-mib", .help = "MiB of a request's body", .low = 1, .high = 256});
  add_number(app, v.default_max_tokens,
             {.name = "--default-max-tokens",
              .help = "Tokens of a chat that does not say how many, as far as there is room",
              .low = 1,
              .high = 1'000'000'000});
}

void add_operation(CLI::App& app, ServerValues& v) {
  add_switch(app, v.exit_on_stall, "--exit-on-stall",
             "End with exit code 70 when a step of the engine takes longer than a minute");
  add_switch(app, v.sandbox, "--sandbox",
             "Give up what serving does not need before the first request: starting programs, "
             "making connections, opening files (Linux: no_new_privs, Landlock, seccomp)");
  add_switch(app, v.log_requests, "--log-requests",
             "Write a line of JSON on stderr for each request: not what it says");
  add_switch(app, v.log_content, "--log-content",
             "Write what requests and responses say there too, up to 64 KiB of each: for finding "
             "faults, with the consent of those who wrote it");
}

}  // namespace

void add_server_options(CLI::App& app, ServerValues& values) {
  add_model_options(app, values.model);
  add_address(app, values);
  add_access(app, values);
  add_text(app, values.model_name, "--model-name",
           "The name that clients send as `model` (default: the file's)");
  add_text(app, values.chat_template, "--template", template_help());
  add_sharing(app, values);
  add_load(app, values);
  add_times(app, values);
  add_limits(app, values);
  add_operation(app, values);
}

}  // namespace ingot
