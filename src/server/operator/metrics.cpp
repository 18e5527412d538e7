// GET /metrics: counts in Prometheus' text form, with vLLM's names.
#include <prometheus/metric_family.h>
#include <prometheus/text_serializer.h>

#include "backend/batch.h"
#include "base/system_memory.h"
#include "server/common/service.h"
#include "server/operator/endpoints.h"

namespace ingot {

namespace {

using prometheus::ClientMetric;
using prometheus::MetricFamily;
using prometheus::MetricType;

/// Collects metric families.
class Families {
 public:
  explicit Families(std::string model) : model_(std::move(model)) {}

  void counter(const std::string& name, const std::string& help, auto value) {
    ClientMetric metric;
    metric.counter.value = static_cast<double>(value);
    add(name, help, MetricType::Counter, std::move(metric));
  }
  void gauge(const std::string& name, const std::string& help, auto value) {
    ClientMetric metric;
    metric.gauge.value = static_cast<double>(value);
    add(name, help, MetricType::Gauge, std::move(metric));
  }
  void histogram(const std::string& name, const std::string& help, const Histogram& from) {
    ClientMetric metric;
    std::uint64_t count = 0;
    for (std::size_t i = 0; i < from.bounds().size(); ++i) {
      count += from.counts()[i];
      metric.histogram.bucket.push_back(
          {.cumulative_count = count, .upper_bound = from.bounds()[i]});
    }
    metric.histogram.sample_count = from.count();
    metric.histogram.sample_sum = from.sum();
    add(name, help, MetricType::Histogram, std::move(metric));
  }
  /// Adds one value with a label.
  void labelled(const std::string& name, const std::string& help, MetricType type,
                const std::vector<ClientMetric::Label>& labels, auto value) {
    ClientMetric metric;
    metric.label = labels;
    (type == MetricType::Counter ? metric.counter.value : metric.gauge.value) =
        static_cast<double>(value);
    add(name, help, type, std::move(metric));
  }

  std::string text() const { return prometheus::TextSerializer().Serialize(families_); }

 private:
  void add(const std::string& name, const std::string& help, MetricType type,
           ClientMetric&& metric) {
    metric.label.insert(metric.label.begin(), {.name = "model_name", .value = model_});
    if (families_.empty() || families_.back().name != name) {
      families_.push_back({.name = name, .help = help, .type = type, .metric = {}});
    }
    families_.back().metric.push_back(std::move(metric));
  }

