// POST /v1/completions: reads the request and writes chunks or the response.
#include <algorithm>
#include <optional>
#include <utility>

#include "base/index.h"
#include "base/text.h"
#include "load/json_object.h"
#include "server/common/common_params.h"
#include "server/common/constraint_params.h"
#include "server/common/model_choice.h"
#include "server/common/prompts.h"
#include "server/common/reply_constraint.h"
#include "server/common/response_json.h"
#include "server/openai/choices_writer.h"
#include "server/openai/endpoints.h"
#include "text/tokenizer/detokenizer.h"

namespace ingot {

namespace {

/// Maximum prompts of one request. The engine gets a few of them at once.
constexpr std::int32_t kPromptsMax = 256;

/// The parts of a request that shape its response.
struct CompletionForm {
  StreamParams stream{};
  std::int32_t logprobs = -1;
  bool echo = false;
  bool token_ids = false;
  bool special = false;            ///< names of special tokens in the prompts' texts are tokens
  std::size_t choices = 1;         ///< choices of each prompt
  std::int64_t prompt_tokens = 0;  ///< tokens of all prompts
  /// Ids of each prompt, if they are echoed or shown.
  std::vector<std::vector<std::int32_t>> prompt_ids{};
  std::vector<std::string> prompt_texts{};
};

/// Log-probabilities in the form of completions: parallel arrays.
class LogprobLists {
 public:
  /// Adds a token and its log-probability, null for the first token of a prompt. `shows_control`:
  /// if the token is a control token, the choice's text has the token's name.
  void add(const Service& service, std::int32_t id, const TokenLogprobs* logprobs,
           bool is_first = false, bool shows_control = false) {
    std::string text = token_text(service, id);
    tokens_.push(text);
    offsets_.push(static_cast<std::int64_t>(offset_));
    offset_ += characters_of(service, id, is_first, shows_control);
    if (logprobs == nullptr) {
      values_.push(Json());
      top_.push(Json());
      return;
    }
    values_.push(finite_logprob(logprobs->token.logprob));
    Json best = Json::object();
    for (const TokenScore& score : logprobs->top) {
      const std::string name = token_text(service, score.id);
      // Several tokens can have equal texts; the likeliest comes first.
      if (best.find(name) == nullptr) best.set(name, finite_logprob(score.logprob));
    }
    // Adds the token itself, unless a likelier token has an equal text, as parts of characters do.
    if (best.find(text) == nullptr) {
      best.set(std::move(text), finite_logprob(logprobs->token.logprob));
    }
    top_.push(std::move(best));
  }

  Json take() {
    return json_object({{"tokens", std::exchange(tokens_, Json::array())},
                        {"token_logprobs", std::exchange(values_, Json::array())},
                        {"top_logprobs", std::exchange(top_, Json::array())},
                        {"text_offset", std::exchange(offsets_, Json::array())}});
  }

 private:
  /// Characters that a token adds to the text. A split character counts at its first token.
  std::size_t characters_of(const Service& service, std::int32_t id, bool is_first,
                            bool shows_control) {
    if (!service.has_tokenizer()) return 0;
    if (!text_)
      text_.emplace(service.tokenizer(), DetokenizeOptions{.strip_leading_space = is_first});
    const bool is_name = shows_control && service.tokenizer().type(id) == TokenType::kControl;
    const std::string_view bytes = is_name ? service.piece(id) : text_->next_bytes(id);
    return to_size(
        std::count_if(bytes.begin(), bytes.end(), [](char c) { return (c & 0xC0) != 0x80; }));
  }

  std::optional<Detokenizer> text_;
  Json tokens_ = Json::array();
  Json values_ = Json::array();
  Json top_ = Json::array();
  Json offsets_ = Json::array();
  std::size_t offset_ = 0;
};

class CompletionWriter final : public ChoicesWriter {
 public:
  CompletionWriter(const Service& service, CompletionForm form, std::string head, std::string once,
                   std::size_t choices)
      : ChoicesWriter(std::move(head), std::move(once), form.stream, choices, form.prompt_tokens),
        service_(service),
        form_(std::move(form)),
        choices_(choices) {}

  void add_delta(std::size_t number, const Delta& delta) override {
    count(delta);
    Choice& choice = choices_[number];
    choice.text += delta.text;
    if (form_.token_ids) {
      choice.ids.insert(choice.ids.end(), delta.ids.begin(), delta.ids.end());
    }
    choice.logprobs.insert(choice.logprobs.end(), delta.logprobs.begin(), delta.logprobs.end());
  }

  void flush(std::size_t number, std::string& out) override {
    // The scores of an echoed prompt come with the outcome, but must be written first.
    if (!waits_for_prompt()) append_new(out, number);
  }

  void end_choice(std::size_t number, const Outcome& outcome, std::string& out) override {
    usage_.add(outcome, number % form_.choices == 0);
    choices_[number].finish = to_string(outcome.finish);
    if (waits_for_prompt()) add_prompt_scores(number, outcome);
    if (form_.stream.stream) append_new(out, number);
  }

 private:
  struct Choice {
    std::string text;
    std::vector<std::int32_t> ids;
    std::vector<TokenLogprobs> logprobs;
    LogprobLists lists;
    bool has_begun = false;  ///< its prompt was written, if echoed or shown
    std::string_view finish;
  };

  bool waits_for_prompt() const { return form_.echo && form_.logprobs >= 0; }
  std::size_t prompt_of(std::size_t number) const { return number / form_.choices; }

