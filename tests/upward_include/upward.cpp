// Must not build: it belongs to a target that depends on base/ alone and includes what is above.
#include "load/checkpoint.h"

int main() { return 0; }
