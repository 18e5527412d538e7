// The table of options of `ingot serve`: a new option is one row.
#include "cli/options/serve_options.h"

#include "base/text.h"
#include "cli/options/chat_input.h"

namespace ingot {

// long: one table.
std::vector<OptionRow> server_option_rows(ServerConfig& c) {
  return {
      // Address.
      {.flag = "--host",
       .value = &c.listen.host,
       .help = "Address to listen on; localhost is 127.0.0.1 and ::1",
       .unit = "ADDRESS"},
      {.flag = "--port",
       .value = &c.listen.port,
       .help = "Port; 0: the system picks one",
       .low = 0,
       .high = 65535},
      {.flag = "--unix-socket",
       .value = &c.listen.unix_socket,
       .help = "A path to listen on too, which only its owner can use"},
      {.flag = "--admin-socket",
       .value = &c.listen.admin_socket,
       .help = "A path for administration (POST /admin/drain, /admin/flush-cache, /admin/check; "
               "metrics without a key), which only its owner can use"},
      {.flag = "--tls-cert",
       .value = &c.listen.tls_cert,
       .help = "Certificate chain (PEM): the server speaks TLS",
       .needs = "--tls-key"},
      {.flag = "--tls-key",
       .value = &c.listen.tls_key,
       .help = "The certificate's private key (PEM)",
       .needs = "--tls-cert"},

      // Access.
      {.flag = "--api-key-file",
       .value = &c.access.api_key_file,
       .help = "API keys, one a line: KEY or ID:KEY, of at least 16 characters, in a file that "
               "only its owner can read. INGOT_API_KEY in the environment holds one too"},
      {.flag = "--i-accept-no-auth",
       .value = &c.access.no_auth,
       .help = "Listen on addresses that others reach without API keys"},
      {.flag = "--allowed-hosts",
       .value = &c.access.allowed_hosts,
       .help = "A name that clients may call the server by in Host, besides localhost; * for any"},
      {.flag = "--cors-origin",
       .value = &c.access.cors_origins,
       .help = "An origin whose pages may use the API: https://example.org; * for any, with API "
               "keys"},
      {.flag = "--operator-key",
       .value = &c.access.operator_keys,
       .help =
           "The ID of an API key that loads and unloads adapters of --lora-dir, and sees all of "
           "/metrics. Other keys do not see counts that depend on the cached prompts of "
           "several keys; the admin socket does"},
      {.flag = "--key-weight",
       .value = &c.access.key_weights,
       .help = "ID=WEIGHT: while several API keys have requests waiting, this key gets WEIGHT "
               "times the tokens of a key without a weight (0.01 to 100)"},

      // Model.
      {.flag = "--model-name",
       .value = &c.model_names,
       .help = "A name that clients may send as `model`; the first is the model's own (default: "
               "the file's)"},
      {.flag = "--any-model",
       .value = &c.any_model,
       .help = "Serve requests for unknown models with this model, and warn in their responses"},
      {.flag = "--template", .value = &c.chat_template.source, .help = template_help()},
      {.flag = "--template-name", .value = &c.chat_template.name, .help = template_name_help()},
      {.flag = "--lora-dir",
       .value = &c.lora_dir,
       .help = "A folder of adapters: requests that name a folder in it load this adapter"},
      {.flag = "--max-loras",
       .value = &c.max_loras,
       .help = "Adapters that are loaded at once",
       .low = 1,
       .high = 256},
      {.flag = "--no-prefix-cache",
       .value = &c.prefix_cache,
       .help = "Compute every prompt from its first token, even if it begins as an earlier one"},

      // Load.
      {.flag = "--sequences",
       .value = &c.sequences,
       .help = cat("Requests that run at once (default: ", kSequencesMin, ", or one for each ",
                   kTokensPerSequence, " --kv-tokens, at most ", kSequencesMax, ")"),
       .low = 0,
       .high = 4096,
       .show_default = false},
      {.flag = "--step-rows",
       .value = &c.step_rows,
       .help = "Tokens that one step computes at most, over all requests",
       .low = 1,
       .high = 16384},
      {.flag = "--kv-tokens",
       .value = &c.kv_tokens,
       .help = cat("Tokens whose keys and values are kept, over all requests (default: ",
                   kKvTokensDefault, ", or what fits)"),
       .low = 0,
       .high = double{std::int64_t{1} << 40},
       .show_default = false},
      {.flag = "--queue",
       .value = &c.requests.queue,
       .help = "Requests that may wait; further ones are answered 429",
       .low = 1,
       .high = 65536},
      {.flag = "--target-itl-ms",
       .value = &c.target_itl_ms,
       .help = "Time between two tokens of a stream while prompts come in; 0: in proportion to "
               "steps without prompts",
       .low = 0,
       .high = 60000,
       .unit = "MILLISECONDS"},
      {.flag = "--max-ttft-ms",
       .value = &c.requests.max_ttft_ms,
       .help = "Time to the first token. A request that would wait for more than half of it is "
               "answered 429 at once, one that is late all the same 503; 0: no limit",
       .low = 0,
       .high = 86'400'000,
       .unit = "MILLISECONDS"},
      {.flag = "--by-priority",
       .value = &c.requests.by_priority,
       .help = "Requests of smaller `priority` first, instead of in the order of their arrival"},
      {.flag = "--default-max-tokens",
       .value = &c.requests.max_tokens_default,
       .help = "`max_tokens` of a chat that does not say, as far as there is room",
       .low = 1,
       .high = 1'000'000'000},

      // Times.
      {.flag = "--queue-timeout",
       .value = &c.requests.queue_seconds,
       .help = "Time that a request may wait until it runs; then it is answered 503",
       .low = 1,
       .high = 86400,
       .unit = "SECONDS"},
      {.flag = "--request-timeout",
       .value = &c.requests.request_seconds,
       .help = "Time that a request may take from its arrival to its end",
       .low = 1,
       .high = 86400,
       .unit = "SECONDS"},
      {.flag = "--drain-timeout",
       .value = &c.requests.drain_seconds,
       .help = "Time that running requests have after SIGTERM",
       .low = 0,
       .high = 3600,
       .unit = "SECONDS"},
      {.flag = "--write-stall",
       .value = &c.times.write_stall,
       .help = "Time without progress after which a client that does not read is dropped",
       .low = 1,
       .high = 3600,
       .unit = "SECONDS"},
      {.flag = "--idle-timeout",
       .value = &c.times.idle,
       .help = "Time that a connection may wait for its next request",
       .low = 1,
       .high = 3600,
       .unit = "SECONDS"},
      {.flag = "--stream-interval-ms",
       .value = &c.times.gather,
       .help = "Tokens of a stream that come within one such interval go out together; 0: each at "
               "once. By default each at once while a thread has few streams, and intervals of "
               "up to 102 ms the more there are",
       .low = 0,
       .high = 1000,
       .unit = "MILLISECONDS"},

      // Limits.
      {.flag = "--connections",
       .value = &c.listen.connections_max,
       .help = "Connections at once",
       .low = 1,
       .high = 65536},
      {.flag = "--max-body-mib",
       .value = &c.listen.http.body_bytes_max,
       .help = "Size of a request's body",
       .low = 1,
       .high = 256,
       .unit = "MIB"},

      // Operation.
      {.flag = "--exit-on-stall",
       .value = &c.exit_on_stall,
       .help = "End with exit code 70 when a step of the engine takes longer than a minute"},
      {.flag = "--sandbox",
       .value = &c.sandbox,
       .help = "Give up what serving does not need before the first request: starting programs, "
               "making connections, opening files (Linux: no_new_privs, Landlock, seccomp)"},
      {.flag = "--log-requests",
       .value = &c.log_requests,
       .help = "Write a line of JSON on stderr for each request, without its contents"},
      {.flag = "--log-content",
       .value = &c.log_content,
       .help = "Write the contents of requests and responses there too, up to 64 KiB of each: for "
               "finding faults, with the consent of the users"},
  };
}

void add_server_options(CLI::App& app, ServerValues& values) {
  add_model_options(app, values.model);
  add_adapter_options(app, values.model.adapters, false);
  add_draft_options(app, values.model.draft);
  add_options(app, server_option_rows(values.server));
  exclude(app, "--any-model", {"--lora", "--lora-dir"});
  exclude(app, "--template", {"--template-name"});
}

}  // namespace ingot
