// Prints the table of request fields as Markdown, for the docs.
#include <algorithm>
#include <array>
#include <bit>
#include <map>

#include "base/text.h"
#include "cli/shell/man_page.h"
#include "runtime/request_fields.h"

namespace ingot {

namespace {

/// Names of places, in the order of their bits.
constexpr std::array<std::string_view, 11> kPlaces = {
    "`run`",     "`chat`",   "`/set`",     "JSON lines", "chats",      "completions",
    "responses", "messages", "embeddings", "sessions",   "model files"};

/// Names of types, in the order of the alternatives of FieldMember.
constexpr std::array<std::string_view, std::variant_size_v<FieldMember>> kTypes = {
    "text",  "number",  "integer", "integer", "integer", "integer", "numbers by token", "token ids",
    "texts", "integer", "integer", "number",  "boolean", "texts",   "token ids"};

std::string names(Places places) {
  std::string list;
  for (std::size_t i = 0; i < kPlaces.size(); ++i) {
    if ((places >> i & 1) != 0) list += cat(list.empty() ? "" : ", ", kPlaces[i]);
  }
  return list;
}

/// A field's bounds as text. The largest value of a type does not count as a bound.
std::string range_text(const FieldRange& range) {
  if (range.low == range.high) return "any";
  const std::string from = cat(range.is_above_low ? "above " : "from ", range.low);
  return range.high < kMost<std::int32_t> ? cat(from, " to ", range.high) : from;
}

std::string default_text(const RequestField& field, Places where) {
  // The seed's default is no number, so the table of fields cannot state it.
  if (field.name == "seed" && where != place::kRun) return "random";
  const std::string text = field_text(field, default_request(where));
  return text.empty() || text == "[]" || text == "{}" || text == "inf" ? "none" : text;
}

/// The text for each place, with the most common text last: "1 (`chat`), else 0".
template <class TextAt>
std::string by_place(Places places, TextAt text_at) {
  std::map<std::string, Places> texts;
  for (Places bit = 1; bit <= place::kModel; bit <<= 1) {
    if ((places & bit) != 0) texts[text_at(bit)] |= bit;
  }
  const auto usual = std::max_element(texts.begin(), texts.end(), [](const auto& a, const auto& b) {
    return std::popcount(a.second) < std::popcount(b.second);
  });
  std::string list;
  for (auto at = texts.begin(); at != texts.end(); ++at) {
    if (at != usual) list += cat(at->first, " (", names(at->second), "), ");
  }
  if (usual == texts.end()) return "";
  return list.empty() ? usual->first : cat(list, "else ", usual->first);
}

/// A field's other names, with their places: "; also `n_predict` (JSON lines)".
std::string alias_text(const RequestField& field) {
  std::string text;
  for (const FieldAlias& alias : field.aliases) {
    const bool is_everywhere =
        (field.places & ~(alias.places | place::kSession | place::kModel)) == 0;
    text += cat("; also `", alias.name, "`",
                is_everywhere ? std::string() : cat(" (", names(alias.places), ")"));
  }
  return text;
}

std::string line(const RequestField& field) {
  // Fields at other places have no default: an absent field keeps its earlier value.
  constexpr Places kWithDefaults = place::kFlags | place::kHttp | place::kEmbeddings;
  const auto range = [&](Places bit) { return range_text(range_at(field, bit)); };
  const auto initial = [&](Places bit) { return default_text(field, bit); };
  const std::string flag = field.flag.empty() ? "" : cat("; flag `", field.flag, "`");
  const std::string_view type = field.type.empty() ? kTypes[field.member.index()] : field.type;
  return cat("| `", field.name, "` | ", type, " | ", by_place(field.places, range), " | ",
             by_place(field.places & kWithDefaults, initial), " | ", names(field.places), flag,
             alias_text(field), " | ", field.help, " |\n");
}

}  // namespace

std::string field_table() {
  std::string table =
      "| field | type | values | default | where | meaning |\n|---|---|---|---|---|---|\n";
  for (const RequestField& field : request_fields()) table += line(field);
  return table;
}

}  // namespace ingot
