// ingot embed: turns texts into vectors.
#include <unistd.h>

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/error.h"
#include "base/text.h"
#include "base/utf8.h"
#include "cli/command.h"
#include "cli/input.h"
#include "cli/log.h"
#include "cli/npy.h"
#include "cli/options/options.h"
#include "cli/output.h"
#include "cli/pooled_batch.h"
#include "runtime/embed/prompts.h"
#include "runtime/embed/vectors.h"

namespace ingot {

namespace {

enum class EmbedFormat { kJson, kCsv, kNpy };

struct EmbedValues {
  ModelOptionValues model;
  std::optional<std::string> prompt, file;
  bool jsonl = false;
  std::string pooling;
  bool no_normalize = false;
  std::optional<std::int32_t> dimensions;
  std::optional<std::string> prompt_name;
  bool truncate = false;
  std::string format = "json";
  BatchValues batch;

  EmbedFormat as() const {
    return format == "csv"   ? EmbedFormat::kCsv
           : format == "npy" ? EmbedFormat::kNpy
                             : EmbedFormat::kJson;
  }
};

std::optional<Pooling> parse_pooling(const std::string& name) {
  if (name == "mean") return Pooling::kMean;
  if (name == "cls") return Pooling::kCls;
  if (name == "last") return Pooling::kLast;
  return {};
}

/// Turns texts and lines into inputs.
class InputReader {
 public:
  InputReader(const EmbedValues& v, const Instance& instance)
      : v_(v),
        instance_(instance),
        limit_(input_limit(instance, v.model)),
        prefix_(prompt_named(instance.embedder(), v.prompt_name)) {}

  std::vector<PooledItem> read() {
    std::vector<PooledItem> items;
    if (v_.prompt) items.push_back(text_item(*v_.prompt));
    if (v_.file) {
      const TextInput input = read_input(*v_.file, kInputFileBytesMax);
      for (const std::string_view line : split_lines(without_byte_order_mark(input.text))) {
        items.push_back(text_item(line));
      }
    }
    if (v_.jsonl) read_lines(items);
    return items;
  }

  std::int64_t limit() const { return limit_; }

 private:
  std::int64_t tokens_max() const { return v_.truncate ? limit_ : kNoCut; }

  PooledItem text_item(std::string_view text) const {
    const Tokenizer& tokenizer = require_tokenizer(instance_, ": use --jsonl with ids");
    PooledItem item{.input = encode_input(
                        tokenizer, input_text(instance_.embedder(), prefix_, text), tokens_max())};
    check_input(item, limit_);
    return item;
  }

  void read_lines(std::vector<PooledItem>& items) const {
    const std::string input = read_stdin();
    std::size_t number = 0;
    for (const std::string_view line : split_lines(without_byte_order_mark(input))) {
      ++number;
      if (is_blank(line)) continue;
      try {
        items.push_back(
            line_item(parse_json(line, "stdin", cat("line ", number), kInputLineLimits)));
      } catch (const Error& error) {
        items.push_back({.input = {}, .error = error.message()});
      }
    }
  }

  PooledItem line_item(const Json& line) const {
    if (line.as_object() == nullptr) refuse_input(cat("expected an object, got ", line.kind()));
    for (const auto& [name, value] : *line.as_object()) {
      if (name != "text" && name != "ids") refuse_input(cat("unknown member ", printable(name)));
    }
    const Json* text = line.find("text");
    const Json* ids = line.find("ids");
    if ((text == nullptr) == (ids == nullptr)) refuse_input("expected exactly one of text and ids");
    if (ids != nullptr) return ids_item(*ids);
    if (text->as_string() == nullptr)
      refuse_input(cat("text: is ", text->kind(), ", expected a string"));
    return text_item(*text->as_string());
  }

  PooledItem ids_item(const Json& list) const {
    if (list.as_array() == nullptr)
      refuse_input(cat("ids: is ", list.kind(), ", expected an array"));
    const std::int64_t vocab = instance_.spec().vocab;
    std::vector<std::int32_t> ids;
    for (const Json& id : *list.as_array()) {
      const std::int64_t* value = id.as_int();
      if (value == nullptr || *value < 0 || *value >= vocab) {
        refuse_input(cat("ids: expected ids from 0 to ", vocab - 1));
      }
      ids.push_back(static_cast<std::int32_t>(*value));
    }
    PooledItem item{.input = take_ids(std::move(ids), tokens_max())};
    check_input(item, limit_);
    return item;
  }

  const EmbedValues& v_;
  const Instance& instance_;
  std::int64_t limit_;
  std::string_view prefix_;  ///< the prompt before each text
};

/// Writes results in the order of the inputs.
class VectorPrinter {
 public:
  VectorPrinter(const EmbedValues& v, const Instance& instance, std::size_t rows)
      : v_(v), instance_(instance), rows_(rows) {}

  /// Errors: Error{kInvalid} if an input failed and the format has no place for errors.
  void print(PooledItem& item) {
    if (!item.error.empty()) return print_error(item);
    if (v_.dimensions) shorten(item.pooled, *v_.dimensions, instance_.normalises());
    switch (v_.as()) {
      case EmbedFormat::kJson:
        write_stdout(cat("{\"embedding\":", json_list(item.pooled),
                         ",\"tokens\":", item.input.ids.size(), "}\n"));
        break;
      case EmbedFormat::kCsv: {
        const std::string list = json_list(item.pooled);
        write_stdout(cat(std::string_view(list).substr(1, list.size() - 2), "\n"));
        break;
      }
      case EmbedFormat::kNpy:
        print_row(item.pooled);
    }
    item.pooled = {};
  }

