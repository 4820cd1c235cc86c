build-clang/base/base/format/tokenizer_load.o: \
  ref/base/format/tokenizer_load.c ref/base/format/byte_map.h \
  ref/base/format/json.h ref/base/num/status.h \
  ref/base/format/tokenizer_parts.h

ref/base/format/byte_map.h:

ref/base/format/json.h:

ref/base/num/status.h:

ref/base/format/tokenizer_parts.h:
