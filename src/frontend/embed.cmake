# Writes OUTPUT, a C file with the bytes of INPUT as std_tile_text and std_tile_size.
file(READ ${INPUT} bytes HEX)
string(LENGTH "${bytes}" digits)
math(EXPR size "${digits} / 2")
string(REGEX REPLACE "([0-9a-f][0-9a-f])" "0x\\1," bytes "${bytes}")
string(REGEX REPLACE "(................................................................................)" "\\1\n" bytes "${bytes}")
file(WRITE ${OUTPUT} "extern const char std_tile_text[];\nextern const unsigned std_tile_size;\nconst char std_tile_text[] = {${bytes}0};\nconst unsigned std_tile_size = ${size};\n")
