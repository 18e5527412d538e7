// Encoding with the tokenizers of the shared data, on one core: English text, and long runs of one
// kind, each with the time of twice the text over that of the text (linear is 2).
//
// INGOT_SHARED names the folder of the data, ../shared when it is not set.
#include <benchmark/benchmark.h>
#include <time.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/text.h"
#include "load/tokenizer/tokenizer_files.h"
#include "text/tokenizer/tokenizer.h"

namespace ingot {
namespace {

constexpr std::size_t kRunBytes = 8 << 20;

std::filesystem::path data_folder() {
  const char* const shared = std::getenv("INGOT_SHARED");
  return std::filesystem::path(shared == nullptr ? "../shared" : shared) / "data";
}

std::string read_file(const std::filesystem::path& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>()};
}

struct Subject {
  const char* name;
  std::vector<const char*> files;  // under the data folder
};

const std::vector<Subject>& subjects() {
  static const std::vector<Subject> all = {
      {"qwen2",
       {"tokenizers/qwen2/vocab.json", "tokenizers/qwen2/merges.txt",
        "tokenizers/configs/qwen2.5/tokenizer_config.json"}},
      {"gpt2", {"tokenizers/gpt2-hf/tokenizer.json"}},
      {"falcon", {"tokenizers/falcon/tokenizer.json"}},
      {"mistral", {"tokenizers/mistral/mistral_instruct_tokenizer_240323.model.v3"}},
      {"phi-3", {"tokenizers/phi-3/tokenizer.json"}},
      {"phi-3-gguf", {"llama.cpp/vocab/ggml-vocab-phi-3.gguf"}},
      {"t5", {"tokenizers/t5-small/tokenizer.json"}},
      {"bert", {"tokenizers/bert-hf/tokenizer.json"}},
  };
  return all;
}

/// Nothing when the data is not there.
std::unique_ptr<Tokenizer> make_subject(const Subject& subject) {
  std::vector<std::string> paths;
  for (const char* file : subject.files) {
    paths.push_back((data_folder() / file).string());
    if (!std::filesystem::exists(paths.back())) return nullptr;
  }
  std::vector<std::string> warnings;
  return make_tokenizer(read_tokenizer_files(paths), warnings);
}

const std::map<std::string, std::string>& units() {
  static const std::map<std::string, std::string> all = {
      {"letter", "a"},
      {"spaces", " "},
      {"newlines", "\n"},
      {"word", "us"},
      {"digits", "1"},
      {"emoji_zwj", "\U0001F468\u200D\U0001F469\u200D\U0001F467"},
      {"marks", "\u0301"},
      {"marks_unordered", "\u0301\u0323"},
      {"devanagari", "\u0928\u092E\u0938\u094D\u0924\u0947"},
      {"unknown", "\U00012345"},
      {"invalid", "\xFF"},
  };
  return all;
}

std::string repeat(std::string_view unit, std::size_t bytes) {
  std::string text;
  text.reserve(bytes + unit.size());
  while (text.size() < bytes) text += unit;
  return text;
}

/// CPU seconds of this thread, so that other processes of the machine count for little.
double cpu_seconds() {
  timespec now;
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec);
}

double encode_seconds(const Tokenizer& tokenizer, std::string_view text) {
  const double start = cpu_seconds();
  benchmark::DoNotOptimize(tokenizer.encode(text));
  return cpu_seconds() - start;
}

/// The least of a few times.
double least_seconds(const Tokenizer& tokenizer, std::string_view text) {
  double least = encode_seconds(tokenizer, text);
  for (int i = 0; i < 2; ++i) least = std::min(least, encode_seconds(tokenizer, text));
  return least;
}

void encode_english(benchmark::State& state, const Tokenizer& tokenizer, const std::string& text) {
  std::size_t tokens = 0;
  for (auto _ : state) tokens = tokenizer.encode(text).size();
  state.SetBytesProcessed(static_cast<std::int64_t>(text.size()) * state.iterations());
  state.counters["bytes_per_token"] =
      static_cast<double>(text.size()) / static_cast<double>(tokens);
}

void encode_run(benchmark::State& state, const Tokenizer& tokenizer, const std::string& unit) {
  const std::string text = repeat(unit, kRunBytes);
  const std::string_view half = std::string_view(text).substr(0, text.size() / 2);
  for (auto _ : state) benchmark::DoNotOptimize(tokenizer.encode(text));
  state.SetBytesProcessed(static_cast<std::int64_t>(text.size()) * state.iterations());
  state.counters["time_2n_over_n"] =
      least_seconds(tokenizer, text) / least_seconds(tokenizer, half);
}

void register_subject(const Subject& subject) {
  static std::vector<std::unique_ptr<Tokenizer>> made;
  const Tokenizer* const tokenizer = made.emplace_back(make_subject(subject)).get();
  if (tokenizer == nullptr) return;
  static const std::map<std::string, std::string> english = {
      {"wikitext", read_file(data_folder() / "text" / "wikitext-2-raw" / "wiki.test.raw")},
      {"frankenstein", read_file(data_folder() / "text" / "frankenstein_chap1.txt")},
  };
  for (const auto& [name, text] : english) {
    if (text.empty()) continue;
    benchmark::RegisterBenchmark(
        cat("encode/", subject.name, "/english_", name).c_str(),
        [=, &text = text](benchmark::State& state) { encode_english(state, *tokenizer, text); });
  }
  for (const auto& [name, unit] : units()) {
    benchmark::RegisterBenchmark(
        cat("encode/", subject.name, "/run_", name).c_str(),
        [=, &unit = unit](benchmark::State& state) { encode_run(state, *tokenizer, unit); });
  }
}

}  // namespace
}  // namespace ingot

int main(int argc, char** argv) {
  benchmark::Initialize(&argc, argv);
  if (benchmark::ReportUnrecognizedArguments(argc, argv)) return 1;
  for (const ingot::Subject& subject : ingot::subjects()) ingot::register_subject(subject);
  benchmark::RunSpecifiedBenchmarks();
}
