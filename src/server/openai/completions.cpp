// POST /v1/completions
#include <algorithm>
#include <optional>
#include <utility>

#include "base/text.h"
#include "server/common/params.h"
#include "server/common/prompts.h"
#include "server/common/shapes.h"
#include "server/openai/endpoints.h"
#include "text/tokenizer/detokenizer.h"

namespace ingot {

namespace {

/// Prompts of one request. Each counts as a request of the queue; as many as choices.
constexpr std::int32_t kPromptsMax = kChoicesMax;

constexpr std::int64_t kMaxTokensDefault = 16;

/// What a response says of itself, and what was asked to be in it.
struct CompletionForm {
  std::string id;
  std::int64_t created = 0;
  StreamParams stream{};
  std::int32_t logprobs = -1;
  bool echo = false;
  bool token_ids = false;
  std::size_t choices = 1;  ///< of each prompt
  /// By prompt, where they are echoed or shown.
  std::vector<std::vector<std::int32_t>> prompt_ids{};
  std::vector<std::string> prompt_texts{};
  Json warnings{};
};

/// The old form of log-probabilities: arrays side by side.
class LogprobLists {
 public:
  /// A token and its log-probability; none for the first token of a prompt.
  void add(const Service& service, std::int32_t id, const TokenLogprobs* logprobs,
           bool is_first = false) {
    std::string text = token_text(service, id);
    tokens_.push(text);
    offsets_.push(static_cast<std::int64_t>(offset_));
    offset_ += characters_of(service, id, is_first);
    if (logprobs == nullptr) {
      values_.push(Json());
      top_.push(Json());
      return;
    }
    values_.push(finite_logprob(logprobs->token.logprob));
    Json best = Json::object();
    for (const TokenScore& score : logprobs->top) {
      const std::string name = token_text(service, score.id);
      // Two tokens may have one text; the likelier one comes first.
      if (best.find(name) == nullptr) best.set(name, finite_logprob(score.logprob));
    }
    // The token itself is always among them, unless a likelier one has its text: two pieces of
    // characters do.
    if (best.find(text) == nullptr) {
      best.set(std::move(text), finite_logprob(logprobs->token.logprob));
    }
    top_.push(std::move(best));
  }

  Json take() {
    Json j = Json::object();
    j.set("tokens", std::exchange(tokens_, Json::array()));
    j.set("token_logprobs", std::exchange(values_, Json::array()));
    j.set("top_logprobs", std::exchange(top_, Json::array()));
    j.set("text_offset", std::exchange(offsets_, Json::array()));
    return j;
  }

 private:
  /// What a token adds to the text, as Python counts it: of a character in pieces the first counts.
  std::size_t characters_of(const Service& service, std::int32_t id, bool is_first) {
    if (!service.has_tokenizer()) return 0;
    if (!text_)
      text_.emplace(service.tokenizer(), DetokenizeOptions{.strip_leading_space = is_first});
    const std::string_view bytes = text_->next_bytes(id);
    return static_cast<std::size_t>(
        std::count_if(bytes.begin(), bytes.end(), [](char c) { return (c & 0xC0) != 0x80; }));
  }

  std::optional<Detokenizer> text_;
  Json tokens_ = Json::array();
  Json values_ = Json::array();
  Json top_ = Json::array();
  Json offsets_ = Json::array();
  std::size_t offset_ = 0;
};

class CompletionAnswer final : public Answer {
 public:
  CompletionAnswer(Service& service, CompletionForm form, std::size_t choices)
      : service_(service),
        form_(std::move(form)),
        head_(chunk_head(service, form_.id, "text_completion", form_.created)),
        choices_(choices) {}

  void piece(std::size_t number, const Delta& delta) override {
    Choice& choice = choices_[number];
    choice.text += delta.text;
    if (form_.token_ids) {
      choice.ids.insert(choice.ids.end(), delta.ids.begin(), delta.ids.end());
    }
    choice.logprobs.insert(choice.logprobs.end(), delta.logprobs.begin(), delta.logprobs.end());
  }

  void flush(std::size_t number, std::string& out) override {
    // The scores of an echoed prompt come with the end, and have to stand in front.
    if (!waits_for_prompt()) append_new(out, number, {});
  }

  void ended(std::size_t number, const Outcome& outcome, std::string& out) override {
    Choice& choice = choices_[number];
    usage_.add(outcome, number % form_.choices == 0);
    choice.finish = to_string(outcome.finish);
    if (form_.echo) add_prompt(number, outcome);
    if (form_.stream.stream) append_new(out, number, choice.finish);
  }

  void finish(std::string& out) override {
    if (!form_.stream.stream) {
      append_whole(out);
      return;
    }
    if (form_.stream.include_usage) {
      append_event(out, cat(head_, ",\"choices\":[],\"usage\":", usage_.json().dump(), "}"));
    }
    out += kDoneEvent;
  }

  void fail(const ApiError& error, std::string& out) override {
    append_event(out, error_json(error));
  }

 private:
  struct Choice {
    std::string text;
    std::vector<std::int32_t> ids;
    std::vector<TokenLogprobs> logprobs;
    LogprobLists lists;
    bool has_begun = false;
    bool has_prompt_ids = false;  ///< they come once, in a stream's first chunk
    std::string_view finish;
  };

  bool waits_for_prompt() const { return form_.echo && form_.logprobs >= 0; }
  std::size_t prompt_of(std::size_t number) const { return number / form_.choices; }

