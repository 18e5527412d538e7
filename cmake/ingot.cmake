# The project's CMake functions and compile flags: one static library per folder, tests, fuzzers.

find_program(INGOT_CCACHE ccache)
if(INGOT_CCACHE)
  set(CMAKE_CXX_COMPILER_LAUNCHER ${INGOT_CCACHE})
  if(INGOT_PRECOMPILED)
    # ccache's manual requires this with precompiled headers.
    list(PREPEND CMAKE_CXX_COMPILER_LAUNCHER
      ${CMAKE_COMMAND} -E env CCACHE_SLOPPINESS=pch_defines,time_macros)
    add_compile_options($<$<COMPILE_LANG_AND_ID:CXX,GNU>:-fpch-preprocess>)
  endif()
endif()

add_library(ingot_flags INTERFACE)
# Exactness: no contraction of a*b+c into fma, no fast math (exactness.md). The code calls fma explicitly.
target_compile_options(ingot_flags INTERFACE -ffp-contract=off -Wall -Wextra -Wconversion)
if(INGOT_WERROR)
  target_compile_options(ingot_flags INTERFACE -Werror)
endif()
find_package(Threads REQUIRED)
target_link_libraries(ingot_flags INTERFACE Threads::Threads)

# Seconds after which a test program counts as hanging. Some take many minutes under sanitizers or with INGOT_FULL=1.
set(INGOT_TEST_TIMEOUT_S 3600)
if(INGOT_SANITIZE)
  add_compile_options(-fsanitize=${INGOT_SANITIZE} -fno-omit-frame-pointer -fno-sanitize-recover=all)
  add_link_options(-fsanitize=${INGOT_SANITIZE})
  add_compile_definitions(INGOT_SANITIZED=1)
endif()
# Code under fuzzing is compiled with coverage counters, which guide the fuzzers.
if(INGOT_FUZZ)
  set(INGOT_FUZZ_OPTIONS -fsanitize=fuzzer-no-link)
endif()

# Makes an include directory that holds only the current folder, under the name NAME.
function(ingot_headers name)
  file(MAKE_DIRECTORY ${CMAKE_BINARY_DIR}/include/${name})
  file(CREATE_LINK ${CMAKE_CURRENT_SOURCE_DIR} ${CMAKE_BINARY_DIR}/include/${name}/${name} SYMBOLIC)
endfunction()

# ingot_precompiled(TARGET KIND)
#
# Precompiles the headers of precompiled/KIND.h once for all targets of this kind; parsing them takes a third of the
# compile time. Sources with flags that change code must set SKIP_PRECOMPILE_HEADERS.
function(ingot_precompiled target kind)
  get_target_property(options ${target} COMPILE_OPTIONS)
  # Clang refuses precompiled headers with a fuzzer's counters in code without counters.
  if(NOT INGOT_PRECOMPILED OR (INGOT_FUZZ AND kind STREQUAL library AND NOT options MATCHES fuzzer))
    return()
  endif()
  if(NOT TARGET ingot_precompiled_${kind})
    set(source ${CMAKE_BINARY_DIR}/precompiled_${kind}.cpp)
    file(CONFIGURE OUTPUT ${source} CONTENT "")
    add_library(ingot_precompiled_${kind} OBJECT ${source})
    target_precompile_headers(ingot_precompiled_${kind} PRIVATE ${CMAKE_SOURCE_DIR}/cmake/precompiled/${kind}.h)
    target_link_libraries(ingot_precompiled_${kind} PRIVATE ingot_flags)
    if(kind STREQUAL library)
      target_compile_options(ingot_precompiled_${kind} PRIVATE ${INGOT_FUZZ_OPTIONS})
    else()
      target_link_libraries(ingot_precompiled_${kind} PRIVATE GTest::gtest)
      ingot_test_options(ingot_precompiled_${kind})
    endif()
  endif()
  target_precompile_headers(${target} REUSE_FROM ingot_precompiled_${kind})
endfunction()

