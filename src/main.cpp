// The ingot binary: the commands of cli/ and bench/.
#include "bench/commands/bench_commands.h"
#include "cli/command.h"

int main(int argc, char** argv) {
  return ingot::run_command_line(argc, argv, {ingot::add_bench_command});
}
