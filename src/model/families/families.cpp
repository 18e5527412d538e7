// The list of supported model families. A new family is added here.
#include <algorithm>
#include <array>

#include "base/error.h"
#include "base/text.h"
#include "model/families/decoder.h"

namespace ingot {

namespace {

using FamilyFn = const Family& (*)();

constexpr std::array kFamilies{llama_family, qwen2_family, qwen3_family, qwen3moe_family};

}  // namespace

const Family& find_family(const Config& config, const std::string& file) {
  std::string supported;
  for (const FamilyFn family : kFamilies) {
    const auto& names = family().architectures;
    if (std::find(names.begin(), names.end(), config.architecture) != names.end()) return family();
    for (const std::string_view name : names) supported += cat(supported.empty() ? "" : ", ", name);
  }
  throw model_error(file, "config",
                    cat("architecture ", printable(config.architecture),
                        " is not supported; supported are ", supported));
}

}  // namespace ingot
