// The ingot binary.
#include "cli/command.h"

int main(int argc, char** argv) { return ingot::run_command_line(argc, argv); }
