// The headers of library.h and those of googletest, compiled once for all tests.
#pragma once

#include "library.h"

#include <gtest/gtest.h>

#include <fstream>
#include <random>
