// Recognises a tokenizer's files by content, and reads them as one tokenizer.
#include "load/tokenizer/tokenizer_files.h"

#include <algorithm>
#include <cctype>
#include <filesystem>
#include <optional>
#include <system_error>
#include <utility>
#include <vector>

#include "base/error.h"
#include "base/text.h"
#include "base/utf8.h"
#include "load/gguf/gguf.h"
#include "load/hf/hf_folder.h"
#include "load/json.h"
#include "load/tokenizer/sentencepiece_model.h"
#include "load/tokenizer/tokenizer_json.h"
#include "load/tokenizer/tokenizer_settings.h"
#include "load/tokenizer/vocab_files.h"
#include "load/wrong_file.h"

namespace ingot {

namespace fs = std::filesystem;

namespace {

/// Most bytes of a file. The largest public tokenizer.json has 35 MB.
constexpr std::uint64_t kFileBytesMax = 200'000'000;

/// The kind of a file, recognised by content.
enum class Content { kTokenizerJson, kVocabJson, kSettings, kSentencePiece, kMerges, kVocabTxt };

bool is_json(std::string_view text) {
  text = without_byte_order_mark(text);
  const std::size_t at = text.find_first_not_of(" \t\r\n");
  return at != std::string_view::npos && text[at] == '{';
}

bool is_vocabulary(const Json& root) {
  const Json::Object& members = *root.as_object();
  return !members.empty() && std::all_of(members.begin(), members.end(), [](const auto& member) {
    return member.second.as_int() != nullptr;
  });
}

/// The first line that is not empty and not a header. In a merges.txt it is "left right".
bool is_merges(std::string_view text) {
  if (text.starts_with("#version")) return true;
  const std::string_view line = text.substr(0, text.find('\n'));
  const std::size_t space = line.find(' ');
  return space != std::string_view::npos && space > 0 && space + 1 < line.size();
}

Content content_of(const std::string& text, const std::optional<Json>& json) {
  if (json) {
    const Json* model = json->find("model");
    if (model != nullptr && model->as_object() != nullptr) return Content::kTokenizerJson;
    return is_vocabulary(*json) ? Content::kVocabJson : Content::kSettings;
  }
  if (is_sentencepiece_model(text)) return Content::kSentencePiece;
  return is_merges(text) ? Content::kMerges : Content::kVocabTxt;
}

/// The files of one tokenizer.
class FileSet {
 public:
  void add(const File& file) { add(file.name(), file.read_all(kFileBytesMax)); }
  void add_template(std::string_view name, const File& file) {
    settings_.templates.add(name,
                            std::string(without_byte_order_mark(file.read_all(kFileBytesMax))));
  }
  void add_template_json(const File& file) {
    read_chat_template(parse(file.name(), file.read_all(kFileBytesMax)), file.name(), settings_);
  }
  void add_legacy(const File& file) {
    read_legacy_added(parse(file.name(), file.read_all(kFileBytesMax)), file.name(), settings_);
  }

  /// Reads the tokenizer from all added files.
  TokenizerData read() {
    if (const Part* json = part(Content::kTokenizerJson)) {
      refuse_rest(1);
      TokenizerData data = read_tokenizer_json(*json->json, json->name);
      if (settings_.file.empty()) settings_.file = json->name;
      apply_settings(data, settings_);
      return data;
    }
    if (const Part* model = part(Content::kSentencePiece)) {
      refuse_rest(1);
      return read_sentencepiece(*model);
    }
    const Part* vocab = part(Content::kVocabJson);
    const Part* merges = part(Content::kMerges);
    if (vocab != nullptr && merges != nullptr) {
      refuse_rest(2);
      return read_vocab_and_merges(*vocab->json, vocab->name, {merges->text, merges->name},
                                   settings_);
    }
    if (const Part* words = part(Content::kVocabTxt)) {
      refuse_rest(1);
      return read_vocab_txt({words->text, words->name}, settings_);
    }
    if (vocab != nullptr) {
      throw model_error(vocab->name, "tokenizer", "a vocab.json needs its merges.txt beside it");
    }
    if (merges != nullptr) {
      throw model_error(merges->name, "tokenizer", "merges need their vocab.json beside them");
    }
    throw model_error(settings_.file, "tokenizer", "there is no vocabulary beside the settings");
  }

 private:
  struct Part {
    std::string name;
    std::string text;
    std::optional<Json> json;
  };

  static Json parse(const std::string& name, const std::string& text) {
    return parse_json_file(text, name, "tokenizer", kTokenizerJsonLimits);
  }

  void add(const std::string& name, std::string text) {
    Part part{name, std::move(text), std::nullopt};
    if (is_json(part.text)) part.json = parse(name, part.text);
    const Content content = content_of(part.text, part.json);
    if (content == Content::kVocabTxt && (part.text.empty() || !is_utf8(part.text))) {
      throw model_error(
          name, "tokenizer",
          "is no file of a tokenizer: neither GGUF nor JSON nor a SentencePiece model "
          "nor a list of tokens or merges");
    }
    if (content == Content::kSettings) {
      complete_settings(settings_, read_tokenizer_settings(*part.json, name));
      return;
    }
    if (const Part* other = this->part(content)) {
      throw model_error(name, "tokenizer",
                        cat("is of the same kind as ", printable(other->name), ": name one"));
    }
    parts_.emplace_back(content, std::move(part));
  }

  Part* part(Content content) {
    for (auto& [kind, part] : parts_) {
      if (kind == content) return &part;
    }
    return nullptr;
  }

