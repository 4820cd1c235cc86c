build-clang/base/base/format/tokenizer.o: ref/base/format/tokenizer.c \
  ref/base/format/tokenizer.h ref/base/num/status.h \
  ref/base/format/json.h ref/base/format/tokenizer_parts.h

ref/base/format/tokenizer.h:

ref/base/num/status.h:

ref/base/format/json.h:

ref/base/format/tokenizer_parts.h:
