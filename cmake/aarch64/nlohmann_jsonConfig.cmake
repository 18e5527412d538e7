# Package for cross builds: the build machine's headers of nlohmann/json and xxHash, and no others.
if(NOT TARGET nlohmann_json::nlohmann_json)
  file(MAKE_DIRECTORY ${CMAKE_BINARY_DIR}/headers)
  file(CREATE_LINK /usr/include/nlohmann ${CMAKE_BINARY_DIR}/headers/nlohmann SYMBOLIC)
  file(CREATE_LINK /usr/include/xxhash.h ${CMAKE_BINARY_DIR}/headers/xxhash.h SYMBOLIC)
  add_library(nlohmann_json::nlohmann_json INTERFACE IMPORTED)
  target_include_directories(nlohmann_json::nlohmann_json INTERFACE ${CMAKE_BINARY_DIR}/headers)
endif()
