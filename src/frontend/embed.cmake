# Writes OUTPUT, a C file with the bytes of INPUT as NAME_text and NAME_size.
file(READ ${INPUT} bytes HEX)
string(LENGTH "${bytes}" digits)
math(EXPR size "${digits} / 2")
string(REGEX REPLACE "([0-9a-f][0-9a-f])" "0x\\1," bytes "${bytes}")
string(REGEX REPLACE "(................................................................................)" "\\1\n" bytes "${bytes}")
file(WRITE ${OUTPUT} "extern const char ${NAME}_text[];\nextern const unsigned ${NAME}_size;\nconst char ${NAME}_text[] = {${bytes}0};\nconst unsigned ${NAME}_size = ${size};\n")
