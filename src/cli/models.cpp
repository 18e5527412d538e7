// ingot models: lists the downloaded models.
#include <algorithm>
#include <memory>

#include "base/error.h"
#include "base/text.h"
#include "cli/command.h"
#include "cli/options/built_in_model.h"
#include "cli/options/hub_environment.h"
#include "cli/options/options.h"
#include "cli/output.h"
#include "hub/find_model.h"
#include "hub/transfer_rate.h"
#include "load/json.h"

namespace ingot {

namespace {

struct ModelsValues {
  bool json = false;
  bool names = false;
};

using Models = std::vector<CachedModel>;

std::string as_json(const Models& models) {
  Json list = Json::array();
  for (const CachedModel& model : models) {
    Json formats = Json::array();
    for (const std::string& format : model.formats) formats.push(format);
    Json entry = Json::object();
    entry.set("name", model.name);
    entry.set("size", model.bytes);
    entry.set("path", model.path.empty() ? Json() : Json(model.path));
    entry.set("formats", std::move(formats));
    list.push(std::move(entry));
  }
  Json root = Json::object();
  root.set("models", std::move(list));
  return root.dump() + "\n";
}

std::string formats_text(const CachedModel& model) {
  std::string text;
  for (const std::string& format : model.formats) text += cat(text.empty() ? "" : ",", format);
  return text.empty() ? "-" : text;
}

std::string as_table(const Models& models) {
  constexpr std::size_t kSizeWidth = 8;
  constexpr std::size_t kFormatWidth = 11;
  std::size_t width = 4;
  for (const CachedModel& model : models)
    width = std::max(width, printable(model.name, 512).size());
  const auto pad = [](const std::string& text, std::size_t to) {
    return text + std::string(text.size() < to ? to - text.size() : 0, ' ');
  };
  const auto row = [&](const std::string& name, const std::string& size, const std::string& format,
                       const std::string& path) {
    return cat(pad(name, width), "  ", pad(size, kSizeWidth), "  ", pad(format, kFormatWidth), "  ",
               path, "\n");
  };
  std::string text = row("NAME", "SIZE", "FORMAT", "PATH");
  for (const CachedModel& model : models) {
    text += row(printable(model.name, 512), size_text(model.bytes), formats_text(model),
                model.path.empty() ? "(built in)" : printable(model.path, 4096));
  }
  return text;
}

void list_models(const ModelsValues& values) {
  const std::string cache = hub_cache_folder();
  Models models = cache.empty() ? Models() : cached_models(cache);
  models.push_back({.name = std::string(kBuiltInModel),
                    .bytes = built_in_model().size(),
                    .path = {},  // the built-in model has no path
                    .formats = {"gguf"}});
  if (values.json) return write_stdout(as_json(models));
  if (!values.names) return write_stdout(as_table(models));
  std::string names;
  for (const CachedModel& model : models) names += printable(model.name, 512) + "\n";
  write_stdout(names);
}

}  // namespace

Command add_models_command(CLI::App& app) {
  auto values = std::make_shared<ModelsValues>();
  CLI::App& sub = add_command(app, "models",
                              "List the built-in model and those in the Hugging Face hub's cache");
  add_switch(sub, values->json, "--json", "One JSON object with name, size, path and formats");
  add_switch(sub, values->names, "--names", "Only the names, one a line");
  exclude(sub, "--json", {"--names"});
  set_footer(sub,
             "Every name can be given as MODEL, and so can its last part where only one model has "
             "it.");
  return make_command(
      sub, [values] { list_models(*values); }, "ingot models --json");
}

}  // namespace ingot
