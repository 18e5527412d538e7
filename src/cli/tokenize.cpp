// ingot tokenize: turns text into token ids and back, without loading weights.
#include <algorithm>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/error.h"
#include "base/text.h"
#include "cli/command.h"
#include "cli/input.h"
#include "cli/log.h"
#include "cli/options/model_options.h"
#include "cli/options/model_path.h"
#include "cli/options/options.h"
#include "cli/output.h"
#include "cli/reply.h"
#include "cli/stdin_lines.h"
#include "load/gguf/gguf.h"
#include "load/json.h"
#include "load/tokenizer/tokenizer_files.h"
#include "text/tokenizer/detokenizer.h"
#include "text/tokenizer/tokenizer.h"

namespace ingot {

namespace {

/// Maximum bytes of --file; a text's ids take four times its bytes.
constexpr std::uint64_t kFileBytesMax = std::uint64_t{1} << 30;
/// Maximum bytes of a line: 8 MiB of text, escaped.
constexpr std::size_t kLineBytesMax = std::size_t{1} << 26;
constexpr JsonLimits kTextLimits{.bytes_max = kLineBytesMax,
                                 .depth_max = 4,
                                 .nodes_max = 1U << 24,
                                 .string_bytes_max = kLineBytesMax};

struct TokenizeValues {
  std::vector<std::string> paths;
  std::optional<std::string> prompt, file, ids;
  EncodeOptions encode;
  bool add_special = false;
  bool jsonl = false;
};

[[noreturn]] void refuse(const std::string& message) { throw Error(ErrorCode::kInvalid, message); }

bool flag(const Json& line, std::string_view name) {
  const Json* value = line.find(name);
  if (value == nullptr) return false;
  if (value->as_bool() == nullptr) {
    refuse(cat(name, ": is ", value->kind(), ", expected true or false"));
  }
  return *value->as_bool();
}

Json encode_line(const Tokenizer& tokenizer, const Json& line) {
  const std::string* text = line.find("text")->as_string();
  if (text == nullptr) refuse(cat("text: is ", line.find("text")->kind(), ", expected a string"));
  Json ids = Json::array();
  for (const std::int32_t id :
       tokenizer.encode(*text, {.add_begin = flag(line, "add_special"),
                               .add_end = flag(line, "add_special"),
                               .parse_special = flag(line, "special"),
                               .parse_user_defined = flag(line, "user_defined")})) {
    ids.push(id);
  }
  Json reply = Json::object();
  reply.set("ids", std::move(ids));
  return reply;
}

Json decode_line(const Tokenizer& tokenizer, const Json& line) {
  const Json::Array* list = line.find("ids")->as_array();
  if (list == nullptr) refuse(cat("ids: is ", line.find("ids")->kind(), ", expected an array"));
  std::vector<std::int32_t> ids;
  for (const Json& id : *list) {
    const std::int64_t* value = id.as_int();
    if (value == nullptr || *value < 0 || *value >= tokenizer.size()) {
      refuse(cat("ids: expected ids from 0 to ", tokenizer.size() - 1));
    }
    ids.push_back(static_cast<std::int32_t>(*value));
  }
  Json reply = Json::object();
  reply.set("text", detokenize(tokenizer, ids, {.keep_control = true}));
  return reply;
}

Json answer(const Tokenizer& tokenizer, const Json& line) {
  constexpr std::string_view kMembers[] = {"text", "special", "user_defined", "add_special", "ids"};
  if (line.as_object() == nullptr) refuse(cat("expected an object, got ", line.kind()));
  for (const auto& [name, value] : *line.as_object()) {
    if (std::find(std::begin(kMembers), std::end(kMembers), name) == std::end(kMembers)) {
      refuse(cat("unknown member ", printable(name)));
    }
  }
  const bool encodes = line.find("text") != nullptr;
  if (encodes == (line.find("ids") != nullptr)) refuse("expected exactly one of text and ids");
  return encodes ? encode_line(tokenizer, line) : decode_line(tokenizer, line);
}

std::string decode_ids(const Tokenizer& tokenizer, std::string_view text) {
  std::vector<std::int32_t> ids;
  for (const std::int64_t id : parse_list(text, "--ids", 0, tokenizer.size() - 1)) {
    ids.push_back(static_cast<std::int32_t>(id));
  }
  return detokenize(tokenizer, ids, {.keep_control = true});
}

TokenizerData read_tokenizer(const std::vector<std::string>& models) {
  const auto embedded = [](const ModelPlace& place) {
    return *open_gguf_bytes(place.bytes, place.path)->tokenizer();
  };
  if (models.empty()) return embedded(find_model({}));
  std::vector<std::string> paths;
  for (const std::string& model : models) {
    const ModelPlace place = find_model(model);
    if (!place.bytes.empty() && models.size() == 1) return embedded(place);
    paths.push_back(place.path);
  }
  return read_tokenizer_files(paths);
}

int tokenize(const TokenizeValues& v) {
  const int inputs = v.prompt.has_value() + v.file.has_value() + v.ids.has_value() + v.jsonl;
  if (inputs != 1) refuse("expected exactly one of -p, --file, --ids and --jsonl");
  if (v.jsonl) claim_stdin("--jsonl");
  const TokenizerData data = read_tokenizer(v.paths);
  std::vector<std::string> details;
  const auto tokenizer = make_tokenizer(data, details);
  for (const std::string& warning : data.warnings) log_warning(warning);
  if (v.jsonl) {
    const bool all_good = answer_lines(
        kTextLimits, [&](const Json& line, std::size_t) { return answer(*tokenizer, line); });
    return all_good ? kDone : kCheckFailed;
  }
  if (v.ids) {
    write_model_text(decode_ids(*tokenizer, *v.ids) + "\n");
    return kDone;
  }
  const std::string text = v.file ? read_input(*v.file, kFileBytesMax).text : *v.prompt;
  EncodeOptions options = v.encode;
  options.add_begin = options.add_end = v.add_special;
  write_stdout(ids_line(tokenizer->encode(text, options)));
  return kDone;
}

}  // namespace

Command add_tokenize_command(CLI::App& app) {
  auto values = std::make_shared<TokenizeValues>();
  CLI::App& sub = add_command(app, "tokenize", "Turn text into token ids, or ids into text");
  add_words(sub, values->paths, "MODEL",
            "A GGUF file (a vocabulary alone will do), a Hugging Face folder, or the files of "
            "a tokenizer: tokenizer.json, a SentencePiece model, vocab.json and merges.txt, "
            "vocab.txt; with tokenizer_config.json and special_tokens_map.json",
            8, false);
  add_text(sub, values->prompt, "-p,--prompt", "Text to encode; prints its ids, comma-separated");
  add_text(sub, values->file, "--file", "A file whose text to encode (-: standard input)");
  mark_inputs(sub, {"--file"});
  add_text(sub, values->ids, "--ids", "Ids to decode, special tokens kept: 1,2,3");
  add_switch(sub, values->encode.parse_special, "--special",
             "Special and added tokens in the text become tokens");
  add_switch(sub, values->encode.parse_user_defined, "--user-defined",
             "Only the added tokens that are not special do");
  add_switch(sub, values->add_special, "--add-special",
             "Add BOS, EOS, CLS, SEP as the tokenizer says");
  add_switch(
      sub, values->jsonl, "--jsonl",
      "Encode or decode each line of stdin, an object {\"text\"}, which may set special, "
      "user_defined and add_special, or {\"ids\"}; prints {\"ids\"} or {\"text\"} for each. A "
      "bad line gives {\"error\"} in its place, and exit code 1 in the end");
  return {&sub, [values] { return tokenize(*values); },
          "ingot tokenize model.gguf -p \"Once upon a time\""};
}

}  // namespace ingot
