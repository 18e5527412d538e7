// POST /v1/embeddings: hidden states as arrays or base64.
#include <openssl/evp.h>

#include <bit>
#include <charconv>
#include <cmath>
#include <cstring>
#include <utility>

#include "base/check.h"
#include "base/text.h"
#include "server/common/common_params.h"
#include "server/common/params.h"
#include "server/common/prompts.h"
#include "server/common/response_json.h"
#include "server/openai/endpoints.h"

namespace ingot {

namespace {

/// Maximum inputs of one request. OpenAI's clients send up to 2,048 inputs. The engine gets a few
/// of them at once.
constexpr std::int32_t kInputsMax = kResponseChoicesMax;
/// Maximum floats in a response: about 200 MB of text, at 12 bytes each.
constexpr std::int64_t kEmbeddingFloatsMax = std::int64_t{1} << 24;

static_assert(std::endian::native == std::endian::little, "base64 holds little-endian floats");

/// Scales a vector to length 1; zeros stay zeros.
void normalise(std::vector<float>& values) {
  double sum = 0;
  for (const float v : values) sum += double{v} * double{v};
  if (sum == 0) return;
  const double length = std::sqrt(sum);
  for (float& v : values) v = static_cast<float>(double{v} / length);
}

/// The vector as a JSON array, with the fewest digits that give the same floats back.
std::string as_array(const std::vector<float>& values) {
  std::string text = "[";
  char digits[32];
  for (const float v : values) {
    if (text.size() > 1) text += ',';
    text.append(digits, std::to_chars(digits, digits + sizeof digits, v).ptr);
  }
  return text + "]";
}

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

class EmbeddingWriter final : public ResponseWriter {
 public:
  EmbeddingWriter(std::string model, Json warnings, bool base64, std::size_t count)
      : model_(std::move(model)),
        warnings_(std::move(warnings)),
        base64_(base64),
        embeddings_(count) {}

  void end_choice(std::size_t choice, const Outcome& outcome, std::string& /*out*/) override {
    std::vector<float> values = outcome.hidden;
    normalise(values);
    embeddings_[choice] = base64_ ? as_base64(values) : as_array(values);
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
    out +=
        cat("],\"model\":", json_string(model_), ",\"usage\":{\"prompt_tokens\":", prompt_tokens_,
            ",\"total_tokens\":", prompt_tokens_, "}");
    if (!warnings_.is_null()) out += cat(",\"warnings\":", warnings_.dump());
    out += "}";
  }

  void write_error(const ApiError& error, std::string& out) override { out = error_json(error); }

 private:
  std::string model_;
  Json warnings_;
  bool base64_;
  std::vector<std::string> embeddings_;
  std::int64_t prompt_tokens_ = 0;
};

bool read_is_base64(Params& params) {
  const std::string format = params.text("encoding_format", 64).value_or("float");
  if (format == "float" || format == "base64") return format == "base64";
  throw invalid_request("encoding_format", "encoding_format can only be float or base64");
}

/// Refuses other dimensions: a shorter vector only has a meaning if the model is made for it.
void check_dimensions(Params& params, std::int64_t size) {
  const auto dimensions = params.whole("dimensions", 1, std::int64_t{1} << 31);
  if (!dimensions || *dimensions == size) return;
  throw invalid_request("dimensions", cat("dimensions can only be ", size));
}

}  // namespace

void check_embeddings_size(std::size_t inputs, std::int64_t hidden) {
  const std::int64_t inputs_max = kEmbeddingFloatsMax / hidden;
  if (static_cast<std::int64_t>(inputs) <= inputs_max) return;
  throw invalid_request("input", cat("input has ", inputs, " entries, possible are ", inputs_max,
                                     " embeddings of ", hidden, " floats"));
}

Reply embeddings(const Call& call) {
  const Json body = read_body(call);
  Params params(body);
  Service& service = call.service;
  std::string model = service.read_model(params);
  Generation generation;
  generation.request.hidden = HiddenRows::kLast;
  read_fields(params, call, generation.request, place::kEmbeddings);
  const bool base64 = read_is_base64(params);
  check_dimensions(params, service.limits().hidden);
  params.ignore_text("user", 256, "it changes nothing here");
  const PromptForm form{.use = TextUse::kInput};
  std::vector<ReadPrompt> inputs = read_prompts(params, "input", kInputsMax, service, form);
  check_embeddings_size(inputs.size(), service.limits().hidden);
  for (ReadPrompt& read : inputs) {
    generation.request.prompt = std::move(read.ids);
    generation.add_prompt();
  }
  params.finish();
  generation.writer = std::make_unique<EmbeddingWriter>(std::move(model), params.warnings(), base64,
                                                        generation.prompts.size());
  return generation;
}

}  // namespace ingot
