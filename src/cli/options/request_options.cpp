// Flags of request fields: declares them from the table, and copies given values.
#include "cli/options/request_options.h"

#include <limits>

#include "base/error.h"
#include "base/text.h"
#include "cli/options/model_options.h"
#include "cli/options/options.h"

namespace ingot {

namespace {

constexpr std::int32_t kIdMax = std::numeric_limits<std::int32_t>::max();

/// Parses "ID=V,ID=V" and adds the biases.
void parse_biases(std::string_view text, const std::string& flag, const FieldRange& range,
                  std::vector<LogitBias>& biases) {
  for (;;) {
    const std::size_t comma = text.find(',');
    const std::string_view entry = text.substr(0, comma);
    const std::size_t equals = entry.find('=');
    if (equals == std::string_view::npos) throw bad_option(flag, entry, "expected ID=V,..");
    const auto id = parse_whole(entry.substr(0, equals), flag, std::int32_t{0}, kIdMax);
    const double bias = parse_real(entry.substr(equals + 1), flag, range.low, range.high);
    biases.push_back({id, static_cast<float>(bias)});
    if (comma == std::string_view::npos) break;
    text.remove_prefix(comma + 1);
  }
  sort_biases(biases, flag);
}

/// Declares a field's flag; one function for each type of value.
struct FlagDeclarer {
  CLI::App& app;
  const std::string flag;
  const std::string help;
  const FieldRange range;
  const Places command;

  void operator()(bool& value) const { add_switch(app, value, flag, help); }
  void operator()(std::vector<std::string>& value) const { add_texts(app, value, flag, help); }
  void operator()(std::vector<std::int32_t>& value) const {
    const auto add = [&value, flag = flag](const std::string& text) {
      for (const std::int64_t id : parse_list(text, flag, 0, kIdMax)) {
        value.push_back(static_cast<std::int32_t>(id));
      }
    };
    add_texts(app, add, flag, help);
  }
  void operator()(std::vector<LogitBias>& value) const {
    const auto add = [&value, flag = flag, range = range](const std::string& text) {
      parse_biases(text, flag, range, value);
    };
    add_texts(app, add, flag, help);
  }
  void operator()(float& value) const {
    add_number(app, value, {.name = flag, .help = help, .low = range.low, .high = range.high});
  }
  void operator()(double& /*seconds*/) const {}        // no flag
  void operator()(std::uint32_t& /*choice*/) const {}  // no flag
  /// The seed: `ingot run` has the default 0, and `ingot chat` draws one.
  void operator()(std::uint64_t& seed) const {
    add_seed(app, seed,
             {.name = flag,
              .help = help,
              .high = bound<std::uint64_t>(range.high),
              .show_default = command == place::kRun});
  }
  template <class Int>
  void operator()(Int& value) const {
    add_number(app, value,
               {.name = flag,
                .help = help,
                .low = bound<Int>(range.low),
                .high = bound<Int>(range.high),
                .show_default = static_cast<double>(value) >= range.low});
  }
};

}  // namespace

void add_request_options(CLI::App& app, Request& request, Places command) {
  for (const RequestField& field : request_fields()) {
    if ((field.places & command) == 0) continue;
    const FlagDeclarer declare{.app = app,
                               .flag = flags_of(field, command),
                               .help = std::string(field.help),
                               .range = range_at(field, command),
                               .command = command};
    with_value(field, declare, request);
  }
}

void copy_given(Request& to, const Request& from, const CLI::App& app, Places command) {
  for (const RequestField& field : request_fields()) {
    if ((field.places & command) == 0 || !is_given(app, flag_of(field))) continue;
    copy_field(field, to, from);
  }
}

RequestLimits request_limits(const Instance& instance, std::int64_t ctx) {
  const Spec& spec = instance.spec();
  return {.vocab = spec.vocab,
          .ids = instance.sampled_ids(),
          .hidden = spec.hidden,
          .context = ctx > 0 ? ctx : spec.context,
          .prompt_logprobs = kLogprobsMax,
          .text = instance.tokenizer() != nullptr};
}

}  // namespace ingot
