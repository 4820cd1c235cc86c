build-clang/base/base/format/utf8.o: ref/base/format/utf8.c \
  ref/base/format/tokenizer.h ref/base/num/status.h \
  ref/base/format/tokenizer_parts.h

ref/base/format/tokenizer.h:

ref/base/num/status.h:

ref/base/format/tokenizer_parts.h:
