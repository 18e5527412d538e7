// Example of the C++ API: appends rows of embeddings to a live sequence, as an encoder of images or
// sound would, then continues the sequence as text.
//
// usage: example_embeddings MODEL ROWS.f32 [PROMPT]
// ROWS.f32 has float32 numbers, H for each row, where H is the model's hidden size.
#include <algorithm>
#include <cstdio>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include "ingot/ingot.h"

namespace api = ingot::api;

namespace {

std::vector<float> read_floats(const char* path) {
  std::ifstream file(path, std::ios::binary);
  const std::string bytes{std::istreambuf_iterator<char>(file), {}};
  std::vector<float> values(bytes.size() / sizeof(float));
  std::copy_n(bytes.data(), values.size() * sizeof(float), reinterpret_cast<char*>(values.data()));
  return values;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 3) {
    std::fprintf(stderr, "usage: %s MODEL ROWS.f32 [PROMPT]\n", argv[0]);
    return 64;
  }
  try {
    api::OpenOptions options;
    options.path = argv[1];
    options.context = 128;
    api::Engine engine(options);
    const std::vector<float> values = read_floats(argv[2]);
    const auto hidden = static_cast<std::size_t>(engine.info().hidden);

    // Each call computes only the rows that it appends, and returns the state of the last one.
    api::LiveSequence sequence = engine.open_sequence();
    const std::size_t piece = 3 * hidden;
    for (std::size_t first = 0; first < values.size(); first += piece) {
      const auto begin = values.begin() + static_cast<std::ptrdiff_t>(first);
      const std::size_t count = std::min(piece, values.size() - first);
      api::Prompt prompt;
      prompt.embeddings.assign(begin, begin + static_cast<std::ptrdiff_t>(count));
      prompt.sequence = &sequence;
      engine.hidden_states(prompt);
    }
    std::printf("%lld rows\n", static_cast<long long>(sequence.rows()));

    api::Request request;
    if (argc > 3) request.prompt.text = argv[3];
    request.prompt.sequence = &sequence;
    request.max_tokens = 16;
    engine.generate(request, [](const api::Delta& delta) {
      std::printf("%s", delta.text.c_str());
      return true;
    });
    std::printf("\n");
  } catch (const api::Error& error) {
    std::fprintf(stderr, "error: %s\n", error.what());
    return 1;
  }
  return 0;
}
