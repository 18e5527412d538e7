// Compares paths by the files that they refer to.
#include "cli/options/own_input.h"

#include <filesystem>
#include <system_error>

#include "cli/options/options.h"

namespace ingot {

void refuse_own_input(std::string_view option, const std::string& out, const Checkpoint& model,
                      std::vector<std::string> inputs) {
  namespace fs = std::filesystem;
  inputs.insert(inputs.end(), model.files().begin(), model.files().end());
  inputs.push_back(model.name());
  std::error_code ignored;
  const auto same = [&](const fs::path& input) { return fs::equivalent(input, out, ignored); };
  bool own = false;
  for (const std::string& input : inputs) {
    own = own || same(input);
    for (const auto& entry : fs::directory_iterator(input, ignored)) {
      own = own || same(entry.path());
    }
  }
  if (own) throw bad_option(option, out, "it is a file that this command reads");
}

}  // namespace ingot