# ingot_sources(SOURCES_OUT TESTS_OUT)
#
# Lists the .cpp files of the current folder and its subfolders: the library's sources, and its unit tests.
function(ingot_sources sources_out tests_out)
  file(GLOB_RECURSE sources CONFIGURE_DEPENDS RELATIVE ${CMAKE_CURRENT_SOURCE_DIR} ${CMAKE_CURRENT_SOURCE_DIR}/*.cpp)
  set(tests ${sources})
  list(FILTER sources EXCLUDE REGEX "_test\\.cpp$")
  list(FILTER tests INCLUDE REGEX "_test\\.cpp$")
  set(${sources_out} ${sources} PARENT_SCOPE)
  set(${tests_out} ${tests} PARENT_SCOPE)
endfunction()

# ingot_library(NAME [NOT_FUZZED] [HOT] [SOURCES ...] [APART source ...] [DEPS folder ...] [LIBS target ...])
#
# Makes a folder under src/ the static library ingot_NAME. Its headers are reached as "NAME/x.h", through an include
# directory that holds only this folder. A library sees only the directories of its dependencies, so an upward include
# does not build. NOT_FUZZED is for folders that no fuzzer reaches; HOT is for code that runs for each request or
# weight, because with the presets' -O2 some kinds of sampling take a quarter longer. APART: see ingot_unity.
function(ingot_library name)
  cmake_parse_arguments(ARG "NOT_FUZZED;HOT" "" "SOURCES;APART;DEPS;LIBS" ${ARGN})
  ingot_headers(${name})
  add_library(ingot_${name} STATIC ${ARG_SOURCES})
  ingot_unity(ingot_${name} "${ARG_SOURCES}" "${ARG_APART}")
  target_include_directories(ingot_${name} PUBLIC $<BUILD_INTERFACE:${CMAKE_BINARY_DIR}/include/${name}>)
  target_link_libraries(ingot_${name} PUBLIC ingot_flags ${ARG_LIBS})
  if(NOT ARG_NOT_FUZZED)
    target_compile_options(ingot_${name} PRIVATE ${INGOT_FUZZ_OPTIONS})
  endif()
  if(ARG_HOT)
    target_compile_options(ingot_${name} PRIVATE $<$<CONFIG:Release>:-O3>)
  endif()
  ingot_precompiled(ingot_${name} library)
  foreach(dep ${ARG_DEPS})
    target_link_libraries(ingot_${name} PUBLIC ingot_${dep})
  endforeach()
endfunction()

# ingot_coroutines(target...)
#
# Sets flags for targets with Asio's coroutines or io_context. Under sanitizers, Clang 14 cannot put a function's
# signature in front of a coroutine's parts, and GCC warns of Asio's fences, which the thread sanitizer does not see.
function(ingot_coroutines)
  foreach(target ${ARGN})
    if(INGOT_SANITIZE AND CMAKE_CXX_COMPILER_ID STREQUAL "Clang")
      target_compile_options(${target} PRIVATE -fno-sanitize=function)
    elseif(INGOT_SANITIZE STREQUAL "thread")
      target_compile_options(${target} PRIVATE -Wno-tsan)
    endif()
  endforeach()
endfunction()

# Compiles tests with little optimisation, in half the time; tested libraries stay optimised. The sanitizer of undefined
# behaviour checks libraries only; the address sanitizer checks tests too.
function(ingot_test_options target)
  if(INGOT_SANITIZE)
    target_compile_options(${target} PRIVATE -O0 -fno-sanitize=undefined)
  else()
    target_compile_options(${target} PRIVATE -O1)
  endif()
  if(INGOT_PRECOMPILED AND CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
    # GCC 12 reports strings' inlined appends as out of bounds, and takes precompiled headers for the project's own.
    target_compile_options(${target} PRIVATE -Wno-array-bounds -Wno-stringop-overflow -Wno-stringop-overread)
  endif()
endfunction()

# ingot_unity(TARGET sources apart)
#
# With INGOT_UNITY, up to eight sources of a folder are compiled as one, in less than half the time. Their anonymous
# namespaces are joined, so names in them must be unique within a folder. Sources in the list `apart` are compiled alone,
# and so are sources with flags of their own.
function(ingot_unity target sources apart)
  set_target_properties(${target} PROPERTIES UNITY_BUILD ${INGOT_UNITY} UNITY_BUILD_MODE GROUP)
  list(REMOVE_ITEM sources ${apart})
  foreach(source ${sources})
    get_filename_component(folder ${source} DIRECTORY)
    string(MAKE_C_IDENTIFIER "in_${folder}" folder)
    if(NOT DEFINED count_${folder})
      set(count_${folder} 0)
    endif()
    math(EXPR eights "${count_${folder}} / 8")
    math(EXPR count_${folder} "${count_${folder}} + 1")
    set_source_files_properties(${source} PROPERTIES UNITY_GROUP ${folder}_${eights})
  endforeach()
endfunction()

# ingot_test(NAME [SHARDS n] [COST seconds] [SOURCES ...] [APART source ...] [LIBS target ...])
#
# A GoogleTest binary and its CTest entry. Tests find the shared data through INGOT_SHARED (default ../shared). APART
# lists sources that ingot_unity compiles alone. With SHARDS, n CTest entries NAME_1, NAME_2, ... share the tests. CTest
# starts entries of the highest COST first, so that all processors are busy to the end.
function(ingot_test name)
  if(NOT INGOT_TESTS)
    return()
  endif()
  cmake_parse_arguments(ARG "" "SHARDS;COST" "SOURCES;APART;LIBS" ${ARGN})
  if(NOT ARG_COST)
    set(ARG_COST 0)
  endif()
  find_package(GTest REQUIRED)
  add_executable(${name} ${ARG_SOURCES})
  ingot_unity(${name} "${ARG_SOURCES}" "${ARG_APART}")
  target_link_libraries(${name} PRIVATE ${ARG_LIBS} ingot_flags GTest::gtest GTest::gtest_main)
  ingot_test_options(${name})
  ingot_precompiled(${name} test)
  set(environment "XDG_CACHE_HOME=${CMAKE_BINARY_DIR}/test-cache;INGOT_DEFAULT_SHARED=${CMAKE_SOURCE_DIR}/../shared;INGOT_BINARY=${CMAKE_BINARY_DIR}/ingot")
  if(NOT ARG_SHARDS)
    add_test(NAME ${name} COMMAND ${name})
    set_tests_properties(${name} PROPERTIES ENVIRONMENT "${environment}" TIMEOUT ${INGOT_TEST_TIMEOUT_S} COST ${ARG_COST})
    return()
  endif()
  foreach(shard RANGE 1 ${ARG_SHARDS})
    math(EXPR index "${shard} - 1")
    add_test(NAME ${name}_${shard} COMMAND ${name})
    set_tests_properties(${name}_${shard} PROPERTIES TIMEOUT ${INGOT_TEST_TIMEOUT_S} COST ${ARG_COST}
      ENVIRONMENT "${environment};GTEST_TOTAL_SHARDS=${ARG_SHARDS};GTEST_SHARD_INDEX=${index}")
  endforeach()
endfunction()

# ingot_fuzz(NAME source [SOURCES folder/file ...] [LIBS target ...])
#
# Adds a fuzz target: with INGOT_FUZZ a libFuzzer binary, otherwise a driver that replays the files and folders of its
# arguments. The target `fuzzers` builds all libFuzzer binaries. SOURCES are files under src/ that the target compiles
# itself, if it needs only one parser of a large library.
function(ingot_fuzz name source)
  if(NOT INGOT_TESTS)
    return()
  endif()
  cmake_parse_arguments(ARG "" "" "SOURCES;LIBS" ${ARGN})
  add_executable(${name} ${source})
  foreach(file ${ARG_SOURCES})
    string(REGEX REPLACE "/.*" "" folder ${file})
    target_sources(${name} PRIVATE ${CMAKE_SOURCE_DIR}/src/${file})
    target_include_directories(${name} PRIVATE ${CMAKE_BINARY_DIR}/include/${folder})
  endforeach()
  target_link_libraries(${name} PRIVATE ${ARG_LIBS} ingot_flags)
  if(INGOT_FUZZ)
    target_compile_options(${name} PRIVATE ${INGOT_FUZZ_OPTIONS})
    target_link_options(${name} PRIVATE -fsanitize=fuzzer)
    if(NOT TARGET fuzzers)
      add_custom_target(fuzzers)
    endif()
    add_dependencies(fuzzers ${name})
  else()
    target_sources(${name} PRIVATE ${CMAKE_SOURCE_DIR}/tests/fuzz/replay_main.cpp)
    add_test(NAME ${name}_replay COMMAND ${name} ${CMAKE_SOURCE_DIR}/tests/fuzz/corpus/${name})
  endif()
  ingot_precompiled(${name} library)
endfunction()
