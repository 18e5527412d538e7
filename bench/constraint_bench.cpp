// Masks of JSON schemas on a vocabulary of 150k tokens, one thread: times to compile, of the first
// mask and of every mask, and how many documents the masks allow.
//
// usage: constraint_bench [SCHEMAS [SKIP]]   SCHEMAS: of maskbench, all by default
//        constraint_bench --json < LINES      for bench/constraint_compare.py
//
// With --json, each line is {"schema": ..., "strict": boolean, "documents": [text, ...]}. For each,
// it prints {"compile_us", "refused": message, if so, "documents": [{"ids", "mask_us", "accept_us",
// "taken"}, ...]}. The first line that it prints is {"clock_us"}: what measuring costs.
//
// INGOT_SHARED names the folder of the data, ../shared when it is not set.
#include <time.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/error.h"
#include "base/text.h"
#include "constraint/constraint.h"
#include "constraint/matcher.h"
#include "load/json.h"
#include "load/tokenizer/tokenizer_files.h"
#include "text/chat/constraint_tokens.h"
#include "text/tokenizer/tokenizer.h"

namespace ingot {
namespace {

std::filesystem::path data_folder() {
  const char* const shared = std::getenv("INGOT_SHARED");
  return std::filesystem::path(shared == nullptr ? "../shared" : shared) / "data";
}

/// CPU microseconds of this thread, so that other processes count for little.
double cpu_us() {
  timespec now;
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return 1e6 * static_cast<double>(now.tv_sec) + 1e-3 * static_cast<double>(now.tv_nsec);
}

std::unique_ptr<Tokenizer> make_subject() {
  std::vector<std::string> paths;
  for (const char* file : {"tokenizers/qwen2/vocab.json", "tokenizers/qwen2/merges.txt",
                           "tokenizers/configs/qwen2.5/tokenizer_config.json"}) {
    paths.push_back((data_folder() / file).string());
  }
  std::vector<std::string> warnings;
  return make_tokenizer(read_tokenizer_files(paths), warnings);
}

/// Times of one kind, in microseconds.
class Times {
 public:
  void add(double us) { all_.push_back(us); }
  void print(const char* name) {
    if (all_.empty()) return;
    std::sort(all_.begin(), all_.end());
    double sum = 0;
    for (const double us : all_) sum += us;
    std::printf(
        "%-12s %8zu  mean %9.1f  p50 %9.1f  p90 %9.1f  p99 %9.1f  p99.9 %9.1f  max %9.1f us\n",
        name, all_.size(), sum / static_cast<double>(all_.size()), quantile(0.5), quantile(0.9),
        quantile(0.99), quantile(0.999), all_.back());
  }

