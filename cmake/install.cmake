# Install rules of `cmake --install`: the program with its manual pages and completions, the library with its headers,
# and the package for find_package(ingot).

# Appends to two variables what `target` is linked from: the project's own targets, and the packages that it does not
# build.
function(ingot_closure target targets_name packages_name)
  if("${target}" MATCHES "::" AND NOT "${target}" MATCHES "^ingot::")
    # An imported target, which may not be visible here.
    string(REGEX REPLACE "::.*" "" package "${target}")
    set(${packages_name} ${${packages_name}} ${package} PARENT_SCOPE)
    return()
  endif()
  if(NOT TARGET "${target}")
    return()  # a file or a flag
  endif()
  get_target_property(aliased ${target} ALIASED_TARGET)
  if(aliased)
    set(target ${aliased})
  endif()
  if(target IN_LIST ${targets_name})
    return()
  endif()
  list(APPEND ${targets_name} ${target})
  get_target_property(libraries ${target} INTERFACE_LINK_LIBRARIES)
  foreach(library IN LISTS libraries)
    string(REGEX REPLACE "^\\$<LINK_ONLY:(.*)>$" "\\1" library "${library}")
    ingot_closure("${library}" ${targets_name} ${packages_name})
  endforeach()
  set(${targets_name} ${${targets_name}} PARENT_SCOPE)
  set(${packages_name} ${${packages_name}} PARENT_SCOPE)
endfunction()

ingot_closure(ingot_api installed_targets needed_packages)
list(REMOVE_DUPLICATES needed_packages)
foreach(target IN LISTS installed_targets)
  string(REGEX REPLACE "^ingot_" "" name ${target})
  set_target_properties(${target} PROPERTIES EXPORT_NAME ${name})
endforeach()
set_target_properties(ingot_api PROPERTIES EXPORT_NAME ingot)
install(TARGETS ${installed_targets} EXPORT ingot_targets ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR}/ingot)
install(DIRECTORY include/ingot DESTINATION ${CMAKE_INSTALL_INCLUDEDIR})

set(package_folder ${CMAKE_INSTALL_LIBDIR}/cmake/ingot)
install(EXPORT ingot_targets NAMESPACE ingot:: DESTINATION ${package_folder})
set(config "include(CMakeFindDependencyMacro)\n")
foreach(package IN LISTS needed_packages)
  string(APPEND config "find_dependency(${package})\n")
endforeach()
file(WRITE ${CMAKE_BINARY_DIR}/package/ingotConfig.cmake
  "${config}include(\${CMAKE_CURRENT_LIST_DIR}/ingot_targets.cmake)\n")
include(CMakePackageConfigHelpers)
# Before 1.0 a minor version may change the API.
write_basic_package_version_file(${CMAKE_BINARY_DIR}/package/ingotConfigVersion.cmake
  COMPATIBILITY SameMinorVersion)
install(FILES ${CMAKE_BINARY_DIR}/package/ingotConfig.cmake ${CMAKE_BINARY_DIR}/package/ingotConfigVersion.cmake
  DESTINATION ${package_folder})

# The program itself writes its manual pages and completion scripts.
install(TARGETS ingot RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR})
set(share ${CMAKE_BINARY_DIR}/share)
set(bash ${share}/bash-completion/completions/ingot)
set(zsh ${share}/zsh/site-functions/_ingot)
set(fish ${share}/fish/vendor_completions.d/ingot.fish)
set(man ${share}/man/man1)
add_custom_command(OUTPUT ${bash} ${zsh} ${fish} ${man}/ingot.1
  COMMAND ${CMAKE_COMMAND} -E rm -rf ${share}
  COMMAND ${CMAKE_COMMAND} -E make_directory ${man} ${share}/bash-completion/completions
    ${share}/zsh/site-functions ${share}/fish/vendor_completions.d
  COMMAND ingot man --out ${man}
  COMMAND ingot completion bash > ${bash}
  COMMAND ingot completion zsh > ${zsh}
  COMMAND ingot completion fish > ${fish}
  DEPENDS ingot VERBATIM)
add_custom_target(ingot_share ALL DEPENDS ${bash} ${zsh} ${fish} ${man}/ingot.1)
install(DIRECTORY ${share}/ DESTINATION ${CMAKE_INSTALL_DATADIR})
