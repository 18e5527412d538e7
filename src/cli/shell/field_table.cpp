// Request fields as lines of a Markdown table.
#include "cli/shell/field_table.h"

#include <utility>

#include "base/text.h"
#include "runtime/request_fields.h"

namespace ingot {

namespace {

using namespace place;

/// Places by their names in the docs.
constexpr std::pair<Places, std::string_view> kNames[] = {
    {kRun, "`run`"},           {kTalk, "`chat`"},       {kSet, "`/set`"},
    {kLine, "JSON lines"},     {kChat, "chats"},        {kCompletions, "completions"},
    {kResponses, "responses"}, {kMessages, "messages"}, {kEmbeddings, "embeddings"},
    {kSession, "sessions"},    {kModel, "model files"}};

void append(std::string& list, std::string_view entry, std::string_view between) {
  list += cat(list.empty() ? "" : between, entry);
}

std::string places_text(Places places) {
  std::string text;
  for (const auto& [bit, name] : kNames) {
    if ((places & bit) != 0) append(text, name, ", ");
  }
  return text;
}

/// A type's name, and its bounds where it has any.
struct ValueText {
  const RequestField& field;
  const FieldRange& range;
  std::string text{};

  void operator()(const bool& /*value*/) { text = "boolean"; }
  void operator()(const float& /*value*/) { number<double>("number"); }
  void operator()(const double& /*value*/) { number<double>("number"); }
  template <class Int>
  void operator()(const Int& /*value*/) {
    number<Int>("integer");
  }
  void operator()(const std::vector<std::int32_t>& /*value*/) { text = "array of token ids"; }
  void operator()(const std::vector<LogitBias>& /*value*/) {
    number<double>("object of token ids and numbers");
  }
  void operator()(const std::vector<std::string>& /*value*/) {
    text = field.is_list ? "array of strings" : "string or array of strings";
  }

 private:
  template <class T>
  void number(std::string_view type) {
    // An unsigned field may take a signed number for one of as many bits.
    using Low = std::conditional_t<std::is_unsigned_v<T>, std::int64_t, T>;
    text = cat(type, range.is_above_low ? " above " : " from ", bound<Low>(range.low), " to ",
               bound<T>(range.high));
  }
};

std::string values_text(const RequestField& field, const FieldRange& range) {
  const Request request;
  ValueText values{.field = field, .range = range, .text = "string"};
  with_value(field, values, request);
  return values.text;
}

/// `base` for the places that no variation names, then what each variation says for its places.
template <class Say>
std::string by_places(const RequestField& field, Places places, std::string_view base, Say say) {
  std::string variations;
  Places left = places;
  for (const FieldVariation& v : field.variations) {
    const std::string text = say(v);
    const Places here = v.places & left;
    if (text.empty() || here == 0) continue;
    const bool is_all = here == places;
    left &= ~here;
    append(variations, is_all ? text : cat(places_text(here), ": ", text), "; ");
  }
  std::string text;
  if (left != 0) text = base;
  if (!variations.empty()) append(text, variations, "; ");
  return text;
}

std::string all_values(const RequestField& field) {
  return by_places(field, field.places, values_text(field, field.range),
                   [&](const FieldVariation& v) {
                     return v.range ? values_text(field, *v.range) : std::string();
                   });
}

/// Places that bring values of their own, or none, say nothing of defaults.
std::string all_defaults(const RequestField& field) {
  constexpr Places kStating = kRun | kTalk | kHttp | kEmbeddings;
  const std::string text = field_text(field, Request());
  const bool is_something = !text.empty() && text != "[]" && text != "{}" && text != "inf";
  return by_places(
      field, field.places & kStating, is_something ? text : "none",
      [](const FieldVariation& v) { return v.initial ? cat(*v.initial) : std::string(); });
}

}  // namespace

std::string field_table() {
  std::string table = "| Field | Values | Default | Where | Meaning |\n|---|---|---|---|---|\n";
  for (const RequestField& field : request_fields()) {
    std::string places = places_text(field.places);
    if (!field.flag.empty()) append(places, cat("flag `", field.flag, "`"), "; ");
    table += cat("| `", field.name, "` | ", all_values(field), " | ", all_defaults(field), " | ",
                 places, " | ", field.help, " |\n");
  }
  return table;
}

}  // namespace ingot
