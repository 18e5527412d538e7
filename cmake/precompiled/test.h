// Headers that most tests include, precompiled once for all of them (cmake/ingot.cmake).
#pragma once

#include "library.h"

#include <gtest/gtest.h>

#include <fstream>
#include <random>