  /// Ends the output: a matrix without rows has a header, too. `size` is the size of a vector.
  void finish(std::int64_t size) {
    if (v_.as() == EmbedFormat::kNpy && !has_header_) write_stdout(npy_header(0, size));
  }

  bool failed() const { return failed_; }

 private:
  void print_error(const PooledItem& item) {
    if (v_.as() != EmbedFormat::kJson) refuse_input(with_flags(item.error));
    failed_ = true;
    Json j = Json::object();
    j.set("error", with_flags(item.error));
    write_stdout(j.dump() + "\n");
  }

  void print_row(const std::vector<float>& values) {
    if (!has_header_) {
      write_stdout(npy_header(static_cast<std::int64_t>(rows_), std::ssize(values)));
      has_header_ = true;
    }
    write_stdout({reinterpret_cast<const char*>(values.data()), values.size() * sizeof(float)});
  }

  const EmbedValues& v_;
  const Instance& instance_;
  std::size_t rows_;
  bool has_header_ = false;
  bool failed_ = false;
};

void check_options(const EmbedValues& v) {
  const int inputs = int{v.prompt.has_value()} + int{v.file.has_value()} + int{v.jsonl};
  if (inputs != 1) refuse_input("expected exactly one of -p, --file and --jsonl");
  if (v.jsonl) claim_stdin("--jsonl");
  if (v.as() == EmbedFormat::kNpy && isatty(STDOUT_FILENO) != 0) {
    refuse_input("--format npy: stdout is a terminal, and the output is no text");
  }
}

/// Tells users of a model that was not made for embeddings what its vectors are.
void warn_of_decoder(const EmbedValues& v, const Instance& instance) {
  if (is_embedder(instance.config()) || !instance.config().causal) return;
  const std::string_view what = v.pooling.empty() || v.pooling == "last"
                                    ? "the state of a text's last token, after the final norm,"
                                    : "its states";
  log_warning(cat(instance.config().architecture, " was not made for embeddings: ", what,
                  v.pooling.empty() || v.pooling == "last" ? " stands" : " stand",
                  " for the text"));
}

void warn_of_cuts(const std::vector<PooledItem>& items, std::int64_t limit) {
  std::size_t cut = 0;
  for (const PooledItem& item : items) cut += item.input.is_cut() ? 1 : 0;
  if (cut == 0) return;
  log_warning(
      cat("--truncate: ", cut, " of ", items.size(), " inputs were cut to ", limit, " tokens"));
}

int embed(const EmbedValues& v) {
  check_options(v);
  ComputeOptions compute{.pools = true};
  compute.pooling = parse_pooling(v.pooling);
  if (v.no_normalize) compute.normalise = false;
  OpenModel model(v.model, compute);
  Instance& instance = model.instance;
  instance.require(ModelUse::kEmbedding);
  const std::int64_t size = instance.pooled_size();
  if (v.dimensions && *v.dimensions > size) {
    refuse_input(
        cat("--dimensions ", *v.dimensions, " is not possible: the model's vectors have ", size));
  }
  warn_of_decoder(v, instance);
  InputReader reader(v, instance);
  std::vector<PooledItem> items = reader.read();
  warn_of_cuts(items, reader.limit());
  VectorPrinter printer(v, instance, items.size());
  if (v.as() != EmbedFormat::kJson) {
    for (PooledItem& item : items) {
      if (!item.error.empty()) printer.print(item);
    }
  }
  run_pooled(instance, v.model, v.batch, items, [&](PooledItem& item) { printer.print(item); });
  printer.finish(v.dimensions ? *v.dimensions : size);
  return printer.failed() ? kCheckFailed : kDone;
}

void add_input(CLI::App& app, EmbedValues& v) {
  add_text(app, v.prompt, "-p,--prompt", "Text to embed; names of special tokens stay text");
  add_text(app, v.file, "--file", "A file with a text in each line (-: standard input)");
  mark_inputs(app, {"--file"});
  add_switch(app, v.jsonl, "--jsonl",
             "Embed each line of stdin, an object {\"text\"} or {\"ids\"}, all as one batch. A bad "
             "line gives {\"error\"} in its place, and exit code 1 in the end");
  add_text(app, v.prompt_name, "--prompt-name",
           "Name of the model's prompt that stands before each text, such as query or document "
           "(default: the model's default prompt, if it has one)");
  add_switch(app, v.truncate, "--truncate",
             "Cut inputs that have too many tokens, with a warning, in place of an error");
}

void add_output(CLI::App& app, EmbedValues& v) {
  add_text(
      app, v.pooling,
      {.name = "--pooling",
       .help = "How the states of a text's tokens become one vector (default: the model's own)",
       .takes = "mean|cls|last",
       .is_checked = true});
  add_switch(app, v.no_normalize, "--no-normalize", "Do not scale vectors to length 1");
  add_number(app, v.dimensions,
             {.name = "--dimensions",
              .help = "Keep the first N values of a vector, and scale it to length 1 again",
              .low = 1,
              .high = 1 << 20});
  add_text(app, v.format,
           {.name = "--format",
            .help = "json: an object {\"embedding\", \"tokens\"} for each input; csv: a line of "
                    "numbers; npy: one float32 matrix",
            .takes = "json|csv|npy",
            .is_checked = true});
}

}  // namespace

Command add_embed_command(CLI::App& app) {
  auto values = std::make_shared<EmbedValues>();
  CLI::App& sub = add_command(app, "embed", "Turn texts into vectors");
  add_model_options(sub, values->model);
  add_input(sub, *values);
  add_output(sub, *values);
  add_batch_options(sub, values->batch);
  return {&sub, [values] { return embed(*values); },
          "ingot embed model -p \"how tall is the tower?\" --prompt-name query"};
}

}  // namespace ingot