 private:
  double quantile(double q) const {
    return all_[static_cast<std::size_t>(q * static_cast<double>(all_.size() - 1))];
  }
  std::vector<double> all_;
};

/// One document: its tokens, what each mask and each token cost, and whether the constraint takes
/// it.
struct Walk {
  std::vector<std::int32_t> ids;
  std::vector<double> mask_us, accept_us;
  bool is_taken = false;
};

/// Without a constraint, only finds the tokens.
Walk walk(const Constraint* constraint, const Tokenizer& tokenizer, const std::string& text) {
  Walk out;
  out.ids = tokenizer.encode(text);
  if (constraint == nullptr) return out;
  Matcher matcher(constraint->grammar);
  for (const std::int32_t id : out.ids) {
    const double start = cpu_us();
    const auto mask = matcher.mask();
    out.mask_us.push_back(cpu_us() - start);
    const bool is_allowed = (mask[static_cast<std::size_t>(id) / 32] >> (id % 32) & 1) != 0;
    const double begin = cpu_us();
    const bool is_taken = matcher.accept(id);
    out.accept_us.push_back(cpu_us() - begin);
    if (is_taken != is_allowed) std::fprintf(stderr, "mask and accept differ: %s\n", text.c_str());
    if (!is_taken) return out;
  }
  out.is_taken = matcher.is_complete();
  return out;
}

struct Compiled {
  std::shared_ptr<const Constraint> constraint;  ///< null if the schema was refused
  std::string refused;                           ///< why
  double us = 0;
};

Compiled compile(Json schema, bool is_strict, const std::shared_ptr<const TokenTrie>& trie) {
  ConstraintSpec::JsonSchema form;
  form.schema = std::move(schema);
  form.is_strict = is_strict;
  const ConstraintSpec spec{.form = std::move(form), .name = "schema"};
  Compiled out;
  const double start = cpu_us();
  try {
    out.constraint = compile_constraint(spec, trie);
  } catch (const Error& error) {
    out.refused = error.message();
  }
  out.us = cpu_us() - start;
  return out;
}

struct Results {
  Times compile, first_mask, mask, accept;
  int refused = 0, valid_taken = 0, valid_refused = 0, invalid_taken = 0, invalid_refused = 0;
};

void add(const Walk& walk, bool is_first, bool is_valid, Results& results) {
  for (std::size_t i = 0; i < walk.mask_us.size(); ++i) {
    if (is_first && i == 0) results.first_mask.add(walk.mask_us[i]);
    results.mask.add(walk.mask_us[i]);
    results.accept.add(walk.accept_us[i]);
  }
  (is_valid ? (walk.is_taken ? results.valid_taken : results.valid_refused)
            : (walk.is_taken ? results.invalid_taken : results.invalid_refused))++;
}

void run_schema(const Json& line, const Tokenizer& tokenizer,
                const std::shared_ptr<const TokenTrie>& trie, Results& results) {
  const std::string name = *line.find_string("name");
  const Compiled compiled = compile(*line.find("schema"), false, trie);
  results.compile.add(compiled.us);
  if (compiled.constraint == nullptr) {
    ++results.refused;
    std::printf("%s: %s\n", name.c_str(), compiled.refused.c_str());
    return;
  }
  bool is_first = true;
  for (const Json& test : *line.find("tests")->as_array()) {
    const bool is_valid = *test.find("valid")->as_bool();
    const std::string text = test.find("data")->dump();
    const Walk walked = walk(compiled.constraint.get(), tokenizer, text);
    add(walked, is_first, is_valid, results);
    is_first = false;
    if (is_valid != walked.is_taken && std::getenv("INGOT_BENCH_VERBOSE") != nullptr) {
      std::printf("%s: %s\n", name.c_str(), text.c_str());
    }
  }
}

template <typename T>
Json array_of(const std::vector<T>& values) {
  Json out = Json::array();
  for (const T value : values) out.push(value);
  return out;
}

/// Returns what the program prints for a line of its input.
Json answer(const Json& line, const Tokenizer& tokenizer,
            const std::shared_ptr<const TokenTrie>& trie) {
  const Compiled compiled = compile(*line.find("schema"), *line.find("strict")->as_bool(), trie);
  Json out = Json::object();
  out.set("compile_us", compiled.us);
  if (compiled.constraint == nullptr) out.set("refused", compiled.refused);
  Json documents = Json::array();
  for (const Json& text : *line.find("documents")->as_array()) {
    const Walk walked = walk(compiled.constraint.get(), tokenizer, *text.as_string());
    Json document = Json::object();
    document.set("ids", array_of(walked.ids));
    document.set("mask_us", array_of(walked.mask_us));
    document.set("accept_us", array_of(walked.accept_us));
    document.set("taken", walked.is_taken);
    documents.push(std::move(document));
  }
  out.set("documents", std::move(documents));
  return out;
}

int answer_lines() {
  const auto tokenizer = make_subject();
  const auto trie = make_token_trie(*tokenizer, tokenizer->size(), {});
  constexpr int kReads = 1000;
  const double start = cpu_us();
  for (int i = 0; i < kReads; ++i) cpu_us();
  Json first = Json::object();
  first.set("clock_us", (cpu_us() - start) / kReads);
  std::puts(first.dump().c_str());
  std::fflush(stdout);
  JsonLimits limits;
  limits.depth_max = 400;
  std::ifstream in("/dev/stdin");
  std::string text;
  while (std::getline(in, text)) {
    const Json line = parse_json(text, "stdin", "line", limits);
    std::puts(answer(line, *tokenizer, trie).dump().c_str());
    std::fflush(stdout);
  }
  return 0;
}

int run(int schemas_max, int skip) {
  const auto tokenizer = make_subject();
  const double start = cpu_us();
  const auto trie = make_token_trie(*tokenizer, tokenizer->size(), {});
  std::printf("vocabulary: %d tokens, %.1f ms\n", trie->ids(), (cpu_us() - start) / 1000);
  std::ifstream in(data_folder() / "json" / "maskbench" / "sample.jsonl");
  Results results;
  std::string text;
  for (int i = 0; i < schemas_max + skip && std::getline(in, text); ++i) {
    if (i >= skip)
      run_schema(parse_json(text, "sample.jsonl", "schema"), *tokenizer, trie, results);
  }
  results.compile.print("compile");
  results.first_mask.print("first mask");
  results.mask.print("mask");
  results.accept.print("accept");
  std::printf(
      "schemas refused %d; valid documents taken %d, refused %d; invalid taken %d, refused %d\n",
      results.refused, results.valid_taken, results.valid_refused, results.invalid_taken,
      results.invalid_refused);
  return 0;
}

}  // namespace
}  // namespace ingot

int main(int argc, char** argv) {
  if (argc > 1 && std::string_view(argv[1]) == "--json") return ingot::answer_lines();
  const int schemas_max = argc > 1 ? std::atoi(argv[1]) : 100'000;
  return ingot::run(schemas_max, argc > 2 ? std::atoi(argv[2]) : 0);
}
