// Reads --draft and --draft-tokens, and opens the draft model.
#include "cli/options/draft_options.h"

#include "base/error.h"
#include "base/text.h"
#include "cli/log.h"
#include "cli/options/model_options.h"
#include "cli/options/option_row.h"
#include "cli/options/options.h"
#include "runtime/draft/draft_model.h"

namespace ingot {

namespace {

/// The options of the draft model: those of the target, without what is the target's own.
InstanceOptions draft_model_options(ModelOptionValues values) {
  values.path = values.draft.draft;
  values.adapters = {};
  values.end_tokens = std::nullopt;
  return instance_options(values);
}

}  // namespace

void add_draft_options(CLI::App& app, DraftValues& values) {
  add_options(app,
              {{.flag = "--draft",
                .value = &values.draft,
                .help = "Guess the next tokens, and verify them in one step: lookup finds them "
                        "in what was written; a small MODEL with the same tokens guesses "
                        "where lookup finds none; off: no guesses. No result changes",
                .unit = "lookup, off or MODEL"},
               {.flag = "--draft-tokens",
                .value = &values.tokens,
                .help = cat("Guesses for each step of a text, 1 to ", kDraftsMax,
                            ", or auto: as many as pay"),
                .unit = "NUMBER or auto"}});
}

DraftChoice choose_drafts(const ModelOptionValues& values) {
  const DraftValues& v = values.draft;
  DraftChoice choice{.lookup = v.draft != "off"};
  if (v.draft.empty()) throw bad_option("--draft", v.draft, "expected lookup, off or a model");
  if (choice.lookup && v.draft != "lookup") choice.model = draft_model_options(values);
  if (v.tokens == "auto") return choice;
  choice.tokens = parse_whole<std::int32_t>(v.tokens, "--draft-tokens", 1, kDraftsMax);
  if (choice.is_on()) return choice;
  throw bad_option("--draft-tokens", v.tokens, "--draft off makes no drafts");
}

SpeculationOptions start_drafts(const DraftChoice& choice, ThreadPool& pool, Instance& target,
                                const StartOptions& start) {
  SpeculationOptions options{.lookup = choice.lookup, .tokens = choice.tokens};
  if (!choice.model) return options;
  if (!can_do(target.config(), ModelUse::kText)) {
    throw Error(ErrorCode::kInvalid, cat("--draft: ", refusal(target.config(), ModelUse::kText)));
  }
  const auto start_draft = [&](Instance& draft, const StartOptions& draft_start) {
    show_warnings(draft);
    // Later adapters would otherwise get memory that the draft model has.
    target.adapters().lower_bytes_max(draft.plan(draft_start).op_memory().total_bytes());
    start_with_progress(draft, draft_start);
  };
  const auto report = [name = choice.model->path](std::string_view error) {
    log_warning(cat("--draft ", name, " failed: ", error,
                    "; texts stay the same, and steps get fewer drafts"));
  };
  options.model = open_draft_model(pool, *choice.model, target, start, start_draft, report);
  return options;
}

}  // namespace ingot