  void add_prompt_scores(std::size_t number, const Outcome& outcome) {
    const std::vector<std::int32_t>& ids = form_.prompt_ids[prompt_of(number)];
    // The tokenizer may have added the first token.
    const bool shows_first =
        form_.prompt_texts[prompt_of(number)].starts_with(service_.piece(ids.front()));
    const std::size_t first = ids.size() - outcome.prompt_logprobs.size();
    for (std::size_t i = 0; i < ids.size(); ++i) {
      const TokenLogprobs* scores = i < first ? nullptr : &outcome.prompt_logprobs[i - first];
      const bool shows_control = form_.special && (i > 0 || shows_first);
      choices_[number].lists.add(service_, ids[i], scores, i == 0, shows_control);
    }
  }

  void append_choice(std::string& out, std::size_t number) override {
    Choice& choice = choices_[number];
    const bool is_first = !std::exchange(choice.has_begun, true);
    if (is_first && form_.echo) choice.text.insert(0, form_.prompt_texts[prompt_of(number)]);
    for (const TokenLogprobs& t : choice.logprobs) choice.lists.add(service_, t.token.id, &t);
    choice.logprobs.clear();
    out += cat("{\"index\":", number, ",\"text\":");
    append_json(out, std::exchange(choice.text, {}));
    out += ",\"logprobs\":";
    out += form_.logprobs >= 0 ? choice.lists.take().dump() : "null";
    out += cat(",\"finish_reason\":", finish_json(choice.finish));
    if (form_.token_ids) {
      out += cat(",\"token_ids\":", ids_json(std::exchange(choice.ids, {})).dump());
      if (is_first) {
        out += cat(",\"prompt_token_ids\":", ids_json(form_.prompt_ids[prompt_of(number)]).dump());
      }
    }
    out += '}';
  }

  void append_new(std::string& out, std::size_t number) {
    const Choice& choice = choices_[number];
    const bool has_prompt = form_.echo && !choice.has_begun;
    const bool has_tokens = !choice.ids.empty() || !choice.logprobs.empty();
    if (choice.text.empty() && choice.finish.empty() && !has_prompt && !has_tokens) return;
    begin_chunk(out);
    append_choice(out, number);
    end_chunk(out);
  }

  const Service& service_;
  CompletionForm form_;
  std::vector<Choice> choices_;
};

/// The text of an echoed prompt: the text that was sent, or the text of its tokens.
std::string text_of(const ReadPrompt& prompt, const Service& service) {
  return prompt.text != nullptr ? *prompt.text : detokenize(service.tokenizer(), prompt.ids);
}

/// How to encode the prompts. Texts around a gap are plain text, unless `special` is true.
PromptForm read_prompt_form(Params& params, const Call& call) {
  PromptForm form{.suffix = params.text("suffix", call.http.body.size()).value_or("")};
  const bool special = params.flag("special").value_or(form.suffix.empty());
  form.use = special ? TextUse::kPrompt : TextUse::kPlainPrompt;
  return form;
}

}  // namespace

Reply completions(const Call& call) {
  const Json body = read_body(call);
  Params params(body);
  Service& service = call.service;
  const ChosenModel model = read_model(params, call);
  CompletionForm form{.stream = read_stream(params)};
  const PromptForm prompt_form = read_prompt_form(params, call);
  auto prompts = read_prompts(params, "prompt", kPromptsMax, call, prompt_form);
  form.special = prompt_form.use == TextUse::kPrompt && prompts.front().text != nullptr;
  Generation generation;
  Request& common = generation.request;
  common.adapters = model.adapters;
  read_fields(params, call, common, place::kCompletions);
  const auto format = read_constraint(params);
  refuse_unsupported(params);
  refuse_tools(params, "/v1/completions");
  read_without_effect(params);
  params.ignore("prediction", "only chats have it");
  form.echo = params.flag("echo").value_or(false);
  if (form.echo && !prompt_form.suffix.empty()) {
    throw invalid_request("echo", "echo cannot be combined with suffix");
  }
  form.token_ids = params.flag("return_token_ids").value_or(false);
  form.logprobs = static_cast<std::int32_t>(params.whole("logprobs", 0, kLogprobsMax).value_or(-1));
  common.sampling.logprobs = form.logprobs;
  generation.choices = static_cast<std::int32_t>(params.whole("n", 1, kChoicesMax).value_or(1));
  form.choices = to_size(generation.choices);
  if (form.echo && form.logprobs >= 0) {
    // The scores need every row of the prompt to be computed.
    common.prompt_logprobs = form.logprobs;
    common.reads_cache = false;
  }
  generation.stream = form.stream.stream;
  const bool ignore_eos = common.ignore_eos;
  for (ReadPrompt& read : prompts) {
    form.prompt_tokens += std::ssize(read.ids);
    if (form.echo) form.prompt_texts.push_back(text_of(read, service));
    if (form.echo || form.token_ids) form.prompt_ids.push_back(read.ids);
    common.prompt = std::move(read.ids);
    read_max_tokens(params, call, common, place::kCompletions, form.echo ? 0 : 1);
    // Evaluation harnesses expect scores for as many tokens as they ask for, including end tokens.
    common.ignore_eos = ignore_eos || (form.echo && form.logprobs >= 0 && common.max_tokens <= 1);
    generation.add_prompt();
  }
  const Json seed = used_seed(params, common);
  if (format) constrain_text(params, service, *format, common);
  params.finish();
  std::string head =
      response_head_json(model, cat("cmpl-", call.id), "text_completion", Service::now(), seed);
  const std::size_t all = generation.prompts.size() * form.choices;
  generation.writer = std::make_unique<CompletionWriter>(service, std::move(form), std::move(head),
                                                         warnings_member(params.warnings()), all);
  return generation;
}

}  // namespace ingot
