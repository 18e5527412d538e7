// ingot template: renders a chat template without loading a model's weights.
#include <ctime>
#include <memory>

#include "base/error.h"
#include "base/text.h"
#include "cli/command.h"
#include "cli/input.h"
#include "cli/options/chat_input.h"
#include "cli/options/model_options.h"
#include "cli/options/model_path.h"
#include "cli/options/options.h"
#include "cli/output.h"
#include "cli/stdin_lines.h"
#include "load/checkpoint.h"
#include "text/chat/chat_template.h"

namespace ingot {

namespace {

struct TemplateValues {
  std::optional<std::string> model;
  TemplateChoice choice;
  std::optional<std::string> context;
  std::optional<std::string> now;
  std::vector<std::string> accept_unknown;
  bool jsonl = false;
};

using Templates = ParsedTemplates<JinjaTemplate>;

Templates parsed(const ChosenTemplates& chosen) {
  return {chosen, [](const std::string& text, const std::string& name) {
            return JinjaTemplate(text, name);
          }};
}

Templates read_templates(const TemplateValues& v) {
  const TemplateChoice& choice = v.choice;
  if (v.model && choice.source) {
    throw Error(ErrorCode::kInvalid, "expected MODEL or --template, not both");
  }
  if (choice.source) return parsed({find_template(*choice.source)});
  const ModelPlace place = find_model(v.model);
  const std::string model = v.model.value_or(place.path);
  const auto checkpoint =
      Checkpoint::open(place.path, place.bytes, {.accept_unknown = v.accept_unknown});
  const TokenizerData* tokenizer = checkpoint->tokenizer();
  const auto chosen = choose_templates(tokenizer == nullptr ? TemplateSet() : tokenizer->templates,
                                       model, choice.name);
  if (!chosen) throw no_template(model);
  return parsed(*chosen);
}

/// Renders a chat. `bytes` is the size of the context's JSON.
std::string render(const Templates& templates, const Json& context, std::size_t bytes,
                   const std::tm& now) {
  if (context.as_object() == nullptr) {
    throw Error(ErrorCode::kInvalid, cat("expected an object, got ", context.kind()));
  }
  std::vector<JinjaVariable> variables;
  for (const auto& [name, value] : *context.as_object()) {
    variables.push_back({.name = name, .value = &value});
  }
  const JinjaTemplate& chat =
      templates.get(takes_tools(context.find("tools"), context.find("messages")));
  return chat.render(variables, {.limits = chat_limits(bytes), .now = now}).bytes;
}

int render_template(const TemplateValues& v) {
  if (v.jsonl == v.context.has_value()) {
    throw Error(ErrorCode::kInvalid, "expected exactly one of --jsonl and --context");
  }
  if (v.jsonl) claim_stdin("--jsonl");
  const std::tm now = v.now ? parse_date(*v.now) : local_time();
  const Templates chat = read_templates(v);
  if (v.jsonl) {
    answer_lines(kContextLimits, [&](const Json& context, std::size_t bytes) {
      Json result = Json::object();
      result.set("text", render(chat, context, bytes, now));
      return result;
    });
  } else {
    const TextInput input = read_input(*v.context, kContextLimits.bytes_max);
    const Json context = parse_json_file(input.text, input.name, "context", kContextLimits);
    write_stdout(render(chat, context, input.text.size(), now));
  }
  return kDone;
}

}  // namespace

Command add_template_command(CLI::App& app) {
  auto values = std::make_shared<TemplateValues>();
  CLI::App& sub = add_command(app, "template", "Render a chat template");
  add_text(sub, values->model, "MODEL",
           "A model whose template is rendered (default: the built-in one)");
  add_template_options(sub, values->choice);
  add_switch(sub, values->jsonl, "--jsonl",
             "Render for each line of stdin, an object whose members are the template's variables; "
             "print {\"text\"} or {\"error\"} for each");
  add_text(sub, values->context, "--context", "A JSON file with the variables; prints the text");
  add_texts(sub, values->accept_unknown, "--accept-unknown", std::string(kAcceptUnknownHelp));
  mark_inputs(sub, {"--template", "--context"});
  add_text(sub, values->now, "--now", "The date that the template sees: YYYY-MM-DD");
  return {&sub, [values] { return render_template(*values); },
          "ingot template model.gguf --context chat.json"};
}

}  // namespace ingot
