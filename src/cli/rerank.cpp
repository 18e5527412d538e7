// ingot rerank: scores documents by their relevance to a query.
#include <algorithm>
#include <memory>
#include <numeric>
#include <optional>
#include <string>
#include <vector>

#include "base/error.h"
#include "base/math.h"
#include "base/text.h"
#include "base/utf8.h"
#include "cli/command.h"
#include "cli/input.h"
#include "cli/log.h"
#include "cli/options/options.h"
#include "cli/output.h"
#include "cli/pooled_batch.h"
#include "runtime/embed/reranker.h"

namespace ingot {

namespace {

struct RerankValues {
  ModelOptionValues model;
  std::string query;
  std::optional<std::string> file;
  bool jsonl = false;
  bool sort = false;
  bool sigmoid = false;
  bool truncate = false;
  BatchValues batch;
};

/// Returns the text of a line {"text"}.
std::string text_of(const Json& line) {
  if (line.as_object() == nullptr) refuse_input(cat("expected an object, got ", line.kind()));
  for (const auto& [name, value] : *line.as_object()) {
    if (name != "text") refuse_input(cat("unknown member ", printable(name)));
  }
  const Json* text = line.find("text");
  if (text == nullptr) refuse_input("text is missing");
  if (text->as_string() == nullptr)
    refuse_input(cat("text: is ", text->kind(), ", expected a string"));
  return *text->as_string();
}

std::vector<PooledItem> read_documents(const RerankValues& v, const Reranker& reranker,
                                       std::int64_t limit) {
  std::vector<PooledItem> items;
  const Reranker::Query query = reranker.read_query(v.query);
  const auto add = [&](std::string_view text) {
    PooledItem item{.input = reranker.encode(query, text, {.tokens = v.truncate ? limit : kNoCut})};
    check_input(item, limit);
    items.push_back(std::move(item));
  };
  if (v.file) {
    const TextInput input = read_input(*v.file, kInputFileBytesMax);
    for (const std::string_view line : split_lines(without_byte_order_mark(input.text))) add(line);
    return items;
  }
  const std::string input = read_stdin();
  std::size_t number = 0;
  for (const std::string_view line : split_lines(without_byte_order_mark(input))) {
    ++number;
    if (is_blank(line)) continue;
    try {
      add(text_of(parse_json(line, "stdin", cat("line ", number), kInputLineLimits)));
    } catch (const Error& error) {
      items.push_back({.input = {}, .error = error.message()});
    }
  }
  return items;
}

/// Prints one line for an item: its index and score, or its error.
void print(const RerankValues& v, std::size_t index, const PooledItem& item) {
  Json j = Json::object();
  j.set("index", static_cast<std::int64_t>(index));
  if (!item.error.empty()) {
    j.set("error", with_flags(item.error));
  } else {
    const float score = Reranker::score(item.pooled);
    j.set("score", static_cast<double>(v.sigmoid ? math::sigmoid(score) : score));
  }
  write_stdout(j.dump() + "\n");
}

/// Indices by falling score, ties and errors in the order of the input. Errors come last.
std::vector<std::size_t> ranked(const std::vector<PooledItem>& items) {
  std::vector<std::size_t> order(items.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
    const bool has_a = items[a].error.empty(), has_b = items[b].error.empty();
    if (!has_a || !has_b) return has_a && !has_b;
    return Reranker::score(items[a].pooled) > Reranker::score(items[b].pooled);
  });
  return order;
}

int rerank(const RerankValues& v) {
  if (v.jsonl == v.file.has_value()) refuse_input("expected exactly one of --file and --jsonl");
  if (v.jsonl) claim_stdin("--jsonl");
  OpenModel model(v.model, {.pools = true});
  Instance& instance = model.instance;
  const Reranker reranker(instance);
  const std::int64_t limit = input_limit(instance, v.model);
  std::vector<PooledItem> items = read_documents(v, reranker, limit);
  const auto cut = std::count_if(items.begin(), items.end(),
                                 [](const PooledItem& item) { return item.input.is_cut(); });
  if (cut > 0) {
    log_warning(
        cat("--truncate: ", cut, " of ", items.size(), " pairs were cut to ", limit, " tokens"));
  }
  std::size_t index = 0;
  run_pooled(instance, v.model, v.batch, items, [&](PooledItem& item) {
    if (!v.sort) print(v, index, item);
    ++index;
  });
  if (v.sort) {
    for (const std::size_t i : ranked(items)) print(v, i, items[i]);
  }
  const bool failed = std::any_of(items.begin(), items.end(),
                                  [](const PooledItem& item) { return !item.error.empty(); });
  return failed ? kCheckFailed : kDone;
}

}  // namespace

Command add_rerank_command(CLI::App& app) {
  auto values = std::make_shared<RerankValues>();
  CLI::App& sub = add_command(app, "rerank", "Score documents by their relevance to a query");
  add_model_options(sub, values->model);
  add_text(sub, values->query, {.name = "--query", .help = "The query", .is_required = true});
  add_text(sub, values->file, "--file", "A file with a document in each line (-: standard input)");
  mark_inputs(sub, {"--file"});
  add_switch(sub, values->jsonl, "--jsonl",
             "Score the documents in the lines of stdin, objects {\"text\"}; prints {\"index\", "
             "\"score\"} for each, in order. A bad line gives {\"index\", \"error\"} in its place, "
             "and exit code 1 in the end");
  add_switch(sub, values->sort, "--sort", "Print the documents by falling score");
  add_switch(sub, values->sigmoid, "--sigmoid",
             "Print scores between 0 and 1: the sigmoid of the model's output");
  add_switch(sub, values->truncate, "--truncate",
             "Cut pairs that have too many tokens, with a warning, in place of an error");
  add_batch_options(sub, values->batch);
  return {&sub, [values] { return rerank(*values); },
          "ingot rerank model --query \"how tall is the tower?\" --file documents.txt"};
}

}  // namespace ingot
