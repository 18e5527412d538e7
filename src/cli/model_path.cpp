// Looking MODEL up.
#include "cli/model_path.h"

#include <filesystem>
#include <system_error>

#include "base/error.h"
#include "base/text.h"
#include "cli/built_in_model.h"
#include "cli/hub_environment.h"
#include "cli/log.h"
#include "hub/find_model.h"

namespace ingot {

namespace {

/// Whether there is nothing at a path, and nothing that keeps from looking.
bool is_absent(const std::string& path) {
  std::error_code error;
  return std::filesystem::symlink_status(path, error).type() ==
         std::filesystem::file_type::not_found;
}

}  // namespace

ModelPlace find_model(const std::string& model) {
  const auto name = parse_model_name(model);
  if (!name || !is_absent(model)) return {.path = model};
  const std::string cache = hub_cache_folder();
  if (!cache.empty()) {
    if (auto path = find_cached_model(cache, *name)) return {.path = *path};
  }
  if (model == kBuiltInModel) {
    log_info(cat("using ", model, ", the built-in model"));
    return {.path = model, .bytes = built_in_model()};
  }
  const bool is_full = name->repo.find('/') != name->repo.npos;
  throw model_error(model, "file", 0,
                    is_full ? cat("no such file, and no model of this name is here: ingot pull ",
                                  model, " gets one from the Hugging Face hub")
                            : "no such file, and no model of this name is here: ingot models "
                              "lists what is");
}

}  // namespace ingot
