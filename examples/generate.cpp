// Example of the C++ API: streams one text while a second request runs in the same batch.
//
// usage: example_generate MODEL [PROMPT [SECOND_PROMPT]]
#include <cstdio>
#include <string>

#include "ingot/ingot.h"

namespace api = ingot::api;

int main(int argc, char** argv) {
  if (argc < 2) {
    std::fprintf(stderr, "usage: %s MODEL [PROMPT [SECOND_PROMPT]]\n", argv[0]);
    return 64;
  }
  try {
    api::OpenOptions options;
    options.path = argv[1];
    options.context = 128;
    api::Engine engine(options);
    for (const std::string& warning : engine.info().warnings) {
      std::fprintf(stderr, "warning: %s\n", warning.c_str());
    }

    api::Request first;
    first.prompt.text = argc > 2 ? argv[2] : "Once";
    first.max_tokens = 16;
    api::Request second = first;
    second.prompt.text = argc > 3 ? argv[3] : "There";
    second.sampling.temperature = 0.8f;
    second.sampling.seed = 1;

    std::optional<api::Stream> other;
    std::printf("first: %s", first.prompt.text->c_str());
    const api::Result result = engine.generate(first, [&](const api::Delta& delta) {
      std::printf("%s", delta.text.c_str());
      std::fflush(stdout);
      if (!other) other = engine.submit(second);  // joins the batch while this one runs
      return true;                                // false would cancel the request
    });
    std::printf("\n(%zu tokens)\n", result.ids.size());

    if (other)
      std::printf("second: %s%s\n", argc > 3 ? argv[3] : "There", other->result().text.c_str());
  } catch (const api::Error& error) {
    std::fprintf(stderr, "error: %s\n", error.what());
    return 1;
  }
  return 0;
}
