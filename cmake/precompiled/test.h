// The same for tests.
#pragma once

#include "library.h"

#include <gtest/gtest.h>

#include <fstream>
#include <random>
