// Masks of JSON schemas on a vocabulary of 150k tokens, one thread: times to compile, of the first
// mask and of every mask, and how many documents the masks allow.
//
// usage: constraint_bench [SCHEMAS [SKIP]]   SCHEMAS: of maskbench, all by default
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

struct Results {
  Times compile, first_mask, mask, accept;
  int refused = 0, valid_taken = 0, valid_refused = 0, invalid_taken = 0, invalid_refused = 0;
};

/// Walks one document. Returns whether the constraint takes it.
bool walk(const Constraint& constraint, const Tokenizer& tokenizer, const std::string& text,
          bool is_first, Results& results) {
  Matcher matcher(constraint.grammar);
  for (const std::int32_t id : tokenizer.encode(text)) {
    const double start = cpu_us();
    const auto mask = matcher.mask();
    const double made = cpu_us();
    (is_first ? results.first_mask : results.mask).add(made - start);
    if (is_first) results.mask.add(made - start);
    is_first = false;
    const bool is_allowed = (mask[static_cast<std::size_t>(id) / 32] >> (id % 32) & 1) != 0;
    const double begin = cpu_us();
    const bool is_taken = matcher.accept(id);
    results.accept.add(cpu_us() - begin);
    if (is_taken != is_allowed) std::printf("mask and accept differ: %s\n", text.c_str());
    if (!is_taken) return false;
  }
  return matcher.is_complete();
}

void run_schema(const Json& line, const Tokenizer& tokenizer,
                const std::shared_ptr<const TokenTrie>& trie, Results& results) {
  ConstraintSpec::JsonSchema form;
  form.schema = *line.find("schema");
  const ConstraintSpec spec{.form = std::move(form), .name = "schema"};
  std::shared_ptr<const Constraint> constraint;
  const double start = cpu_us();
  try {
    constraint = compile_constraint(spec, trie);
  } catch (const Error& error) {
    ++results.refused;
    std::printf("%s: %s\n", line.find_string("name")->c_str(), error.message().c_str());
  }
  results.compile.add(cpu_us() - start);
  if (constraint == nullptr) return;
  bool is_first = true;
  for (const Json& test : *line.find("tests")->as_array()) {
    const bool is_valid = *test.find("valid")->as_bool();
    const bool is_taken =
        walk(*constraint, tokenizer, test.find("data")->dump(), is_first, results);
    is_first = false;
    (is_valid ? (is_taken ? results.valid_taken : results.valid_refused)
              : (is_taken ? results.invalid_taken : results.invalid_refused))++;
    if (is_valid != is_taken && std::getenv("INGOT_BENCH_VERBOSE") != nullptr) {
      std::printf("%s: %s\n", line.find_string("name")->c_str(), test.find("data")->dump().c_str());
    }
  }
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
  const int schemas_max = argc > 1 ? std::atoi(argv[1]) : 100'000;
  return ingot::run(schemas_max, argc > 2 ? std::atoi(argv[2]) : 0);
}
