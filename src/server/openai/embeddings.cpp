// POST /v1/embeddings: a vector for each input, as an array or base64.
#include <openssl/evp.h>

#include <bit>
#include <cstring>
#include <optional>
#include <utility>

#include "base/check.h"
#include "base/text.h"
#include "runtime/embed/prompts.h"
#include "runtime/embed/vectors.h"
#include "server/common/common_params.h"
#include "server/common/embed_inputs.h"
#include "server/common/model_choice.h"
#include "server/common/params.h"
#include "server/common/response_json.h"
#include "server/openai/endpoints.h"

namespace ingot {

namespace {

/// Maximum floats in a response: about 200 MB of text, at 12 bytes each.
constexpr std::int64_t kEmbeddingFloatsMax = std::int64_t{1} << 24;

static_assert(std::endian::native == std::endian::little, "base64 holds little-endian floats");

std::string as_base64(const std::vector<float>& values) {
  std::string bytes(values.size() * sizeof(float), '\0');
  std::memcpy(bytes.data(), values.data(), bytes.size());
  // Four characters for three bytes, and the NUL that OpenSSL appends.
  std::string text((bytes.size() + 2) / 3 * 4 + 1, '\0');
  const int size = EVP_EncodeBlock(reinterpret_cast<unsigned char*>(text.data()),
                                   reinterpret_cast<const unsigned char*>(bytes.data()),
                                   static_cast<int>(bytes.size()));
  INGOT_CHECK(size + 1 == static_cast<int>(text.size()), "base64 of ", size, " characters");
  text.pop_back();
  return json_string(text);
}

/// The form of a response's vectors.
struct VectorForm {
  bool base64 = false;
  std::int64_t dimensions = 0;
  bool is_normalised = false;  ///< whether the model scales vectors to length 1
  bool scales = false;         ///< whether vectors of another model are scaled to length 1
};

class EmbeddingWriter final : public ResponseWriter {
 public:
  EmbeddingWriter(std::string model, Json warnings, const VectorForm& form, std::size_t count)
      : model_(std::move(model)), warnings_(std::move(warnings)), form_(form), embeddings_(count) {}

  void end_choice(std::size_t choice, const Outcome& outcome, std::string& /*out*/) override {
    std::vector<float> values = outcome.pooled;
    shorten(values, form_.dimensions, form_.is_normalised);
    if (form_.scales) normalise(values);
    embeddings_[choice] = form_.base64 ? as_base64(values) : json_list(values);
    prompt_tokens_ += outcome.prompt_tokens;
  }

  void finish(std::string& out) override {
    constexpr std::size_t kFrameBytes = 64;  // beside each embedding
    std::size_t bytes = kFrameBytes;
    for (const std::string& embedding : embeddings_) bytes += embedding.size() + kFrameBytes;
    out.reserve(bytes);
    out = "{\"object\":\"list\",\"data\":[";
    for (std::size_t i = 0; i < embeddings_.size(); ++i) {
      out += cat(i > 0 ? "," : "", "{\"object\":\"embedding\",\"index\":", i, ",\"embedding\":");
      // Freed at once: a large response must not be in memory twice.
      out += std::exchange(embeddings_[i], {});
      out += '}';
    }
    out += cat("],\"model\":", json_string(model_), ",\"usage\":", usage_json(prompt_tokens_));
    if (!warnings_.is_null()) out += cat(",\"warnings\":", warnings_.dump());
    out += "}";
  }

  void write_error(const ApiError& error, std::string& out) override { out = error_json(error); }

