// POST /infill: the text between a prefix and a suffix, in the form of llama.cpp's server.
#include <algorithm>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/index.h"
#include "base/text.h"
#include "server/common/common_params.h"
#include "server/common/list_entries.h"
#include "server/common/message_text.h"
#include "server/common/model_choice.h"
#include "server/common/response_json.h"
#include "server/openai/choices_writer.h"
#include "server/openai/endpoints.h"

namespace ingot {

namespace {

/// Maximum files in `input_extra`.
constexpr std::size_t kInfillFilesMax = 1024;

/// The reason for the end of a text in llama.cpp's words.
std::string_view stop_type(const Outcome& outcome) {
  if (outcome.finish == FinishReason::kLength) return "limit";
  if (outcome.finish != FinishReason::kStop) return "none";
  return outcome.stop >= 0 ? "word" : "eos";
}

class InfillWriter final : public ResponseWriter {
 public:
  /// `once`: the warnings, for the whole response or for a stream's first event.
  InfillWriter(const std::string& model, const Json& seed, std::vector<std::string> stop,
               std::string once, bool stream)
      : names_(cat(",\"model\":", json_string(model), ",\"seed\":", seed.dump())),
        stop_(std::move(stop)),
        once_(std::move(once)),
        stream_(stream) {}

  void add_delta(std::size_t /*choice*/, const Delta& delta) override { text_ += delta.text; }

  void flush(std::size_t /*choice*/, std::string& out) override {
    if (text_.empty()) return;
    out +=
        cat(kEventBegin, take_text(), ",\"stop\":false", std::exchange(once_, {}), "}", kEventEnd);
  }

  void end_choice(std::size_t /*choice*/, const Outcome& outcome, std::string& /*out*/) override {
    const std::string_view word = outcome.stop < 0 ? "" : std::string_view(at(stop_, outcome.stop));
    end_ = cat(",\"stop\":true", names_, ",\"tokens_predicted\":", outcome.generated_tokens,
               ",\"tokens_evaluated\":", outcome.prompt_tokens,
               ",\"truncated\":false,\"stop_type\":", json_string(stop_type(outcome)),
               ",\"stopping_word\":", json_string(word));
  }

  void finish(std::string& out) override {
    const std::string last = cat(take_text(), end_, std::exchange(once_, {}), "}");
    out += stream_ ? cat(kEventBegin, last, kEventEnd) : last;
  }

  void write_error(const ApiError& error, std::string& out) override {
    append_event(out, error_json(error));
  }

 private:
  /// The beginning of a JSON object, with the text since the last event.
  std::string take_text() {
    return cat("{\"index\":0,\"content\":", json_string(std::exchange(text_, {})));
  }

  const std::string names_;  ///< the members for the model's name and the seed
  const std::vector<std::string> stop_;
  std::string once_;
  const bool stream_;
  std::string text_;
  std::string end_;  ///< the members that describe the end of the text
};

std::string need_text(Params& params, std::string_view name, std::size_t bytes_max) {
  if (auto text = params.text(name, bytes_max)) return *std::move(text);
  throw invalid_request(std::string(name), cat(name, " is missing"));
}

/// Reads `input_extra`: other files, [{"filename", "text"}]. The views refer to the body.
std::vector<FimFile> read_files(Params& params, const Call& call) {
  std::vector<FimFile> files;
  const Json* list = params.array("input_extra");
  if (list == nullptr) return files;
  if (list->as_array()->size() > kInfillFilesMax) {
    throw invalid_request("input_extra", cat("input_extra has ", list->as_array()->size(),
                                             " entries, possible are ", kInfillFilesMax));
  }
  each_entry(
      call, "input_extra", *list->as_array(), [&](const Json& file, const std::string& place) {
        const Json* name = file.find("filename");
        const Json* text = file.find("text");
        const bool is_file = text != nullptr && text->as_string() != nullptr &&
                             (name == nullptr || name->as_string() != nullptr);
        if (!is_file) {
          refuse_at(place, "is not {\"filename\", \"text\"} with two strings");
        }
        files.push_back({.name = name == nullptr ? "tmp" : std::string_view(*name->as_string()),
                         .text = *text->as_string()});
      });
  return files;
}

/// The name of the longest part of a gap's prompt, for errors about the prompt's length. The last
/// `prompt_bytes` bytes of the prefix are the member `prompt`.
std::string_view longest_part(const FimText& text, std::size_t prompt_bytes) {
  std::size_t extra = 0;
  for (const FimFile& file : text.files) extra += file.name.size() + file.text.size();
  using Part = std::pair<std::size_t, std::string_view>;
  return std::max({Part{text.prefix.size() - prompt_bytes, "input_prefix"},
                   Part{prompt_bytes, "prompt"}, Part{text.suffix.size(), "input_suffix"},
                   Part{extra, "input_extra"}})
      .second;
}

std::vector<std::int32_t> read_gap(Params& params, const Call& call) {
  const std::size_t bytes_max = call.http.body.size();
  std::string prefix = need_text(params, "input_prefix", bytes_max);
  const std::string suffix = need_text(params, "input_suffix", bytes_max);
  const std::string prompt = params.text("prompt", bytes_max).value_or("");
  prefix += prompt;
  const std::vector<FimFile> files = read_files(params, call);
  const FimText text{.prefix = prefix,
                     .suffix = suffix,
                     .files = files,
                     .parse_special = params.flag("special").value_or(false)};
  return call.service.encode_gap(text, longest_part(text, prompt.size()), "input_suffix");
}

bool read_infill_stream(Params& params) {
  const StreamParams stream = read_stream(params);
  if (stream.include_usage || stream.usage_in_chunks) {
    params.warn("stream_options", "ignored", "the last event has the counts of tokens");
  }
  return stream.stream;
}

}  // namespace

Reply infill(const Call& call) {
  const Json body = read_body(call);
  Params params(body);
  const ChosenModel model = read_model(params, call);
  Generation generation;
  Request& request = generation.request;
  request.adapters = model.adapters;
  request.prompt = read_gap(params, call);
  read_fields(params, call, request, place::kCompletions);
  read_unsupported(params, "/infill");
  params.whole("n", 1, 1);
  // With 0 tokens, the server only computes the prompt. Editors use this to fill the prefix cache.
  read_max_tokens(params, call, request, place::kChat, 0);
  generation.stream = read_infill_stream(params);
  params.finish();
  generation.writer =
      std::make_unique<InfillWriter>(model.name, used_seed(params, request), request.stop,
                                     warnings_member(params.warnings()), generation.stream);
  generation.add_prompt();
  return generation;
}

}  // namespace ingot