  void add_prompt(std::size_t number, const Outcome& outcome) {
    Choice& choice = choices_[number];
    if (waits_for_prompt()) {
      const std::vector<std::int32_t>& ids = form_.prompt_ids[prompt_of(number)];
      const std::size_t first = ids.size() - outcome.prompt_logprobs.size();
      for (std::size_t i = 0; i < ids.size(); ++i) {
        choice.lists.add(service_, ids[i],
                         i < first ? nullptr : &outcome.prompt_logprobs[i - first], i == 0);
      }
    }
    if (!std::exchange(choice.has_begun, true)) {
      choice.text.insert(0, form_.prompt_texts[prompt_of(number)]);
    }
  }

  /// The members of every object of the response but its choices; warnings come once.
  void append_head(std::string& out) {
    out += head_;
    if (form_.warnings.is_null()) return;
    out += cat(",\"warnings\":", std::exchange(form_.warnings, Json()).dump());
  }

  void append_choice(std::string& out, std::size_t number, std::string_view text,
                     std::string_view finish) {
    Choice& choice = choices_[number];
    for (const TokenLogprobs& t : choice.logprobs) choice.lists.add(service_, t.token.id, &t);
    choice.logprobs.clear();
    out += cat("{\"index\":", number, ",\"text\":");
    append_json(out, text);
    out += ",\"logprobs\":";
    out += form_.logprobs >= 0 ? choice.lists.take().dump() : "null";
    out += ",\"finish_reason\":";
    out += finish.empty() ? "null" : json_string(finish);
    if (form_.token_ids) {
      out += cat(",\"token_ids\":", ids_json(std::exchange(choice.ids, {})).dump());
      if (!std::exchange(choice.has_prompt_ids, true)) {
        out += cat(",\"prompt_token_ids\":", ids_json(form_.prompt_ids[prompt_of(number)]).dump());
      }
    }
    out += '}';
  }

  void append_new(std::string& out, std::size_t number, std::string_view finish) {
    Choice& choice = choices_[number];
    std::string text = std::exchange(choice.text, {});
    if (form_.echo && !std::exchange(choice.has_begun, true)) {
      text.insert(0, form_.prompt_texts[prompt_of(number)]);
    }
    const bool has_tokens = !choice.ids.empty();
    if (text.empty() && choice.logprobs.empty() && !has_tokens && finish.empty()) return;
    out += kEventBegin;
    append_head(out);
    out += ",\"choices\":[";
    append_choice(out, number, text, finish);
    out += form_.stream.include_usage ? "],\"usage\":null}" : "]}";
    out += kEventEnd;
  }

  void append_whole(std::string& out) {
    append_head(out);
    out += ",\"choices\":[";
    for (std::size_t i = 0; i < choices_.size(); ++i) {
      if (i > 0) out += ',';
      append_choice(out, i, choices_[i].text, choices_[i].finish);
    }
    out += cat("],\"usage\":", usage_.json().dump(), "}");
  }

  Service& service_;
  CompletionForm form_;
  const std::string head_;
  std::vector<Choice> choices_;
  Usage usage_;
};

/// A prompt as it is echoed: what was sent, or what its tokens stand for.
std::string text_of(const ReadPrompt& prompt, const Service& service) {
  return prompt.text != nullptr ? *prompt.text : detokenize(service.tokenizer(), prompt.ids);
}

}  // namespace

Reply completions(const Call& call) {
  const Json body = read_body(call);
  Params params(body);
  Service& service = call.service;
  service.check_model(params.take("model"));
  CompletionForm form{.id = cat("cmpl-", call.id), .created = Service::now()};
  form.stream = read_stream(params);
  auto prompts = read_prompts(params, "prompt", kPromptsMax, service);
  Request common;
  read_sampling(params, call, common);
  read_unsupported(params);
  form.echo = params.flag("echo").value_or(false);
  form.token_ids = params.flag("return_token_ids").value_or(false);
  form.logprobs = static_cast<std::int32_t>(params.whole("logprobs", 0, kLogprobsMax).value_or(-1));
  common.sampling.logprobs = form.logprobs;
  const auto choices = static_cast<std::int32_t>(params.whole("n", 1, kChoicesMax).value_or(1));
  form.choices = static_cast<std::size_t>(choices);
  if (form.echo && form.logprobs >= 0) {
    // Each of the prompt's rows has to be computed for its scores.
    common.prompt_logprobs = form.logprobs;
    common.reads_cache = false;
  }
  Generation generation;
  generation.stream = form.stream.stream;
  for (ReadPrompt& read : prompts) {
    GenerationPrompt prompt{.request = common, .choices = choices};
    prompt.request.prompt = read.ids;
    read_max_tokens(params, call, prompt.request, {"max_tokens", "max_completion_tokens"},
                    kMaxTokensDefault, form.echo ? 0 : 1);
    // Evaluation harnesses count on scores for as many tokens as they ask for, whichever it is.
    if (form.echo && form.logprobs >= 0 && prompt.request.max_tokens <= 1) {
      prompt.request.ignore_eos = true;
    }
    if (form.echo) form.prompt_texts.push_back(text_of(read, service));
    form.prompt_ids.push_back(std::move(read.ids));
    generation.prompts.push_back(std::move(prompt));
  }
  params.finish();
  form.warnings = params.warnings();
  const std::size_t all = form.prompt_ids.size() * form.choices;
  generation.answer = std::make_unique<CompletionAnswer>(service, std::move(form), all);
  return generation;
}

}  // namespace ingot
