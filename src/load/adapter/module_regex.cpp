// ModuleRegex: runs PCRE2 with limits on steps and memory.
#include "load/adapter/module_regex.h"

#include <charconv>

#include "base/error.h"
#include "base/text.h"
#include "load/pcre2_handles.h"

namespace ingot {

namespace {

/// Limits on one match: steps of backtracking, and KiB of memory. Names have at most 255 bytes, so
/// real expressions need a few hundred steps. Without limits a hostile one runs for hours.
constexpr std::uint32_t kMatchStepsMax = 100'000;
constexpr std::uint32_t kMatchHeapKiB = 4096;

/// Called before each item that PCRE2 tries. A number below 0 ends the match with this error.
int count_step(pcre2_callout_block*, void* budget) {
  return static_cast<MatchBudget*>(budget)->take(1) ? 0 : PCRE2_ERROR_CALLOUT;
}

}  // namespace

struct ModuleRegex::Compiled {
  Pcre2Code code;
};

ModuleRegex::ModuleRegex(std::string_view expression, const std::string& file, std::string_view key)
    : source_(expression), file_(file), key_(key) {
  const auto fail = [&](std::string_view reason) {
    throw model_error(file_, "config",
                      cat(key_, " has the expression '", printable(source_), "': ", reason));
  };
  if (source_.size() > kModuleRegexBytesMax) {
    fail(cat(source_.size(), " bytes are more than ", kModuleRegexBytesMax));
  }
  int error = 0;
  std::size_t at = 0;
  auto compiled = std::make_unique<Compiled>();
  compiled->code.reset(pcre2_compile(reinterpret_cast<PCRE2_SPTR>(source_.data()), source_.size(),
                                     PCRE2_UTF | PCRE2_UCP | PCRE2_ANCHORED | PCRE2_AUTO_CALLOUT,
                                     &error, &at, nullptr));
  if (!compiled->code) fail(pcre2_text(error));
  compiled_ = std::move(compiled);
}

ModuleRegex::ModuleRegex(ModuleRegex&&) noexcept = default;
ModuleRegex& ModuleRegex::operator=(ModuleRegex&&) noexcept = default;
ModuleRegex::~ModuleRegex() = default;

bool ModuleRegex::match(std::string_view name, std::uint32_t options, MatchBudget& budget,
                        std::string* captured) const {
  const Pcre2MatchContext context(pcre2_match_context_create(nullptr));
  pcre2_set_match_limit(context.get(), kMatchStepsMax);
  pcre2_set_heap_limit(context.get(), kMatchHeapKiB);
  pcre2_set_callout(context.get(), count_step, &budget);
  const pcre2_code* code = compiled_->code.get();
  const Pcre2MatchData data(pcre2_match_data_create_from_pattern(code, nullptr));
  const int found = pcre2_match(code, reinterpret_cast<PCRE2_SPTR>(name.data()), name.size(), 0,
                                options, data.get(), context.get());
  if (found == PCRE2_ERROR_NOMATCH) return false;
  if (found < 0) {
    const std::string reason =
        found == PCRE2_ERROR_CALLOUT
            ? cat("matching the configuration takes more than ", budget.steps_max(), " steps")
            : pcre2_text(found);
    throw model_error(file_, "config",
                      cat(key_, " has the expression '", printable(source_), "' that fails on '",
                          printable(name), "': ", reason));
  }
  if (captured == nullptr) return true;
  PCRE2_UCHAR* text = nullptr;
  std::size_t size = 0;
  if (pcre2_substring_get_byname(data.get(), reinterpret_cast<PCRE2_SPTR>("idx"), &text, &size) !=
      0) {
    return true;
  }
  captured->assign(reinterpret_cast<const char*>(text), size);
  pcre2_substring_free(text);
  return true;
}

bool ModuleRegex::matches_all(std::string_view name, MatchBudget& budget) const {
  return match(name, PCRE2_ENDANCHORED, budget, nullptr);
}

std::optional<std::int64_t> ModuleRegex::captured_index(std::string_view name,
                                                        MatchBudget& budget) const {
  std::string text;
  if (!match(name, 0, budget, &text)) return std::nullopt;
  std::int64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  return error == std::errc{} ? std::optional(value) : std::nullopt;
}

}  // namespace ingot
