# Writes OUT, a header that names the commit the sources in SOURCE are of; run at every build, and
# the header is touched only when it would differ. WEIR_COMMIT in the environment wins: a package is
# built from files that git does not know.
set(commit "$ENV{WEIR_COMMIT}")
if(commit STREQUAL "" AND EXISTS "${SOURCE}/.git")
    execute_process(COMMAND git -C ${SOURCE} describe --always --abbrev=12 --exclude=* --dirty=+changes
        OUTPUT_VARIABLE commit OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET)
endif()
if(NOT commit MATCHES "^[0-9a-f]+(\\+changes)?$")
    set(commit "")
endif()
file(CONFIGURE OUTPUT ${OUT} CONTENT "#define WEIR_COMMIT \"${commit}\"\n" @ONLY)
