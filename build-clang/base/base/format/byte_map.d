build-clang/base/base/format/byte_map.o: ref/base/format/byte_map.c \
  ref/base/format/byte_map.h

ref/base/format/byte_map.h:
