// Example of the C API: streams one text.
//
// usage: example_generate_c MODEL [PROMPT]
#include <stdio.h>
#include <string.h>

#include "ingot/ingot.c.h"

static bool show(void* user, const ingot_delta* delta) {
  (void)user;
  fwrite(delta->text, 1, delta->text_bytes, stdout);
  fflush(stdout);
  return true;  // false would cancel the request
}

static int fail(void) {
  fprintf(stderr, "error: %s\n", ingot_last_error());
  return 1;
}

int main(int argc, char** argv) {
  if (argc < 2) {
    fprintf(stderr, "usage: %s MODEL [PROMPT]\n", argv[0]);
    return 64;
  }
  ingot_open_options options = ingot_default_open_options();
  options.path = argv[1];
  options.context = 128;
  ingot_engine* engine = NULL;
  if (ingot_open(&options, &engine) != INGOT_OK) return fail();

  ingot_request request = ingot_default_request();
  request.prompt.text = argc > 2 ? argv[2] : "Once";
  request.prompt.text_bytes = strlen(request.prompt.text);
  request.max_tokens = 16;
  ingot_result* result = NULL;
  printf("%s", request.prompt.text);
  const ingot_status status = ingot_generate(engine, &request, show, NULL, &result);
  printf("\n");
  ingot_result_free(result);
  ingot_close(engine);
  return status == INGOT_OK ? 0 : fail();
}