 private:
  std::string model_;
  Json warnings_;
  VectorForm form_;
  std::vector<std::string> embeddings_;
  std::int64_t prompt_tokens_ = 0;
};

/// Reads OpenAI's `encoding_format`, and `embedding_type`, which Jina's API has for it.
bool read_is_base64(Params& params) {
  const auto format = params.one_of("encoding_format", {"float", "base64"});
  const auto type = params.one_of("embedding_type", {"float", "base64"});
  if (format && type && *format != *type) {
    throw invalid_request("embedding_type",
                          "embedding_type and encoding_format contradict each other");
  }
  return (format ? format : type) == "base64";
}

/// Reads whether vectors must be scaled that the model does not scale: `normalized` of Jina's API,
/// `normalize` of vLLM's.
bool read_scales(Params& params, bool is_normalised) {
  const auto normalized = params.flag("normalized"), normalize = params.flag("normalize");
  if (normalized && normalize && *normalized != *normalize) {
    throw invalid_request("normalize", "normalize and normalized contradict each other");
  }
  const bool wanted = (normalized ? normalized : normalize).value_or(is_normalised);
  if (wanted || !is_normalised) return wanted && !is_normalised;
  const std::string member = normalized ? "normalized" : "normalize";
  throw invalid_request(member, cat(member, ": the model scales its vectors to length 1"));
}

/// Refuses vectors that depend on a request's other inputs. Source: Jina's API,
/// api.jina.ai/openapi.json.
void refuse_late_chunking(Params& params) {
  if (!params.flag("late_chunking").value_or(false)) return;
  throw invalid_request("late_chunking", "late_chunking: each input has a vector of its own");
}

std::int64_t read_dimensions(Params& params, std::int64_t size) {
  const auto dimensions = params.whole("dimensions", 1, std::int64_t{1} << 31);
  if (!dimensions || *dimensions <= size) return dimensions.value_or(size);
  throw invalid_request("dimensions",
                        cat("dimensions is ", *dimensions, ", possible are 1 to ", size));
}

/// Reads `prompt_name`, `input_type` and `task`, which Jina's API has for `input_type`. Returns the
/// prompt before each input. Errors: ApiError naming a member that contradicts an earlier one.
std::string read_prefix(Params& params, const EmbedderSettings& settings) {
  const auto name = params.text("prompt_name", 256);
  std::optional<std::string_view> prompt;
  if (name) prompt = as_api([&] { return prompt_named(settings, name); });
  for (const std::string_view member : {"input_type", "task"}) {
    const auto type = params.text(member, 256);
    if (!type) continue;
    const auto found = prompt_for(settings, *type);
    if (!found) params.warn(member, "ignored", "the model has no prompt for it");
    if (found && prompt && *found != *prompt) {
      throw invalid_request(std::string(member),
                            cat(member, " has another prompt than the request's other members"));
    }
    if (found) prompt = found;
  }
  return std::string(prompt ? *prompt : prompt_named(settings, {}));
}

void warn_of_decoder(Params& params, const Service& service) {
  if (service.is_embedder()) return;
  params.warn("model", "no_embedder",
              "the model was not made for embeddings: the state of an input's last token stands "
              "for the input");
}

}  // namespace

void check_embeddings_size(std::size_t inputs, std::int64_t size) {
  const std::int64_t inputs_max = kEmbeddingFloatsMax / size;
  if (static_cast<std::int64_t>(inputs) <= inputs_max) return;
  throw invalid_request("input", cat("input has ", inputs, " entries, possible are ", inputs_max,
                                     " embeddings of ", size, " floats"));
}

Reply embeddings(const Call& call) {
  const Json body = read_body(call);
  Params params(body);
  Service& service = call.service;
  ChosenModel model = read_model(params, call);
  Generation generation;
  generation.request.adapters = model.adapters;
  read_fields(params, call, generation.request, place::kEmbeddings);
  const std::int64_t size = service.limits().pooled;
  VectorForm form{.base64 = read_is_base64(params), .is_normalised = service.normalises()};
  form.dimensions = read_dimensions(params, size);
  form.scales = read_scales(params, form.is_normalised);
  refuse_late_chunking(params);
  params.ignore_text("user", 256, "it changes nothing here");
  const std::string prefix = read_prefix(params, service.embedder());
  const InputLimit limit = read_input_limit(params, service);
  check_embeddings_size(count_inputs(body, "input"), size);
  std::vector<InputTokens> inputs = read_inputs(params, "input", prefix, limit, call);
  for (InputTokens& input : inputs) add_pooled(generation, std::move(input));
  warn_of_decoder(params, service);
  params.finish();
  generation.writer = std::make_unique<EmbeddingWriter>(std::move(model.name), params.warnings(),
                                                        form, generation.prompts.size());
  return generation;
}

}  // namespace ingot
