# Finds LLVM through llvm-config and makes the target `tilec_llvm`.
#
# LLVM 20 or newer is needed, 22 is what is developed on. Looked for in this order: the variable LLVM_CONFIG, then
# llvm-config-22, -21, -20 on PATH and under /usr/lib/llvm-<n>/bin, then plain llvm-config if it is new enough.
#
#   TILEC_LLVM=static   the archives of the NVPTX back end and the IR passes alone are linked in, so that the result
#                       runs where no LLVM is installed; unused sections are dropped by the linker
#   TILEC_LLVM=shared   libLLVM.so, for distributions
#
# When cross-compiling llvm-config is the building machine's, of the same version; what it names is looked for in the
# sysroot.
#
# tilec_llvm carries include paths, libraries and link options; TILEC_LLVM_VERSION, TILEC_LLVM_BINDIR (lit's
# tools) are set.

set(TILEC_LLVM_COMPONENTS nvptx passes irreader core target)

function(tilec_llvm_config out)
    execute_process(COMMAND ${TILEC_LLVM_CONFIG} ${ARGN} OUTPUT_VARIABLE text RESULT_VARIABLE status
                    ERROR_VARIABLE errors OUTPUT_STRIP_TRAILING_WHITESPACE)
    if(status)
        message(FATAL_ERROR "${TILEC_LLVM_CONFIG} ${ARGN}: ${errors}")
    endif()
    set(${out} "${text}" PARENT_SCOPE)
endfunction()

if(LLVM_CONFIG)
    set(candidates ${LLVM_CONFIG})
else()
    set(candidates)
    foreach(major 22 21 20)
        list(APPEND candidates llvm-config-${major} /usr/lib/llvm-${major}/bin/llvm-config)
    endforeach()
    list(APPEND candidates llvm-config)
endif()
foreach(candidate ${candidates})
    unset(TILEC_LLVM_CONFIG_FOUND CACHE)
    find_program(TILEC_LLVM_CONFIG_FOUND ${candidate})
    if(TILEC_LLVM_CONFIG_FOUND)
        set(TILEC_LLVM_CONFIG ${TILEC_LLVM_CONFIG_FOUND})
        tilec_llvm_config(TILEC_LLVM_VERSION --version)
        if(TILEC_LLVM_VERSION VERSION_GREATER_EQUAL 20)
            break()
        endif()
        set(tilec_llvm_rejected "${tilec_llvm_rejected} ${TILEC_LLVM_CONFIG} is ${TILEC_LLVM_VERSION}.")
        unset(TILEC_LLVM_CONFIG)
    endif()
endforeach()
unset(TILEC_LLVM_CONFIG_FOUND CACHE)
if(NOT TILEC_LLVM_CONFIG)
    message(FATAL_ERROR "LLVM 20 or newer not found.${tilec_llvm_rejected} Install llvm-22-dev (apt.llvm.org) or set "
                        "-DLLVM_CONFIG=/path/to/llvm-config")
endif()

set(tilec_llvm_root "")
if(CMAKE_CROSSCOMPILING)
    set(tilec_llvm_root ${CMAKE_SYSROOT})
endif()
tilec_llvm_config(includedir --includedir)
tilec_llvm_config(libdir --libdir)
string(PREPEND includedir "${tilec_llvm_root}")
string(PREPEND libdir "${tilec_llvm_root}")
if(NOT EXISTS ${includedir}/llvm-c/Core.h)
    message(FATAL_ERROR "${includedir} has no llvm-c/Core.h: install LLVM ${TILEC_LLVM_VERSION}'s headers and libraries")
endif()
tilec_llvm_config(TILEC_LLVM_BINDIR --bindir)

set(TilecLLVM_FOUND TRUE)
if(TARGET tilec_llvm)
    return()
endif()
add_library(tilec_llvm INTERFACE)
target_include_directories(tilec_llvm SYSTEM INTERFACE ${includedir})
if(TILEC_LLVM STREQUAL "shared")
    tilec_llvm_config(libs --link-shared --libs ${TILEC_LLVM_COMPONENTS})
    separate_arguments(libs)
    target_link_directories(tilec_llvm INTERFACE ${libdir})
    target_link_libraries(tilec_llvm INTERFACE ${libs})
elseif(TILEC_LLVM STREQUAL "static")
    tilec_llvm_config(libs --link-static --libfiles ${TILEC_LLVM_COMPONENTS})
    separate_arguments(libs)
    list(TRANSFORM libs PREPEND "${tilec_llvm_root}")
    # Of the system libraries only those that the linked part uses: z3 and libxml2 serve other tools of LLVM, and
    # zlib and zstd are linked from their archives where these exist.
    set(system_libs dl m pthread)
    foreach(name z zstd)
        find_library(TILEC_LIB_${name} NAMES lib${name}.a ${name})
        if(TILEC_LIB_${name})
            list(APPEND system_libs ${TILEC_LIB_${name}})
        endif()
    endforeach()
    # One archive as an imported target: it tells CMake that the link needs the C++ driver.
    list(POP_FRONT libs first)
    add_library(tilec_llvm_first STATIC IMPORTED GLOBAL)
    set_target_properties(tilec_llvm_first PROPERTIES IMPORTED_LOCATION ${first}
                                                      IMPORTED_LINK_INTERFACE_LANGUAGES CXX)
    target_link_libraries(tilec_llvm INTERFACE tilec_llvm_first ${libs} ${system_libs})
    list(PREPEND libs ${first})
    # A shared library made of this exports none of LLVM's symbols: its user may have an LLVM of its own.
    set(names)
    foreach(lib ${libs})
        get_filename_component(name ${lib} NAME)
        list(APPEND names ${name})
    endforeach()
    list(JOIN names ":" names)
    target_link_options(tilec_llvm INTERFACE -static-libstdc++ -static-libgcc -Wl,--gc-sections
                                             -Wl,--as-needed -Wl,--exclude-libs,${names})
else()
    message(FATAL_ERROR "TILEC_LLVM is '${TILEC_LLVM}'; wanted static or shared")
endif()
message(STATUS "LLVM ${TILEC_LLVM_VERSION} (${TILEC_LLVM}) from ${TILEC_LLVM_CONFIG}")
