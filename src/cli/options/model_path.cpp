// Finds the file or folder that MODEL means.
#include "cli/options/model_path.h"

#include <filesystem>
#include <system_error>

#include "base/error.h"
#include "base/text.h"
#include "cli/log.h"
#include "cli/options/built_in_model.h"
#include "cli/options/hub_environment.h"
#include "hub/find_model.h"

namespace ingot {

namespace {

/// Whether nothing exists at a path. False if that cannot be found out.
bool is_absent(const std::string& path) {
  std::error_code error;
  return std::filesystem::symlink_status(path, error).type() ==
         std::filesystem::file_type::not_found;
}

ModelPlace built_in_place() {
  log_info(cat("using ", kBuiltInModel, ", the built-in model"));
  return {.path = std::string(kBuiltInModel), .bytes = built_in_model()};
}

}  // namespace

ModelPlace find_model(const std::optional<std::string>& given) {
  if (!given) return built_in_place();
  const std::string& model = *given;
  if (!is_absent(model)) return {.path = model};
  const auto name = hub_model_name(model);
  if (!name) return {.path = model};
  const std::string cache = hub_cache_folder();
  if (!cache.empty()) {
    if (const auto found = find_cached_model(cache, *name)) {
      if (!found->note.empty()) log_info(found->note);
      return {.path = found->path};
    }
  }
  if (model == kBuiltInModel) return built_in_place();
  const bool is_full = name->repo.find('/') != name->repo.npos;
  throw model_error(model, "file",
                    is_full ? cat("no such file, and no model of this name is here: ingot pull ",
                                  to_string(*name), " gets one from the Hugging Face hub")
                            : "no such file, and no model of this name is here: ingot models "
                              "lists what is");
}

}  // namespace ingot
