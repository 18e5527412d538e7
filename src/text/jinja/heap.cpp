// Heap: throws the errors for exceeded limits.
#include "text/jinja/heap.h"

#include <utility>

#include "base/text.h"

namespace ingot::jinja {

void fail(std::string message) { throw RunError{std::move(message)}; }

void Heap::out_of_steps() const {
  fail(cat("template budget: more than ", limits_.steps_max, " steps"));
}

void Heap::out_of_memory() const {
  fail(cat("template budget: more than ", limits_.memory_bytes_max, " bytes of values"));
}

}  // namespace ingot::jinja