  TokenizerData read_sentencepiece(const Part& model) const {
    const std::span bytes(reinterpret_cast<const std::byte*>(model.text.data()), model.text.size());
    TokenizerData data = read_sentencepiece_model(bytes, model.name);
    TokenizerSettings settings = settings_;
    if (settings.tokenizer_class) {
      auto defaults = class_defaults(*settings.tokenizer_class);
      if (!defaults) {
        throw model_error(settings.file, "tokenizer config",
                          cat("tokenizer_class '", printable(*settings.tokenizer_class, 64),
                              "' is not supported with a SentencePiece model; supported: "
                              "LlamaTokenizer, GemmaTokenizer, T5Tokenizer"));
      }
      complete_settings(settings, std::move(*defaults));
    }
    if (settings.file.empty()) settings.file = model.name;
    apply_settings(data, settings);
    return data;
  }

  void refuse_rest(std::size_t used) const {
    if (parts_.size() == used) return;
    std::string names;
    for (const auto& [kind, part] : parts_) {
      names += cat(names.empty() ? "" : ", ", printable(part.name));
    }
    throw model_error(parts_.front().second.name, "tokenizer",
                      cat("these files are more than one tokenizer: ", names));
  }

  std::vector<std::pair<Content, Part>> parts_;
  TokenizerSettings settings_;
};

/// Adds the folder's vocabulary. If it has several kinds, the first of this order.
bool add_vocabulary(FileSet& files, const Directory& folder) {
  static const std::vector<std::string_view> kKinds[] = {{"tokenizer.json"},
                                                         {"tokenizer.model"},
                                                         {"spiece.model"},
                                                         {"vocab.json", "merges.txt"},
                                                         {"vocab.txt"}};
  const auto is_there = [&](std::string_view name) { return folder.contains(name); };
  for (const std::vector<std::string_view>& names : kKinds) {
    if (!std::all_of(names.begin(), names.end(), is_there)) continue;
    for (const std::string_view name : names) files.add(open_model_file(folder, name));
    return true;
  }
  return false;
}

/// Adds the templates of a folder: "default" in chat_template.jinja or chat_template.json, and
/// others as NAME.jinja in a folder of their own. If there are any, those in tokenizer_config.json
/// do not count.
///
/// Source: Hugging Face's transformers, CHAT_TEMPLATE_DIR and save_chat_templates.
void add_templates(FileSet& files, const Directory& folder) {
  constexpr std::string_view kFolder = "additional_chat_templates";
  constexpr std::string_view kEnding = ".jinja";
  if (folder.contains("chat_template.jinja")) {
    files.add_template("default", open_model_file(folder, "chat_template.jinja"));
  } else if (folder.contains("chat_template.json")) {
    files.add_template_json(open_model_file(folder, "chat_template.json"));
  }
  const std::string path = cat(folder.name(), folder.name().ends_with('/') ? "" : "/", kFolder);
  std::error_code none;
  // A link could lead out of the model's folder.
  if (!fs::is_directory(fs::symlink_status(path, none))) return;
  const Directory named(path);
  std::size_t count = 0;
  for (const std::string& file : named.list()) {
    if (!file.ends_with(kEnding) || file.size() == kEnding.size() || !named.contains(file))
      continue;
    if (++count > kNamedTemplatesMax) {
      throw model_error(path, "folder", cat("has more than ", kNamedTemplatesMax, " templates"));
    }
    files.add_template(std::string_view(file).substr(0, file.size() - kEnding.size()),
                       open_model_file(named, file));
  }
}

bool is_gguf(const File& file) {
  constexpr std::string_view kMagic = "GGUF";
  char start[4] = {};
  if (file.size() < sizeof start) return false;
  file.read_at(0, std::as_writable_bytes(std::span(start)));
  return std::string_view(start, sizeof start) == kMagic;
}

TokenizerData read_folder(const std::string& path) {
  if (auto tokenizer = read_folder_tokenizer(Directory(path))) return std::move(*tokenizer);
  const auto gguf = folder_gguf(path);
  if (!gguf) {
    throw model_error(
        path, "folder",
        "no tokenizer found: looked for tokenizer.json, tokenizer.model, spiece.model, "
        "vocab.json with merges.txt, vocab.txt and for a .gguf file");
  }
  return std::move(*read_gguf_tokenizer(*gguf));
}

}  // namespace

TokenizerData read_tokenizer_files(std::span<const std::string> paths) {
  FileSet files;
  for (const std::string& path : paths) {
    const bool folder = is_folder(path);
    if (!folder) {
      const File file(path);
      if (!is_gguf(file)) {
        refuse_lfs_pointer(file);
        files.add(file);
        continue;
      }
    }
    if (paths.size() > 1) {
      throw model_error(path, "tokenizer", "is a tokenizer by itself: name no other file");
    }
    return folder ? read_folder(path) : std::move(*read_gguf_tokenizer(path));
  }
  return files.read();
}

std::unique_ptr<TokenizerData> read_folder_tokenizer(const Directory& folder) {
  FileSet files;
  add_templates(files, folder);
  if (!add_vocabulary(files, folder)) return nullptr;
  for (const std::string_view name : {"tokenizer_config.json", "special_tokens_map.json"}) {
    if (folder.contains(name)) files.add(open_model_file(folder, name));
  }
  const bool legacy = !folder.contains("tokenizer.json") && folder.contains("added_tokens.json");
  if (legacy) files.add_legacy(open_model_file(folder, "added_tokens.json"));
  return std::make_unique<TokenizerData>(files.read());
}

}  // namespace ingot