  std::string model_;
  std::vector<MetricFamily> families_;
};

void add_state(Families& out, const EngineCounts& c) {
  out.gauge("vllm:num_requests_running", "Requests that are computed", c.running);
  out.gauge("vllm:num_requests_waiting", "Requests that wait to be admitted", c.waiting);
  out.gauge("ingot:num_requests_paused", "Requests that wait for their reader", c.paused);
  out.gauge("vllm:kv_cache_usage_perc", "Part of the KV blocks that requests hold, 1 = all",
            c.kv_usage());
}

/// Adds the metrics that reveal how much of prompts was cached, alone or with other metrics.
void add_blocks_and_steps(Families& out, const EngineCounts& c) {
  for (const auto& [state, blocks] :
       {std::pair{"free", c.blocks_free}, std::pair{"evictable", c.blocks_evictable},
        std::pair{"referenced", c.blocks_referenced}, std::pair{"reserved", c.blocks_reserved}}) {
    out.labelled("ingot:kv_blocks", "KV blocks by state", MetricType::Gauge,
                 {{.name = "state", .value = state}}, blocks);
  }
  out.gauge("ingot:engine_stall_seconds_max",
            "The longest time between two steps while a request ran", c.stall_seconds_max);
  out.counter("ingot:engine_steps_total", "Steps of the engine", c.steps);
}

void add_totals(Families& out, const EngineCounts& c) {
  out.counter("vllm:prompt_tokens_total", "Tokens of prompts, cached or computed", c.prompt_tokens);
  out.counter("vllm:generation_tokens_total", "Tokens generated", c.generation_tokens);
  out.counter("vllm:num_preemptions_total", "Times that a request was preempted", c.preemptions);
  for (const FinishReason reason : {FinishReason::kStop, FinishReason::kLength,
                                    FinishReason::kCancelled, FinishReason::kError}) {
    const bool is_abort = reason == FinishReason::kCancelled;
    out.labelled(
        "vllm:request_success_total", "Requests that ended, by why", MetricType::Counter,
        {{.name = "finished_reason", .value = is_abort ? "abort" : std::string(to_string(reason))}},
        c.finished_by(reason));
  }
}

void add_cache_counts(Families& out, const EngineCounts& c) {
  out.counter("vllm:prefix_cache_queries_total", "Tokens looked up in the prefix cache",
              c.prefix_queries);
  out.counter("vllm:prefix_cache_hits_total", "Tokens found in the prefix cache", c.prefix_hits);
  out.counter("ingot:prefix_cache_evictions_total", "KV blocks evicted from the prefix cache",
              c.prefix_evictions);
  out.gauge("ingot:prefix_cache_entries", "KV blocks in the prefix cache", c.prefix_entries);
  out.gauge("ingot:prefix_cache_bytes", "Bytes of the KV blocks in the prefix cache",
            c.prefix_bytes);
}

/// Adds the counts of drafts, if the engine makes any.
void add_drafts(Families& out, const EngineCounts& c, std::int32_t draft_rows) {
  if (draft_rows == 0) return;
  const DraftCounts& drafts = c.drafts;
  out.counter("vllm:spec_decode_num_drafts_total", "Steps of requests that verified drafts",
              drafts.lists);
  out.counter("vllm:spec_decode_num_draft_tokens_total", "Draft tokens verified", drafts.drafts);
  out.counter("vllm:spec_decode_num_accepted_tokens_total", "Draft tokens accepted",
              drafts.accepted);
  for (std::size_t i = 0; i < drafts.accepted_at.size(); ++i) {
    out.labelled("vllm:spec_decode_num_accepted_tokens_per_pos_total",
                 "Draft tokens accepted, by position", MetricType::Counter,
                 {{.name = "position", .value = std::to_string(i)}}, drafts.accepted_at[i]);
  }
}

void add_rejections(Families& out, const EngineCounts& c) {
  for (std::size_t i = 0; i < kRejections; ++i) {
    const auto reason = static_cast<Rejection>(i);
    out.labelled("ingot:rejected_total", "Requests that were not taken, by why",
                 MetricType::Counter, {{.name = "reason", .value = std::string(to_string(reason))}},
                 c.rejected_for(reason));
  }
}

void add_histograms(Families& out, const EngineCounts& c) {
  out.histogram("vllm:time_to_first_token_seconds", "From submission to the first token",
                c.first_token_seconds);
  out.histogram("vllm:inter_token_latency_seconds", "Between two tokens of a request",
                c.token_gap_seconds);
  out.histogram("vllm:e2e_request_latency_seconds", "From submission to the end",
                c.request_seconds);
  out.histogram("vllm:request_queue_time_seconds", "From submission to the first step",
                c.queue_seconds);
  out.histogram("vllm:request_prefill_time_seconds", "From the first step to the first token",
                c.prefill_seconds);
  out.histogram("vllm:request_decode_time_seconds", "From the first token to the end",
                c.decode_seconds);
  out.histogram("vllm:request_inference_time_seconds", "From the first step to the end",
                c.inference_seconds);
  out.histogram("vllm:iteration_tokens_total", "Tokens of a step", c.step_rows);
  out.histogram("vllm:request_prompt_tokens", "Tokens of a prompt", c.request_prompt_tokens);
  out.histogram("vllm:request_generation_tokens", "Tokens generated for a request",
                c.request_generation_tokens);
  out.histogram("vllm:request_params_max_tokens", "max_tokens of requests", c.request_max_tokens);
  out.histogram("vllm:request_params_n", "n of requests", c.request_choices);
  out.histogram("ingot:engine_step_seconds", "Time of a step", c.step_seconds);
  out.histogram("ingot:cancel_to_free_seconds",
                "From a cancelling to the request's blocks being there for others",
                c.cancel_to_free_seconds);
}

void add_http(Families& out, const HttpMetrics& http) {
  for (const auto& [key, count] : http.responses()) {
    out.labelled("ingot:http_responses_total", "Responses by route and status", MetricType::Counter,
                 {{.name = "route", .value = key.first},
                  {.name = "status", .value = std::to_string(key.second)}},
                 count);
  }
  out.gauge("ingot:open_connections", "Connections that are open", http.open_connections.load());
  out.counter("ingot:refused_connections_total", "Connections beyond the limit",
              http.refused_connections.load());
  out.counter("ingot:log_dropped_total", "Lines of the log that could not be written",
              http.log_lines_dropped.load());
}

std::string joined(const std::set<std::string>& names) {
  std::string text;
  for (const std::string& name : names) text += (text.empty() ? "" : ",") + name;
  return text;
}

/// Gateways that balance by adapters read vLLM's metric, whose value is the time of its labels.
void add_adapters(Families& out, Service& service) {
  const AdapterLoad load = service.adapter_load();
  const std::int64_t time = service.adapters().are_possible() ? Service::now() : 0;
  out.labelled("vllm:lora_requests_info", "Adapters of requests", MetricType::Gauge,
               {{.name = "max_lora", .value = std::to_string(service.adapters().adapters_max())},
                {.name = "running_lora_adapters", .value = joined(load.running)},
                {.name = "waiting_lora_adapters", .value = joined(load.waiting)}},
               time);
  out.gauge("ingot:lora_bytes", "Memory of adapters, unloaded ones in use included",
            service.adapters().bytes());
  for (const AdapterState& state : service.adapters().states()) {
    out.labelled("ingot:lora_requests_total", "Requests that named an adapter", MetricType::Counter,
                 {{.name = "lora_name", .value = state.adapter->source.name}}, state.requests);
  }
}

}  // namespace

Reply metrics(const Call& call) {
  const EngineCounts counts = call.service.counts();
  Families families(call.service.options().model_name);
  add_state(families, counts);
  add_totals(families, counts);
  add_drafts(families, counts, call.service.limits().draft_rows);
  add_rejections(families, counts);
  const bool sees_all = call.service.sees_all_counts(call.key);
  if (sees_all) {
    add_cache_counts(families, counts);
    add_blocks_and_steps(families, counts);
    add_histograms(families, counts);
  }
  add_http(families, call.service.http_metrics());
  families.labelled("vllm:cache_config_info", "What the KV cache is", MetricType::Gauge,
                    {{.name = "block_size", .value = std::to_string(kBlockTokens)},
                     {.name = "num_gpu_blocks", .value = std::to_string(counts.blocks_total)}},
                    1);
  add_adapters(families, call.service);
  families.gauge("ingot:rss_bytes", "Memory that the process holds", resident_memory());
  std::string text = families.text();
  if (!sees_all) {
    text += "# Counts that tell of others' prompts: on the admin socket, and for --operator-key\n";
  }
  return HttpResponse{.type = "text/plain; version=0.0.4; charset=utf-8", .body = std::move(text)};
}

}  // namespace ingot
